// Vertices, edges and faces of the shapes that the feature search (feature_pairs.h) knows, with what touches what.
// Built once, at load. In planar worlds a prism becomes the polygon of its outline: its sides are the faces, it has no
// edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/shape/shape.h"

namespace tactus {

struct FeatureShape {
  enum class Kind : std::uint8_t {
    none,   // round shapes and meshes
    plane,  // half-space: one face without a border
    solid   // box, convex polyhedron
  };
  struct Face {
    Vec3 nhat;                   // outward, in S
    std::uint32_t first, count;  // into face_vertices; counter-clockwise, a polygon's side has two
  };
  struct Edge {
    std::uint32_t tail, head, left, right;  // vertices; faces, `left` to the left of tail -> head seen from outside
  };
  // Lists of lists: entries first[i] .. first[i + 1] belong to i.
  struct Lists {
    std::vector<std::uint32_t> first, entries;
    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const noexcept {
      TACTUS_DCHECK(i + 1 < first.size() && first[i + 1] <= entries.size());
      return {entries.data() + first[i], first[i + 1] - first[i]};
    }
  };

  Kind kind = Kind::none;
  bool planar = false;
  std::vector<Vec3> vertices;  // in S [m]
  std::vector<Face> faces;
  std::vector<std::uint32_t> face_vertices;
  std::vector<Edge> edges;
  Lists vertex_faces;  // a polygon's vertex: the side that leaves it, then the side that arrives
  Lists vertex_edges;
  Lists vertex_neighbours;
};

// planar: R_WS is the shape's orientation at the start; it only turns about z afterwards. Other shapes get kind none.
FeatureShape make_feature_shape(const Shape& shape, bool planar, const Mat3& R_WS);

}  // namespace tactus
