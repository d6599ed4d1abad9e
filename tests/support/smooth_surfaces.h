// One or more of each kind of smooth surface, and differences to judge their derivatives by.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/random.h"

namespace tactus::test {

using SurfacePtr = std::unique_ptr<SmoothSurface>;

// (x - m)^T R diag(1/r^2) R^T (x - m) = 1 times a factor, as coefficients.
inline std::array<double, 10> quadric_of(const Vec3& radii, const Mat3& R, const Vec3& m, double factor) {
  const Mat3 A = factor * (R * radii.cwiseAbs2().cwiseInverse().asDiagonal() * R.transpose());
  const Vec3 b = -2 * A * m;
  return {A(0, 0), A(1, 1), A(2, 2), 2 * A(0, 1), 2 * A(0, 2), 2 * A(1, 2), b.x(), b.y(), b.z(), m.dot(A * m) - factor};
}

inline SurfacePtr checked(SurfacePtr surface, const std::string& error) {
  TACTUS_REQUIRE(surface, error);
  return surface;
}

inline std::vector<SurfacePtr> implicit_surfaces() {
  std::vector<SurfacePtr> out;
  std::string error;
  out.push_back(make_ellipsoid({0.3, 0.2, 0.5}));
  out.push_back(make_ellipsoid({1e-3, 2e-3, 5e-2}));
  for (const auto& [e1, e2] : {std::pair(1.0, 1.0), {0.8, 1.0}, {0.5, 0.5}, {0.3, 0.7}, {0.7, 0.3}, {0.1, 0.1}})
    out.push_back(make_superellipsoid({0.3, 0.2, 0.5}, e1, e2));
  out.push_back(make_torus(0.3, 0.1));
  out.push_back(make_torus(0.3, 0.29));
  const Mat3 R = Quat(0.5, 0.1, -0.7, 0.5).normalized().toRotationMatrix();
  out.push_back(checked(make_quadric(quadric_of({0.3, 0.2, 0.5}, R, {0.1, -2, 0.4}, -7), error), error));
  out.push_back(make_cavity(make_ellipsoid({0.3, 0.2, 0.5})));
  out.push_back(make_cavity(make_torus(0.3, 0.1)));
  return out;
}

inline std::vector<Vec2> egg_profile() {
  return {{0, -0.32}, {0.15, -0.3}, {0.24, -0.1}, {0.2, 0.2}, {0.08, 0.41}, {0, 0.42}};
}
inline std::vector<Vec2> pear_profile() {  // with a waist
  return {{0, -0.3}, {0.2, -0.3}, {0.3, -0.1}, {0.05, 0.1}, {0.2, 0.3}, {0.1, 0.4}, {0, 0.4}};
}
inline std::vector<Vec2> ring_profile() {
  return {{0.5, 0}, {0.4, 0.1}, {0.3, 0.02}, {0.2, 0.05}, {0.3, -0.1}, {0.45, -0.12}};
}

// A ring whose tube is thicker here than there, and wavy.
inline std::vector<Vec3> torus_control(int nu, int nv) {
  std::vector<Vec3> out;
  for (int i = 0; i < nu; ++i)
    for (int j = 0; j < nv; ++j) {
      const double u = 2 * M_PI * i / nu, v = 2 * M_PI * j / nv, tube = 0.12 + 0.03 * std::cos(2 * u) * std::sin(v);
      const double rho = 0.35 + tube * std::cos(v);
      out.emplace_back(rho * std::cos(u), rho * std::sin(u), tube * std::sin(v) + 0.04 * std::cos(3 * u));
    }
  return out;
}
// A lattice over the cube, bent and swollen.
inline std::vector<Vec3> ball_control(int nx, int ny, int nz) {
  std::vector<Vec3> out;
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int k = 0; k < nz; ++k) {
        const auto place = [](int n, int count) { return (2.0 * n - (count - 1)) / (count - 3); };
        const double x = place(i, nx), y = place(j, ny), z = place(k, nz);
        out.emplace_back(0.3 * x + 0.06 * z * z, 0.2 * y * (1 + 0.2 * x), 0.25 * z + 0.03 * x * y);
      }
  return out;
}

inline std::vector<SurfacePtr> parametric_surfaces() {
  std::vector<SurfacePtr> out;
  std::string error;
  out.push_back(make_patched_ellipsoid({0.3, 0.2, 0.5}));
  out.push_back(make_patched_ellipsoid({1e-3, 2e-3, 5e-2}));
  for (const auto& profile : {egg_profile(), pear_profile(), ring_profile()})
    out.push_back(checked(make_revolution(profile, error), error));
  out.push_back(checked(make_spline(torus_control(8, 6), {8, 6}, error), error));
  out.push_back(checked(make_spline(ball_control(5, 4, 6), {5, 4, 6}, error), error));
  out.push_back(make_cavity(make_patched_ellipsoid({0.3, 0.2, 0.5})));
  out.push_back(make_cavity(checked(make_spline(torus_control(8, 6), {8, 6}, error), error)));
  return out;
}

inline std::vector<SurfacePtr> smooth_surfaces() {
  std::vector<SurfacePtr> out = implicit_surfaces();
  for (SurfacePtr& surface : parametric_surfaces()) out.push_back(std::move(surface));
  return out;
}

inline Vec3 random_layout(Random& rng, const SmoothSurface& surface) {
  if (surface.topology() == SmoothTopology::sphere) return rng.direction();
  const double u = rng.uniform(0, 1), v = rng.uniform(0, 1);
  return {u, v, 0};
}

// Central differences of f at p along each axis, with one step of Richardson: error O(h^4).
template <typename F, typename Point>
auto differences(const F& f, const Point& p, double h, int axis) {
  const Point e = Point::Unit(axis);
  using Value = decltype(f(p));
  const Value far = f(p + h * e) - f(p - h * e), near = f(p + 0.5 * h * e) - f(p - 0.5 * h * e);
  return Value((8 * near - far) / (6 * h));
}

}  // namespace tactus::test
