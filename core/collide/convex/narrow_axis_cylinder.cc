// Least overlap of a convex polyhedron (or a segment) and a true cylinder. The nearest surface point of the difference
// of two convex solids lies on a smooth patch of it; these are all patches: a face, a cap, a vertex on the side, an
// edge on the side's line, an edge on a rim. Each candidate gives a valid upper bound, so the least is exact.
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_arc.h"
#include "core/collide/convex/narrow_axis.h"
#include "core/collide/convex/narrow_core.h"
#include "core/collide/convex/narrow_proof.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

struct OneCylinderSearch {
  const Core& a;
  const Core& b;
  const Axis& last;
  Vec3 axis, centre;  // of the cylinder, in a's frame
  Axis best;
  double score = std::numeric_limits<double>::infinity();
};

// Overlap beyond what the polyhedron's vertex v gives: height of the cylinder along the unit n.
double cylinder_height(const OneCylinderSearch& s, const Vec3& n) noexcept {
  const double z = n.dot(s.axis);
  return n.dot(s.centre) + s.b.half_length * std::abs(z) + s.b.radius * std::sqrt(std::max(0.0, 1.0 - z * z));
}

bool offer(OneCylinderSearch& s, const Vec3& n, double overlap, double margin, int feature_a, int feature_b) noexcept {
  TACTUS_DCHECK(is_unit(n) && margin >= 0 && margin < 1);
  const Axis candidate{n, overlap, feature_a, feature_b};
  const bool same = is_same_feature(candidate, s.last, s.best);
  const double score = overlap * (1 + margin - (same ? kHysteresis : 0.0));
  if (score < s.score || overlap <= 0) {
    s.best = candidate;
    s.score = score;
  }
  return overlap > 0;
}

bool try_faces(OneCylinderSearch& s) noexcept {
  for (int f = 0; f < s.a.face_count; ++f) {
    const Vec3 n = -s.a.faces[f].nhat;
    if (!offer(s, n, s.a.faces[f].offset + cylinder_height(s, n), 0, f, kRound)) return false;
  }
  return true;
}

bool try_caps(OneCylinderSearch& s) noexcept {
  for (const double side : {1.0, -1.0}) {
    const Vec3 n = side * s.axis;
    const double overlap = n.dot(s.centre - s.a.vertices[support_vertex(s.a, -n)]) + s.b.half_length;
    if (!offer(s, n, overlap, 0, -1, kCap)) return false;
  }
  return true;
}

// Vertex v on the side: out along the radius through v.
bool try_vertices(OneCylinderSearch& s) noexcept {
  for (int i = 0; i < s.a.vertex_count; ++i) {
    const Vec3 d = s.a.vertices[i] - s.centre;
    const Vec3 u = d - d.dot(s.axis) * s.axis;
    const double rho = std::sqrt(u.squaredNorm());
    if (s.b.radius - rho >= s.score) continue;
    // On the axis all radii are equal: the cylinder's x axis, so that it is the same every time.
    const Vec3 n = rho > 1e-12 * s.b.radius ? Vec3(u * (1.0 / rho)) : Vec3(s.b.R.col(0));
    const double overlap = s.b.radius - n.dot(s.a.vertices[support_vertex(s.a, -n)] - s.centre);
    if (!offer(s, n, overlap, kEdgeMargin, i, kSide)) return false;
  }
  return true;
}

// Is n, perpendicular to the edge, on its arc of normals n1..n2? (n1 x n2 runs along -e for contact normals -left,
// -right... the sign is that of n1 x n2 itself.)
bool on_arc(const Vec3& n, const Vec3& n1, const Vec3& n2) noexcept {
  const Vec3 turn = n1.cross(n2);
  return n1.cross(n).dot(turn) >= 0 && n.cross(n2).dot(turn) >= 0;
}

// One edge of a on the side's line and on both rims.
bool try_edge(OneCylinderSearch& s, int index) noexcept {
  TACTUS_DCHECK(index >= 0 && index < s.a.edge_count);
  const ConvexHull::Edge& edge = s.a.edges[index];
  const bool full = s.a.face_count == 0;
  const Vec3& v = s.a.vertices[edge.vertex_a];
  const Vec3 e = (s.a.vertices[edge.vertex_b] - v).normalized();
  Vec3 n1 = Vec3::Zero(), n2 = Vec3::Zero();
  if (!full) {
    n1 = -s.a.faces[edge.face_left].nhat;
    n2 = -s.a.faces[edge.face_right].nhat;
    const Vec3 w = core_support(s.b, n1 + n2) - v;  // a point of b - a: see narrow_axis_polyhedra.cc
    if (w.dot(n1) >= s.score && w.dot(n2) >= s.score) return true;
  }
  ArcProblem arc;
  if (!make_arc(e, s.axis, s.centre - v, s.b.radius, s.b.half_length, arc)) return true;
  for (const double side : {1.0, -1.0}) {
    const Vec3 n = side * arc.u;
    if (!full && !on_arc(n, n1, n2)) continue;
    if (!offer(s, n, n.dot(s.centre - v) + s.b.radius, kEdgeMargin, index, kSideLine)) return false;
  }
  Vec3 minima[kArcMinima];
  const int count = arc_minima(arc, full ? nullptr : &n1, full ? nullptr : &n2, s.score, minima);
  for (int k = 0; k < count; ++k) {
    if (!offer(s, minima[k], cylinder_height(s, minima[k]) - minima[k].dot(v), kEdgeMargin, index, kRim)) return false;
  }
  return true;
}

}  // namespace

Axis least_overlap_cylinder(const Core& a, const Core& b, const Axis& last) noexcept {
  TACTUS_DCHECK(!a.is_cylinder() && b.is_cylinder());
  Axis same;
  same.proved = same_axis_cylinder(a, b, last, same);
  if (same.proved) return same;
  OneCylinderSearch s{a, b, last, b.axis(), b.p, {}, std::numeric_limits<double>::infinity()};
  if (!try_faces(s) || !try_caps(s) || !try_vertices(s)) return s.best;
  for (int i = 0; i < a.edge_count; ++i) {
    if (!try_edge(s, i)) break;
  }
  return s.best;
}

}  // namespace tactus
