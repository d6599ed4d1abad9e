// Robots under the force-based integrators, where contact is a force on links.
#pragma once

#include "core/arena.h"
#include "core/dynamics/kinematics.h"
#include "core/dynamics/robot_sweep.h"

namespace tactus {

// One semi-implicit step of length h of every robot, from the present State: F_Bcm_W are all forces on bodies but
// gravity. Positions of joints, velocities, links. drives, effort: per entry of State::joint_v; effort gets share times
// what drives gave, stop (may be null) what the ends of joints did. Gives the number of robots that could not be solved
// for (they stand still). Arena is given back.
std::uint32_t step_robots(const Model& model, const Kinematics& kinematics, const Parameters& parameters,
                          const DofDrive* drives, const SpatialForce* F_Bcm_W, double h, double share, Arena& arena,
                          State& state, double* effort, double* stop) noexcept;

// What Runge-Kutta asks at a stage: rates of joint coordinates q and velocities v of all robots under F_Bcm_W. Drives,
// joint friction and ends of joints are forces here, stable for steps that resolve them. effort: of drives, stop: of
// ends, may be null. Trees must know positions and velocities of the stage. A robot that cannot be solved for gets zero
// rates.
void robot_rates(const Model& model, const State& state, const Kinematics& kinematics, const Parameters& parameters,
                 const DofDrive* drives, const SpatialForce* F_Bcm_W, double h, const double* q, const double* v,
                 Arena& arena, double* q_dot, double* v_dot, double* effort, double* stop) noexcept;
// Quaternions among joint coordinates back to length one.
void normalise_joints(const Model& model, double* q) noexcept;

}  // namespace tactus
