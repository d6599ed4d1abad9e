// Convex polyhedra with coplanar faces merged: the triangulated quads of real meshes become quads again, because every
// extra coplanar face doubles the contacts (Williams, Lu & Trinkle 2014 leave it out).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/math/spatial.h"

namespace tactus {

struct ConvexHull {
  struct Face {
    Vec3 nhat;                // outward unit normal, in S
    double offset = 0;        // nhat . p = offset on the face [m]
    std::uint32_t first = 0;  // into face_vertices
    std::uint32_t count = 0;  // >= 3, counter-clockwise seen from outside
  };
  struct Edge {                        // each undirected edge once
    std::uint32_t vertex_a, vertex_b;  // into vertices
    std::uint32_t face_left, face_right;
  };
  std::vector<Vec3> vertices;  // in S [m], only extreme points
  std::vector<Face> faces;
  std::vector<std::uint32_t> face_vertices;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> neighbours_first, neighbours;  // vertex adjacency (for hill climbing), CSR
  Vec3 centroid = Vec3::Zero();
  double radius = 0;  // bounding radius about the origin of S [m]
};

// Hull of a point set, at load time. Coplanar facets within relative tolerance 1e-9 of the size are merged. On failure
// returns false and says why in error (fewer than 4 points, flat, non-finite, more than max_vertices extreme points).
// O(n lg n) expected.
bool build_convex_hull(std::span<const Vec3> points, std::size_t max_vertices, ConvexHull& out, std::string& error);

}  // namespace tactus
