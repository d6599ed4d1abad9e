// A shape as triangles, for viewers that draw it.
#pragma once

#include <cstdint>

#include "control.pb.h"
#include "core/shape/shape.h"
#include "core/shape/smooth/smooth_tessellate.h"
#include "proto/cpp/ranges.h"

namespace tactus::net {

// Of one reply: 1.8 MB, below what a frame may have.
inline constexpr auto kTrianglesMax = static_cast<std::uint32_t>(wire::range_of("GetMesh.count").high);

// The triangles of a mesh, a convex polyhedron or a smooth shape (made here); others have none.
class DrawnShape {
 public:
  explicit DrawnShape(const Shape& shape);
  [[nodiscard]] std::uint32_t triangles() const;
  void add(std::uint32_t first, std::uint32_t end, v1::Mesh& out) const;

 private:
  const Shape& shape_;
  SmoothTriangles smooth_;
};

}  // namespace tactus::net
