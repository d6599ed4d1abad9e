// Equation (4) of Drumwright's Appendix I against the exact least overlap.
#include "tests/support/narrow_eq4.h"
#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using namespace geometry_test;
using test::eq4_normal;
using test::Eq4Normal;

TEST_CASE("eq4_normal: a corner, an edge or a face just inside a face gives that face's normal and the exact depth") {
  Rng rng(31);
  int shortcuts = 0;
  const Shape block = make_box({0.5, 0.4, 0.3});
  for (int trial = 0; trial < 300; ++trial) {
    const Mat3 R = rotation(rng);
    const Frame X_WB{rotation(rng), in_cube(rng, 1)};
    Frame X_WA{X_WB.R * R, Vec3::Zero()};
    // A's lowest corner is depth below the upper face of a wide slab.
    const double depth = uniform(rng, 1e-6, 1e-3);
    const Vec3 up = X_WB.R.col(2);
    X_WA.p = X_WB * Vec3(uniform(rng, -0.2, 0.2), uniform(rng, -0.2, 0.2), 0);
    const Placed slab{make_box({3, 3, 1}), X_WB};
    X_WA.p += (overlap_along({block, X_WA}, slab, up) - depth) * up;
    Eq4Normal eq4;
    REQUIRE(eq4_normal(block, X_WA, make_box({3, 3, 1}), X_WB, eq4));
    CHECK((eq4.nhat_BA_W - up).norm() < 1e-9);
    CHECK(eq4.depth == doctest::Approx(depth).epsilon(1e-6));
    if (eq4.by_shortcut) ++shortcuts;
    CHECK((run({block, X_WA}, slab).nhat - eq4.nhat_BA_W).norm() < 1e-9);
  }
  CHECK(shortcuts > 250);  // the deepest point alone decides nearly always
}

TEST_CASE(
    "eq4_normal: never finds less overlap than the exact minimum on shallow pairs, and agrees when a face decides") {
  Rng rng(32);
  const ConvexHull hull_a = random_hull(rng, 16), hull_b = random_hull(rng, 16);
  int agree = 0, faces = 0, total = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Placed a{make_convex(&hull_a), {rotation(rng), in_cube(rng, 0.5)}};
    Placed b{make_convex(&hull_b), {rotation(rng), in_cube(rng, 0.5)}};
    Vec3 d;
    sampled_minimum(a, b, rng, 60, &d);
    a.X.p += (overlap_along(a, b, d) - 1e-4) * d;
    const Result exact = run(a, b);
    Eq4Normal eq4;
    const bool found = eq4_normal(a.shape, a.X, b.shape, b.X, eq4);
    CHECK(found == !exact.points.empty());
    if (!found) continue;
    ++total;
    CHECK(overlap_along(a, b, eq4.nhat_BA_W) >= overlap_along(a, b, exact.nhat) * (1 - 3e-3) - 1e-12);
    const bool by_face = exact.witness.feature_a < 0 || exact.witness.feature_b < 0;
    if (!by_face) continue;
    ++faces;
    if ((eq4.nhat_BA_W - exact.nhat).norm() < 1e-9) ++agree;
  }
  CHECK(total > 150);
  CHECK(agree >= 0.9 * faces);
}

TEST_CASE("eq4_normal: solids apart have no normal") {
  Eq4Normal eq4;
  const Shape cube = make_box({0.5, 0.5, 0.5});
  CHECK(!eq4_normal(cube, {Mat3::Identity(), {0, 0, 1.01}}, cube, Frame{}, eq4));
}

}  // namespace
}  // namespace tactus
