// Rules shared by all separating axis tests.
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

// Nearly tied axes: the one of the last tick stays until another is better by this share of the depth. Without it the
// normal of a deep corner flips by 90 degrees between ticks, which the hand feels as kicks. The translation is then at
// most this share above the minimum.
inline constexpr double kHysteresis = 1e-3;

// An edge-edge axis must be better than the best face by this share: faces carry several points.
inline constexpr double kEdgeMargin = 1e-3;

// Edges closer to parallel than this [sin^2] have no axis of their own: their faces' axes decide, the error is at most
// the edges' length times the angle, 1e-6.
inline constexpr double kParallelEdges2 = 1e-12;

// Does a candidate deserve hysteresis as the feature of the last tick? Not where it only runs into another patch: a
// search over the rims that ends where the sides meet is the sides' contact, and its rim point would be at the wrong
// end.
inline bool is_same_feature(const Axis& candidate, const Axis& last, const Axis& best) noexcept {
  constexpr double kSameDirection = 1 - 5e-7;  // cosine of 1e-3
  if (candidate.feature_a != last.feature_a || candidate.feature_b != last.feature_b) return false;
  return candidate.overlap < best.overlap || candidate.n.dot(best.n) < kSameDirection;
}

}  // namespace tactus
