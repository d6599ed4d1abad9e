// Distance between two convex cores, by Gilbert, Johnson & Keerthi (1988).
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

// What holds the nearest points of two polyhedra: up to three pairs of vertices, whose differences span a vertex, an
// edge or a face of b - a. Kept from call to call it is the pair's witness while they are apart.
struct CoreFeatures {
  int count = 0;  // 0: not known
  std::int32_t a[3] = {}, b[3] = {};
};

// Unit direction from b into a along the shortest connection, in the cores' work frame, and its length. 0 and a zero
// direction: they meet, or are too near to tell (1e-10 of their size). O(vertices) a step, a few steps; one where the
// features hold the nearest points still. Any stored numbers are safe. More than `far` apart they are only known to be
// so along the direction given.
double closest_cores(const Core& a, const Core& b, double far, CoreFeatures& features, Vec3& nhat_BA,
                     int& steps) noexcept;

// The same for any two convex solids given by their farthest points; start: a point of a - b. Ends when the distance is
// known to `enough` of its square: round solids converge linearly.
struct ConvexSupport {
  Vec3 (*function)(const void* solid, const Vec3& d) noexcept;
  const void* solid;
};
double closest_convex(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double enough,
                      Vec3& nhat_BA) noexcept;
// Is there a plane that shows them to be at least `least` apart?
bool farther_than(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double least) noexcept;

}  // namespace tactus
