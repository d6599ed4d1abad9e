#include "core/shape/mass_properties.h"

#include <Eigen/Eigenvalues>
#include <limits>
#include <numbers>

#include "core/check.h"
#include "core/shape/convex_hull.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

constexpr double kPi = std::numbers::pi;

// Volume, first and second moments of a closed polyhedron about a point: sums over the tetrahedra (o, v0, vi,
// vi+1) of each face. For a tetrahedron with one corner at the origin and the others a, b, c: volume V = det(a,b,c)/6,
// first moment V (a+b+c)/4, second moment  int x x^T = V/20 (a a^T + b b^T + c c^T + (a+b+c)(a+b+c)^T).
void add_tetrahedron(SolidMoments& m, const Vec3& a, const Vec3& b, const Vec3& c) noexcept {
  const double v = a.dot(b.cross(c)) / 6.0;
  const Vec3 s = a + b + c;
  m.volume += v;
  m.first += 0.25 * v * s;
  m.second += (v / 20.0) * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
}

SolidMoments hull_moments(const ConvexHull& hull, const Vec3& o) noexcept {
  SolidMoments m;
  for (const ConvexHull::Face& face : hull.faces) {
    const std::uint32_t* index = hull.face_vertices.data() + face.first;
    const Vec3 a = hull.vertices[index[0]] - o;
    for (std::uint32_t i = 1; i + 1 < face.count; ++i) {
      const Vec3 b = hull.vertices[index[i]] - o;
      const Vec3 c = hull.vertices[index[i + 1]] - o;
      add_tetrahedron(m, a, b, c);
    }
  }
  return m;
}

// The point need not be inside; the middle of the box keeps what cancels small.
SolidMoments mesh_moments(const TriangleMesh& mesh, const Vec3& o) noexcept {
  SolidMoments m;
  for (const auto& [a, b, c] : mesh.triangles)
    add_tetrahedron(m, mesh.vertices[a] - o, mesh.vertices[b] - o, mesh.vertices[c] - o);
  return m;
}
Vec3 middle(const TriangleMesh& mesh) noexcept {
  return 0.5 * (mesh.lo + mesh.hi);
}

// Inertia about a point from the second moment about it: I = tr(S) 1 - S.
Mat3 inertia_from_second(const Mat3& second) noexcept {
  return second.trace() * Mat3::Identity() - second;
}

// Inertia of a unit point mass at p about the origin.
Mat3 point_inertia(const Vec3& p) noexcept {
  return p.squaredNorm() * Mat3::Identity() - p * p.transpose();
}

MassProperties mass_from(const SolidMoments& m, const Vec3& o, double density) noexcept {
  MassProperties out;
  out.mass = density * m.volume;
  const Vec3 r = m.first / m.volume;
  out.p_SScm = o + r;
  out.I_SScm = density * inertia_from_second(m.second) - out.mass * point_inertia(r);
  return out;
}

// Cylinder plus the ball made of both caps' halves, each half-ball's mass centre 3r/8 from its flat side.
Vec3 capsule_diagonal(double r, double h, double density) noexcept {
  const double m_cylinder = density * kPi * r * r * 2.0 * h;
  const double m_ball = density * 4.0 / 3.0 * kPi * r * r * r;
  const double axial = 0.5 * m_cylinder * r * r + 0.4 * m_ball * r * r;
  const double side = m_cylinder * (r * r / 4.0 + h * h / 3.0) + m_ball * (0.4 * r * r + h * h + 0.75 * h * r);
  return {side, side, axial};
}

}  // namespace

double volume(const Shape& shape) noexcept {
  const double r = shape.radius;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return 4.0 / 3.0 * kPi * r * r * r;
    case ShapeKind::box:
      return 8.0 * shape.half_S.prod();
    case ShapeKind::capsule:
      return kPi * r * r * (2.0 * shape.half_length + 4.0 / 3.0 * r);
    case ShapeKind::cylinder:
      return kPi * r * r * 2.0 * shape.half_length;
    case ShapeKind::half_space:
      return std::numeric_limits<double>::infinity();
    case ShapeKind::convex:
      return hull_moments(*shape.hull, shape.hull->centroid).volume;
    case ShapeKind::mesh:
      return mesh_moments(*shape.mesh, middle(*shape.mesh)).volume;
    case ShapeKind::smooth:
      return shape.smooth->cavity() ? std::numeric_limits<double>::infinity() : shape.smooth->moments().volume;
  }
  return 0;
}

