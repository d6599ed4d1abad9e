// The other solid of a pair with a smooth one, as the solver of extremal points meets it: its features, which of them
// lies towards a direction, and which one takes over where a solution leaves its feature (Baraff 1990, section 5).
#pragma once

#include "core/collide/smooth/extremal_feature.h"
#include "core/collide/smooth/extremal_solve.h"

namespace tactus {

class ExtremalSolid {
 public:
  // At pose (R, p) in the work frame. The shape must outlive it; not for meshes.
  ExtremalSolid(const Shape& shape, const Mat3& R, const Vec3& p) noexcept;

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const SmoothSurface* surface() const noexcept { return shape_.smooth; }
  [[nodiscard]] bool bounded() const noexcept { return shape_.kind != ShapeKind::half_space; }
  [[nodiscard]] double radius() const noexcept { return radius_; }  // added to the core: spheres and capsules
  [[nodiscard]] double size() const noexcept { return size_; }
  [[nodiscard]] Vec3 centre() const noexcept { return centre_; }
  [[nodiscard]] Vec3 from_own(const Vec3& p_S) const noexcept { return core_.R * p_S + core_.p; }
  [[nodiscard]] Vec3 to_own(const Vec3& p) const noexcept { return core_.R.transpose() * (p - core_.p); }
  [[nodiscard]] Vec3 turned_to_own(const Vec3& n) const noexcept { return core_.R.transpose() * n; }
  [[nodiscard]] Vec3 turned(const Vec3& n_S) const noexcept { return core_.R * n_S; }
  [[nodiscard]] int faces() const noexcept;  // half-space 1, cylinder's caps 2, polyhedron's
  [[nodiscard]] Vec3 face_normal(int face) const noexcept;
  [[nodiscard]] int edges() const noexcept { return core_.face_count > 0 ? core_.edge_count : 0; }
  [[nodiscard]] Vec3 edge_normal(int edge) const noexcept;  // midway between its faces'
  [[nodiscard]] std::int32_t face_feature(int face) const noexcept;

  // Farthest point of the core along d, in the work frame. Not of half-spaces.
  [[nodiscard]] Vec3 support(const Vec3& d) const noexcept;
  [[nodiscard]] Vec3 outer_support(const Vec3& d) const noexcept {
    if (surface() == nullptr) return support(d);
    return from_own(surface()->outer_support(turned_to_own(d)));
  }
  // The same, as closest_convex() asks for it.
  static Vec3 support_of(const void* solid, const Vec3& d) noexcept {
    return static_cast<const ExtremalSolid*>(solid)->support(d);
  }
  // Radius of a ball that holds the core and touches it at p, its farthest point along -n; infinity where none is
  // known.
  [[nodiscard]] double ball_at(const Vec3& p, const Vec3& n) const noexcept;
  // Does all of the core lie in the ellipsoid e (work frame), which its feature touches from within at p? Not surfaces.
  [[nodiscard]] bool lies_in(const EllipsoidForm& e, std::int32_t feature, const Vec3& p) const noexcept;
  // The ellipsoid, seen from the solid's own frame.
  [[nodiscard]] EllipsoidForm form_to_own(const EllipsoidForm& e) const noexcept {
    return e.seen_from(core_.R, core_.p);
  }
  // The feature that is farthest along d: vertices within `level` of the farthest make an edge or a face.
  [[nodiscard]] std::int32_t towards(const Vec3& d, double level) const noexcept;
  [[nodiscard]] bool valid(std::int32_t feature) const noexcept { return feature >= 0 && feature < features_; }
  // Makes the feature the solver's; start: near it, in the work frame.
  void set(std::int32_t feature, const Vec3& start, ExtremalFeature& out) const noexcept;
  // The feature itself where the root lies on it and it is the solid's farthest along -n, else the one to look at next.
  [[nodiscard]] std::int32_t next(std::int32_t feature, const ExtremalRoot& root) const noexcept;
  // Is p_work within the face's border? A face that has none: always.
  [[nodiscard]] bool within_face(std::int32_t feature, const Vec3& p_work) const noexcept;
  // The face whose outward normal is nearest to d (unit), at least `cosine` near; -1: none.
  [[nodiscard]] std::int32_t face_along(const Vec3& d, double cosine) const noexcept;
  [[nodiscard]] Vec3 face_normal_of(std::int32_t feature) const noexcept;  // of a face's feature
  [[nodiscard]] bool is_face(std::int32_t feature) const noexcept;
  // The edge or rim of the face that p_work lies farthest beyond; -1: within it, or no face.
  [[nodiscard]] std::int32_t border_beyond(std::int32_t feature, const Vec3& p_work) const noexcept;
  // The same of features of any kind: also the end of an edge, the rim of a mantle.
  [[nodiscard]] std::int32_t end_beyond(std::int32_t feature, const Vec3& p_work) const noexcept;
  // A vertex, an end of a capsule, a ball's centre or a cylinder's rim: what touches the wall of a hollow.
  [[nodiscard]] bool is_corner(std::int32_t feature) const noexcept;
  [[nodiscard]] int corners() const noexcept { return core_.vertex_count; }
  [[nodiscard]] Vec3 corner(int i) const noexcept { return vertex(i); }
  [[nodiscard]] Vec3 rim_point(bool up, double x, double y) const noexcept;  // of a cylinder, along the unit (x, y)
  [[nodiscard]] std::int32_t rim(bool up) const noexcept;
  // About how far p (work frame) is outside, at most the distance; negative inside. Not surfaces.
  [[nodiscard]] double gap_at(const Vec3& p) const noexcept;

 private:
  [[nodiscard]] Vec3 vertex(int i) const noexcept { return core_.R * core_.vertices[i] + core_.p; }
  [[nodiscard]] std::int32_t edge_between(std::uint32_t v, std::uint32_t w) const noexcept;
  [[nodiscard]] std::int32_t towards_polyhedron(const Vec3& d, double level) const noexcept;
  [[nodiscard]] std::int32_t next_polyhedron(std::int32_t feature, const ExtremalRoot& root) const noexcept;
  [[nodiscard]] std::int32_t outside_face(int face, const Vec3& p_S) const noexcept;
  [[nodiscard]] bool cylinder_lies_in(const EllipsoidForm& e, std::int32_t rim, const Vec3& p_S) const noexcept;
  [[nodiscard]] std::int32_t next_cylinder(std::int32_t feature, const ExtremalRoot& root) const noexcept;

  const Shape& shape_;
  CoreStorage storage_;
  Core core_;
  Vec3 centre_;
  double radius_ = 0, size_ = 0;
  std::int32_t features_ = 1;
};

}  // namespace tactus
