// The cores that the generic pair functions meet: convex polyhedra (boxes and a capsule's segment included) and
// cylinders, seen from one work frame. A capsule is its segment plus a radius that the caller adds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/check.h"
#include "core/collide/narrow_phase.h"
#include "core/shape/convex_hull.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

struct Core {
  // Polyhedron, in the core's own frame; none for a cylinder.
  const Vec3* vertices = nullptr;
  const ConvexHull::Face* faces = nullptr;
  const ConvexHull::Edge* edges = nullptr;
  const std::uint32_t* face_vertices = nullptr;
  int vertex_count = 0, face_count = 0, edge_count = 0;
  double radius = 0, half_length = 0;  // cylinder, along the own z axis
  Mat3 R = Mat3::Identity();           // pose in the work frame
  Vec3 p = Vec3::Zero();

  [[nodiscard]] bool is_cylinder() const noexcept { return vertices == nullptr; }
  [[nodiscard]] Vec3 axis() const noexcept { return R.col(2); }
};

// Storage for the cores that have no hull of their own.
struct CoreStorage {
  Vec3 vertices[8];
  ConvexHull::Face faces[6];
};

// The core of a box, capsule (its segment), cylinder or convex at pose (R, p) in the work frame. The storage must
// outlive it.
Core make_core(const Shape& shape, const Mat3& R, const Vec3& p, CoreStorage& storage) noexcept;

// Index of the vertex farthest along d, in the core's own frame. O(vertices).
inline int support_vertex(const Core& core, const Vec3& d) noexcept {
  TACTUS_DCHECK(core.vertex_count > 0 && core.vertices != nullptr);
  int best = 0;
  double height = core.vertices[0].dot(d);
  for (int i = 1; i < core.vertex_count; ++i) {
    const double s = core.vertices[i].dot(d);
    if (s > height) {
      height = s;
      best = i;
    }
  }
  return best;
}

// Farthest point of the core along d, both in the work frame. A direction along a cylinder's axis gives the cap's
// centre.
inline Vec3 core_support(const Core& core, const Vec3& d) noexcept {
  const Vec3 d_S = core.R.transpose() * d;
  if (!core.is_cylinder()) return core.R * core.vertices[support_vertex(core, d_S)] + core.p;
  const double radial = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y());
  const double k = radial > 0 ? core.radius / radial : 0.0;
  return core.R * Vec3(k * d_S.x(), k * d_S.y(), std::copysign(core.half_length, d_S.z())) + core.p;
}

// Farthest point along n of the difference b - a: the overlap along the unit n (from b into a) is n . w, and no
// direction m has an overlap below m . w.
inline Vec3 difference_support(const Core& a, const Core& b, const Vec3& n) noexcept {
  return core_support(b, n) - core_support(a, -n);
}

inline double smallest_half_width(const SmoothSurface& surface) noexcept {
  const Aabb box = surface.bounds(Frame{});
  return 0.5 * (box.hi - box.lo).minCoeff();
}

// A length for tolerances: the smallest half width of the solid, for hulls a tenth of the bounding radius. Not for
// half-spaces.
inline double smallest_size(const Shape& shape) noexcept {
  if (shape.kind == ShapeKind::box) return shape.half_S.minCoeff();
  if (shape.kind == ShapeKind::convex) return 0.1 * shape.hull->radius;
  if (shape.kind == ShapeKind::smooth) return smallest_half_width(*shape.smooth);
  return shape.kind == ShapeKind::cylinder ? std::min(shape.radius, shape.half_length) : shape.radius;
}

// Are the solids still apart along the witness's axis? The cheap proof that ends most calls. Not for half-spaces.
bool apart_along_witness(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                         const Witness& witness) noexcept;

// What the axis searches return. feature_a, feature_b: see the search.
struct Axis {
  Vec3 n = Vec3::Zero();  // unit, from b into a, in the work frame
  double overlap = 0;     // along n; <= 0: separated along n
  std::int32_t feature_a = -1, feature_b = -1;
  bool proved = false;  // the last tick's features were proved to decide still; nothing was searched for
};

// Least overlap of two polyhedra: exact over all face normals and all edge pairs whose arcs cross on the Gauss map.
// Features: face of a (and -1), face of b (and -1), or edges of both. Stops at the first separating axis (overlap <=
// 0). `last` seeds the search and holds near ties (kHysteresis). The work frame is a's own. Edges that cannot beat the
// best axis are dropped by a linear bound, so the cost is O(faces * vertices + edges) for shallow contact; O(edges_a *
// edges_b) when deep.
Axis least_overlap_polyhedra(const Core& a, const Core& b, const Axis& last) noexcept;

// The same for a polyhedron (or segment) a and a cylinder b. Candidates are all patches of the difference's surface:
// faces, caps, vertex on side, edge on side, edge on rim (one-dimensional search). feature_b: one of CylinderFeature;
// feature_a: face, vertex or edge of a. O(faces + edges + vertices).
enum CylinderFeature : std::int32_t { kSide = 0, kRim = 1, kCap = 2, kSideLine = 3, kRound = -1 };
Axis least_overlap_cylinder(const Core& a, const Core& b, const Axis& last) noexcept;

// The same for two cylinders; rim on rim by Newton's method from a grid of starts. O(1).
Axis least_overlap_cylinders(const Core& a, const Core& b, const Axis& last) noexcept;

}  // namespace tactus
