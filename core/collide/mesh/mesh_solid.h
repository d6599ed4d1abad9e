// A triangle mesh as the solver of extremal points meets it, beside extremal_solid.h: its faces, and the edges and
// vertices that stick out. Unlike a convex solid's they are looked at near a place only: whether a root is a place is
// said by the feature's own neighbours.
#pragma once

#include "core/collide/smooth/extremal_feature.h"
#include "core/collide/smooth/extremal_solve.h"
#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

// Features as ExtremalSide numbers them: vertex i; vertices + 3 t + k: the edge from corner k of the triangle t, which
// is the smaller one of the two at it; vertices + 3 triangles + t: the face.
class MeshSolid {
 public:
  enum class Kind : std::uint8_t { vertex, edge, face };
  struct Feature {
    Kind kind = Kind::face;
    std::uint32_t i = 0;  // vertex or triangle
    std::uint32_t k = 0;  // corner that the edge begins at
  };

  // At pose (R, p) in the work frame. near: a length that is rounding.
  MeshSolid(const TriangleMesh& mesh, const Mat3& R, const Vec3& p, double near) noexcept
      : mesh_(mesh), R_(R), p_(p), near_(near) {}

  [[nodiscard]] const TriangleMesh& mesh() const noexcept { return mesh_; }
  [[nodiscard]] Vec3 from_own(const Vec3& p_M) const noexcept { return R_ * p_M + p_; }
  [[nodiscard]] Vec3 to_own(const Vec3& p) const noexcept { return R_.transpose() * (p - p_); }
  [[nodiscard]] Vec3 turned(const Vec3& n_M) const noexcept { return R_ * n_M; }
  [[nodiscard]] Vec3 turned_to_own(const Vec3& n) const noexcept { return R_.transpose() * n; }
  [[nodiscard]] Vec3 vertex(std::uint32_t v) const noexcept { return from_own(mesh_.vertices[v]); }
  [[nodiscard]] Vec3 normal(std::uint32_t t) const noexcept { return turned(mesh_.normals[t]); }

  [[nodiscard]] bool valid(std::int32_t number) const noexcept;
  [[nodiscard]] Feature feature(std::int32_t number) const noexcept;
  [[nodiscard]] std::int32_t number(const Feature& f) const noexcept;
  [[nodiscard]] std::int32_t vertex_number(std::uint32_t v) const noexcept { return static_cast<std::int32_t>(v); }
  [[nodiscard]] std::int32_t edge_number(std::uint32_t t, std::uint32_t k) const noexcept;
  [[nodiscard]] std::int32_t face_number(std::uint32_t t) const noexcept;
  // Is it a face of the facet, or at its border?
  [[nodiscard]] bool is_at_facet(std::int32_t number, std::uint32_t facet) const noexcept;
  // Does the vertex lie between three facets at least? Else it is inside of one, or on an edge between two.
  [[nodiscard]] bool is_corner(std::uint32_t v) const noexcept;
  // Sine by which the triangles at the edge stick out there; <= 0: flat, or an inner edge.
  [[nodiscard]] double sticks_out(std::uint32_t t, std::uint32_t k) const noexcept;

  // Makes the feature the solver's; start: near it, in the work frame.
  void set(std::int32_t number, const Vec3& start, ExtremalFeature& out) const noexcept;
  // The feature itself where the root lies on it and none of its neighbours reaches farther along -n, else the one to
  // look at next.
  [[nodiscard]] std::int32_t next(std::int32_t number, const ExtremalRoot& root) const noexcept;
  // Of a triangle: the corner whose edge p_M lies farthest beyond, by more than `least`; 3: within it.
  [[nodiscard]] std::uint32_t beyond(std::uint32_t t, const Vec3& p_M, double least) const noexcept;
  // The triangle at the feature that faces along n (unit, work frame), if any is nearer than `cosine`; kNoTriangle.
  [[nodiscard]] std::uint32_t triangle_along(std::int32_t number, const Vec3& n, double cosine) const noexcept;
  static constexpr std::uint32_t kNoTriangle = 0xffffffffu;
  [[nodiscard]] double near() const noexcept { return near_; }
  [[nodiscard]] Vec3 nearest_on_edge(std::int32_t edge, const Vec3& p) const noexcept;
  // Does p lie between the ends of the edge, along it?
  [[nodiscard]] bool spans(std::int32_t edge, const Vec3& p) const noexcept;
  // Along the facet from t towards p_M in its plane: the triangle that holds it; false: `t` and `k` say over which edge
  // the way leaves the facet, or where too long a way ended.
  bool walk_facet(const Vec3& p_M, std::uint32_t& t, std::uint32_t& k) const noexcept;
  // The mesh's box, in its own frame.
  [[nodiscard]] Vec3 centre() const noexcept { return from_own(0.5 * (mesh_.lo + mesh_.hi)); }
  [[nodiscard]] double size() const noexcept { return 0.5 * (mesh_.hi - mesh_.lo).norm(); }
  // Signed, by its field: negative inside.
  [[nodiscard]] double distance(const Vec3& p) const noexcept;

 private:
  [[nodiscard]] std::int32_t next_vertex(const Feature& f, const Vec3& m_M) const noexcept;
  [[nodiscard]] std::int32_t next_edge(const Feature& f, const Vec3& m_M, const Vec3& p_M) const noexcept;
  [[nodiscard]] std::int32_t next_face(const Feature& f, const Vec3& p_M) const noexcept;

  const TriangleMesh& mesh_;
  Mat3 R_;
  Vec3 p_;
  double near_;
};

}  // namespace tactus
