// The cone's algebra and scaling against what defines them.
#include "core/math/lorentz_cone.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/random.h"

namespace tactus {
namespace {

// Within the cone, by a share of its axis from 1e-9 (at its rim) to 1.
Vec3 inner(test::Random& random) {
  const double angle = random.uniform(0, 2 * M_PI), size = random.log_uniform(1e-3, 1e3);
  const double t = 1 - random.log_uniform(1e-9, 1);
  return size * Vec3(1, t * std::cos(angle), t * std::sin(angle));
}

}  // namespace

TEST_CASE("second-order cone: product and quotient are each other's inverse, and the cone is its squares") {
  test::Random random(31);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 x = inner(random), y = random.in_cube(2);
    const Vec3 back = cone_quotient(cone_product(x, y), x);
    CHECK((back - y).norm() <= 1e-14 * x.squaredNorm() / cone_det(x) * (1 + y.norm()));
    CHECK((cone_product(x, Vec3::UnitX()) - x).norm() == 0);
    const Vec3 square = cone_product(y, y);
    CHECK(square[0] >= square.tail<2>().norm() * (1 - 1e-15));
  }
}

TEST_CASE(
    "second-order cone: the scaling takes both points to one, is symmetric, positive, and maps the cone onto it") {
  test::Random random(32);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 x = inner(random), z = inner(random);
    const ConeScaling W(x, z);
    // How near to the rim the points are is how ill-conditioned W is.
    const double tolerance = 1e-14 * std::sqrt(x.squaredNorm() / cone_det(x)) *
                             std::sqrt(z.squaredNorm() / cone_det(z)) *
                             std::max(x.squaredNorm() / cone_det(x), z.squaredNorm() / cone_det(z));
    CHECK((W.apply_twice(z) - x).norm() <= tolerance * x.norm());
    const Vec3 lambda = W.apply(z);
    CHECK((lambda - W.apply_inverse(x)).norm() <= tolerance * lambda.norm());
    const Vec3 a = random.in_cube(1), b = random.in_cube(1);
    CHECK((W.apply(W.apply(a)) - W.apply_twice(a)).norm() <= tolerance * W.apply_twice(a).norm());
    CHECK((W.square() * a - W.apply_twice(a)).norm() <= tolerance * W.square().norm());
    CHECK(std::abs(a.dot(W.apply(b)) - b.dot(W.apply(a))) <= tolerance * W.square().norm());
    CHECK(a.dot(W.apply(a)) > 0);
    CHECK(std::abs(x.dot(z) - lambda.squaredNorm()) <= tolerance * lambda.squaredNorm());
  }
}

TEST_CASE("second-order cone: the longest step ends on the rim, and there is none where the direction stays within") {
  test::Random random(33);
  int ends = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Vec3 x = inner(random), d = random.in_cube(1);
    const double t = longest_in_cone(x, d);
    if (std::isinf(t)) {
      CHECK(d[0] >= d.tail<2>().norm());
      continue;
    }
    ++ends;
    const auto slack = [&](double s) {
      const Vec3 y = x + s * d;
      return y[0] - y.tail<2>().norm();
    };
    CHECK(std::abs(slack(t)) <= 1e-13 * (x.norm() + t * d.norm()));
    CHECK(slack(0.999 * t) > 0);
    CHECK(slack(1.001 * t) < 0);
  }
  CHECK(ends > 5000);
  CHECK(std::isinf(longest_in_cone(Vec3::UnitX(), Vec3::UnitX())));
  CHECK(longest_in_cone(Vec3::UnitX(), -Vec3::UnitX()) == 1);
}

}  // namespace tactus
