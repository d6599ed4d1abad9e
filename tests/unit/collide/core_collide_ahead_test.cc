// Contacts before they close: gaps are distances, and no approach is missed.
#include "core/collide/time/collide_ahead.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/scenes.h"

namespace tactus {
namespace {

using test::Random;

struct Found {
  std::vector<ContactPoint> storage = std::vector<ContactPoint>(512);
  ContactBuffer buffer{storage.data(), 512};
  Witness witness;

  Found& ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach) {
    collide_ahead(a, X_WA, b, X_WB, reach, witness, buffer);
    return *this;
  }
  [[nodiscard]] double least_gap() const {
    double gap = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < buffer.count; ++i) gap = std::min(gap, -buffer.points[i].depth);
    return gap;
  }
};

Frame frame_at(const Vec3& p, const Quat& q = Quat::Identity()) {
  return {q.toRotationMatrix(), p};
}

Shape random_shape(Random& random) {
  const double s = random.uniform(0.2, 0.5), t = random.uniform(0.2, 0.5), u = random.uniform(0.2, 0.5);
  switch (random.below(4)) {
    case 0:
      return make_sphere(s);
    case 1:
      return make_box(Vec3(s, t, u));
    case 2:
      return make_capsule(s, t);
    default:
      return make_cylinder(s, t);
  }
}

double along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& n) {
  const Vec3 p_A = X_WA * support(a, X_WA.R.transpose() * -n), p_B = X_WB * support(b, X_WB.R.transpose() * n);
  return n.dot(p_A - p_B);
}

}  // namespace

TEST_CASE("collide ahead: spheres and half-spaces by their closed forms") {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const Vec3 p = random.in_cube(2), q = random.in_cube(2);
    const double gap = (p - q).norm() - 0.7;
    if (gap < 1e-3) continue;
    Found found;
    found.ahead(make_sphere(0.3), frame_at(p), make_sphere(0.4), frame_at(q), gap + 0.05);
    REQUIRE(found.buffer.count == 1);
    CHECK(found.least_gap() == doctest::Approx(gap).epsilon(1e-12));
    CHECK((found.buffer.nhat_BA_W - (p - q).normalized()).norm() < 1e-12);
    CHECK(found.ahead(make_sphere(0.3), frame_at(p), make_sphere(0.4), frame_at(q), 0.99 * gap).buffer.count == 0);
  }
  // Each corner of a tilted box has its own height above the floor.
  const Quat q = test::turned({1, 2, 0}, 0.1);
  const Frame X_WB = frame_at(Vec3(0, 0, 0.7), q);
  Found found;
  found.ahead(make_box(Vec3::Constant(0.5)), X_WB, make_half_space(), frame_at(Vec3::Zero()), 0.4);
  CHECK(found.buffer.count == 4);
  for (std::uint32_t i = 0; i < found.buffer.count; ++i) {
    const ContactPoint& point = found.buffer.points[i];
    const Vec3 corner = point.p_WC + 0.5 * -point.depth * Vec3::UnitZ();  // the point lies midway
    const Vec3 local = X_WB.to_local(corner).cwiseAbs();
    CHECK((local - Vec3::Constant(0.5)).norm() < 1e-12);
    CHECK(corner.z() == doctest::Approx(-point.depth));
  }
}

TEST_CASE("collide ahead: round shapes that just touch, by rounding apart or in each other, are seen at first sight") {
  Random random(6);
  int unseen = 0, wrong = 0, all = 0;
  for (int i = 0; i < 1500; ++i) {
    const bool ball = random.chance(0.5);
    const double radius = random.uniform(0.2, 0.5), half = random.uniform(0.2, 0.5);
    const Shape a = ball ? make_sphere(radius) : make_capsule(radius, half), b = random_shape(random);
    const Quat q_A = random.rotation(), q_B = random.rotation();
    const Vec3 p = 1.2 * random.direction();
    Found apart;
    apart.ahead(a, frame_at(p, q_A), b, frame_at(Vec3::Zero(), q_B), 3);
    if (apart.buffer.count == 0) continue;
    const Vec3 n = apart.buffer.nhat_BA_W;
    // The nearest points lie along n: moved along it they stay nearest.
    const double gap = along(a, frame_at(p, q_A), b, frame_at(Vec3::Zero(), q_B), n);
    for (const double left : {-1e-12, -1e-16, 0.0, 1e-16, 1e-12, 1e-9}) {
      Found found;
      found.ahead(a, frame_at(p - (gap - left) * n, q_A), b, frame_at(Vec3::Zero(), q_B), 1e-3);
      ++all;
      unseen += found.buffer.count == 0;
      wrong += found.buffer.count > 0 && std::abs(found.least_gap() - left) > 1e-8;
    }
  }
  CHECK(all > 5000);
  CHECK(unseen == 0);
  CHECK(wrong == 0);
}

TEST_CASE("collide ahead: a face above a face gives its four corners, at the gap") {
  for (const double gap : {1e-9, 1e-6, 1e-3, 0.05}) {
    Found found;
    found.ahead(make_box(Vec3::Constant(0.5)), frame_at(Vec3(0.1, 0.2, 1 + gap)), make_box(Vec3::Constant(0.5)),
                frame_at(Vec3::Zero()), 0.1);
    CHECK(found.buffer.count == 4);
    CHECK((found.buffer.nhat_BA_W - Vec3::UnitZ()).norm() < 1e-12);
    for (std::uint32_t i = 0; i < found.buffer.count; ++i) CHECK(std::abs(found.buffer.points[i].depth + gap) < 1e-12);
  }
}

