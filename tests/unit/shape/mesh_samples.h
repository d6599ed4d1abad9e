// Meshes with known volumes for tests. All are closed and wound outwards.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/shape/mesh/mesh_features.h"
#include "core/shape/mesh/mesh_repair.h"

namespace tactus::mesh_test {

inline void add_triangle(MeshSoup& soup, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  soup.triangles.push_back({a, b, c});
  soup.origin.push_back(static_cast<std::uint32_t>(soup.triangles.size()));
}
inline void add_quad(MeshSoup& soup, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  add_triangle(soup, a, b, c);
  add_triangle(soup, a, c, d);
}

// Appended; its triangles are the last 12.
inline void add_box(MeshSoup& soup, const Vec3& lo, const Vec3& hi, bool cavity = false) {
  const auto v = static_cast<std::uint32_t>(soup.vertices.size());
  for (int i = 0; i < 8; ++i)
    soup.vertices.emplace_back(i & 1 ? hi.x() : lo.x(), i & 2 ? hi.y() : lo.y(), i & 4 ? hi.z() : lo.z());
  const std::size_t first = soup.triangles.size();
  for (const auto& [a, b, c, d] :
       {std::array<std::uint32_t, 4>{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}})
    add_quad(soup, v + a, v + b, v + c, v + d);
  if (cavity)
    for (std::size_t t = first; t < soup.triangles.size(); ++t) std::swap(soup.triangles[t][1], soup.triangles[t][2]);
}
inline MeshSoup box(const Vec3& lo, const Vec3& hi) {
  MeshSoup soup;
  add_box(soup, lo, hi);
  return soup;
}

// A corner at the origin, edges along the axes.
inline MeshSoup tetrahedron(double a, double b, double c) {
  MeshSoup soup;
  soup.vertices = {{0, 0, 0}, {a, 0, 0}, {0, b, 0}, {0, 0, c}};
  add_triangle(soup, 0, 2, 1);
  add_triangle(soup, 0, 1, 3);
  add_triangle(soup, 0, 3, 2);
  add_triangle(soup, 1, 2, 3);
  return soup;
}

// An L in the x-y plane, extruded from z = 0 to h: [0, 2a] x [0, a] and [0, a] x [a, 2a]. Caps by hand: an L is not
// convex.
inline MeshSoup l_prism(double a, double h) {
  MeshSoup soup;
  const std::array<std::pair<double, double>, 6> outline{
      {{0, 0}, {2 * a, 0}, {2 * a, a}, {a, a}, {a, 2 * a}, {0, 2 * a}}};
  for (const double z : {0.0, h})
    for (const auto& [x, y] : outline) soup.vertices.emplace_back(x, y, z);
  for (std::uint32_t i = 0; i < 6; ++i) add_quad(soup, i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6);
  for (const auto& [a0, b0, c0] : {std::array<std::uint32_t, 3>{0, 1, 2}, {0, 2, 3}, {0, 3, 5}, {3, 4, 5}}) {
    add_triangle(soup, a0 + 6, b0 + 6, c0 + 6);
    add_triangle(soup, a0, c0, b0);
  }
  return soup;
}

// Each level has four times the triangles: 20 * 4^levels.
inline MeshSoup icosphere(double radius, int levels) {
  MeshSoup soup;
  const double g = 0.5 * (1 + std::sqrt(5.0));
  soup.vertices = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                   {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  std::vector<TriangleMesh::Triangle> faces{{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                            {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                            {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                            {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
  for (int level = 0; level < levels; ++level) {
    std::map<std::uint64_t, std::uint32_t> middles;
    const auto middle = [&](std::uint32_t a, std::uint32_t b) {
      const auto [entry, fresh] = middles.emplace(edge_key(a, b), static_cast<std::uint32_t>(soup.vertices.size()));
      if (fresh) soup.vertices.push_back(soup.vertices[a].normalized() + soup.vertices[b].normalized());
      return entry->second;
    };
    std::vector<TriangleMesh::Triangle> finer;
    for (const auto& [a, b, c] : faces) {
      const std::uint32_t ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      for (const auto& t : {TriangleMesh::Triangle{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}})
        finer.push_back(t);
    }
    faces = finer;
  }
  for (Vec3& v : soup.vertices) v = radius * v.normalized();
  for (const auto& [a, b, c] : faces) add_triangle(soup, a, b, c);
  return soup;
}

// About the z axis: n sections of the ring, m of the tube.
inline MeshSoup torus(double ring, double tube, std::uint32_t n, std::uint32_t m) {
  MeshSoup soup;
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = 0; j < m; ++j) {
      const double u = 2 * M_PI * i / n, v = 2 * M_PI * j / m, r = ring + tube * std::cos(v);
      soup.vertices.emplace_back(r * std::cos(u), r * std::sin(u), tube * std::sin(v));
    }
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = 0; j < m; ++j) {
      const std::uint32_t i2 = (i + 1) % n, j2 = (j + 1) % m;
      add_quad(soup, i * m + j, i2 * m + j, i2 * m + j2, i * m + j2);
    }
  return soup;
}

inline TriangleMesh mesh_of(const MeshSoup& soup) {
  TriangleMesh mesh;
  mesh.vertices = soup.vertices;
  mesh.triangles = soup.triangles;
  find_features(mesh);
  return mesh;
}

}  // namespace tactus::mesh_test
