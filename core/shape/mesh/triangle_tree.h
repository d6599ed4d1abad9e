// Bounding boxes over the features of a triangle mesh: three hierarchies (triangles, vertices, sharp edges), built at
// load, asked each tick. All positions are in the mesh's frame S.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/math/spatial.h"
#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

// A binary tree in one array, depth first: the left child follows its parent. Leaves hold items[first, first + count).
struct BoxTree {
  struct Node {
    Vec3 lo, hi;              // tight bounds [m]
    std::uint32_t first = 0;  // leaf: into items; inner: the right child
    std::uint32_t count = 0;  // 0: inner
  };
  std::vector<Node> nodes;  // empty when there are no items
  std::vector<std::uint32_t> items;
};
inline constexpr int kBoxTreeStack = 64;  // deepest path: the median split halves the items at each level

struct TriangleTree {
  // Edges that stick out by more than kSharp: only these can touch where no vertex of either mesh is inside the other.
  struct Edge {
    std::uint32_t vertex_a, vertex_b;
    std::uint32_t triangle_left, triangle_right;
  };
  static constexpr double kSharpSine = 0.1;  // of the angle between the two normals: 5.7 degrees

  // A triangle's numbers side by side: the query of a nearest triangle is bound by memory.
  struct Packed {
    Vec3 a, b, c, nhat;
  };

  BoxTree triangles, vertices, edges;
  std::vector<Packed> packed;  // by triangle
  std::vector<Edge> sharp_edges;
  std::vector<Vec3> vertex_normals;  // angle-weighted pseudo-normals (Baerentzen & Aanaes 2005)
};

// Median splits along the widest axis; the same tree for the same mesh. The mesh must have its features. O(n lg^2 n).
void build_triangle_tree(const TriangleMesh& mesh, TriangleTree& out);

struct MeshClosest {
  double distance = 0;             // signed, negative inside [m]
  Vec3 p_S = Vec3::Zero();         // the nearest point
  Vec3 gradient_S = Vec3::Zero();  // unit, outwards: of the face, or from the edge or vertex
  std::uint32_t triangle = 0;
};

// Exact signed distance; the sign by the pseudo-normal of the nearest feature. `reach`: an upper bound of |distance|
// that the caller knows, or infinity; when wrong, the triangle returned is 0xffffffff. O(lg n) expected.
MeshClosest closest_on_mesh(const TriangleMesh& mesh, const Vec3& p_S,
                            double reach = std::numeric_limits<double>::infinity()) noexcept;
// The same among given triangles only.
MeshClosest closest_on_triangles(const TriangleMesh& mesh, const std::uint32_t* triangles, std::uint32_t count,
                                 const Vec3& p_S) noexcept;
// Nearest point of one triangle. O(1).
Vec3 closest_on_triangle(const TriangleMesh& mesh, std::uint32_t triangle, const Vec3& p_S) noexcept;

// The vertex farthest along d_S (need not be unit). O(lg n) expected.
Vec3 farthest_vertex(const TriangleMesh& mesh, const Vec3& d_S) noexcept;

// Calls visit(item) for the items whose leaf's box passes keep(lo, hi).
template <typename Keep, typename Visit>
void visit_boxes(const BoxTree& tree, const Keep& keep, const Visit& visit) {
  if (tree.nodes.empty()) return;
  std::uint32_t stack[kBoxTreeStack];
  int size = 0;
  stack[size++] = 0;
  while (size > 0) {
    const std::uint32_t index = stack[--size];
    const BoxTree::Node& node = tree.nodes[index];
    if (!keep(node.lo, node.hi)) continue;
    if (node.count > 0) {
      for (std::uint32_t i = 0; i < node.count; ++i) visit(tree.items[node.first + i]);
    } else {
      stack[size++] = node.first;
      stack[size++] = index + 1;
    }
  }
}

// Where the segment from p_S to q_S meets the mesh.
struct MeshCrossing {
  double t;  // 0 at p, 1 at q
  std::uint32_t triangle;
};
// At most capacity crossings, ascending in t; returns how many were found (those over capacity are not stored). A
// crossing on an edge may be given by both triangles. O(lg n + crossings) expected.
std::uint32_t cross_segment(const TriangleMesh& mesh, const Vec3& p_S, const Vec3& q_S, MeshCrossing* out,
                            std::uint32_t capacity) noexcept;

struct TrianglePair {
  std::uint32_t a, b;
};
// Pairs of triangles, one of each mesh, that intersect or touch (coplanar ones not); X_AB is b's frame in a's. Writes
// at most capacity pairs in the order of the trees and returns how many there are. Expected O((n_a + n_b + pairs) lg
// n).
std::uint32_t intersecting_triangles(const TriangleMesh& a, const TriangleMesh& b, const Frame& X_AB, TrianglePair* out,
                                     std::uint32_t capacity) noexcept;

}  // namespace tactus
