// Least overlap of two convex polyhedra: separating axis test over faces and Gauss-crossing edge pairs (Gregorius
// 2013), with a linear lower bound that drops faces and edges that cannot win.
#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_axis.h"
#include "core/collide/convex/narrow_witness.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr int kMaxEdges = 1024;  // hulls of 256 vertices have at most 762, and 508 faces
constexpr int kMaxFaces = 1024;
constexpr int kEdgePool = 6;

struct PolyhedraSearch {
  const Core& a;
  const Core& b;
  Axis best;
  double score = std::numeric_limits<double>::infinity();  // best.overlap with the preferences applied
  double bound = std::numeric_limits<double>::infinity();  // what cannot be below this cannot win
  Vec3 pool[kEdgePool];                                    // points of b - a
  int pool_count = 0;

  PolyhedraSearch(const Core& first, const Core& second) noexcept : a(first), b(second) {}
};

// Can no overlap along the unit n be below the bound? It is at least w . n for every point w of b - a.
bool hopeless(const PolyhedraSearch& s, const Vec3& n) noexcept {
  for (int k = 0; k < s.pool_count; ++k) {
    if (s.pool[k].dot(n) >= s.bound) return true;
  }
  return false;
}

void take(PolyhedraSearch& s, const Vec3& n, double overlap, double score, int feature_a, int feature_b) noexcept {
  TACTUS_DCHECK(is_unit(n));
  s.best = {n, overlap, feature_a, feature_b, false};
  s.score = score;
  s.bound = std::min(s.bound, score);
}

// Tries face f of a. False when it separates.
bool try_face_a(PolyhedraSearch& s, int f, double bias) noexcept {
  TACTUS_DCHECK(f >= 0 && f < s.a.face_count);
  const ConvexHull::Face& face = s.a.faces[f];
  const Vec3 n = -face.nhat;
  if (hopeless(s, n)) return true;
  const Vec3 w_B = core_support(s.b, n);
  const double overlap = face.offset + n.dot(w_B);
  if (overlap * (1 - bias) < s.score || overlap <= 0) take(s, n, overlap, overlap * (1 - bias), f, -1);
  return overlap > 0;
}

bool try_face_b(PolyhedraSearch& s, int f, double bias) noexcept {
  TACTUS_DCHECK(f >= 0 && f < s.b.face_count);
  const ConvexHull::Face& face = s.b.faces[f];
  const Vec3 n = s.b.R * face.nhat;
  if (hopeless(s, n)) return true;
  const double height_a = -n.dot(s.a.vertices[support_vertex(s.a, -n)]);
  const double overlap = face.offset + n.dot(s.b.p) + height_a;
  if (overlap * (1 - bias) < s.score || overlap <= 0) take(s, n, overlap, overlap * (1 - bias), -1, f);
  return overlap > 0;
}

// Points of b - a around the best axis: what is far from it is then dropped at the price of a few products. Tilts of
// about 35 degrees leave the fewest edges (tried: 20, 35, 90).
void fill_pool(PolyhedraSearch& s, const Vec3& n) noexcept {
  Vec3 t1, t2;
  tangent_basis(n, t1, t2);
  const Vec3 directions[kEdgePool] = {n, n + 0.7 * t1, n - 0.7 * t1, n + 0.7 * t2, n - 0.7 * t2, -n};
  for (const Vec3& d : directions) s.pool[s.pool_count++] = difference_support(s.a, s.b, d);
}

struct EdgeArc {
  Vec3 e;       // direction times length
  Vec3 n1, n2;  // the directions of its faces, as contact normals from b into a
  Vec3 p;       // its first vertex
  std::int32_t index;
};

EdgeArc arc_of(const Core& core, int index, bool is_a) noexcept {
  TACTUS_DCHECK(index >= 0 && index < core.edge_count);
  const ConvexHull::Edge& edge = core.edges[index];
  EdgeArc arc;
  arc.index = index;
  if (is_a) {  // the work frame is a's own
    arc.p = core.vertices[edge.vertex_a];
    arc.e = core.vertices[edge.vertex_b] - arc.p;
    if (core.face_count > 0) {
      arc.n1 = -core.faces[edge.face_left].nhat;
      arc.n2 = -core.faces[edge.face_right].nhat;
    }
  } else {
    arc.p = core.R * core.vertices[edge.vertex_a] + core.p;
    arc.e = core.R * (core.vertices[edge.vertex_b] - core.vertices[edge.vertex_a]);
    if (core.face_count > 0) {
      arc.n1 = core.R * core.faces[edge.face_left].nhat;
      arc.n2 = core.R * core.faces[edge.face_right].nhat;
    }
  }
  return arc;
}

// Indices of the edges that may still win. Along an arc of directions (shorter than half a turn) w . n is least at an
// end when it is positive at both, so an edge is dropped when one point of the pool speaks against both its faces.
int surviving_edges(const PolyhedraSearch& s, const Core& core, bool is_a, std::uint16_t (&list)[kMaxEdges]) noexcept {
  TACTUS_DCHECK(core.edge_count <= static_cast<int>(kMaxEdges));
  std::uint8_t against[kMaxFaces];  // bit k: pool point k
  const int faces = std::min(core.face_count, kMaxFaces);
  Vec3 pool[kEdgePool];
  for (int k = 0; k < s.pool_count; ++k) pool[k] = is_a ? Vec3(-s.pool[k]) : Vec3(core.R.transpose() * s.pool[k]);
  for (int f = 0; f < faces; ++f) {
    unsigned bits = 0;
    for (int k = 0; k < s.pool_count; ++k) bits |= (pool[k].dot(core.faces[f].nhat) >= s.bound ? 1u : 0u) << k;
    against[f] = static_cast<std::uint8_t>(bits);
  }
  int count = 0;
  const int edges = std::min(core.edge_count, kMaxEdges);
  for (int i = 0; i < edges; ++i) {
    if (faces > 0) {
      const std::uint32_t l = core.edges[i].face_left, r = core.edges[i].face_right;
      if (l < kMaxFaces && r < kMaxFaces && (against[l] & against[r]) != 0) continue;
    }
    list[count++] = static_cast<std::uint16_t>(i);
  }
  return count;
}

