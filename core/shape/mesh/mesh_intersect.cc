// Triangles of one mesh that cross. Declared in mesh_check.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/shape/mesh/mesh_check.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;

struct Interval {
  double lo = 0, hi = 0;
  bool crosses = false;
};

// Where a triangle with corner distances d to the other's plane and positions x along the line of both planes crosses
// that plane (Moeller 1997). Corners nearer than the tolerance lie in the plane.
Interval crossing(const std::array<double, 3>& d, const std::array<double, 3>& x) noexcept {
  Interval out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), false};
  bool above = false, below = false;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3;
    above |= d[i] > 0;
    below |= d[i] < 0;
    double at = x[i];
    if (d[i] * d[j] < 0)
      at = x[i] + (x[j] - x[i]) * (d[i] / (d[i] - d[j]));
    else if (d[i] != 0)
      continue;
    out.lo = std::min(out.lo, at);
    out.hi = std::max(out.hi, at);
  }
  out.crosses = above && below;
  return out;
}

// Whether two triangles pass through each other by more than the tolerance [m]. Corners that both use count as lying in
// both planes, so neighbours cross only where they leave their common corner together.
bool cross(const std::vector<Vec3>& vertices, const Triangle& s, const Triangle& t, double tolerance) noexcept {
  const auto has = [](const Triangle& x, std::uint32_t v) { return x[0] == v || x[1] == v || x[2] == v; };
  if (has(t, s[0]) + has(t, s[1]) + has(t, s[2]) >= 2) return false;  // neighbours over an edge
  const auto normal = [&](const Triangle& x) {
    return Vec3((vertices[x[1]] - vertices[x[0]]).cross(vertices[x[2]] - vertices[x[0]]).normalized());
  };
  const Vec3 n_s = normal(s), n_t = normal(t);
  const Vec3 line = n_s.cross(n_t);
  const double sine = line.norm();
  if (sine < 1e-9) return false;  // parallel: they touch or are apart
  const auto interval = [&](const Triangle& x, const Triangle& other, const Vec3& n) {
    std::array<double, 3> d{}, along{};
    for (std::size_t i = 0; i < 3; ++i) {
      d[i] = has(other, x[i]) ? 0 : n.dot(vertices[x[i]] - vertices[other[0]]);
      if (std::abs(d[i]) <= tolerance) d[i] = 0;
      along[i] = line.dot(vertices[x[i]]) / sine;
    }
    return crossing(d, along);
  };
  const Interval a = interval(s, t, n_t);
  if (!a.crosses) return false;
  const Interval b = interval(t, s, n_s);
  return b.crosses && std::min(a.hi, b.hi) - std::max(a.lo, b.lo) > tolerance;
}

}  // namespace

MeshDefect check_crossings(const TriangleMesh& mesh) {
  constexpr std::size_t kMax = 1000;  // nobody reads more of them, and a bad mesh can have n^2
  const double tolerance = kCrossingTolerance * (mesh.hi - mesh.lo).norm();
  MeshDefect found;
  for (std::uint32_t t = 0; t < mesh.triangles.size() && found.count < kMax; ++t) {
    const Triangle& x = mesh.triangles[t];
    const Vec3 &p = mesh.vertices[x[0]], &q = mesh.vertices[x[1]], &r = mesh.vertices[x[2]];
    const Vec3 lo = p.cwiseMin(q).cwiseMin(r), hi = p.cwiseMax(q).cwiseMax(r);
    const auto meets = [&](const Vec3& box_lo, const Vec3& box_hi) {
      return (lo.array() <= box_hi.array()).all() && (box_lo.array() <= hi.array()).all();
    };
    visit_boxes(mesh.tree->triangles, meets, [&](std::uint32_t u) {
      if (u <= t || found.count >= kMax || !cross(mesh.vertices, x, mesh.triangles[u], tolerance)) return;
      if (!found || (found.triangle == t && u < found.other)) {
        found.kind = MeshDefectKind::self_intersection;
        found.triangle = t;
        found.other = u;
        found.p = (p + q + r) / 3;
      }
      ++found.count;
    });
  }
  return found;
}

}  // namespace tactus
