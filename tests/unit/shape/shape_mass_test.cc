// Mass properties against closed forms, against their own hull approximations and against Monte Carlo; bounds against
// supports.
#include "core/shape/mass_properties.h"

#include <numbers>

#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using geometry_test::Rng;

// Points on the surface, so that the hull converges to the solid with the square of their spacing.
ConvexHull approximate(const Shape& shape, int n) {
  std::vector<Vec3> points;
  for (int i = 0; i <= n; ++i) {
    const double theta = std::numbers::pi * i / n;
    for (int k = 0; k < 2 * n; ++k) {
      const double phi = std::numbers::pi * (k + 0.5) / n;
      const Vec3 d(std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta));
      points.push_back(support(shape, d));
      if (i == 0 || i == n) break;
    }
  }
  ConvexHull hull;
  std::string error;
  REQUIRE_MESSAGE(build_convex_hull(points, 100000, hull, error), error);
  return hull;
}

TEST_CASE("mass_properties: closed forms agree with the exact integral over a fine hull") {
  for (const Shape& shape :
       {make_sphere(0.7), make_box({0.3, 0.5, 0.2}), make_capsule(0.3, 0.6), make_cylinder(0.4, 0.25)}) {
    const ConvexHull hull = approximate(shape, 16);
    const MassProperties exact = mass_properties(shape, 2.0);
    const MassProperties fine = mass_properties(make_convex(&hull), 2.0);
    INFO(to_string(shape.kind));
    const double tolerance = shape.kind == ShapeKind::box ? 1e-12 : 0.06;
    CHECK(std::abs(fine.mass / exact.mass - 1) < tolerance);
    CHECK((fine.I_SScm - exact.I_SScm).norm() < tolerance * exact.I_SScm.norm());
    CHECK(inertia_defect(exact.I_SScm) == nullptr);
    CHECK(exact.mass == doctest::Approx(2.0 * volume(shape)));
  }
}

TEST_CASE("mass_properties: closed forms agree with Monte Carlo") {
  Rng rng(5);
  for (const Shape& shape : {make_sphere(0.7), make_capsule(0.3, 0.6), make_cylinder(0.4, 0.25)}) {
    const Aabb box = bounds(shape, Frame{});
    const int n = 200000;
    double inside = 0;
    Mat3 second = Mat3::Zero();
    for (int i = 0; i < n; ++i) {
      const Vec3 u = geometry_test::in_cube(rng, 1);
      const Vec3 p = 0.5 * (box.lo + box.hi) + 0.5 * (box.hi - box.lo).cwiseProduct(u);
      if (geometry_test::outside({shape, Frame{}}, p) > 0) continue;
      inside += 1;
      second += p * p.transpose();
    }
    const double cell = (box.hi - box.lo).prod() / n;
    const Mat3 I = cell * (second.trace() * Mat3::Identity() - second);
    const MassProperties exact = mass_properties(shape, 1.0);
    INFO(to_string(shape.kind));
    CHECK(std::abs(inside * cell / exact.mass - 1) < 0.01);
    CHECK((I - exact.I_SScm).norm() < 0.02 * exact.I_SScm.norm());
  }
}

