// Collision shapes: plain data, met two at a time through the table of collide/narrow_phase.h. Frame S is the shape's
// own frame.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/math/spatial.h"

namespace tactus {

// The order is the order of the narrow-phase table and never changes (records name shapes by it).
enum class ShapeKind : std::uint8_t { sphere, box, capsule, cylinder, half_space, convex, mesh, smooth };
inline constexpr int kShapeKinds = 8;
const char* to_string(ShapeKind kind) noexcept;

struct ConvexHull;    // core/shape/convex_hull.h
struct TriangleMesh;  // core/shape/mesh/triangle_mesh.h
class SmoothSurface;  // core/shape/smooth/smooth_surface.h

struct Shape {
  ShapeKind kind = ShapeKind::sphere;
  Vec3 half_S = Vec3::Zero();  // box: half edges [m]
  double radius = 0;           // sphere, capsule, cylinder [m]
  double half_length =
      0;  // capsule: half of the segment between the cap centres; cylinder: half height; along S's z axis [m]
  const ConvexHull* hull = nullptr;    // convex: vertices and merged faces in S; owned by the Model, outlives the World
  const TriangleMesh* mesh = nullptr;  // mesh: closed triangles in S with tree and field; owned by the Model
  const SmoothSurface* smooth = nullptr;  // smooth: curved surface in S; owned by the Model
  // half_space: the solid is z_S <= 0, outward normal +z_S.
};

inline Shape make_sphere(double radius) {
  Shape s;
  s.kind = ShapeKind::sphere;
  s.radius = radius;
  return s;
}
inline Shape make_box(const Vec3& half_S) {
  Shape s;
  s.kind = ShapeKind::box;
  s.half_S = half_S;
  return s;
}
inline Shape make_capsule(double radius, double half_length) {
  Shape s;
  s.kind = ShapeKind::capsule;
  s.radius = radius;
  s.half_length = half_length;
  return s;
}
inline Shape make_cylinder(double radius, double half_length) {
  Shape s;
  s.kind = ShapeKind::cylinder;
  s.radius = radius;
  s.half_length = half_length;
  return s;
}
inline Shape make_half_space() {
  Shape s;
  s.kind = ShapeKind::half_space;
  return s;
}
inline Shape make_convex(const ConvexHull* hull) {
  Shape s;
  s.kind = ShapeKind::convex;
  s.hull = hull;
  return s;
}

inline Shape make_mesh(const TriangleMesh* mesh) {
  Shape s;
  s.kind = ShapeKind::mesh;
  s.mesh = mesh;
  return s;
}

inline Shape make_smooth(const SmoothSurface* surface) {
  Shape s;
  s.kind = ShapeKind::smooth;
  s.smooth = surface;
  return s;
}

struct Aabb {
  Vec3 lo, hi;  // in W [m]; a half-space gives infinities where unbounded
};
// Exact axis-aligned bounds of the shape at X_WS. Closed form, O(1); convex O(vertices).
Aabb bounds(const Shape& shape, const Frame& X_WS) noexcept;

// Farthest point of the shape along the direction d_S (need not be unit), in S [m]. Not for half_space.
Vec3 support(const Shape& shape, const Vec3& d_S) noexcept;

}  // namespace tactus
