#include "core/collide/convex/narrow_witness.h"

#include "core/check.h"
#include "core/collide/convex/narrow_axis.h"
#include "core/collide/convex/narrow_proof.h"

namespace tactus {

namespace {

struct Height {
  double value = 0;
  std::int32_t vertex = 0;
};

// The vertex of a box that is farthest along d, numbered as in make_core().
Height box_height(const Vec3& half, const Vec3& d) noexcept {
  const std::int32_t vertex = (d.x() > 0 ? 1 : 0) | (d.y() > 0 ? 2 : 0) | (d.z() > 0 ? 4 : 0);
  return {half.dot(d.cwiseAbs()), vertex};
}

// From vertex to higher neighbour until there is none: on a convex solid that is the highest. Rounding may leave it at
// one that is lower by rounding.
Height climb(const ConvexHull& hull, const Vec3& d, std::int32_t start, std::uint32_t& visited) noexcept {
  TACTUS_DCHECK(start >= 0 && start < static_cast<std::int32_t>(hull.vertices.size()));
  auto at = static_cast<std::size_t>(start);
  double height = hull.vertices[at].dot(d);
  ++visited;
  for (bool higher = true; higher;) {
    higher = false;
    const std::size_t from = at;
    for (std::uint32_t k = hull.neighbours_first[from]; k < hull.neighbours_first[from + 1]; ++k) {
      const double h = hull.vertices[hull.neighbours[k]].dot(d);
      ++visited;
      if (h <= height) continue;
      height = h;
      at = hull.neighbours[k];
      higher = true;
    }
  }
  return {height, static_cast<std::int32_t>(at)};
}

// The height of the shape above its origin along d, in its own frame. start: a vertex, or anything.
Height own_height(const Shape& shape, const Vec3& d, std::int32_t start, std::uint32_t& visited) noexcept {
  if (shape.kind == ShapeKind::box) {
    ++visited;
    return box_height(shape.half_S, d);
  }
  const auto count = static_cast<std::int32_t>(shape.hull->vertices.size());
  return climb(*shape.hull, d, start >= 0 && start < count ? start : 0, visited);
}

// One of two polyhedra.
struct Side {
  const Shape& shape;
  const Frame& X_W;
  const Core core;

