// Pairs whose extremal points are not single: surfaces that fit each other in a line or an area. They are detected, the
// distance is right all the same, and a World goes on with them (the point of A is then taken as part of it).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/collide/feature/contact_features.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

constexpr double kRing = 0.3, kTube = 0.1, kBall = 0.2;

constexpr double kExact = 1e-12;  // of the distance

// The pair at a random place and turn of both together, in both orders and from nothing and from what that left.
void check_ill(const char* name, const Shape& a, const Frame& A, const Shape& b, const Frame& B, double d) {
  CAPTURE(std::string(name));
  CAPTURE(d);
  Random rng(61);
  for (int i = 0; i < 20; ++i) {
    const Frame X = i == 0 ? Frame{} : Frame{rng.rotation().toRotationMatrix(), rng.in_cube(1)};
    const Frame X_WA{X.R * A.R, X * A.p}, X_WB{X.R * B.R, X * B.p};
    for (const bool turned : {false, true}) {
      ExtremalSide side_a, side_b;
      for (int call = 0; call < 3; ++call) {
        const ExtremalPair pair = turned ? extremal_points(b, X_WB, a, X_WA, side_a, side_b)
                                         : extremal_points(a, X_WA, b, X_WB, side_a, side_b);
        CHECK(pair.status == ExtremalStatus::ill_conditioned);
        CHECK(pair.known());
        CHECK_FALSE(pair.has_rates());
        CHECK(pair.conditioning < kLeastConditioning);
        CHECK_WITHIN(pair.d - d, kExact);
        CHECK_WITHIN(pair.nhat_BA_W.norm() - 1, 1e-14);
        CHECK_WITHIN(pair.nhat_BA_W.dot(pair.pa_W - pair.pb_W) - pair.d, 1e-14);
        CHECK_WITHIN((pair.pa_W - pair.pb_W - pair.d * pair.nhat_BA_W).norm(), 1e-9);
      }
    }
  }
}

Frame up(double z) {
  return {Mat3::Identity(), Vec3(0, 0, z)};
}

}  // namespace

TEST_CASE("ill-conditioned: a torus that lies flat on a plane, on a box and on a cylinder's cap touches in a circle") {
  test::OwnedShapes owned;
  const Shape torus = owned.add(make_torus(kRing, kTube));
  for (const double gap : {0.05, 0.0, -1e-3}) {
    check_ill("plane", torus, up(kTube + gap), make_half_space(), {}, gap);
    check_ill("box", torus, up(kTube + gap), make_box({1, 1, 0.1}), up(-0.1), gap);
    check_ill("cap", torus, up(kTube + gap), make_cylinder(1, 0.1), up(-0.1), gap);
  }
}

TEST_CASE("ill-conditioned: a ball, and a disc, that close a torus' hole are as near all around it") {
  test::OwnedShapes owned;
  const Shape torus = owned.add(make_torus(kRing, kTube)), round = owned.add(make_ellipsoid(Vec3::Constant(kBall)));
  for (const double height : {0.4, 0.3, 0.25}) {
    const double d = std::hypot(kRing, height) - kTube - kBall;
    check_ill("ball", torus, {}, make_sphere(kBall), up(height), d);
    check_ill("ellipsoid", torus, {}, round, up(height), d);
  }
  for (const double gap : {0.05, 1e-4}) {
    check_ill("disc", torus, {}, make_cylinder(kRing - kTube - gap, 0.05), {}, gap);
  }
}

TEST_CASE("ill-conditioned: a ball in a bowl of its own radius, and in the middle of a wider one") {
  test::OwnedShapes owned;
  const Shape bowl = owned.add(make_cavity(make_ellipsoid(Vec3::Constant(kBall))));
  const Shape ball = owned.add(make_ellipsoid(Vec3::Constant(kBall)));
  check_ill("of its radius", bowl, {}, ball, {}, 0);
  check_ill("of its radius, a nanometre off", bowl, {}, ball, up(-1e-9), -1e-9);
  const Shape small = owned.add(make_ellipsoid(Vec3::Constant(0.5 * kBall)));
  check_ill("in the middle", bowl, {}, small, {}, 0.5 * kBall);
  check_ill("a sphere in the middle", bowl, {}, make_sphere(0.5 * kBall), {}, 0.5 * kBall);
}

TEST_CASE("ill-conditioned: a superellipsoid's flat pole on a plane and on a box") {
  test::OwnedShapes owned;
  for (const double exponent : {0.3, 0.5, 0.7}) {
    CAPTURE(exponent);
    const Shape pebble = owned.add(make_superellipsoid({0.3, 0.25, 0.2}, exponent, exponent));
    for (const double gap : {0.05, 0.0, -1e-3}) {
      check_ill("plane", pebble, up(0.2 + gap), make_half_space(), {}, gap);
      // At 0.7 the curvature grows so fast beside the pole (like x^0.86) that a point 1e-8 m off has one.
      if (exponent < 0.7) check_ill("box", pebble, up(0.2 + gap), make_box({1, 1, 0.1}), up(-0.1), gap);
    }
  }
}

}  // namespace tactus
