// Volume and inertia of smooth solids against independent integrals: sections by tanh-sinh quadrature for
// superellipsoids, triangles with Richardson's extrapolation for the others, affine images and known solids for
// splines.
#include <array>
#include <cmath>
#include <numbers>

#include "core/shape/mass_properties.h"
#include "core/shape/smooth/smooth_tessellate.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;

// int_0^1 f, also with an infinite derivative at an end: x and 1 - x are given, so that neither is a difference.
template <typename F>
double tanh_sinh(const F& f) {
  double sum = 0;
  constexpr double kStep = 1.0 / 64;
  for (int i = -256; i <= 256; ++i) {
    const double t = i * kStep, u = 0.5 * std::numbers::pi * std::sinh(t);
    const double x = 1 / (1 + std::exp(-2 * u)), rest = 1 / (1 + std::exp(2 * u));
    sum += kStep * std::numbers::pi * std::cosh(t) * x * rest * f(x, rest);
  }
  return sum;
}
// (1 - x^p)^q with 1 - x given.
double arc(double x, double rest, double p, double q) {
  return std::pow(x < 0.5 ? 1 - std::pow(x, p) : -std::expm1(p * std::log1p(-rest)), q);
}

SolidMoments triangle_moments(const SmoothTriangles& mesh, const Vec3& o) {
  SolidMoments m;
  for (const auto& t : mesh.triangles) {
    const Vec3 a = mesh.vertices[t[0]] - o, b = mesh.vertices[t[1]] - o, c = mesh.vertices[t[2]] - o, s = a + b + c;
    const double v = a.dot(b.cross(c)) / 6;
    m.volume += v;
    m.first += 0.25 * v * s;
    m.second += v / 20 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
  }
  return m;
}

double relative_error(const SolidMoments& a, const SolidMoments& b) {
  const double size = std::sqrt(b.second.trace() / b.volume);
  return std::max({std::abs(a.volume - b.volume) / b.volume, (a.first - b.first).norm() / (b.volume * size),
                   (a.second - b.second).norm() / b.second.norm()});
}

TEST_CASE("smooth mass: superellipsoids by their sections") {
  const Vec3 r(0.3, 0.2, 0.5);
  for (const auto& exponents : {std::pair(1.0, 1.0), {0.8, 1.0}, {0.5, 0.5}, {0.3, 0.7}, {0.7, 0.3}, {0.1, 0.1}}) {
    const double e1 = exponents.first, e2 = exponents.second;
    INFO("e1 " << e1 << " e2 " << e2);
    const double p1 = 2 / e1, p2 = 2 / e2, a = e1, b = 0.5 * e2;
    // The section at z is the one at 0 scaled by (1 - z^p1)^(e1/2).
    const double area = tanh_sinh([&](double x, double y) { return arc(x, y, p2, b); });
    const double area_xx = tanh_sinh([&](double x, double y) { return x * x * arc(x, y, p2, b); });
    const double height = tanh_sinh([&](double z, double y) { return arc(z, y, p1, a); });
    const double height_2 = tanh_sinh([&](double z, double y) { return arc(z, y, p1, 2 * a); });
    const double height_zz = tanh_sinh([&](double z, double y) { return z * z * arc(z, y, p1, a); });
    SolidMoments expected;
    const double scale = 8 * r.prod();
    expected.volume = scale * area * height;
    expected.second =
        Vec3(r.x() * r.x() * area_xx * height_2, r.y() * r.y() * area_xx * height_2, r.z() * r.z() * area * height_zz)
            .asDiagonal();
    expected.second *= scale;
    CHECK_WITHIN(relative_error(make_superellipsoid(r, e1, e2)->moments(), expected), 1e-12);
  }
}

TEST_CASE("smooth mass: triangles converge to it with the square of their size") {
  for (const SurfacePtr& surface : smooth_surfaces()) {
    if (surface->cavity() || surface->kind() == SmoothKind::superellipsoid) continue;
    INFO(to_string(surface->kind()) << " radius " << surface->radius());
    // Each limit on the number of triangles is one refinement more.
    const bool sphere = surface->topology() == SmoothTopology::sphere;
    std::array<SolidMoments, 2> m;
    for (std::size_t i = 0; i < 2; ++i)
      m[i] = triangle_moments(tessellate(*surface, 0, i == 0 ? 1280 : 5120 * (sphere ? 1u : 2u)), surface->centre());
    const double coarse = relative_error(m[0], surface->moments()), fine = relative_error(m[1], surface->moments());
    CHECK_WITHIN(fine, 1e-2);
    CHECK(fine < 0.35 * coarse);  // a quarter and higher orders; a wrong formula would stay where it is
    if (!sphere) continue;
    SolidMoments limit;
    limit.volume = (4 * m[1].volume - m[0].volume) / 3;
    limit.first = (4 * m[1].first - m[0].first) / 3;
    limit.second = (4 * m[1].second - m[0].second) / 3;
    CHECK_WITHIN(relative_error(limit, surface->moments()), 0.1 * fine);
  }
}

TEST_CASE("smooth mass: a ring and a torus obey Pappus") {
  std::string error;
  const SurfacePtr ring = make_revolution(ring_profile(), error);
  // Area times distance of the section's centroid from the axis, of a fine polygon, extrapolated.
  const auto section = [&](int n) {
    double moment = 0;
    for (int i = 0; i < n; ++i) {
      const Vec3 p = ring->at(Vec3(0, static_cast<double>(i) / n, 0)).p_S;
      const Vec3 q = ring->at(Vec3(0, static_cast<double>(i + 1) / n, 0)).p_S;
      const double twice = p.x() * q.z() - q.x() * p.z();
      moment += twice * (p.x() + q.x()) / 6;
    }
    return moment;
  };
  const double moment = (4 * section(6000) - section(3000)) / 3;
  CHECK_WITHIN(ring->moments().volume / (2 * std::numbers::pi * moment) - 1, 1e-11);
}

