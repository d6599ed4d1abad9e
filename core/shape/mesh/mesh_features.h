// What collision needs to know about a closed mesh besides its triangles; computed once, at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

constexpr std::uint32_t kNoIndex = 0xffffffffu;  // no triangle, vertex, facet, shell

// One triangle's use of an edge. The key orders both directions of an edge together: smaller vertex, larger vertex.
struct EdgeUse {
  std::uint64_t key = 0;
  std::uint32_t triangle = 0;
  std::uint8_t corner = 0;  // the edge goes from this corner of the triangle to the next
  bool forward = false;     // from the smaller vertex to the larger

  [[nodiscard]] std::uint32_t low() const noexcept { return static_cast<std::uint32_t>(key >> 32); }
  [[nodiscard]] std::uint32_t high() const noexcept { return static_cast<std::uint32_t>(key); }
};
inline std::uint64_t edge_key(std::uint32_t a, std::uint32_t b) noexcept {
  return a < b ? (std::uint64_t{a} << 32 | b) : (std::uint64_t{b} << 32 | a);
}
// All uses, sorted by key, then triangle: the uses of an edge stand together. O(n lg n).
std::vector<EdgeUse> edge_uses(std::span<const TriangleMesh::Triangle> triangles);

// Calls visit(first, count) for each edge with its uses.
template <class Visit>
void for_each_edge(std::span<const EdgeUse> uses, Visit&& visit) {
  for (std::size_t i = 0, end = 0; i < uses.size(); i = end) {
    while (end < uses.size() && uses[end].key == uses[i].key) ++end;
    visit(&uses[i], end - i);
  }
}

struct MeshBounds {
  Vec3 lo = Vec3::Zero(), hi = Vec3::Zero();
  [[nodiscard]] double diagonal() const noexcept { return (hi - lo).norm(); }
};
MeshBounds bounds_of(std::span<const Vec3> vertices) noexcept;

// Coplanar means within this fraction of the bounding box's diagonal.
inline constexpr double kCoplanarTolerance = 1e-9;

// Fills neighbours, normals, adjacency, facets and bounds from vertices and triangles, which check_mesh() has accepted.
// A facet grows from its largest triangle over neighbours whose corners are within the tolerance of that triangle's
// plane. O(n lg n).
void find_features(TriangleMesh& mesh);

}  // namespace tactus
