#include "core/shape/shape.h"

#include <limits>

#include "core/check.h"
#include "core/shape/convex_hull.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/mesh/triangle_tree.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Half extents along W's axes of a solid of revolution: segment of half length h along the unit axis a_W, plus a disc
// of radius r.
Vec3 cylinder_extent(const Vec3& a_W, double h, double r) noexcept {
  Vec3 e;
  for (int i = 0; i < 3; ++i) {
    const double s = a_W[i];
    e[i] = h * std::abs(s) + r * std::sqrt(std::max(0.0, 1.0 - s * s));
  }
  return e;
}

// A half-space is bounded along an axis only when its normal is that axis exactly.
Aabb half_space_bounds(const Vec3& n_W, const Vec3& p_W) noexcept {
  Aabb box{Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
  for (int i = 0; i < 3; ++i) {
    const bool aligned = n_W[(i + 1) % 3] == 0 && n_W[(i + 2) % 3] == 0;
    if (aligned && n_W[i] > 0) box.hi[i] = p_W[i];
    if (aligned && n_W[i] < 0) box.lo[i] = p_W[i];
  }
  return box;
}

Aabb hull_bounds(const ConvexHull& hull, const Frame& X_WS) noexcept {
  Aabb box{Vec3::Constant(kInfinity), Vec3::Constant(-kInfinity)};
  for (const Vec3& p_S : hull.vertices) {
    const Vec3 p_W = X_WS.R * p_S;
    box.lo = box.lo.cwiseMin(p_W);
    box.hi = box.hi.cwiseMax(p_W);
  }
  box.lo += X_WS.p;
  box.hi += X_WS.p;
  return box;
}

Vec3 hull_support(const ConvexHull& hull, const Vec3& d_S) noexcept {
  std::size_t best = 0;
  double height = -kInfinity;
  for (std::size_t i = 0; i < hull.vertices.size(); ++i) {
    const double s = hull.vertices[i].dot(d_S);
    if (s > height) {
      height = s;
      best = i;
    }
  }
  return hull.vertices[best];
}

Vec3 cylinder_support(double radius, double half_length, const Vec3& d_S) noexcept {
  const double radial = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y());
  const double k = radial > 0 ? radius / radial : 0.0;
  return {k * d_S.x(), k * d_S.y(), std::copysign(half_length, d_S.z())};
}

}  // namespace

const char* to_string(ShapeKind kind) noexcept {
  switch (kind) {
    case ShapeKind::sphere:
      return "sphere";
    case ShapeKind::box:
      return "box";
    case ShapeKind::capsule:
      return "capsule";
    case ShapeKind::cylinder:
      return "cylinder";
    case ShapeKind::half_space:
      return "half_space";
    case ShapeKind::convex:
      return "convex";
    case ShapeKind::mesh:
      return "mesh";
    case ShapeKind::smooth:
      return "smooth";
  }
  return "unknown";
}

Aabb bounds(const Shape& shape, const Frame& X_WS) noexcept {
  Vec3 e = Vec3::Zero();
  switch (shape.kind) {
    case ShapeKind::sphere:
      e.setConstant(shape.radius);
      break;
    case ShapeKind::box:
      e.noalias() = X_WS.R.cwiseAbs() * shape.half_S;
      break;
    case ShapeKind::capsule:
      e = (X_WS.R.col(2).cwiseAbs() * shape.half_length).array() + shape.radius;
      break;
    case ShapeKind::cylinder:
      e = cylinder_extent(X_WS.R.col(2), shape.half_length, shape.radius);
      break;
    case ShapeKind::half_space:
      return half_space_bounds(X_WS.R.col(2), X_WS.p);
    case ShapeKind::convex:
      return hull_bounds(*shape.hull, X_WS);
    case ShapeKind::mesh: {  // of the box in S, so that the cost does not grow with the mesh
      const Vec3 centre = X_WS * Vec3(0.5 * (shape.mesh->lo + shape.mesh->hi));
      e = X_WS.R.cwiseAbs() * (0.5 * (shape.mesh->hi - shape.mesh->lo));
      return {centre - e, centre + e};
    }
    case ShapeKind::smooth:
      return shape.smooth->bounds(X_WS);
  }
  return {X_WS.p - e, X_WS.p + e};
}

Vec3 support(const Shape& shape, const Vec3& d_S) noexcept {
  const Vec3 z(0, 0, std::copysign(shape.half_length, d_S.z()));
  switch (shape.kind) {
    case ShapeKind::sphere:
    case ShapeKind::capsule: {
      const double norm = d_S.norm();
      const Vec3 ball = norm > 0 ? Vec3(d_S * (shape.radius / norm)) : Vec3(shape.radius, 0, 0);
      return shape.kind == ShapeKind::sphere ? ball : Vec3(z + ball);
    }
    case ShapeKind::box:
      return {std::copysign(shape.half_S.x(), d_S.x()), std::copysign(shape.half_S.y(), d_S.y()),
              std::copysign(shape.half_S.z(), d_S.z())};
    case ShapeKind::cylinder:
      return cylinder_support(shape.radius, shape.half_length, d_S);
    case ShapeKind::convex:
      return hull_support(*shape.hull, d_S);
    case ShapeKind::smooth:
      return shape.smooth->support(d_S);
    case ShapeKind::mesh:
      return farthest_vertex(*shape.mesh, d_S);
    case ShapeKind::half_space:
      break;
  }
  TACTUS_ASSERT(!"support of a half-space");
  return Vec3::Zero();
}

}  // namespace tactus