  Side(const Shape& s, const Frame& X, CoreStorage& storage) noexcept
      : shape(s), X_W(X), core(make_core(s, Mat3::Identity(), Vec3::Zero(), storage)) {}
};

// Is `other` wholly outside the face of `owner`? near_vertex: of other, replaced by the nearest now.
bool outside_face(const Side& owner, std::int32_t face, const Side& other, std::int32_t& near_feature,
                  std::uint32_t& visited) noexcept {
  const ConvexHull::Face& f = owner.core.faces[face];
  const Vec3 n_W = owner.X_W.R * f.nhat;
  const Height h = own_height(other.shape, other.X_W.R.transpose() * -n_W, code_of_feature(near_feature), visited);
  near_feature = nearest_vertex_feature(h.vertex);
  return n_W.dot(other.X_W.p - owner.X_W.p) - h.value >= f.offset;
}

// Do the planes along both edges keep a above b? n_W from b into a.
bool apart_by_edges(const Side& a, const Side& b, const Witness& witness, Vec3& n_W, std::uint32_t& visited) noexcept {
  const ConvexHull::Edge &ea = a.core.edges[witness.feature_a], &eb = b.core.edges[witness.feature_b];
  const Vec3 u = a.X_W.R * (a.core.vertices[ea.vertex_b] - a.core.vertices[ea.vertex_a]);
  const Vec3 v = b.X_W.R * (b.core.vertices[eb.vertex_b] - b.core.vertices[eb.vertex_a]);
  n_W = u.cross(v);
  const double length2 = n_W.squaredNorm();
  if (!(length2 > kParallelEdges2 * u.squaredNorm() * v.squaredNorm())) return false;
  n_W *= (n_W.dot(a.X_W.R * witness.axis_A) < 0 ? -1.0 : 1.0) / std::sqrt(length2);
  const auto start_a = static_cast<std::int32_t>(ea.vertex_a), start_b = static_cast<std::int32_t>(eb.vertex_a);
  const double below = own_height(a.shape, a.X_W.R.transpose() * -n_W, start_a, visited).value;
  const double gap = n_W.dot(a.X_W.p - b.X_W.p) - below;
  return gap >= own_height(b.shape, b.X_W.R.transpose() * n_W, start_b, visited).value;
}

}  // namespace

bool apart_by_witness(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                      std::uint32_t& visited) noexcept {
  if (witness.axis_A.isZero(0)) return false;
  CoreStorage storage_a, storage_b;
  const Side side_a(a, X_WA, storage_a), side_b(b, X_WB, storage_b);
  std::int32_t &fa = witness.feature_a, &fb = witness.feature_b;
  Vec3 n_W;
  if (fa >= 0 && fb >= 0) {
    if (fa >= side_a.core.edge_count || fb >= side_b.core.edge_count) return false;
    if (!apart_by_edges(side_a, side_b, witness, n_W, visited)) return false;
  } else if (fa >= 0) {
    if (fa >= side_a.core.face_count || !outside_face(side_a, fa, side_b, fb, visited)) return false;
    n_W = X_WA.R * -side_a.core.faces[fa].nhat;
  } else if (fb >= 0) {
    if (fb >= side_b.core.face_count || !outside_face(side_b, fb, side_a, fa, visited)) return false;
    n_W = X_WB.R * side_b.core.faces[fb].nhat;
  } else {
    n_W = X_WA.R * witness.axis_A;
    const double gap = n_W.dot(X_WA.p - X_WB.p) - own_height(a, -witness.axis_A, 0, visited).value;
    return gap >= own_height(b, X_WB.R.transpose() * n_W, 0, visited).value;
  }
  witness.axis_A = X_WA.R.transpose() * n_W;
  return true;
}

namespace {

// The ring of b - a that lies on the plane of a face of one, at the other's nearest vertex. 0: too many corners.
int face_ring(const Core& core, std::int32_t face, const Vec3& vertex, double sign, Vec3 (&ring)[kRingMax]) noexcept {
  TACTUS_DCHECK(face >= 0 && face < core.face_count && (sign == 1 || sign == -1));
  const ConvexHull::Face& f = core.faces[face];
  if (f.count > kRingMax) return 0;
  for (std::uint32_t i = 0; i < f.count; ++i) {
    const Vec3 p = core.R * core.vertices[core.face_vertices[f.first + i]] + core.p;
    ring[i] = sign * (p - vertex);
  }
  return static_cast<int>(f.count);
}

// As try_edges() of the search finds it, or false.
bool edge_axis(const Core& a, const Core& b, const Axis& last, Axis& out, Vec3 (&ring)[kRingMax]) noexcept {
  const ConvexHull::Edge &ea = a.edges[last.feature_a], &eb = b.edges[last.feature_b];
  const Vec3 p = a.vertices[ea.vertex_a], u = a.vertices[ea.vertex_b] - p;
  const Vec3 q = b.R * b.vertices[eb.vertex_a] + b.p, v = b.R * (b.vertices[eb.vertex_b] - b.vertices[eb.vertex_a]);
  const Vec3 cross = u.cross(v);
  const double length2 = cross.squaredNorm();
  if (!(length2 > kParallelEdges2 * u.squaredNorm() * v.squaredNorm())) return false;
  out.n = cross * ((cross.dot(last.n) < 0 ? -1.0 : 1.0) / std::sqrt(length2));
  out.overlap = out.n.dot(q - p);
  if (!(out.overlap > 0)) return false;
  // On the boundary of b - a only while nothing else reaches farther.
  const double reach = out.n.dot(difference_support(a, b, out.n));
  if (reach - out.overlap > kSameHeight * out.overlap) return false;
  ring[0] = q - p, ring[1] = q + v - p, ring[2] = q + v - p - u, ring[3] = q - p - u;
  return true;
}

}  // namespace

bool same_axis_polyhedra(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept {
  const std::int32_t fa = last.feature_a, fb = last.feature_b;
  Vec3 ring[kRingMax];
  int count = 0;
  if (fa >= 0 && fb >= 0) {
    if (fa >= a.edge_count || fb >= b.edge_count || a.face_count == 0 || b.face_count == 0) return false;
    if (!edge_axis(a, b, last, out, ring)) return false;
    count = 4;
  } else if (fa >= 0) {
    if (fa >= a.face_count) return false;
    out.n = -a.faces[fa].nhat;
    const Vec3 w_B = core_support(b, out.n);
    out.overlap = a.faces[fa].offset + out.n.dot(w_B);
    count = face_ring(a, fa, w_B, -1, ring);
  } else if (fb >= 0) {
    if (fb >= b.face_count) return false;
    out.n = b.R * b.faces[fb].nhat;
    const Vec3& w_A = a.vertices[support_vertex(a, -out.n)];
    out.overlap = b.faces[fb].offset + out.n.dot(b.p) - out.n.dot(w_A);
    count = face_ring(b, fb, w_A, 1, ring);
  }
  if (count < 3 || !(out.overlap > 0)) return false;
  out.feature_a = fa < 0 ? -1 : fa, out.feature_b = fb < 0 ? -1 : fb;
  out.proved = proves_least(a, b, out.n, out.overlap, ring, count);
  return out.proved;
}

}  // namespace tactus