TEST_CASE("collide ahead: shapes apart are apart along the normal found, by at least the gap of the nearest point") {
  Random random(2);
  int seen = 0;
  for (int i = 0; i < 4000; ++i) {
    const Shape a = random_shape(random), b = random_shape(random);
    const Quat q_a = random.rotation(), q_b = random.rotation();
    const Vec3 p_a = random.in_cube(1), p_b = random.in_cube(1);
    const Frame X_WA = frame_at(p_a, q_a), X_WB = frame_at(p_b, q_b);
    Witness none;
    std::vector<ContactPoint> storage(512);
    ContactBuffer now{storage.data(), 512};
    collide(a, X_WA, b, X_WB, none, now);
    if (now.count > 0) continue;
    Found found;
    found.ahead(a, X_WA, b, X_WB, 0.2);
    if (found.buffer.count == 0) continue;
    ++seen;
    const double apart = along(a, X_WA, b, X_WB, found.buffer.nhat_BA_W);
    CHECK(apart >= -1e-9);
    CHECK(found.least_gap() >= apart - 1e-9);
    CHECK(found.least_gap() <= 0.2);
  }
  CHECK(seen > 300);
}

// The cores' least distance is one of the shapes' points, so it is at least what any plane between them says.
TEST_CASE("collide ahead: no plane separates a box and a cylinder by more than the distance that decides") {
  Random random(9);
  int looked = 0, unseen = 0;
  for (int i = 0; i < 3000; ++i) {
    const double s = random.uniform(0.2, 0.5), t = random.uniform(0.2, 0.5), u = random.uniform(0.2, 0.5);
    const double radius = random.uniform(0.2, 0.5), half = random.uniform(0.2, 0.5);
    const Shape a = make_box(Vec3(s, t, u)), b = make_cylinder(radius, half);
    const Quat q_a = random.rotation(), q_b = random.rotation();
    const Vec3 p_a = random.in_cube(1.2), p_b = random.in_cube(1.2);
    const Frame X_WA = frame_at(p_a, q_a), X_WB = frame_at(p_b, q_b);
    Found found;
    found.ahead(a, X_WA, b, X_WB, 0.2);
    if (found.witness.axis_A.isZero(0)) continue;
    Vec3 n = X_WA.R * found.witness.axis_A;
    double gap = along(a, X_WA, b, X_WB, n);
    for (int k = 0; k < 300; ++k) {  // a climb to the plane that separates them by the most
      const Vec3 next = (n + (k < 200 ? 0.1 : 0.003) * random.direction()).normalized();
      if (along(a, X_WA, b, X_WB, next) > gap) n = next, gap = along(a, X_WA, b, X_WB, n);
    }
    if (gap <= 0 || gap > 0.199) continue;
    ++looked;
    unseen += found.buffer.count == 0 ? 1 : 0;
  }
  CHECK(looked > 100);
  CHECK(unseen <= looked / 100);  // what is left: slivers still
}

TEST_CASE("collide ahead: whoever overlaps after a step was seen before it, with a contact that would close") {
  Random random(3);
  int overlaps = 0;
  for (int i = 0; i < 20000; ++i) {
    const Shape a = random_shape(random), b = random_shape(random);
    const Quat q_a = random.rotation(), q_b = random.rotation();
    const Vec3 p_b = random.in_cube(0.9), move = 0.05 * random.direction();
    const Frame X_WA = frame_at(Vec3::Zero(), q_a), X_WB = frame_at(p_b, q_b);
    std::vector<ContactPoint> storage(512);
    ContactBuffer now{storage.data(), 512}, later{storage.data(), 512};
    Witness w1, w2;
    collide(a, X_WA, b, X_WB, w1, now);
    if (now.count > 0) continue;
    collide(a, {X_WA.R, move}, b, X_WB, w2, later);
    if (later.count == 0) continue;
    ++overlaps;
    Found found;
    found.ahead(a, X_WA, b, X_WB, 0.051);
    bool closes = false;
    for (std::uint32_t k = 0; k < found.buffer.count; ++k) {
      closes = closes || -found.buffer.points[k].depth + found.buffer.nhat_BA_W.dot(move) < 1e-9;
    }
    CHECK(closes);
  }
  CHECK(overlaps > 200);
}

TEST_CASE("collide ahead: beside an edge the overlap found is the least one, however far is looked") {
  const Shape cube = make_box(Vec3::Constant(0.5));
  for (const double reach : {1e-3, 1e-2, 0.1}) {
    Found found;
    for (int tick = 0; tick < 3; ++tick) {  // 1 mm over the edge, 1 um deep; then with what the pair remembers
      found.ahead(cube, frame_at(Vec3(0.999, 0, 1 - 1e-6)), cube, frame_at(Vec3::Zero()), reach);
      REQUIRE(found.buffer.count > 0);
      CHECK((found.buffer.nhat_BA_W - Vec3::UnitZ()).norm() < 1e-12);
      CHECK(std::abs(found.least_gap() + 1e-6) < 1e-12);
    }
  }
}

}  // namespace tactus
