// Signed distance of every kind of solid, as the mesh contacts need it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/mesh/mesh_contact.h"
#include "core/math/checks.h"
#include "core/shape/convex_hull.h"
#include "core/shape/mesh/distance_field.h"

namespace tactus {

namespace {

SolidSample round(const Vec3& from_core, double radius) noexcept {
  const double length = from_core.norm();
  return {length - radius, length > 0 ? Vec3(from_core / length) : Vec3(Vec3::UnitZ())};
}

SolidSample sample_box(const Vec3& half, const Vec3& p) noexcept {
  const Vec3 q = p.cwiseAbs() - half;
  int axis = 0;
  const double most = q.maxCoeff(&axis);
  const auto facet = static_cast<std::uint32_t>(2 * axis + (p[axis] < 0 ? 1 : 0));
  if (most <= 0) return {most, Vec3((p[axis] < 0 ? -1.0 : 1.0) * Vec3::Unit(axis)), facet};
  Vec3 out = q.cwiseMax(0.0);
  const double length = out.norm();
  for (int k = 0; k < 3; ++k) out[k] = std::copysign(out[k], p[k]);
  return {length, out / length, facet};
}

SolidSample sample_cylinder(double radius, double half, const Vec3& p) noexcept {
  const double r = std::sqrt(p.x() * p.x() + p.y() * p.y());
  const Vec3 radial = r > 0 ? Vec3(p.x() / r, p.y() / r, 0) : Vec3(Vec3::UnitX());
  const Vec3 cap(0, 0, p.z() < 0 ? -1.0 : 1.0);
  const double side = r - radius, end = std::abs(p.z()) - half;
  const std::uint32_t facet = p.z() < 0 ? 1 : 0;
  if (side > 0 && end > 0) {
    const double length = std::sqrt(side * side + end * end);
    return {length, (side * radial + end * cap) / length};
  }
  if (side > end) return {side, radial};
  return {end, cap, facet};
}

SolidSample sample_local(const Shape& shape, const Vec3& p) noexcept {
  switch (shape.kind) {
    case ShapeKind::sphere:
      return round(p, shape.radius);
    case ShapeKind::box:
      return sample_box(shape.half_S, p);
    case ShapeKind::capsule:
      return round(p - std::clamp(p.z(), -shape.half_length, shape.half_length) * Vec3::UnitZ(), shape.radius);
    case ShapeKind::cylinder:
      return sample_cylinder(shape.radius, shape.half_length, p);
    case ShapeKind::half_space:
      return {p.z(), Vec3::UnitZ(), 0};
    case ShapeKind::convex: {
      SolidSample out{};
      const std::int32_t face =
          closest_on_hull(*shape.hull, p, std::numeric_limits<double>::infinity(), -1, out.gradient, out.distance);
      out.facet = static_cast<std::uint32_t>(face);
      return out;
    }
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  const FieldSample s = sample_field(*shape.mesh->field, *shape.mesh, p);
  return {s.distance, s.gradient_S, shape.mesh->facet[s.triangle], s.triangle};
}

}  // namespace

SolidSample sample_solid(const MeshSide& side, const Vec3& p) noexcept {
  SolidSample out = sample_local(*side.shape, side.X.to_local(p));
  out.gradient = side.X.R * out.gradient;
  out.distance -= side.margin;
  return out;
}

bool facet_plane(const MeshSide& side, std::uint32_t facet, std::uint32_t triangle, Vec3& nhat,
                 double& offset) noexcept {
  TACTUS_DCHECK(side.shape != nullptr);
  const Shape& shape = *side.shape;
  switch (shape.kind) {
    case ShapeKind::box:
      nhat = ((facet & 1U) != 0 ? -1.0 : 1.0) * Vec3::Unit(static_cast<int>(facet / 2));
      offset = shape.half_S[static_cast<int>(facet / 2)];
      break;
    case ShapeKind::cylinder:
      nhat = Vec3(0, 0, facet == 1 ? -1.0 : 1.0);
      offset = shape.half_length;
      break;
    case ShapeKind::half_space:
      nhat = Vec3::UnitZ();
      offset = 0;
      break;
    case ShapeKind::convex:
      nhat = shape.hull->faces[facet].nhat;
      offset = shape.hull->faces[facet].offset;
      break;
    case ShapeKind::mesh:
      nhat = shape.mesh->normals[triangle];
      offset = nhat.dot(shape.mesh->vertices[shape.mesh->triangles[triangle][0]]);
      break;
    case ShapeKind::sphere:
    case ShapeKind::capsule:
    case ShapeKind::smooth:
      return false;
  }
  nhat = side.X.R * nhat;
  offset += nhat.dot(side.X.p) + side.margin;
  return true;
}

double exit_distance(const MeshSide& side, const Vec3& p, const Vec3& n, double limit) noexcept {
  TACTUS_DCHECK(not_below(limit, 0));
  double lo = 0, f_lo = sample_solid(side, p).distance;
  double hi = limit, f_hi = sample_solid(side, p + limit * n).distance;
  if (f_lo >= 0 || f_hi < 0) return -1;
  for (int i = 0; i < 20 && hi - lo > 1e-6 * limit; ++i) {  // regula falsi with halving of the stuck end (Illinois)
    double t = lo + (hi - lo) * (-f_lo / (f_hi - f_lo));
    if (!(t > lo && t < hi)) t = 0.5 * (lo + hi);
    const double f = sample_solid(side, p + t * n).distance;
    if (std::abs(f) < 1e-7 * limit) return t;
    if (f < 0) {
      lo = t, f_lo = f, f_hi *= 0.5;
    } else {
      hi = t, f_hi = f, f_lo *= 0.5;
    }
  }
  return hi;
}

}  // namespace tactus
