// Distance between two convex cores, by Gilbert, Johnson & Keerthi (1988).
#pragma once

#include "core/collide/narrow_core.h"

namespace tactus {

// Unit direction from b into a along the shortest connection, in the cores' work frame, and its length. 0 and a zero
// direction: they meet, or are too near to tell (1e-10 of their size). O(vertices) a step, a few steps.
double closest_cores(const Core& a, const Core& b, Vec3& nhat_BA) noexcept;

// The same for any two convex solids given by their farthest points; start: a point of a - b. Ends when the distance is
// known to `enough` of its square: round solids converge linearly.
struct ConvexSupport {
  Vec3 (*function)(const void* solid, const Vec3& d) noexcept;
  const void* solid;
};
double closest_convex(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double enough,
                      Vec3& nhat_BA) noexcept;

}  // namespace tactus