TEST_CASE("mass_properties: cutting a tetrahedron's corner at the unit axes") {
  // Corner tetrahedron of legs 1: V = 1/6, centre (1/4, 1/4, 1/4), int x^2 = 1/60, int x y = 1/120.
  const std::vector<Vec3> points{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  ConvexHull hull;
  std::string error;
  REQUIRE(build_convex_hull(points, 256, hull, error));
  const MassProperties m = mass_properties(make_convex(&hull), 6.0);
  CHECK(m.mass == doctest::Approx(1.0));
  CHECK((m.p_SScm - Vec3(0.25, 0.25, 0.25)).norm() < 1e-14);
  const double xx = 6.0 / 60 - 1.0 / 16, xy = 6.0 / 120 - 1.0 / 16;
  CHECK(m.I_SScm(0, 0) == doctest::Approx(2 * xx));
  CHECK(m.I_SScm(0, 1) == doctest::Approx(-xy));
}

TEST_CASE("mass_properties: the halves of a box, moved and combined, are the box") {
  Rng rng(6);
  for (int trial = 0; trial < 100; ++trial) {
    const Pose X{Quat(geometry_test::rotation(rng)), geometry_test::in_cube(rng, 3)};
    const MassProperties whole = transformed(mass_properties(make_box({0.4, 0.3, 0.2}), 3.0), X);
    const MassProperties half = mass_properties(make_box({0.2, 0.3, 0.2}), 3.0);
    const MassProperties left = transformed(half, X * Pose{Quat::Identity(), Vec3(-0.2, 0, 0)});
    const MassProperties right = transformed(half, X * Pose{Quat::Identity(), Vec3(0.2, 0, 0)});
    const MassProperties sum = combined(left, right);
    CHECK(sum.mass == doctest::Approx(whole.mass));
    CHECK((sum.p_SScm - whole.p_SScm).norm() < 1e-12);
    CHECK((sum.I_SScm - whole.I_SScm).norm() < 1e-12);
  }
}

TEST_CASE("inertia_defect: names what no real body can have") {
  CHECK(inertia_defect(Mat3::Identity()) == nullptr);
  CHECK(inertia_defect(Vec3(1, 1, 2).asDiagonal()) == nullptr);  // a flat plate is the limit
  CHECK(inertia_defect(Vec3(1, 1, 2.001).asDiagonal()) != nullptr);
  CHECK(inertia_defect(Vec3(1, -1, 1).asDiagonal()) != nullptr);
  CHECK(inertia_defect(Mat3::Zero()) != nullptr);
  Mat3 skewed = Mat3::Identity();
  skewed(0, 1) = 0.1;
  CHECK(inertia_defect(skewed) != nullptr);
  skewed(0, 1) = NAN;
  CHECK(inertia_defect(skewed) != nullptr);
}

TEST_CASE("bounds: equal the support heights along the axes, and hold no slack") {
  Rng rng(7);
  const ConvexHull hull = geometry_test::random_hull(rng, 30);
  for (int trial = 0; trial < 300; ++trial) {
    const Frame X{geometry_test::rotation(rng), geometry_test::in_cube(rng, 2)};
    for (const Shape& shape : {make_sphere(0.7), make_box({0.3, 0.5, 0.2}), make_capsule(0.3, 0.6),
                               make_cylinder(0.4, 0.25), make_convex(&hull)}) {
      const Aabb box = bounds(shape, X);
      for (int i = 0; i < 3; ++i) {
        CHECK(std::abs(box.hi[i] - geometry_test::height({shape, X}, Vec3::Unit(i))) < 1e-12);
        CHECK(std::abs(box.lo[i] + geometry_test::height({shape, X}, -Vec3::Unit(i))) < 1e-12);
      }
    }
  }
  const Aabb floor = bounds(make_half_space(), Frame{Mat3::Identity(), Vec3(1, 2, 3)});
  CHECK(floor.hi.z() == 3);
  CHECK(std::isinf(floor.lo.z()));
  CHECK(std::isinf(floor.hi.x()));
}

TEST_CASE("support: no sampled point of the solid is farther, and the point is on the solid") {
  Rng rng(8);
  const ConvexHull hull = geometry_test::random_hull(rng, 30);
  for (const Shape& shape : {make_sphere(0.7), make_box({0.3, 0.5, 0.2}), make_capsule(0.3, 0.6),
                             make_cylinder(0.4, 0.25), make_convex(&hull)}) {
    for (int trial = 0; trial < 500; ++trial) {
      const Vec3 d = geometry_test::direction(rng);
      const Vec3 p = support(shape, d);
      CHECK(geometry_test::outside({shape, Frame{}}, p) < 1e-12);
      const Vec3 q = support(shape, geometry_test::direction(rng));
      CHECK(d.dot(q) <= d.dot(p) + 1e-12);
    }
    CHECK(support(shape, Vec3::Zero()).allFinite());
  }
}

}  // namespace
}  // namespace tactus
