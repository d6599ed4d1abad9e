// What a pair remembers for the penalty models: PairRecord::model seen as this. All zero: a new contact.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/pair_memory.h"
#include "core/dynamics/model.h"
#include "core/dynamics/state_bounds.h"

namespace tactus {

// Depth that grows slower than this is load, and the spring feels it at once; faster is an impact [m/s].
inline constexpr double kQuietSpeed = 0.2;

// What the spring may feel in the next tick of length h, when it could feel `reach` of `depth` in this one: overlap
// that came up within one tick is worked off gently, with the scene's time constant and at most at its speed, but never
// slower than load grows. Stiff gains throw bodies out of a deep start, of which Drumwright (2008) says nothing; a
// bound on kp d instead would cap the load that rests, and stacks would sink.
inline double next_reach(const Parameters& parameters, double h, double depth, double reach) noexcept {
  TACTUS_DCHECK(h > 0 && parameters.overlap_relax_time > 0 && parameters.overlap_relax_speed > 0);
  const double felt = std::min(depth, reach);
  const double relaxed = (depth - felt) * h / parameters.overlap_relax_time;
  return felt + std::min(parameters.overlap_relax_speed * h, std::max(kQuietSpeed * h, relaxed));
}

// One layout for all gain laws, so that a change of law at run time, or a snapshot from before it, is never misread.
struct PenaltyMemory {
  double reach;       // depth that the spring may feel this tick; deeper overlap is new and is worked off gently [m]
  double stretch[3];  // tangential spring, in W, tangent to the contact [m]
  double twist;       // torsional spring about the normal [rad]
  double slipping;    // 1: slid in the last tick
  double roll[3];     // rolling spring, in W, tangent to the contact [rad]; implicit law only
  double force[3];    // contact force on A in the last substep, in W [N]; implicit law only
  double torque[3];   // its moment about A's mass centre, in W [N m]; implicit law only
  double integral;    // I of eq. 2 [m]
  double place[3];    // middle of the points, from W's origin, in W [m]; implicit law only
};

// What has grown beyond all bounds, or is no number, is forgotten: it would stay for as long as the pair touches.
inline void store_memory(PairRecord& record, const PenaltyMemory& memory) noexcept {
  store_block(record, memory);
  for (const double x : record.model) {
    if (!(std::abs(x) <= kMostMemory)) return record.model.fill(0.0);
  }
}

}  // namespace tactus