TEST_CASE("smooth mass: a spline ball of a regular lattice is an ellipsoid, and the tolerance is what is said") {
  std::string error;
  for (const int n : {4, 5, 7}) {
    std::vector<Vec3> control;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) {
          const auto place = [&](int x) { return (2.0 * x - (n - 1)) / (n - 3); };
          control.emplace_back(0.3 * place(i) + 1, 0.2 * place(j), 0.5 * place(k));
        }
    const auto m = static_cast<std::size_t>(n);
    const SurfacePtr ball = make_spline(control, {m, m, m}, error);
    REQUIRE_MESSAGE(ball, error);
    CHECK_WITHIN((ball->centre() - Vec3(1, 0, 0)).norm(), 1e-12);
    CHECK_WITHIN(relative_error(ball->moments(), make_ellipsoid({0.3, 0.2, 0.5})->moments()), 1e-9);
  }
}

TEST_CASE("smooth mass: an affine image of a spline torus has the affine image's moments") {
  std::string error;
  const SurfacePtr torus = make_spline(torus_control(8, 6), {8, 6}, error);
  const Mat3 A = (Mat3() << 1, 0.3, 0, -0.2, 2, 0.1, 0, 0.4, 0.5).finished();
  std::vector<Vec3> control;
  for (const Vec3& p : torus_control(8, 6)) control.push_back(A * p + Vec3(3, -2, 1));
  const SurfacePtr image = make_spline(control, {8, 6}, error);
  REQUIRE_MESSAGE(image, error);
  const MassProperties m = mass_properties(make_smooth(torus.get()), 1000);
  const MassProperties n = mass_properties(make_smooth(image.get()), 1000);
  CHECK_WITHIN(n.mass / (A.determinant() * m.mass) - 1, 1e-13);
  CHECK_WITHIN((n.p_SScm - (A * m.p_SScm + Vec3(3, -2, 1))).norm(), 1e-13);
  const auto second = [](const Mat3& I) { return Mat3(0.5 * I.trace() * Mat3::Identity() - I); };
  const Mat3 expected = A.determinant() * (A * second(m.I_SScm) * A.transpose());
  CHECK_WITHIN((second(n.I_SScm) - expected).norm() / expected.norm(), 1e-12);
}

TEST_CASE("smooth triangles: closed, outside out, within the tolerance that was asked for") {
  for (const SurfacePtr& surface : smooth_surfaces()) {
    INFO(to_string(surface->kind()) << " radius " << surface->radius());
    const double tolerance = kDrawTolerance * surface->radius();
    const SmoothTriangles mesh = tessellate(*surface, tolerance);
    CHECK(mesh.triangles.size() <= kDrawTriangles);
    const long corners = static_cast<long>(mesh.vertices.size()), faces = static_cast<long>(mesh.triangles.size());
    // Euler: V - E + F = 2 - 2 genus, with 3 F = 2 E.
    CHECK(corners - faces / 2 == (surface->topology() == SmoothTopology::sphere ? 2 : 0));
    CHECK((triangle_moments(mesh, surface->centre()).volume > 0) == !surface->cavity());
    if (surface->kind() != SmoothKind::superellipsoid) CHECK_WITHIN(mesh.error, tolerance);  // nearly sharp edges
  }
}

TEST_CASE("spline: control points that make no surface are refused by what is wrong") {
  const auto refusal = [](const std::vector<Vec3>& control, const std::vector<std::size_t>& grid) {
    std::string error;
    CHECK(make_spline(control, grid, error) == nullptr);
    return error;
  };
  const auto says = [](const std::string& text, const char* word) {
    CHECK_MESSAGE(text.find(word) != std::string::npos, text << " lacks " << std::string(word));
  };
  says(refusal(torus_control(8, 6), {8, 7}), "found 48 control points, expected 56");
  says(refusal(torus_control(3, 6), {3, 6}), "found 3 control points one way");
  says(refusal(std::vector<Vec3>(16, Vec3(1, 2, 3)), {4, 4}), "no size");
  std::vector<Vec3> inward = torus_control(8, 6);
  for (Vec3& p : inward) p.z() = -p.z();
  says(refusal(inward, {8, 6}), "point inwards");
  std::vector<Vec3> eight;  // a tube around a figure of eight
  for (int i = 0; i < 32; ++i) {
    const double u = 2 * M_PI * i / 32;
    const Vec3 line(0.4 * std::cos(u), 0.4 * std::sin(2 * u), 0), out(0.8 * std::cos(2 * u), 0.4 * std::sin(u), 0);
    for (int j = 0; j < 6; ++j)
      eight.push_back(line +
                      0.08 * (std::cos(M_PI * j / 3) * out.normalized() + std::sin(M_PI * j / 3) * Vec3::UnitZ()));
  }
  says(refusal(eight, {32, 6}), "crosses itself");
  std::vector<Vec3> creased = torus_control(8, 6);
  for (std::size_t i = 0; i < 6; ++i) creased[18 + i] = creased[12 + i] = creased[24 + i];
  says(refusal(creased, {8, 6}), "without a normal");
}

}  // namespace
}  // namespace tactus
