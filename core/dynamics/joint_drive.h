// What acts along one degree of freedom of a robot besides contact, gravity and the joint's own damping and friction.
#pragma once

#include <limits>

namespace tactus {

// A linear law, cut at a limit: effort + stiffness (target - q) + damping (target_rate - v), at most limit in size.
// Integrators that can, take q and v at the end of the step, so that stiff drives stay stable. Written by actuation
// each tick, one per entry of State::joint_v.
struct DofDrive {
  double effort = 0;     // [N m or N]
  double stiffness = 0;  // >= 0 [N m/rad or N/m]; only where a dof has a position of its own (not spherical, floating)
  double damping = 0;    // >= 0 [N m s/rad or N s/m]
  double target = 0;     // [rad or m]
  double target_rate = 0;                                  // [rad/s or m/s]
  double limit = std::numeric_limits<double>::infinity();  // [N m or N]
};

}  // namespace tactus