MassProperties mass_properties(const Shape& shape, double density) noexcept {
  TACTUS_ASSERT(shape.kind != ShapeKind::half_space);
  if (shape.kind == ShapeKind::convex)
    return mass_from(hull_moments(*shape.hull, shape.hull->centroid), shape.hull->centroid, density);
  if (shape.kind == ShapeKind::mesh) {
    const Vec3 o = middle(*shape.mesh);
    return mass_from(mesh_moments(*shape.mesh, o), o, density);
  }
  if (shape.kind == ShapeKind::smooth) {
    TACTUS_ASSERT(!shape.smooth->cavity());
    return mass_from(shape.smooth->moments(), shape.smooth->centre(), density);
  }
  MassProperties out;
  out.mass = density * volume(shape);
  const double r2 = shape.radius * shape.radius;
  const double h2 = shape.half_length * shape.half_length;
  Vec3 diagonal = Vec3::Zero();
  switch (shape.kind) {
    case ShapeKind::sphere:
      diagonal.setConstant(0.4 * out.mass * r2);
      break;
    case ShapeKind::box: {
      const Vec3 s = shape.half_S.cwiseAbs2();
      diagonal = out.mass / 3.0 * Vec3(s.y() + s.z(), s.z() + s.x(), s.x() + s.y());
      break;
    }
    case ShapeKind::capsule:
      diagonal = capsule_diagonal(shape.radius, shape.half_length, density);
      break;
    case ShapeKind::cylinder: {
      const double side = out.mass * (r2 / 4.0 + h2 / 3.0);
      diagonal = Vec3(side, side, 0.5 * out.mass * r2);
      break;
    }
    case ShapeKind::half_space:
    case ShapeKind::convex:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  out.I_SScm = diagonal.asDiagonal();
  return out;
}

MassProperties transformed(const MassProperties& m, const Pose& X_BS) noexcept {
  const Mat3 R_BS = X_BS.q.toRotationMatrix();
  MassProperties out;
  out.mass = m.mass;
  out.p_SScm = X_BS.p + R_BS * m.p_SScm;
  const Mat3 I = R_BS * m.I_SScm * R_BS.transpose();
  out.I_SScm = 0.5 * (I + I.transpose());
  return out;
}

MassProperties combined(const MassProperties& a, const MassProperties& b) noexcept {
  MassProperties out;
  out.mass = a.mass + b.mass;
  if (out.mass <= 0) return out;
  out.p_SScm = (a.mass * a.p_SScm + b.mass * b.p_SScm) / out.mass;
  const double reduced = a.mass * b.mass / out.mass;
  out.I_SScm = a.I_SScm + b.I_SScm + reduced * point_inertia(b.p_SScm - a.p_SScm);
  return out;
}

const char* inertia_defect(const Mat3& I) noexcept {
  constexpr double kTolerance = 1e-9;
  if (!I.allFinite()) return "inertia is not finite";
  const double size = I.cwiseAbs().maxCoeff();
  if (size <= 0) return "inertia is zero";
  if ((I - I.transpose()).cwiseAbs().maxCoeff() > kTolerance * size) return "inertia is not symmetric";
  const Eigen::SelfAdjointEigenSolver<Mat3> solver(0.5 * (I + I.transpose()), Eigen::EigenvaluesOnly);
  const Vec3& moments = solver.eigenvalues();  // ascending
  if (moments[0] <= 0) return "inertia is not positive definite";
  if (moments[2] > moments[0] + moments[1] + kTolerance * size) {
    return "a principal moment of inertia is larger than the sum of the other two";
  }
  return nullptr;
}

}  // namespace tactus
