// Pairs of polyhedra and cylinders: least overlap by narrow_core.h's searches, points by narrow_feature.h. All work
// happens in the frame of the polyhedron, or of the first cylinder.
#include <algorithm>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/convex/narrow_feature.h"
#include "core/collide/convex/narrow_witness.h"
#include "core/collide/narrow_table.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// A pair in the frame of its first solid; `flipped` when that is the caller's b.
struct Pair {
  CoreStorage storage_a, storage_b;
  Core a, b;
  const Frame& X_W;  // of the work frame
  bool flipped;
  double scale;

  Pair(const Shape& first, const Frame& X_W1, const Shape& second, const Frame& X_W2, bool flip) noexcept
      : X_W(X_W1), flipped(flip) {
    const Mat3 R = X_W1.R.transpose() * X_W2.R;
    const Vec3 p = X_W1.R.transpose() * (X_W2.p - X_W1.p);
    a = make_core(first, Mat3::Identity(), Vec3::Zero(), storage_a);
    b = make_core(second, R, p, storage_b);
    scale = std::min(smallest_size(first), smallest_size(second));
  }

  // The witness as this pair's last axis.
  [[nodiscard]] Axis last(const Witness& witness) const noexcept {
    Axis axis;
    axis.n = flipped ? Vec3(b.R * -witness.axis_A) : witness.axis_A;
    axis.feature_a = flipped ? witness.feature_b : witness.feature_a;
    axis.feature_b = flipped ? witness.feature_a : witness.feature_b;
    return axis;
  }
  void remember(const Axis& axis, Witness& witness) const noexcept {
    witness.axis_A = flipped ? Vec3(b.R.transpose() * -axis.n) : axis.n;
    witness.feature_a = flipped ? axis.feature_b : axis.feature_a;
    witness.feature_b = flipped ? axis.feature_a : axis.feature_b;
  }
  void finish(const PointGatherer& points, ContactBuffer& out) const noexcept {
    points.write(X_W, out);
    if (flipped) out.nhat_BA_W = -out.nhat_BA_W;
  }
};

// Where a and b would touch last when b moves out along the axis: the point on a. The side with the smaller feature
// decides it.
Vec3 from_b(const Core& b, const Axis& axis) noexcept {
  return core_support(b, axis.n) - axis.overlap * axis.n;
}

Vec3 last_touch_polyhedra(const Core& a, const Core& b, const Axis& axis) noexcept {
  TACTUS_DCHECK(axis.feature_a < a.edge_count + a.face_count && is_unit(axis.n));
  if (axis.feature_b < 0) return from_b(b, axis);
  if (axis.feature_a < 0) return core_support(a, -axis.n);
  const ConvexHull::Edge& edge = b.edges[axis.feature_b];
  const Vec3& p = b.vertices[edge.vertex_a];
  const Vec3& q = b.vertices[edge.vertex_b];
  return edge_crossing(a, axis.feature_a, b.R * (0.5 * (p + q)) + b.p, b.R * (0.5 * (q - p)));
}

Vec3 last_touch_cylinder(const Core& a, const Core& b, const Axis& axis) noexcept {
  TACTUS_DCHECK(!a.is_cylinder() && b.is_cylinder());
  switch (axis.feature_b) {
    case kCap:
      return core_support(a, -axis.n);
    case kSide:
      return a.vertices[axis.feature_a];
    case kSideLine:
      return edge_crossing(a, axis.feature_a, b.p, b.half_length * b.axis());
    default:
      return from_b(b, axis);
  }
}

Vec3 last_touch_cylinders(const Core& a, const Core& b, const Axis& axis) noexcept {
  TACTUS_DCHECK(a.is_cylinder() && b.is_cylinder());
  if (axis.feature_b == kCap || axis.feature_a == kRim) return core_support(a, -axis.n);
  if (axis.feature_a == kCap || axis.feature_b == kRim) return from_b(b, axis);
  double s = 0, t = 0;  // side on side
  const Vec3 u_a = a.half_length * a.axis();
  closest_on_segments(a.p - b.p, u_a, b.half_length * b.axis(), s, t);
  return a.p + s * u_a - a.radius * axis.n;
}

