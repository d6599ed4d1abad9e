// Collision times by eq. 21: exact where the paper says so, to 1e-10 s elsewhere, and never after the touch.
#include "core/collide/time/collision_time.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/collide/feature/feature_jet.h"
#include "tests/support/motions.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Motion;
using test::Random;

using Jet = std::function<ChiJet(double)>;

// Derivatives by central differences of eighth order, independent of the formulas under test.
double first_difference(const std::function<double(double)>& f, double h) {
  return (4.0 / 5 * (f(h) - f(-h)) - 1.0 / 5 * (f(2 * h) - f(-2 * h)) + 4.0 / 105 * (f(3 * h) - f(-3 * h)) -
          1.0 / 280 * (f(4 * h) - f(-4 * h))) /
         h;
}
double second_difference(const std::function<double(double)>& f, double h) {
  return (-205.0 / 72 * f(0) + 8.0 / 5 * (f(h) + f(-h)) - 1.0 / 5 * (f(2 * h) + f(-2 * h)) +
          8.0 / 315 * (f(3 * h) + f(-3 * h)) - 1.0 / 560 * (f(4 * h) + f(-4 * h))) /
         (h * h);
}

void check_rates(const ChiJet& jet, const std::function<double(double)>& chi) {
  REQUIRE(jet.known);
  const double scale = std::abs(jet.chi) + std::abs(jet.chi_dot) + std::abs(jet.chi_ddot);
  CHECK_WITHIN(jet.chi - chi(0), 1e-14 * scale);
  CHECK_WITHIN((jet.chi_dot - first_difference(chi, 0.003)) / scale, 1e-9);
  CHECK_WITHIN((jet.chi_ddot - second_difference(chi, 0.003)) / scale, 1e-7);
}

TEST_CASE("rates of a vertex over a face and of two edges are those of the motion") {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    Motion a = test::random_motion(random, 2, 2, 9), b = test::random_motion(random, 2, 2, 9);
    a.alpha = random.in_cube(5), b.alpha = random.in_cube(5);
    const Vec3 pa = random.in_cube(1), pb = random.in_cube(1), ea = random.direction(), eb = random.direction();
    const Frame A = a.at(0), B = b.at(0);
    check_rates(vertex_face_jet(a.rates(0), A * pa, b.rates(0), B * pb, B.R * eb),
                [&](double t) { return (b.at(t).R * eb).dot(a.at(t) * pa - b.at(t) * pb); });
    if ((A.R * ea).cross(B.R * eb).norm() < 0.3) continue;
    const Vec3 side = random.direction();
    const double sign = (A.R * ea).cross(B.R * eb).dot(side) < 0 ? -1 : 1;
    check_rates(edge_edge_jet(a.rates(0), A * pa, A.R * (2.5 * ea), b.rates(0), B * pb, B.R * eb, side), [&](double t) {
      const Vec3 n = (a.at(t).R * ea).cross(b.at(t).R * eb).normalized();
      return sign * n.dot(a.at(t) * pa - b.at(t) * pb);
    });
  }
}

TEST_CASE("edges in parallel have no normal of their own") {
  const RigidMotion at_rest;
  const ChiJet jet =
      edge_edge_jet(at_rest, Vec3::UnitZ(), Vec3::UnitX(), at_rest, Vec3::Zero(), 3 * Vec3::UnitX(), Vec3::UnitZ());
  CHECK_FALSE(jet.known);
}

// The touch by bisection to the last bit of a double.
double by_bisection(const Jet& jet, double t0, double t1) {
  for (int i = 0; i < 200; ++i) {
    const double middle = t0 + 0.5 * (t1 - t0);
    if (middle <= t0 || middle >= t1) break;
    (jet(middle).chi >= 0 ? t0 : t1) = middle;
  }
  return t0;
}

struct Case {
  Motion a, b;
  Vec3 pa, pb, nhat;  // in the bodies
  [[nodiscard]] ChiJet at(double t) const {
    const Frame A = a.at(t), B = b.at(t);
    return vertex_face_jet(a.rates(t), A * pa, b.rates(t), B * pb, B.R * nhat);
  }
};

// A vertex that comes down on a face some time within a step of length h.
Case falling_vertex(Random& random, double h, double turn) {
  for (;;) {
    Case c{test::random_motion(random, 1, turn, 10), test::random_motion(random, 1, turn, 10), random.in_cube(0.3),
           random.in_cube(0.3), random.direction()};
    const Vec3 n = c.b.R0 * c.nhat;
    c.a.c0 = c.b.c0 + c.b.R0 * c.pb - c.a.R0 * c.pa + random.uniform(0, 2 * h) * n;  // chi of 0 .. 2 h at t = 0
    if (c.at(0).chi > 0 && c.at(h).chi < 0) return c;
  }
}

