// Contact points must be where the bodies touch: when the bodies move a little, the overlap may grow by no more than
// the motion at the points says. (Least overlap is a minimum over directions, so the direction of now bounds the
// overlap of then from above.) Pairs are followed along random motions with their witness, as the tick does.
#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using namespace geometry_test;

Shape random_solid(ShapeKind kind, Rng& rng, const ConvexHull& hull) {
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
    case ShapeKind::convex:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  return make_convex(&hull);
}

// A small motion of B: turn by w about its origin, shift by v.
Frame moved(const Frame& X, const Vec3& v, const Vec3& w) {
  const double angle = w.norm();
  const Mat3 turn = angle > 0 ? Eigen::AngleAxisd(angle, w / angle).toRotationMatrix() : Mat3::Identity();
  return {turn * X.R, X.p + v};
}

// Follows one pair over `ticks` small motions and pushes it apart again where it is deeper than `deep`; counts ticks in
// contact and those in which the overlap grew more than its points moved.
void follow(Placed a, Placed b, Rng& rng, int ticks, double deep, int& contacts, int& wrong) {
  constexpr double kStep = 2e-4;
  Vec3 v = kStep * direction(rng), w = 5 * kStep * direction(rng);
  Witness witness;
  double allowed = std::numeric_limits<double>::infinity();
  for (int tick = 0; tick < ticks; ++tick) {
    const Result r = run(a, b, witness);
    witness = r.witness;
    if (r.depth > 0 && r.depth < 0.2) {
      ++contacts;
      // Hysteresis may keep an axis a little above the least, and body-fixed samples of a rim miss its deepest place by
      // up to half a per cent; the rest is the second order of the motion.
      wrong += r.depth > allowed + 8e-3 * r.depth + 2e-5 ? 1 : 0;
    }
    if (tick % 60 == 59) v = kStep * direction(rng);
    const Vec3 out = r.depth > deep ? Vec3((deep - r.depth) * r.nhat) : Vec3::Zero();
    allowed = 0;
    for (const ContactPoint& point : r.points) {
      const Vec3 motion = v + out + w.cross(point.p_WC - b.X.p);  // of B at the point; the normal is from B into A
      allowed = std::max(allowed, point.depth + r.nhat.dot(motion));
    }
    if (r.depth <= 0) allowed = std::numeric_limits<double>::infinity();
    b.X = moved(b.X, v + out, w);
  }
}

TEST_CASE("narrow_phase: overlaps grow no faster than their points move") {
  Rng hulls(7);
  const ConvexHull hull = random_hull(hulls, 14);
  for (int ka = 0; ka < static_cast<int>(ShapeKind::mesh); ++ka) {
    for (int kb = ka; kb < static_cast<int>(ShapeKind::mesh); ++kb) {
      const auto kind_a = static_cast<ShapeKind>(ka), kind_b = static_cast<ShapeKind>(kb);
      if (kind_a == ShapeKind::half_space && kind_b == ShapeKind::half_space) continue;
      Rng rng(static_cast<unsigned>(500 + ka * 10 + kb));
      int contacts = 0, wrong = 0;
      for (int trial = 0; trial < 150; ++trial) {
        Placed a{random_solid(kind_a, rng, hull), {rotation(rng), in_cube(rng, 0.7)}};
        Placed b{random_solid(kind_b, rng, hull), {rotation(rng), in_cube(rng, 0.7)}};
        Vec3 d = direction(rng);
        if (kind_a == ShapeKind::half_space) d = -a.X.R.col(2);
        if (kind_b == ShapeKind::half_space) d = b.X.R.col(2);
        if (kind_a != ShapeKind::half_space && kind_b != ShapeKind::half_space) sampled_minimum(a, b, rng, 40, &d);
        b.X.p += (uniform(rng, 0.005, 0.05) - overlap_along(a, b, d)) * d;
        follow(a, b, rng, 120, 1, contacts, wrong);
      }
      CAPTURE(std::string(collide_function_name(kind_a, kind_b)));
      CAPTURE(contacts);
      CHECK(contacts > 1000);
      CHECK(wrong == 0);
    }
  }
}

// A cylinder that tips over on another: rims first, then the sides.
TEST_CASE("narrow_phase: rims that tilt into side contact keep their point where the bodies touch") {
  int contacts = 0, wrong = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Rng rng(static_cast<unsigned>(9000 + trial));
    Placed a{make_cylinder(uniform(rng, 0.2, 0.6), uniform(rng, 0.2, 1.0)), {}};
    if (trial % 3 == 2) a.shape = make_box({uniform(rng, 0.2, 0.6), uniform(rng, 0.2, 0.6), uniform(rng, 0.2, 0.6)});
    Placed b{make_cylinder(uniform(rng, 0.2, 0.6), uniform(rng, 0.2, 1.0)), {rotation(rng), Vec3::Zero()}};
    Vec3 d = direction(rng);
    sampled_minimum(a, b, rng, 40, &d);
    b.X.p += (0.02 - overlap_along(a, b, d)) * d;
    follow(a, b, rng, 1500, 0.02, contacts, wrong);
  }
  CHECK(contacts > 100000);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace tactus