bool still_apart(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                 ContactBuffer& out) noexcept {
  std::uint32_t visited = 0;
  if (!apart_by_witness(a, X_WA, b, X_WB, witness, visited)) return false;
  out.witnesses.add(true);
  return true;
}

void collide_polyhedra(const Pair& pair, Witness& witness, ContactBuffer& out) noexcept {
  const Axis last = pair.last(witness);
  const Axis axis = least_overlap_polyhedra(pair.a, pair.b, last);
  pair.remember(axis, witness);
  out.witnesses.add(axis.proved);
  if (axis.overlap <= 0) return;
  const bool edges = axis.feature_a >= 0 && axis.feature_b >= 0;
  Feature face_a, face_b;
  facing_polygon(pair.a, -axis.n, edges ? axis.feature_a : -1, face_a);
  facing_polygon(pair.b, axis.n, edges ? axis.feature_b : -1, face_b);
  PointGatherer points(axis.n, axis.overlap, pair.scale);
  points.intersect(face_a, face_b);
  points.ensure_deepest(last_touch_polyhedra(pair.a, pair.b, axis));
  out.all_on_bottom = true;  // one convex polygon on a plane
  pair.finish(points, out);
}

void collide_polyhedron_cylinder(const Pair& pair, Witness& witness, ContactBuffer& out) noexcept {
  const Axis last = pair.last(witness);
  const Axis axis = least_overlap_cylinder(pair.a, pair.b, last);
  pair.remember(axis, witness);
  out.witnesses.add(axis.proved);
  if (axis.overlap <= 0) return;
  Feature face, cap, side;
  facing_polygon(pair.a, -axis.n, -1, face);
  facing_cap(pair.b, axis.n, cap);
  facing_side(pair.b, axis.n, side);
  PointGatherer points(axis.n, axis.overlap, pair.scale);
  points.intersect(face, cap);
  points.intersect(face, side);
  points.ensure_deepest(last_touch_cylinder(pair.a, pair.b, axis));
  pair.finish(points, out);
  out.all_on_bottom = cap.count == 0 || side.count == 0;
}

}  // namespace

void collide_box_convex(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                        ContactBuffer& out) noexcept {
  if (still_apart(a, X_WA, b, X_WB, witness, out)) return;
  collide_polyhedra(Pair(a, X_WA, b, X_WB, false), witness, out);
}

void collide_convex_convex(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                           ContactBuffer& out) noexcept {
  if (still_apart(a, X_WA, b, X_WB, witness, out)) return;
  collide_polyhedra(Pair(a, X_WA, b, X_WB, false), witness, out);
}

void collide_box_cylinder(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                          ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  collide_polyhedron_cylinder(Pair(a, X_WA, b, X_WB, false), witness, out);
}

void collide_cylinder_convex(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                             ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  collide_polyhedron_cylinder(Pair(b, X_WB, a, X_WA, true), witness, out);
}

void collide_cylinder_cylinder(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                               ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  const Pair pair(a, X_WA, b, X_WB, false);
  const Axis last = pair.last(witness);
  const Axis axis = least_overlap_cylinders(pair.a, pair.b, last);
  pair.remember(axis, witness);
  out.witnesses.add(axis.proved);
  if (axis.overlap <= 0) return;
  Feature cap_a, cap_b, side_a, side_b;
  facing_cap(pair.a, -axis.n, cap_a);
  facing_side(pair.a, -axis.n, side_a);
  facing_cap(pair.b, axis.n, cap_b);
  facing_side(pair.b, axis.n, side_b);
  PointGatherer points(axis.n, axis.overlap, pair.scale);
  points.intersect(cap_a, cap_b);
  points.intersect(cap_a, side_b);
  points.intersect(side_a, cap_b);
  points.intersect(side_a, side_b);
  points.ensure_deepest(last_touch_cylinders(pair.a, pair.b, axis));
  pair.finish(points, out);
  out.all_on_bottom = points.count() <= 2;
}

}  // namespace tactus
