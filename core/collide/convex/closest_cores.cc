#include "core/collide/convex/closest_cores.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kSliver = 1e-10;  // squared sine of a triangle's angle

struct Corner {
  Vec3 p = Vec3::Zero();
  std::int32_t a = 0, b = 0;  // the vertices whose difference it is
};

struct Simplex {
  Corner p[4];
  int count = 0;

  void keep(int i) noexcept {
    p[0] = p[i];
    count = 1;
  }
  void keep(int i, int j) noexcept {
    const Corner a = p[i], b = p[j];
    p[0] = a, p[1] = b;
    count = 2;
  }
};

// Point of the simplex nearest to the origin; the simplex becomes the feature that holds it.
Vec3 nearest_on_segment(Simplex& s) noexcept {
  TACTUS_DCHECK(s.count == 2);
  const Vec3 a = s.p[0].p, d = s.p[1].p - a;
  const double t = -a.dot(d), dd = d.squaredNorm();
  if (t <= 0 || dd == 0) {
    s.keep(0);
    return a;
  }
  if (t >= dd) {
    s.keep(1);
    return s.p[0].p;
  }
  return a + (t / dd) * d;
}

Vec3 nearest_on_triangle(Simplex& s) noexcept {
  TACTUS_DCHECK(s.count == 3);
  const Vec3 a = s.p[0].p, b = s.p[1].p, c = s.p[2].p;
  const Vec3 ab = b - a, ac = c - a, n = ab.cross(ac);
  const double nn = n.squaredNorm();
  // Outside an edge: the nearest of the three edges.
  // A sliver's normal is noise: the plane may seem nearer than any point of it.
  const bool inside = nn > kSliver * ab.squaredNorm() * ac.squaredNorm() && ab.cross(-a).dot(n) >= 0 &&
                      (c - b).cross(-b).dot(n) >= 0 && (a - c).cross(-c).dot(n) >= 0;
  if (inside) return (a.dot(n) / nn) * n;
  Simplex best;
  Vec3 v = a;
  double least = std::numeric_limits<double>::infinity();
  constexpr int kEdges[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  for (const auto& edge : kEdges) {
    Simplex line;
    line.p[0] = s.p[edge[0]], line.p[1] = s.p[edge[1]];
    line.count = 2;
    const Vec3 at = nearest_on_segment(line);
    if (at.squaredNorm() >= least) continue;
    least = at.squaredNorm();
    v = at;
    best = line;
  }
  s = best;
  return v;
}

// Zero when the origin is inside.
Vec3 nearest_on_tetrahedron(Simplex& s) noexcept {
  TACTUS_DCHECK(s.count == 4);
  constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
  Simplex best;
  Vec3 v = Vec3::Zero();
  double least = std::numeric_limits<double>::infinity();
  for (const auto& face : kFaces) {
    const Vec3 &a = s.p[face[0]].p, &b = s.p[face[1]].p, &c = s.p[face[2]].p;
    const Vec3 n = (b - a).cross(c - a);
    const double of_origin = -a.dot(n), of_rest = (s.p[face[3]].p - a).dot(n);
    if (of_origin * of_rest > 0) continue;  // on the inner side of this face
    Simplex triangle;
    for (int k = 0; k < 3; ++k) triangle.p[k] = s.p[face[k]];
    triangle.count = 3;
    const Vec3 at = nearest_on_triangle(triangle);
    if (at.squaredNorm() >= least) continue;
    least = at.squaredNorm();
    v = at;
    best = triangle;
  }
  if (best.count > 0) s = best;
  return v;
}

Vec3 nearest(Simplex& s) noexcept {
  switch (s.count) {
    case 1:
      return s.p[0].p;
    case 2:
      return nearest_on_segment(s);
    case 3:
      return nearest_on_triangle(s);
    default:
      return nearest_on_tetrahedron(s);
  }
}

// Nearest point to the origin of a convex set given by its farthest point along a direction; v: where to start, or of s
// the nearest point. Ends when the distance is known to `enough` relative to its square, or to be beyond `far`. s: what
// holds the point. Gives the number of directions that were asked.
template <typename Support>
int nearest_to_origin(const Support& support, Vec3& v, Simplex& s, double enough, double far) noexcept {
  if (v.isZero(0)) v = Vec3::UnitX();
  double size = 0;
  int step = 0;
  for (; step < 64; ++step) {
    const Corner w = support(Vec3(-v));
    size = std::max(size, w.p.squaredNorm());
    const double vv = v.squaredNorm(), vw = v.dot(w.p);
    bool known = false;
    for (int k = 0; k < s.count; ++k) known = known || s.p[k].p == w.p;
    if (s.count > 0 && (known || vv - vw <= enough * vv || (vw > 0 && vw * vw > far * far * vv))) return step + 1;
    s.p[s.count++] = w;
    const Vec3 next = nearest(s);
    if (s.count > 1 && step > 0 && next.squaredNorm() >= vv && step > 40) break;
    v = next;
    if (v.squaredNorm() <= 1e-20 * size) {
      v.setZero();
      break;
    }
  }
  return step + 1;
}

double length_and_direction(const Vec3& v, Vec3& nhat) noexcept {
  const double distance = v.norm();
  nhat = distance > 0 ? Vec3(v / distance) : Vec3(Vec3::Zero());
  return distance;
}

Corner corner_of(const Core& a, const Core& b, std::int32_t i, std::int32_t k) noexcept {
  TACTUS_DCHECK(i >= 0 && i < a.vertex_count && k >= 0 && k < b.vertex_count);
  return {a.R * a.vertices[i] + a.p - (b.R * b.vertices[k] + b.p), i, k};
}

// The remembered features as they are now: false if they are none of these cores, or tell no direction.
bool begin_with(const Core& a, const Core& b, const CoreFeatures& last, Simplex& s, Vec3& v) noexcept {
  if (a.is_cylinder() || b.is_cylinder() || last.count < 1 || last.count > 3) return false;
  for (int k = 0; k < last.count; ++k) {
    if (last.a[k] < 0 || last.a[k] >= a.vertex_count || last.b[k] < 0 || last.b[k] >= b.vertex_count) return false;
    s.p[k] = corner_of(a, b, last.a[k], last.b[k]);
  }
  s.count = last.count;
  v = nearest(s);
  return v.squaredNorm() > 1e-20 * s.p[0].p.squaredNorm();
}

}  // namespace