TEST_CASE("without rotation one evaluation finds the time, with it at most three") {
  Random random(2);
  for (const double turn : {0.0, 10.0}) {
    for (int i = 0; i < 2000; ++i) {
      const double h = i % 2 == 0 ? 1e-3 : 1e-2;
      const Case c = falling_vertex(random, h, turn);
      const Jet jet = [&](double t) { return c.at(t); };
      const CollisionTime found = find_collision_time(0, jet(0), h, jet(h), jet);
      REQUIRE(found.found);
      const double exact = by_bisection(jet, 0, h);
      CHECK_WITHIN(found.t - exact, 1e-10);
      CHECK(jet(found.t).chi >= 0);
      CHECK(found.evaluations <= (turn == 0 ? 1u : 3u));
    }
  }
}

struct Edges {
  Motion a, b;
  Vec3 pa, pb, ea, eb;  // in the bodies
  [[nodiscard]] Vec3 across(double t) const { return (a.at(t).R * ea).cross(b.at(t).R * eb); }
  [[nodiscard]] ChiJet at(double t) const {
    const Frame A = a.at(t), B = b.at(t);
    return edge_edge_volume_jet(a.rates(t), A * pa, A.R * ea, b.rates(t), B * pb, B.R * eb, across(t));
  }
};

// Two edges with an angle whose sine is from `least` to `most` at both ends of a step of length h, that cross in it
// once.
Edges crossing_edges(Random& random, double h, double least, double most) {
  for (;;) {
    Edges c{test::random_motion(random, 1, 10, 10),
            test::random_motion(random, 1, 10, 10),
            random.in_cube(0.3),
            random.in_cube(0.3),
            random.direction(),
            Vec3::Zero()};
    const double sine = random.log_uniform(least, most);
    c.eb = c.b.R0.transpose() * c.a.R0 * (c.ea + sine * c.ea.cross(random.direction()).normalized()).normalized();
    const Vec3 n = c.across(0), last = c.across(h);
    if (std::min(n.norm(), last.norm()) < least || std::max(n.norm(), last.norm()) > most || n.dot(last) <= 0) continue;
    c.a.c0 = c.b.c0 + c.b.R0 * c.pb - c.a.R0 * c.pa + random.uniform(0, 2 * h) * n.normalized();
    int crossings = 0;
    constexpr int kLooks = 50;
    double before = c.at(0).chi;
    if (before <= 0 || c.at(h).chi >= 0) continue;
    for (int i = 1; i <= kLooks; ++i) {
      const double chi = c.at(h * i / kLooks).chi;
      crossings += (chi < 0) != (before < 0) ? 1 : 0;
      before = chi;
    }
    if (crossings == 1) return c;
  }
}

TEST_CASE("edges near parallel: at most three evaluations find the time, of 40,000 pairs") {
  struct Class {
    double h, least, most;
  };
  Random random(20);
  std::uint32_t most = 0;
  for (const Class& c :
       {Class{1e-3, 3e-4, 0.01}, Class{1e-3, 0.01, 0.3}, Class{1e-2, 3e-3, 0.03}, Class{1e-2, 0.03, 0.3}}) {
    for (int i = 0; i < 10000; ++i) {
      const Edges pair = crossing_edges(random, c.h, c.least, c.most);
      const Jet jet = [&](double t) { return pair.at(t); };
      const CollisionTime found = find_collision_time(0, jet(0), c.h, jet(c.h), jet);
      REQUIRE(found.found);
      CHECK_WITHIN(found.t - by_bisection(jet, 0, c.h), 1e-10);
      most = std::max(most, found.evaluations);
    }
  }
  MESSAGE("most evaluations " << most);
  CHECK(most <= 3);
}

TEST_CASE("the closed form of a thrown point that meets a plane") {
  // chi = c + v t - g t^2 / 2 exactly: the later root, since chi' > 0 at the start of some.
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const double height = random.uniform(0, 0.01), v = random.uniform(-1, 0.04), g = 9.81;
    const double touch = (v + std::sqrt(v * v + 2 * g * height)) / g;
    const Jet jet = [&](double t) { return ChiJet{height + v * t - 0.5 * g * t * t, v - g * t, -g, true}; };
    const double end = touch + random.uniform(1e-4, 1e-2);
    const CollisionTime found = find_collision_time(0, jet(0), end, jet(end), jet);
    CHECK(found.found);
    CHECK_WITHIN(found.t - touch, 1e-10);
    CHECK(found.evaluations <= 1);
  }
}

