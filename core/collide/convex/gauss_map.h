// Which features of two convex polyhedra can touch: applicability (Williams, Lu & Trinkle 2014, eqs. 5-7), relaxed by
// an angle. A contact applies when its normal lies in the normal cones of both features: where their arcs or regions
// meet on the Gauss map.
#pragma once

#include <cstdint>

#include "core/check.h"
#include "core/math/checks.h"
#include "core/math/spatial.h"

namespace tactus {

// An edge with what lies on its two sides. All in one frame.
struct Wedge {
  Vec3 along;            // tail to head [m]
  Vec3 n_left, n_right;  // outward unit normals of its faces
  // Unit vectors in the faces, perpendicular to the edge, away from it: eq. 4, normalised.
  Vec3 t_left, t_right;
};
inline Wedge make_wedge(const Vec3& along, const Vec3& n_left, const Vec3& n_right) noexcept {
  TACTUS_DCHECK(is_unit(n_left) && is_unit(n_right));
  const Vec3 unit = along.normalized();
  return {along, n_left, n_right, n_left.cross(unit), unit.cross(n_right)};
}

enum class EdgeTest : std::uint8_t {
  gauss,  // exact: the common perpendicular supports both wedges
  paper   // eq. 7, which misses sharp wedges and small crossing angles
};

// The common perpendicular of two edges, unit, from b into a (the side on which a's wedge lies); zero when the edges
// are parallel to within `parallel` (sine).
inline Vec3 edge_normal(const Wedge& a, const Wedge& b, double parallel) noexcept {
  Vec3 n = a.along.cross(b.along);
  const double length = n.norm();
  if (!(length > parallel * a.along.norm() * b.along.norm())) return Vec3::Zero();
  n /= length;
  return n.dot(a.t_left + a.t_right) >= n.dot(b.t_left + b.t_right) ? n : Vec3(-n);
}

// epsilon: sine of the relaxing angle. nhat: of edge_normal.
inline bool edges_apply(const Wedge& a, const Wedge& b, const Vec3& nhat, EdgeTest test, double epsilon) noexcept {
  if (test == EdgeTest::paper) {
    return b.n_left.dot(a.t_left) >= -epsilon && b.n_left.dot(a.t_right) >= -epsilon &&
           b.n_right.dot(a.t_left) >= -epsilon && b.n_right.dot(a.t_right) >= -epsilon;
  }
  return nhat.dot(a.t_left) >= -epsilon && nhat.dot(a.t_right) >= -epsilon && nhat.dot(b.t_left) <= epsilon &&
         nhat.dot(b.t_right) <= epsilon;
}

}  // namespace tactus
