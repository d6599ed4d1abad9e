#include "core/collide/closest_cores.h"

#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

constexpr double kSliver = 1e-10;  // squared sine of a triangle's angle

struct Simplex {
  Vec3 p[4] = {Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
  int count = 0;

  void keep(int i) noexcept {
    p[0] = p[i];
    count = 1;
  }
  void keep(int i, int j) noexcept {
    const Vec3 a = p[i], b = p[j];
    p[0] = a, p[1] = b;
    count = 2;
  }
  void keep(int i, int j, int k) noexcept {
    const Vec3 a = p[i], b = p[j], c = p[k];
    p[0] = a, p[1] = b, p[2] = c;
    count = 3;
  }
};

// Point of the simplex nearest to the origin; the simplex becomes the feature that holds it.
Vec3 nearest_on_segment(Simplex& s) noexcept {
  const Vec3 a = s.p[0], d = s.p[1] - a;
  const double t = -a.dot(d), dd = d.squaredNorm();
  if (t <= 0 || dd == 0) {
    s.keep(0);
    return a;
  }
  if (t >= dd) {
    s.keep(1);
    return s.p[0];
  }
  return a + (t / dd) * d;
}

Vec3 nearest_on_triangle(Simplex& s) noexcept {
  const Vec3 a = s.p[0], b = s.p[1], c = s.p[2];
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
  constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
  Simplex best;
  Vec3 v = Vec3::Zero();
  double least = std::numeric_limits<double>::infinity();
  for (const auto& face : kFaces) {
    const Vec3 &a = s.p[face[0]], &b = s.p[face[1]], &c = s.p[face[2]];
    const Vec3 n = (b - a).cross(c - a);
    const double of_origin = -a.dot(n), of_rest = (s.p[face[3]] - a).dot(n);
    if (of_origin * of_rest > 0) continue;  // on the inner side of this face
    Simplex triangle;
    triangle.p[0] = a, triangle.p[1] = b, triangle.p[2] = c;
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
      return s.p[0];
    case 2:
      return nearest_on_segment(s);
    case 3:
      return nearest_on_triangle(s);
    default:
      return nearest_on_tetrahedron(s);
  }
}

// Nearest point to the origin of a convex set given by its farthest point along a direction; v: where to start. Ends
// when the distance is known to `enough` relative to its square.
template <typename Support>
double nearest_to_origin(const Support& support, Vec3 v, double enough, Vec3& nhat) noexcept {
  nhat.setZero();
  Simplex s;
  if (v.isZero(0)) v = Vec3::UnitX();
  double size = 0;
  for (int step = 0; step < 64; ++step) {
    const Vec3 w = support(Vec3(-v));
    size = std::max(size, w.squaredNorm());
    const double vv = v.squaredNorm();
    bool known = false;
    for (int k = 0; k < s.count; ++k) known = known || s.p[k] == w;
    if (s.count > 0 && (known || vv - v.dot(w) <= enough * vv)) break;
    s.p[s.count++] = w;
    const Vec3 next = nearest(s);
    if (s.count > 1 && step > 0 && next.squaredNorm() >= vv && step > 40) break;
    v = next;
    if (v.squaredNorm() <= 1e-20 * size) return 0;
  }
  const double distance = v.norm();
  nhat = v / distance;
  return distance;
}

}  // namespace

double closest_cores(const Core& a, const Core& b, Vec3& nhat_BA) noexcept {
  const auto difference = [&](const Vec3& d) { return Vec3(core_support(a, d) - core_support(b, -d)); };
  return nearest_to_origin(difference, a.p - b.p, 1e-14, nhat_BA);
}

double closest_convex(const ConvexSupport& a, const ConvexSupport& b, const Vec3& start, double enough,
                      Vec3& nhat_BA) noexcept {
  const auto difference = [&](const Vec3& d) { return Vec3(a.function(a.solid, d) - b.function(b.solid, -d)); };
  return nearest_to_origin(difference, start, enough, nhat_BA);
}

}  // namespace tactus