TEST_CASE("after a bounce the next impact is found, not the last one") {
  const double v = 0.03, g = 9.81;
  for (const double start : {0.0, -1e-16, 1e-16}) {  // chi there is zero up to rounding, of either sign
    const Jet jet = [&](double t) { return ChiJet{start + v * t - 0.5 * g * t * t, v - g * t, -g, true}; };
    const CollisionTime found = find_collision_time(0, jet(0), 0.01, jet(0.01), jet);
    CHECK(found.found);
    CHECK_WITHIN(found.t - 2 * v / g, 1e-10);
  }
}

TEST_CASE("a pair that touches at the start and draws nearer collides there") {
  const Jet jet = [](double t) { return ChiJet{-2 * t, -2, 0, true}; };
  const CollisionTime found = find_collision_time(0.5, {0, -2, 0, true}, 1, jet(0.5), jet);
  CHECK(found.found);
  CHECK(found.t == 0.5);
  CHECK(found.evaluations == 0);
}

TEST_CASE("apart at both ends: no collision is claimed") {
  const Jet jet = [](double) { return ChiJet{1, -1, 0, true}; };
  const CollisionTime found = find_collision_time(0, jet(0), 1, jet(1), jet);
  CHECK_FALSE(found.found);
  CHECK(found.t == 1);
}

TEST_CASE("where nothing is known the step shrinks to what is known to be apart") {
  SUBCASE("a touch before it is found all the same") {
    const Jet jet = [](double t) { return t > 0.6 ? ChiJet{0, 0, 0, false} : ChiJet{0.5 - t, -1, 0, true}; };
    const CollisionTime found = find_collision_time(0, jet(0), 1, jet(1), jet);
    CHECK(found.found);
    CHECK_WITHIN(found.t - 0.5, 1e-10);
  }
  SUBCASE("no touch before it") {
    const double end = 0.3;
    const Jet jet = [&](double t) { return t > end ? ChiJet{0, 0, 0, false} : ChiJet{0.5 - t, -1, 0, true}; };
    const CollisionTime found = find_collision_time(0, jet(0), 1, jet(1), jet);
    CHECK_FALSE(found.found);
    CHECK(found.t <= end);
    CHECK_WITHIN(found.t - end, 1e-10);
  }
}

TEST_CASE("rates that lie cost evaluations, never the answer") {
  Random random(4);
  for (const RootMethod method : {RootMethod::quadratic, RootMethod::newton, RootMethod::regula_falsi}) {
    for (int i = 0; i < 200; ++i) {
      const double touch = random.uniform(0.01, 0.99);
      const double wrong = random.uniform(-3, 3), wrong_too = random.uniform(-30, 30);
      const Jet jet = [&](double t) { return ChiJet{std::cbrt(touch - t), wrong, wrong_too, true}; };
      const CollisionTime found = find_collision_time(0, jet(0), 1, jet(1), jet, {.method = method});
      CHECK(found.found);
      // Rates decide when chi is near enough to zero: chi <= |chi'| 1e-10 is what can be asked of it.
      CHECK(found.t <= touch);
      CHECK_WITHIN(touch - found.t, 1e-9);
      CHECK(found.evaluations <= 140);
    }
  }
}

TEST_CASE("a grazing touch and a steep one") {
  const double depth = 1e-9;  // chi has a double root, nearly: it dips 1 nm below zero
  const Jet graze = [&](double t) { return ChiJet{(t - 0.5) * (t - 0.5) - depth, 2 * (t - 0.5), 2, true}; };
  const double touch = 0.5 - std::sqrt(depth);
  const CollisionTime found = find_collision_time(0, graze(0), 0.5, graze(0.5), graze);
  CHECK(found.found);
  CHECK_WITHIN(found.t - touch, 1e-10);
  const Jet steep = [](double t) { return ChiJet{1e6 * (0.25 - t), -1e6, 0, true}; };
  CHECK_WITHIN(find_collision_time(0, steep(0), 1, steep(1), steep).t - 0.25, 1e-10);
}

TEST_CASE("bisection needs log2 of the span over the tolerance") {
  const Jet jet = [](double t) { return ChiJet{0.00321 - t, -1, 0, true}; };
  const CollisionTime found = find_collision_time(0, jet(0), 0.01, jet(0.01), jet, {.method = RootMethod::bisection});
  CHECK(found.found);
  CHECK(found.evaluations == 27);  // ceil(log2(1e8))
  CHECK(found.t <= 0.00321);
  CHECK_WITHIN(found.t - 0.00321, 1e-10);
}

}  // namespace
}  // namespace tactus
