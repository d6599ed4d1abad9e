// Closed triangle meshes, not necessarily convex: what scene/ builds at load and collide/ reads each tick.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/math/spatial.h"

namespace tactus {

struct DistanceField;  // core/shape/mesh/distance_field.h
struct TriangleTree;   // core/shape/mesh/triangle_tree.h

// Constant once built; owned by the Model, shared by all instances, outlives the World.
struct TriangleMesh {
  using Triangle = std::array<std::uint32_t, 3>;

  std::vector<Vec3> vertices;       // in S [m], each used by a triangle, no two equal
  std::vector<Triangle> triangles;  // counter-clockwise seen from outside: the signed volume is positive

  // Features, filled by find_features() (mesh_features.h).
  std::vector<Triangle> neighbours;  // [t][k]: the triangle across the edge from vertex k to vertex k + 1 of t
  std::vector<Vec3> normals;         // outward unit normal of each triangle, in S
  std::vector<std::uint32_t> vertex_first, vertex_vertices;   // CSR: vertices that share an edge with v, ascending
  std::vector<std::uint32_t> corner_first, vertex_triangles;  // CSR: triangles at v, ascending
  std::vector<std::uint32_t> facet;  // of each triangle: connected coplanar triangles have one facet number
  std::uint32_t facet_count = 0;
  Vec3 lo = Vec3::Zero(), hi = Vec3::Zero();  // bounds in S [m]

  std::shared_ptr<const TriangleTree> tree;    // bounding volumes over the triangles
  std::shared_ptr<const DistanceField> field;  // signed distance, negative inside
};

}  // namespace tactus
