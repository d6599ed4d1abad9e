#include "core/collide/time/thickness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/collide/convex/narrow_core.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/mesh/triangle_tree.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double width_of_hull(const Shape& shape) {
  double width = kInfinity;
  for (const ConvexHull::Face& face : shape.hull->faces) {
    width = std::min(width, face.offset - face.nhat.dot(support(shape, -face.nhat)));
  }
  return width;
}

// From the middle of the triangle inwards. Infinite where rounding finds no way out.
double width_under(const TriangleMesh& mesh, std::uint32_t triangle) {
  constexpr std::uint32_t kCrossings = 32;
  const TriangleMesh::Triangle& v = mesh.triangles[triangle];
  const Vec3 middle = (mesh.vertices[v[0]] + mesh.vertices[v[1]] + mesh.vertices[v[2]]) / 3;
  const Vec3 in = -mesh.normals[triangle];
  double length = 1.01 * (mesh.hi - mesh.lo).norm();
  MeshCrossing hits[kCrossings];
  std::uint32_t found = cross_segment(mesh, middle, middle + length * in, hits, kCrossings);
  while (found > kCrossings) {  // those that are told need not be the nearest ones
    length *= 0.5;
    found = cross_segment(mesh, middle, middle + length * in, hits, kCrossings);
  }
  for (std::uint32_t i = 0; i < found; ++i) {
    if (hits[i].t > 1e-9 && hits[i].triangle != triangle && mesh.normals[hits[i].triangle].dot(in) > 0.1) {
      return hits[i].t * length;
    }
  }
  return kInfinity;
}

double width_of_mesh(const TriangleMesh& mesh) {
  double width = (mesh.hi - mesh.lo).minCoeff();
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) width = std::min(width, width_under(mesh, t));
  return width;
}

double width_of_surface(const SmoothSurface& surface) {
  if (surface.cavity()) return kInfinity;
  double width = 2 * smallest_half_width(surface);
  for (const SurfaceSeed& s : surface.seeds()) {
    width = std::min(width, s.n_S.dot(surface.support(s.n_S) - surface.support(-s.n_S)));
    if (surface.convex()) continue;
    for (const SurfaceSeed& other : surface.seeds()) {
      const Vec3 across = s.p_S - other.p_S;
      const double length = across.norm();
      if (s.n_S.dot(other.n_S) < -0.5 && s.n_S.dot(across) > 0.7 * length) width = std::min(width, length);
    }
  }
  return width;
}

}  // namespace

double half_thickness(const Shape& shape) {
  switch (shape.kind) {
    case ShapeKind::half_space:
      return kInfinity;
    case ShapeKind::convex:
      return 0.5 * width_of_hull(shape);
    case ShapeKind::mesh:
      return 0.5 * width_of_mesh(*shape.mesh);
    case ShapeKind::smooth:
      return 0.5 * width_of_surface(*shape.smooth);
    case ShapeKind::sphere:
    case ShapeKind::box:
    case ShapeKind::capsule:
    case ShapeKind::cylinder:
      break;
  }
  return smallest_size(shape);
}

double radius_about(const Shape& shape, const Vec3& q_S) {
  const double along_z = shape.half_length + (shape.kind == ShapeKind::capsule ? shape.radius : 0);
  double far = 0;
  switch (shape.kind) {
    case ShapeKind::half_space:
      return 0;
    case ShapeKind::box:
      return q_S.norm() + shape.half_S.norm();
    case ShapeKind::convex:
      return q_S.norm() + shape.hull->radius;
    case ShapeKind::cylinder:
      return q_S.norm() + std::sqrt(along_z * along_z + shape.radius * shape.radius);
    case ShapeKind::mesh:
      for (const Vec3& v : shape.mesh->vertices) far = std::max(far, (v - q_S).norm());
      return far;
    case ShapeKind::smooth:
      return (shape.smooth->centre() - q_S).norm() + shape.smooth->radius();
    case ShapeKind::sphere:
    case ShapeKind::capsule:
      break;
  }
  return q_S.norm() + std::max(along_z, shape.radius);
}

}  // namespace tactus
