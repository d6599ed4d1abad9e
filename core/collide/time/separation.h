// How far two shapes are apart: the least distance, and the gap along a given direction.
#pragma once

#include <limits>

#include "core/collide/convex/closest_cores.h"
#include "core/shape/shape.h"

namespace tactus {

struct Separation {
  double gap = 0;           // along n_W [m]; <= 0: they touch or overlap, by no more than their round parts tell
  Vec3 n_W = Vec3::Zero();  // unit, from b into a; zero: not known
  double apart = 0;         // of the cores (a sphere's is its centre, a capsule's its segment) [m]
};

// Gap along the unit n_W, from b into a; negative: overlap along it. O(vertices); a half-space only along its
// own normal.
double gap_along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& n_W) noexcept;

// The least distance and its direction, by Gilbert, Johnson and Keerthi; half-spaces in closed form, of one at most.
// Where cores meet, gap <= 0 and n_W is zero. Not for meshes and smooth shapes.
// features: what held the nearest points, see closest_cores.h; hit: it does still, or proves a gap of more than `far`
// (which is then all that is known).
Separation find_separation(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double far,
                           CoreFeatures& features, bool& hit) noexcept;
inline Separation find_separation(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept {
  CoreFeatures none;
  bool hit = false;
  return find_separation(a, X_WA, b, X_WB, std::numeric_limits<double>::infinity(), none, hit);
}

}  // namespace tactus
