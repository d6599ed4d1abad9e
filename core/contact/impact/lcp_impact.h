// Collisions of the acceleration model (Baraff 1993, 4.1.1 and 6): who strikes whom within a step, and when.
#pragma once

#include "core/contact/contact_model.h"

namespace tactus {

// What bodies lost in collisions, and when. Arena memory of the tick.
struct LcpCollisions {
  bool any = false;
  const double* delay = nullptr;       // per body: from the start of the step to its first collision [s]
  const double* lost = nullptr;        // laid out as State::v: velocities before less those after
  const double* joint_lost = nullptr;  // as State::joint_v
};

// Contacts that approach faster than Parameters::impact_epsilon and close within the step collide, at the points that
// do, by the impulses of impact.h or impact_simultaneous.h (Parameters::impacts, restitution_law). Changes velocities
// only. A collision happens at gap / speed within the step: move_late() accounts for it.
LcpCollisions collide(const Tick& tick, State& state, StepReport& report) noexcept;

// After the step: bodies went on with their old velocity until they were struck.
void move_late(const Tick& tick, const LcpCollisions& collisions, State& state) noexcept;

// By how much that closes a gap [m], at a point of a manifold; <= 0 where bodies draw nearer.
double late_closing(const Tick& tick, const LcpCollisions& collisions, const Manifold& m, const Vec3& p_WC) noexcept;

}  // namespace tactus
