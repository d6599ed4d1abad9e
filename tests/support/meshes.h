// Triangle meshes made in code, with features, tree and (on request) distance field.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/shape/mesh/distance_field.h"
#include "core/shape/mesh/mesh_features.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus::test {

using MeshPtr = std::shared_ptr<TriangleMesh>;

// Fills in what a mesh needs for collision. tolerance 0: no field.
inline MeshPtr finish_mesh(TriangleMesh raw, double tolerance = 1e-5, const FieldJobs& jobs = {}) {
  auto mesh = std::make_shared<TriangleMesh>(std::move(raw));
  find_features(*mesh);
  auto tree = std::make_shared<TriangleTree>();
  build_triangle_tree(*mesh, *tree);
  mesh->tree = tree;
  if (tolerance > 0) {
    auto field = std::make_shared<DistanceField>();
    FieldOptions options;
    options.tolerance_m = tolerance;
    std::string error;
    TACTUS_REQUIRE(build_distance_field(*mesh, options, jobs, *field, error), error);
    mesh->field = field;
  }
  return mesh;
}

// Welds equal points.
class MeshMaker {
 public:
  std::uint32_t vertex(const Vec3& p) {
    const auto key = std::make_tuple(std::llround(p.x() * 1e9), std::llround(p.y() * 1e9), std::llround(p.z() * 1e9));
    const auto [it, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(mesh.vertices.size()));
    if (is_new) mesh.vertices.push_back(p);
    return it->second;
  }
  void triangle(const Vec3& a, const Vec3& b, const Vec3& c) {
    const std::uint32_t i = vertex(a), j = vertex(b), k = vertex(c);
    if (i != j && j != k && k != i) mesh.triangles.push_back({i, j, k});
  }
  void quad(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
    triangle(a, b, c);
    triangle(a, c, d);
  }
  TriangleMesh mesh;

 private:
  std::map<std::tuple<long long, long long, long long>, std::uint32_t> index_;
};

// n + 1 coordinates from lo to hi.
inline std::vector<double> steps(double lo, double hi, int n) {
  std::vector<double> x;
  for (int i = 0; i <= n; ++i) x.push_back(lo + (hi - lo) * i / n);
  return x;
}

// The surface of the cells (i, j, k) between the coordinates for which solid() holds.
template <typename Solid>
TriangleMesh cells_mesh(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& z,
                        const Solid& solid) {
  MeshMaker maker;
  const int n[3] = {static_cast<int>(x.size()) - 1, static_cast<int>(y.size()) - 1, static_cast<int>(z.size()) - 1};
  const std::vector<double>* axis[3] = {&x, &y, &z};
  const auto filled = [&](int i, int j, int k) {
    return i >= 0 && j >= 0 && k >= 0 && i < n[0] && j < n[1] && k < n[2] && solid(i, j, k);
  };
  const auto at = [&](const int* c) {
    return Vec3((*axis[0])[static_cast<std::size_t>(c[0])], (*axis[1])[static_cast<std::size_t>(c[1])],
                (*axis[2])[static_cast<std::size_t>(c[2])]);
  };
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) {
        if (!filled(i, j, k)) continue;
        for (int a = 0; a < 3; ++a) {
          for (int side = 0; side < 2; ++side) {
            const int step = side == 1 ? 1 : -1;
            if (filled(i + (a == 0 ? step : 0), j + (a == 1 ? step : 0), k + (a == 2 ? step : 0))) continue;
            const int u = (a + 1) % 3, v = (a + 2) % 3;
            int c[4][3];
            for (int q = 0; q < 4; ++q) {
              c[q][0] = i, c[q][1] = j, c[q][2] = k;
              c[q][a] += side;
              c[q][u] += q == 1 || q == 2 ? 1 : 0;
              c[q][v] += q >= 2 ? 1 : 0;
            }
            if (side == 1) {
              maker.quad(at(c[0]), at(c[1]), at(c[2]), at(c[3]));
            } else {
              maker.quad(at(c[0]), at(c[3]), at(c[2]), at(c[1]));
            }
          }
        }
      }
    }
  }
  return std::move(maker.mesh);
}