double closest_cores(const Core& a, const Core& b, double far, CoreFeatures& features, Vec3& nhat_BA,
                     int& steps) noexcept {
  const bool polyhedra = !a.is_cylinder() && !b.is_cylinder();
  const auto difference = [&](const Vec3& d) {
    if (!polyhedra) return Corner{core_support(a, d) - core_support(b, -d), 0, 0};
    return corner_of(a, b, support_vertex(a, a.R.transpose() * d), support_vertex(b, b.R.transpose() * -d));
  };
  Simplex s;
  Vec3 v;
  if (!begin_with(a, b, features, s, v)) s.count = 0, v = a.p - b.p;
  steps = nearest_to_origin(difference, v, s, 1e-14, far);
  const double distance = length_and_direction(v, nhat_BA);
  features.count = polyhedra && distance > 0 && s.count <= 3 ? s.count : 0;
  for (int k = 0; k < features.count; ++k) features.a[k] = s.p[k].a, features.b[k] = s.p[k].b;
  TACTUS_DCHECK(is_unit_or_zero(nhat_BA) && not_below(distance, 0));
  return distance;
}

double closest_convex(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double enough,
                      Vec3& nhat_BA) noexcept {
  TACTUS_DCHECK(enough > 0 && a.function != nullptr && b.function != nullptr);
  const auto difference = [&](const Vec3& d) { return Corner{a.function(a.solid, d) - b.function(b.solid, -d), 0, 0}; };
  Simplex s;
  Vec3 v = start;
  nearest_to_origin(difference, v, s, enough, std::numeric_limits<double>::infinity());
  return length_and_direction(v, nhat_BA);
}

bool farther_than(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double least) noexcept {
  TACTUS_DCHECK(a.function != nullptr && b.function != nullptr);
  const auto difference = [&](const Vec3& d) { return Corner{a.function(a.solid, d) - b.function(b.solid, -d), 0, 0}; };
  Simplex s;
  Vec3 v = start, n;
  nearest_to_origin(difference, v, s, 1e-3, least);
  return length_and_direction(v, n) > least && n.dot(difference(-n).p) >= least;
}

}  // namespace tactus