// Do the arcs of both edges cross, so that e_a x e_b supports both? A segment's edge has the whole circle.
bool arcs_cross(const PolyhedraSearch& s, const EdgeArc& x, const EdgeArc& y) noexcept {
  const bool full_a = s.a.face_count == 0, full_b = s.b.face_count == 0;
  const double c = full_b ? 0 : y.n1.dot(x.e), d = full_b ? 0 : y.n2.dot(x.e);
  if (!full_b && c * d >= 0) return false;
  const double a = full_a ? 0 : x.n1.dot(y.e), b = full_a ? 0 : x.n2.dot(y.e);
  if (!full_a && a * b >= 0) return false;
  return full_a || full_b || c * b > 0;
}

// Tries a pair of edges. False when it separates.
bool try_edges(PolyhedraSearch& s, const EdgeArc& x, const EdgeArc& y, double bias, double& limit) noexcept {
  if (!arcs_cross(s, x, y)) return true;
  const Vec3 cross = x.e.cross(y.e);
  const double length2 = cross.squaredNorm();
  if (length2 <= kParallelEdges2 * x.e.squaredNorm() * y.e.squaredNorm()) return true;
  // The sign that lies on the arcs: towards the sum of an arc's ends, projected out of the edge that it is an arc of.
  const Vec3 inside = s.a.face_count > 0 ? Vec3(x.n1 + x.n2) : Vec3(y.n1 + y.n2);
  const Vec3 n = cross * ((cross.dot(inside) < 0 ? -1.0 : 1.0) / std::sqrt(length2));
  const double overlap = n.dot(y.p - x.p);
  if (overlap <= 0 || overlap * (1 - bias) < limit) {
    limit = overlap * (1 - bias);
    take(s, n, overlap, limit, x.index, y.index);
  }
  return overlap > 0;
}

void search_edges(PolyhedraSearch& s, const Axis& last) noexcept {
  // An edge pair must beat the best face by the margin, unless it was the contact of the last tick.
  const bool was_edges = last.feature_a >= 0 && last.feature_b >= 0;
  const double slack = 1e-10 * s.pool[kEdgePool - 1].norm();
  double limit = s.score * (1 - kEdgeMargin) - slack;
  std::uint16_t list_a[kMaxEdges], list_b[kMaxEdges];
  const int count_a = surviving_edges(s, s.a, true, list_a);
  if (count_a == 0) return;
  const int count_b = surviving_edges(s, s.b, false, list_b);
  for (int j = 0; j < count_b; ++j) {
    const EdgeArc y = arc_of(s.b, list_b[j], false);
    for (int i = 0; i < count_a; ++i) {
      const EdgeArc x = arc_of(s.a, list_a[i], true);
      const bool same = was_edges && x.index == last.feature_a && y.index == last.feature_b;
      if (!try_edges(s, x, y, same ? kEdgeMargin + kHysteresis : 0.0, limit)) return;
    }
  }
}

}  // namespace

Axis least_overlap_polyhedra(const Core& a, const Core& b, const Axis& last) noexcept {
  TACTUS_DCHECK(!a.is_cylinder() && !b.is_cylinder() && a.vertex_count > 0 && b.vertex_count > 0);
  Axis same;
  if (same_axis_polyhedra(a, b, last, same)) return same;
  PolyhedraSearch s(a, b);
  int last_a = last.feature_b < 0 && last.feature_a < a.face_count ? last.feature_a : -1;
  int last_b = last.feature_a < 0 && last.feature_b < b.face_count ? last.feature_b : -1;
  // The face of last time first: it is nearly always still the best, and makes the bound sharp.
  if (last_a >= 0 && !try_face_a(s, last_a, kHysteresis)) return s.best;
  if (last_b >= 0 && !try_face_b(s, last_b, kHysteresis)) return s.best;
  // If two edges met last time, their overlap now bounds the answer from the start.
  if (last.feature_a >= 0 && last.feature_b >= 0 && last.feature_a < a.edge_count && last.feature_b < b.edge_count) {
    PolyhedraSearch trial(a, b);
    double limit = trial.score;
    const EdgeArc x = arc_of(a, last.feature_a, true), y = arc_of(b, last.feature_b, false);
    if (!try_edges(trial, x, y, 0, limit)) return trial.best;
    s.bound = trial.best.overlap * (1 + 2 * kEdgeMargin + 2 * kHysteresis);
    if (trial.best.feature_a < 0) s.bound = std::numeric_limits<double>::infinity();
  }
  const double norm = last.n.norm();
  fill_pool(s, s.best.overlap > 0 ? s.best.n : (norm > 0.5 ? Vec3(last.n / norm) : Vec3(Vec3::UnitZ())));
  for (int f = 0; f < a.face_count; ++f) {
    if (f != last_a && !try_face_a(s, f, 0)) return s.best;
  }
  for (int f = 0; f < b.face_count; ++f) {
    if (f != last_b && !try_face_b(s, f, 0)) return s.best;
  }
  search_edges(s, last);
  return s.best;
}

}  // namespace tactus
