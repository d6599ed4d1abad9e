// Segments and other meshes against the triangles of a mesh.
#include <algorithm>
#include <cmath>

#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

// Moeller & Trumbore (1997), both sides; the borders belong to the triangle.
bool hit_triangle(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& p, const Vec3& d, double& t) noexcept {
  const Vec3 ab = b - a, ac = c - a;
  const Vec3 h = d.cross(ac);
  const double det = ab.dot(h);
  const double scale = ab.cwiseAbs().maxCoeff() * ac.cwiseAbs().maxCoeff() * d.cwiseAbs().maxCoeff();
  if (std::abs(det) <= 1e-14 * scale) return false;  // in the plane
  const double inverse = 1.0 / det;
  const Vec3 s = p - a;
  const double u = s.dot(h) * inverse;
  if (u < -1e-12 || u > 1 + 1e-12) return false;
  const Vec3 q = s.cross(ab);
  const double v = d.dot(q) * inverse;
  if (v < -1e-12 || u + v > 1 + 1e-12) return false;
  t = ac.dot(q) * inverse;
  return t >= 0 && t <= 1;
}

// Slab test of the segment p + t d, t in [0, 1].
bool meets_box(const Vec3& lo, const Vec3& hi, const Vec3& p, const Vec3& d) noexcept {
  double t0 = 0, t1 = 1;
  for (int k = 0; k < 3; ++k) {
    if (d[k] == 0) {
      if (p[k] < lo[k] || p[k] > hi[k]) return false;
      continue;
    }
    const double inverse = 1.0 / d[k];
    const double near = (lo[k] - p[k]) * inverse, far = (hi[k] - p[k]) * inverse;
    t0 = std::max(t0, std::min(near, far));
    t1 = std::min(t1, std::max(near, far));
  }
  return t0 <= t1 + 1e-12;
}

struct Corners {
  Vec3 p[3];
};

Corners corners_of(const TriangleMesh& mesh, std::uint32_t t) noexcept {
  const TriangleMesh::Triangle& v = mesh.triangles[t];
  return {{mesh.vertices[v[0]], mesh.vertices[v[1]], mesh.vertices[v[2]]}};
}

// Two triangles intersect when an edge of one meets the other.
bool triangles_meet(const Corners& x, const Corners& y) noexcept {
  double t = 0;
  for (int k = 0; k < 3; ++k) {
    const int l = (k + 1) % 3;
    if (hit_triangle(y.p[0], y.p[1], y.p[2], x.p[k], x.p[l] - x.p[k], t)) return true;
    if (hit_triangle(x.p[0], x.p[1], x.p[2], y.p[k], y.p[l] - y.p[k], t)) return true;
  }
  return false;
}

}  // namespace

std::uint32_t cross_segment(const TriangleMesh& mesh, const Vec3& p_S, const Vec3& q_S, MeshCrossing* out,
                            std::uint32_t capacity) noexcept {
  const Vec3 d = q_S - p_S;
  std::uint32_t found = 0;
  visit_boxes(
      mesh.tree->triangles, [&](const Vec3& lo, const Vec3& hi) { return meets_box(lo, hi, p_S, d); },
      [&](std::uint32_t triangle) {
        const Corners c = corners_of(mesh, triangle);
        double t = 0;
        if (!hit_triangle(c.p[0], c.p[1], c.p[2], p_S, d, t)) return;
        if (found < capacity) out[found] = {t, triangle};
        ++found;
      });
  std::sort(out, out + std::min(found, capacity), [](const MeshCrossing& x, const MeshCrossing& y) {
    return x.t < y.t || (x.t == y.t && x.triangle < y.triangle);
  });
  return found;
}

std::uint32_t intersecting_triangles(const TriangleMesh& a, const TriangleMesh& b, const Frame& X_AB, TrianglePair* out,
                                     std::uint32_t capacity) noexcept {
  const BoxTree &tree_a = a.tree->triangles, &tree_b = b.tree->triangles;
  if (tree_a.nodes.empty() || tree_b.nodes.empty()) return 0;
  const Mat3 R_abs = X_AB.R.cwiseAbs();
  std::uint32_t found = 0;
  TrianglePair stack[2 * kBoxTreeStack];
  int size = 0;
  stack[size++] = {0, 0};
  while (size > 0) {
    const TrianglePair top = stack[--size];
    const BoxTree::Node &x = tree_a.nodes[top.a], &y = tree_b.nodes[top.b];
    const Vec3 half_x = 0.5 * (x.hi - x.lo), half_y = 0.5 * (y.hi - y.lo);
    const Vec3 between = X_AB * Vec3(0.5 * (y.lo + y.hi)) - 0.5 * (x.lo + x.hi);
    if ((between.cwiseAbs() - half_x - R_abs * half_y).maxCoeff() > 0) continue;  // a's axes
    const Vec3 between_b = X_AB.R.transpose() * between;
    if ((between_b.cwiseAbs() - half_y - R_abs.transpose() * half_x).maxCoeff() > 0) continue;  // b's axes
    if (x.count > 0 && y.count > 0) {
      for (std::uint32_t i = 0; i < x.count; ++i) {
        const Corners p = corners_of(a, tree_a.items[x.first + i]);
        for (std::uint32_t j = 0; j < y.count; ++j) {
          Corners q = corners_of(b, tree_b.items[y.first + j]);
          for (Vec3& corner : q.p) corner = X_AB * corner;
          if (!triangles_meet(p, q)) continue;
          if (found < capacity) out[found] = {tree_a.items[x.first + i], tree_b.items[y.first + j]};
          ++found;
        }
      }
    } else if (y.count > 0 || (x.count == 0 && half_x.squaredNorm() >= half_y.squaredNorm())) {  // the larger one opens
      stack[size++] = {x.first, top.b};
      stack[size++] = {top.a + 1, top.b};
    } else {
      stack[size++] = {top.a, y.first};
      stack[size++] = {top.a, top.b + 1};
    }
  }
  return found;
}

}  // namespace tactus
