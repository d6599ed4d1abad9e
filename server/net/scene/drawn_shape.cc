#include "server/net/scene/drawn_shape.h"

#include "core/shape/convex_hull.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_tessellate.h"

namespace tactus::net {
namespace {

void add_corner(v1::Mesh& out, const Vec3& p) {
  for (int i = 0; i < 3; ++i) out.add_corner_m(static_cast<float>(p[i]));
}

// A TriangleMesh or SmoothTriangles.
template <typename Mesh>
void add_mesh(const Mesh& mesh, std::uint32_t first, std::uint32_t end, v1::Mesh& out) {
  for (std::uint32_t t = first; t < end; ++t) {
    for (const std::uint32_t v : mesh.triangles[t]) add_corner(out, mesh.vertices[v]);
  }
}

// Faces are convex: fans.
void add_hull(const ConvexHull& hull, std::uint32_t first, std::uint32_t end, v1::Mesh& out) {
  std::uint32_t t = 0;
  for (const ConvexHull::Face& face : hull.faces) {
    for (std::uint32_t k = 2; k < face.count; ++k, ++t) {
      if (t < first || t >= end) continue;
      for (const std::uint32_t v : {0u, k - 1, k}) add_corner(out, hull.vertices[hull.face_vertices[face.first + v]]);
    }
  }
}

}  // namespace

DrawnShape::DrawnShape(const Shape& shape) : shape_(shape) {
  static_assert(kDrawTriangles <= kTrianglesMax);  // one piece is more than a smooth shape has
  if (shape.smooth != nullptr) smooth_ = tessellate(*shape.smooth, kDrawTolerance * shape.smooth->radius());
}

std::uint32_t DrawnShape::triangles() const {
  if (shape_.smooth != nullptr) return static_cast<std::uint32_t>(smooth_.triangles.size());
  if (shape_.mesh != nullptr) return static_cast<std::uint32_t>(shape_.mesh->triangles.size());
  std::uint32_t count = 0;
  if (shape_.hull != nullptr) {
    for (const ConvexHull::Face& face : shape_.hull->faces) count += face.count - 2;
  }
  return count;
}

void DrawnShape::add(std::uint32_t first, std::uint32_t end, v1::Mesh& out) const {
  out.mutable_corner_m()->Reserve(static_cast<int>(9 * (end - first)));
  if (shape_.mesh != nullptr)
    add_mesh(*shape_.mesh, first, end, out);
  else if (shape_.smooth != nullptr)
    add_mesh(smooth_, first, end, out);
  else
    add_hull(*shape_.hull, first, end, out);
}

}  // namespace tactus::net
