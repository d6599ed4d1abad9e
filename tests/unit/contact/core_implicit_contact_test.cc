// One manifold of the implicit law: its visit must solve the spring-damper problem of the substep's end, not approach
// it.
#include "core/contact/penalty/implicit_contact.h"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

constexpr double kSubstep = 2.5e-4;

struct Bench {
  SweepBody a, b;
  ImplicitContact c{};
  std::vector<ImplicitPoint> points;
};

SweepBody random_body(Random& random, bool moves) {
  const double mass = random.log_uniform(0.1, 100);
  SweepBody body{random.in_cube(2), random.in_cube(5), Vec3::Zero(), Vec3::Zero(), Mat3::Zero(), 0};
  if (!moves) return body;
  body.inv_mass = 1 / mass;
  body.inv_I = random.inertia(mass, random.uniform(0.1, 0.5)).inverse();
  return body;
}

// Up to 16 points on a patch of 0.2 m, some apart, some overlapping, two random bodies.
Bench random_bench(Random& random, double mu) {
  Bench bench;
  bench.a = random_body(random, true);
  bench.b = random_body(random, random.below(2) == 1);
  ImplicitContact& c = bench.c;
  const Vec3 nhat = random.direction();
  Vec3 t1, t2;
  tangent_basis(nhat, t1, t2);
  c.e << nhat, t1, t2;
  c.r_a = random.in_cube(0.3), c.r_b = random.in_cube(0.3);
  c.count = 1 + random.below(16);
  double x = 0, y = 0;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    bench.points.push_back({random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), random.uniform(-1e-4, 1e-3), 0});
    x += bench.points[i].x / c.count, y += bench.points[i].y / c.count;
  }
  for (ImplicitPoint& p : bench.points) p.x -= x, p.y -= y;  // p_ref is their middle
  c.points = bench.points.data();
  const double mass = 1 / (bench.a.inv_mass + bench.b.inv_mass), alpha = 1, beta = random.log_uniform(1, 1000);
  c.tangential_spring = alpha * mass / kSubstep;
  c.tangential_yield = (alpha + beta) * mass;
  c.spring = c.tangential_spring / c.count, c.yield = c.tangential_yield / c.count, c.stop = c.yield / kSubstep;
  c.reach = 1;
  c.mu_static = c.mu_dynamic = mu;
  c.inv_mass = 1 / mass;
  c.P = c.Q = c.f_sum = c.m_sum = Vec3::Zero();
  find_mobility(bench.a, bench.b, c);
  return bench;
}

double approach(const Bench& bench, const ImplicitPoint& p) {
  const ImplicitContact& c = bench.c;
  const Vec3 d = p.x * c.e.col(1) + p.y * c.e.col(2);
  const Vec3 v = bench.a.v + bench.a.w.cross(c.r_a + d) - bench.b.v - bench.b.w.cross(c.r_b + d);
  return c.e.col(0).dot(v);
}

TEST_CASE("implicit contact: every point carries its spring-damper at the end of the substep, or nothing") {
  Random random(1);
  int pushing = 0, resting = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    Bench bench = random_bench(random, 0);
    const double scale = bench.c.yield * (bench.a.v.norm() + bench.b.v.norm() + bench.a.w.norm() + bench.b.w.norm());
    visit(bench.c, bench.a, bench.b);
    for (const ImplicitPoint& p : bench.points) {
      const double push = p.depth < 0 ? bench.c.stop * p.depth : bench.c.spring * p.depth;
      const double law = push - bench.c.yield * approach(bench, p);
      CAPTURE(trial);
      CHECK(p.impulse >= 0);
      if (p.impulse > 0) {
        ++pushing;
        CHECK_WITHIN((p.impulse - law) / scale, 1e-6);
      } else {
        ++resting;
        CHECK(law / scale <= 1e-6);
      }
    }
  }
  CHECK(pushing > 5000);
  CHECK(resting > 5000);
}

TEST_CASE("implicit contact: momentum is kept, friction or not") {
  Random random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    Bench bench = random_bench(random, random.uniform(0, 1));
    if (bench.b.inv_mass == 0) continue;
    const auto momentum = [&] { return Vec3(bench.a.v / bench.a.inv_mass + bench.b.v / bench.b.inv_mass); };
    const auto spin = [&] {  // about p_ref
      const Mat3 I_a = bench.a.inv_I.inverse(), I_b = bench.b.inv_I.inverse();
      return Vec3(I_a * bench.a.w - bench.c.r_a.cross(bench.a.v) / bench.a.inv_mass + I_b * bench.b.w -
                  bench.c.r_b.cross(bench.b.v) / bench.b.inv_mass);
    };
    const Vec3 p = momentum(), L = spin();
    visit(bench.c, bench.a, bench.b);
    const double scale = bench.c.P.norm() + bench.c.Q.norm() + 1;
    CHECK_WITHIN((momentum() - p).norm() / scale, 1e-11);
    CHECK_WITHIN((spin() - L).norm() / scale, 1e-11);
  }
}

TEST_CASE("implicit contact: without friction a second visit changes nothing") {
  Random random(4);
  for (int trial = 0; trial < 2000; ++trial) {
    Bench bench = random_bench(random, 0);
    visit(bench.c, bench.a, bench.b);
    const Vec3 v = bench.a.v, w = bench.a.w;
    visit(bench.c, bench.a, bench.b);
    CHECK_WITHIN((bench.a.v - v).norm() + (bench.a.w - w).norm(), 1e-6);
  }
}

TEST_CASE("implicit contact: friction stays inside its limit and takes energy out") {
  Random random(3);
  int sliding = 0, sticking = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const double mu = random.uniform(0.05, 1);
    Bench bench = random_bench(random, mu);
    visit(bench.c, bench.a, bench.b);
    const ImplicitContact& c = bench.c;
    if (c.P[0] <= 0) continue;
    const double moment = c.Q[2] - c.x * c.Q[1] + c.y * c.Q[0];  // about the pressure centre
    const double size2 =
        c.Q[0] * c.Q[0] + c.Q[1] * c.Q[1] + (c.radius > 1e-6 ? moment * moment / (c.radius * c.radius) : 0.0);
    CHECK(std::sqrt(size2) <= mu * c.P[0] * (1 + 1e-9));
    const Vec3 centre = c.x * c.e.col(1) + c.y * c.e.col(2);
    const Vec3 v = bench.a.v + bench.a.w.cross(c.r_a + centre) - bench.b.v - bench.b.w.cross(c.r_b + centre);
    const double power =
        c.Q[0] * c.e.col(1).dot(v) + c.Q[1] * c.e.col(2).dot(v) + moment * c.e.col(0).dot(bench.a.w - bench.b.w);
    CHECK(power <= 1e-9 * c.P[0]);
    (c.slipped ? sliding : sticking) += 1;
    if (c.slipped) CHECK_WITHIN(std::sqrt(size2) / (mu * c.P[0]) - 1, 1e-9);
  }
  CHECK(sliding > 500);
  CHECK(sticking > 100);
}

}  // namespace
}  // namespace tactus
