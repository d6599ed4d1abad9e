// The axioms of contact for every pair of shapes at random poses: exact minimum translation, points in both solids,
// symmetry under swap and common motion, independence of the witness.
#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using namespace geometry_test;

struct Solids {
  ConvexHull small, large, block;
};

const Solids& solids() {
  static const Solids instance = [] {
    Rng rng(11);
    return Solids{random_hull(rng, 10), random_hull(rng, 40), box_hull({0.5, 0.4, 0.3})};
  }();
  return instance;
}

constexpr int kConvexKinds = 6;  // the first ones; meshes: collide_mesh_test, smooth shapes: narrow_phase_smooth_test

Shape random_shape(ShapeKind kind, Rng& rng) {
  const double u = uniform(rng, 0.2, 1.0), v = uniform(rng, 0.2, 1.0), w = uniform(rng, 0.2, 1.0);
  switch (kind) {
    case ShapeKind::sphere:
      return make_sphere(u);
    case ShapeKind::box:
      return make_box({u, v, w});
    case ShapeKind::capsule:
      return make_capsule(0.6 * u, v);
    case ShapeKind::cylinder:
      return make_cylinder(u, v);
    case ShapeKind::half_space:
      return make_half_space();
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
    case ShapeKind::convex: {
      const auto which = rng() % 3;
      return make_convex(which == 0 ? &solids().small : which == 1 ? &solids().large : &solids().block);
    }
  }
  return {};
}

// Two solids that touch or nearly so: B is moved out along about the shortest way until the overlap is small, deep or
// negative.
void random_pair(ShapeKind ka, ShapeKind kb, Rng& rng, Placed& a, Placed& b) {
  a = {random_shape(ka, rng), {rotation(rng), in_cube(rng, 0.7)}};
  b = {random_shape(kb, rng), {rotation(rng), in_cube(rng, 0.7)}};
  if (ka == ShapeKind::half_space && kb == ShapeKind::half_space) return;
  Vec3 d = direction(rng);
  if (ka == ShapeKind::half_space) d = -a.X.R.col(2);
  if (kb == ShapeKind::half_space) d = b.X.R.col(2);
  if (ka != ShapeKind::half_space && kb != ShapeKind::half_space) sampled_minimum(a, b, rng, 40, &d);
  const double amount = std::pow(10.0, uniform(rng, -5, 0)) * (rng() % 6 == 0 ? -0.05 : 1.0);
  b.X.p += (amount - overlap_along(a, b, d)) * d;
}

void check_symmetries(const Placed& a, const Placed& b, const Result& r, Rng& rng, double tolerance) {
  INFO(describe(a) << "\n" << describe(b));
  const Result swapped = run(b, a);
  const Frame X{rotation(rng), in_cube(rng, 1)};
  const auto moved = [&](const Placed& s) { return Placed{s.shape, {X.R * s.X.R, X * s.X.p}}; };
  const Result carried = run(moved(a), moved(b));
  if (r.depth < 1e-6) return;  // rounding decides whether they touch
  CHECK((swapped.nhat + r.nhat).norm() <= tolerance);
  check_same_points(r.points, swapped.points, tolerance);
  CHECK((carried.nhat - X.R * r.nhat).norm() <= tolerance);
  std::vector<ContactPoint> expected = r.points;
  for (auto& p : expected) p.p_WC = X * p.p_WC;
  check_same_points(expected, carried.points, tolerance);
  const Result warm = run(a, b, r.witness);
  CHECK((warm.nhat - r.nhat).norm() <= tolerance);
  check_same_points(r.points, warm.points, tolerance);
  Witness strange;
  strange.axis_A = direction(rng);
  strange.feature_a = static_cast<std::int32_t>(rng() % 40) - 5;
  strange.feature_b = static_cast<std::int32_t>(rng() % 40) - 5;
  const Result other = run(a, b, strange);
  // A foreign witness may keep an axis that is within the hysteresis of the best one.
  CHECK(overlap_along(a, b, other.nhat) <= overlap_along(a, b, r.nhat) * 1.003 + 1e-9);
}

TEST_CASE("narrow_phase: axioms of contact, all pairs, random poses") {
  for (int ka = 0; ka < kConvexKinds; ++ka) {
    for (int kb = ka; kb < kConvexKinds; ++kb) {
      const auto kind_a = static_cast<ShapeKind>(ka), kind_b = static_cast<ShapeKind>(kb);
      CAPTURE(std::string(collide_function_name(kind_a, kind_b)));
      Rng rng(static_cast<unsigned>(100 + ka * 10 + kb));
      int touching = 0;
      for (int trial = 0; trial < 1000; ++trial) {
        Placed a, b;
        random_pair(kind_a, kind_b, rng, a, b);
        const Result r = run(a, b);
        check_axioms(a, b, r, rng, 2.0, trial % 4 == 0 ? 1000 : 100);
        if (r.points.empty()) continue;
        ++touching;
        if (trial % 3 == 0) check_symmetries(a, b, r, rng, 1e-6);
      }
      if (kind_a != ShapeKind::half_space || kind_b != ShapeKind::half_space) CHECK(touching > 300);
    }
  }
}

}  // namespace
}  // namespace tactus