inline TriangleMesh box_mesh(const Vec3& half, int nx = 1, int ny = 1, int nz = 1) {
  return cells_mesh(steps(-half.x(), half.x(), nx), steps(-half.y(), half.y(), ny), steps(-half.z(), half.z(), nz),
                    [](int, int, int) { return true; });
}

// An L in the x-z plane, `depth` long in y: foot of the given size and a leg of the given thickness.
inline TriangleMesh l_prism_mesh(double size, double thickness, double depth, int n = 1) {
  std::vector<double> x = steps(0, thickness, n), z = x;
  const std::vector<double> rest = steps(thickness, size, 2 * n);
  x.insert(x.end(), rest.begin() + 1, rest.end());
  z.insert(z.end(), rest.begin() + 1, rest.end());
  return cells_mesh(x, steps(-depth / 2, depth / 2, n), z, [n](int i, int, int k) { return i < n || k < n; });
}

// Revolves a profile of (r, z) about z, n segments; counter-clockwise seen with r to the right and z up. Closed unless
// it starts and ends on the axis.
inline TriangleMesh revolved_mesh(const std::vector<std::pair<double, double>>& profile, int n) {
  MeshMaker maker;
  const bool open = profile.front().first == 0 && profile.back().first == 0;
  const std::size_t count = profile.size();
  const auto at = [&](std::size_t i, int k) {
    const double phi = 2 * M_PI * (k % n) / n;
    return Vec3(profile[i].first * std::cos(phi), profile[i].first * std::sin(phi), profile[i].second);
  };
  for (std::size_t i = 0; i + (open ? 1 : 0) < count; ++i) {
    const std::size_t j = (i + 1) % count;
    for (int k = 0; k < n; ++k) maker.quad(at(i, k), at(i, k + 1), at(j, k + 1), at(j, k));
  }
  return std::move(maker.mesh);
}

inline TriangleMesh torus_mesh(double major, double minor, int n_major, int n_minor) {
  std::vector<std::pair<double, double>> circle;
  for (int i = 0; i < n_minor; ++i) {
    const double a = 2 * M_PI * i / n_minor;
    circle.emplace_back(major + minor * std::cos(a), minor * std::sin(a));
  }
  return revolved_mesh(circle, n_major);
}

// A half-sphere hollow of radius `inner` with its centre at the origin, in a cup of radius `outer` whose rim is at z =
// 0.
inline TriangleMesh bowl_mesh(double inner, double outer, int rings, int n) {
  std::vector<std::pair<double, double>> profile;
  for (int i = 0; i <= rings; ++i) {
    const double a = -M_PI / 2 + M_PI / 2 * i / rings;
    profile.emplace_back(i == 0 ? 0.0 : outer * std::cos(a), outer * std::sin(a));
  }
  for (int i = rings; i >= 0; --i) {
    const double a = -M_PI / 2 + M_PI / 2 * i / rings;
    profile.emplace_back(i == 0 ? 0.0 : inner * std::cos(a), inner * std::sin(a));
  }
  return revolved_mesh(profile, n);
}

// 20 * 4^level triangles, corners on the sphere.
inline TriangleMesh sphere_mesh(double radius, int level) {
  const double g = 0.5 * (1 + std::sqrt(5.0));
  const Vec3 p[12] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                      {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  const int f[20][3] = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                        {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                        {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  std::vector<std::array<Vec3, 3>> faces;
  for (const auto& t : f) faces.push_back({p[t[0]].normalized(), p[t[1]].normalized(), p[t[2]].normalized()});
  for (int l = 0; l < level; ++l) {
    std::vector<std::array<Vec3, 3>> finer;
    for (const auto& t : faces) {
      const Vec3 a = (t[0] + t[1]).normalized(), b = (t[1] + t[2]).normalized(), c = (t[2] + t[0]).normalized();
      finer.push_back({t[0], a, c}), finer.push_back({a, t[1], b});
      finer.push_back({c, b, t[2]}), finer.push_back({a, b, c});
    }
    faces.swap(finer);
  }
  MeshMaker maker;
  for (const auto& t : faces) maker.triangle(radius * t[0], radius * t[1], radius * t[2]);
  return std::move(maker.mesh);
}

}  // namespace tactus::test
