// The stepper that goes from one discontinuity to the next, against closed forms of mechanics.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

World exact_world(Scene scene, double h = 1e-3) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  scene.model->parameters.lcp_stepper = LcpStepper::exact;
  return scene.world();
}

void check_clean(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.inconsistent == 0);
  CHECK(report.exact.unresolved == 0);
  CHECK(report.exact.exhausted == 0);
}

// Where a ball under gravity alone was s ago.
Vec3 fall_back(const World& world, BodyIndex b, double s) {
  return world.state().p_WBcm(b) - s * world.state().v_WBcm(b) + 0.5 * s * s * world.parameters().gravity_W;
}

constexpr double kLarge = 1, kSmall = 0.25;  // radii of two spheres [m]

// A ball at an angle from the top of a fixed sphere, its centre moving down the side at speed v.
Scene ball_on_ball(double mu, double angle, double v, const Vec3& spin = Vec3::Zero()) {
  Scene scene(mu);
  scene.add(make_sphere(kLarge), 0, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const double d = kLarge + kSmall;
  const Vec3 along(std::cos(angle), 0, -std::sin(angle));
  scene.add(make_sphere(kSmall), 2, at(d * std::sin(angle), 0, d * std::cos(angle)), {spin, v * along});
  return scene;
}

struct Leaving {
  double angle = -1;       // [rad]
  double worst_force = 0;  // relative, of N while it touches
  double energy = 0;       // relative change
};

// Runs until the ball has left. spin_energy: of v^2 / 2, what rolling adds.
Leaving leave(World world) {
  Leaving out;
  const double before = test::total_energy(world), d = kLarge + kSmall;
  for (int i = 0; i < 3000 && out.angle < 0; ++i) {
    const StepReport report = world.step();
    check_clean(report);
    const State& state = world.state();
    const Vec3 p = state.p_WBcm(1);
    if (report.exact.breaks > 0) {
      const Vec3 left = fall_back(world, 1, world.h() - report.exact.event_time);
      CHECK_WITHIN(left.norm() - d, 1e-9);
      out.angle = std::acos(left.z() / left.norm());
    } else {
      REQUIRE(world.contacts().point_count == 1);
      CHECK_WITHIN(p.norm() - d, 1e-11);
      const double normal = -p.normalized().dot(world.contact_force(0));  // on the fixed sphere, which is A
      const double expected = 2 * (kGravity * p.z() / d - state.v_WBcm(1).squaredNorm() / d);
      out.worst_force = std::max(out.worst_force, std::abs(normal / expected - 1) * std::min(1.0, expected));
    }
  }
  out.energy = test::total_energy(world) / before - 1;
  return out;
}

}  // namespace

TEST_CASE("exact: a ball that bounces between two steps is where the parabolas are, several bounces a step") {
  for (const double h : {1e-3, 0.03, 0.4}) {
    CAPTURE(h);
    const double e = 0.6, radius = 0.1, height = 1;
    Scene scene(0, e);
    scene.add_floor();
    scene.add(make_sphere(radius), 2, at(0, 0, radius + height), {Vec3::Zero(), Vec3(0.3, 0, 0)});
    World world = exact_world(std::move(scene), h);
    const double first = std::sqrt(2 * height / kGravity);
    double t = 0;
    for (int i = 0; t < 1.5; ++i) {
      check_clean(world.step());
      t = world.state().time;
      // Bounce k at T_k with speed up e^k v0.
      double start = first, up = e * kGravity * first;
      double z = height - 0.5 * kGravity * t * t;
      while (t >= start) {
        z = up * (t - start) - 0.5 * kGravity * (t - start) * (t - start);
        start += 2 * up / kGravity, up *= e;
      }
      CHECK_WITHIN(world.state().p_WBcm(1).z() - radius - z, 1e-9);
      CHECK_WITHIN(world.state().p_WBcm(1).x() - 0.3 * t, 1e-12);
    }
  }
}

TEST_CASE("exact: a box at rest is carried by m g, to rounding, and does not move") {
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3(0.3, 0.2, 0.1)), 3, at(0, 0, 0.1));
  World world = exact_world(std::move(scene));
  for (int i = 0; i < 100; ++i) {
    check_clean(world.step());
    Vec3 sum = Vec3::Zero();
    for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) sum += world.contact_force(k);
    CHECK((sum + 3 * kGravity * Vec3::UnitZ()).norm() <= 1e-12 * 3 * kGravity);  // on the floor
  }
  CHECK((world.state().p_WBcm(1) - Vec3(0, 0, 0.1)).norm() < 1e-14);
}

TEST_CASE("exact: a ball slides off a sphere where its height is what energy says, N = m (g cos - v^2 / (R + r))") {
  for (const double h : {1e-3, 4e-3}) {
    for (const double v : {0.3, 1.5}) {
      CAPTURE(v);
      const double angle = 0.1;
      const Leaving left = leave(exact_world(ball_on_ball(0, angle, v), h));
      const double expected = 2.0 / 3 * std::cos(angle) + v * v / (3 * kGravity * (kLarge + kSmall));
      CHECK_WITHIN((left.angle - std::acos(expected)) * 180 / M_PI, 1e-5);
      CHECK(left.worst_force < 1e-9);
      CHECK_WITHIN(left.energy, 1e-9);
    }
  }
}

TEST_CASE("exact: a ball that rolls without slip from rest leaves at cos = 10 / 17") {
  const double angle = 0.02, v = 0;
  const Leaving left = leave(exact_world(ball_on_ball(1e4, angle, v)));
  // v^2 = 10/7 g d (cos a0 - cos a): leaves where cos a = 10/17 cos a0.
  CHECK_WITHIN((left.angle - std::acos(10.0 / 17 * std::cos(angle))) * 180 / M_PI, 1e-3);
  CHECK(left.worst_force < 1e-9);
  CHECK_WITHIN(left.energy, 1e-9);
}

// A disc of radius R and half thickness l on its rim, its axis tilted by b: without friction its centre stays above
// z(b) = R sin b + l cos b, and with no spin (I + m z'^2) b'' = -m z' (g + z'' b'^2), N = m (g + z'' b'^2 + z' b'').
TEST_CASE("exact: a disc on its rim is carried as its shape says, and keeps its energy") {
  constexpr double R = 0.1, l = 0.02, m = 2, transverse = m * (3 * R * R + 4 * l * l) / 12;
  for (const double spin : {0.0, 20.0}) {
    CAPTURE(spin);
    Scene scene(0);
    scene.add_floor();
    Pose tilted = at(0, 0, R * std::sin(0.9) + l * std::cos(0.9));
    tilted.q = rotate_by(Vec3(0.9, 0, 0), Quat::Identity());
    scene.add(make_cylinder(R, l), m, tilted, {spin * (tilted.q * Vec3::UnitZ()), Vec3(0.3, 0, 0)});
    World world = exact_world(std::move(scene));
    const double energy = test::total_energy(world);
    for (int i = 0; i < 60; ++i) {
      const StepReport report = world.step();
      check_clean(report);
      CHECK(report.exact.breaks == 0);
      const State& state = world.state();
      const Vec3 u = state.q_WB(1) * Vec3::UnitZ(), u_dot = state.w_WB(1).cross(u);
      const double sine = std::sqrt(1 - u.z() * u.z()), b_dot = -u_dot.z() / sine;
      CHECK_WITHIN(state.p_WBcm(1).z() - (R * sine + l * u.z()), 1e-10);
      CHECK_WITHIN(test::total_energy(world) / energy - 1, 1e-9);
      REQUIRE(world.contacts().point_count == 1);
      if (spin > 0) continue;
      const double z1 = R * u.z() - l * sine, z2 = -R * sine - l * u.z();
      const double b_ddot = -m * z1 * (kGravity + z2 * b_dot * b_dot) / (transverse + m * z1 * z1);
      const double expected = m * (kGravity + z2 * b_dot * b_dot + z1 * b_ddot);
      CHECK_WITHIN(-world.contact_force(0).z() / expected - 1, 1e-9);
    }
  }
}

TEST_CASE("exact: a ball thrown along a rough floor slides for 2 v / (7 mu g), then rolls at 5 / 7 v") {
  const double mu = 0.3, v = 2, radius = 0.2;
  Scene scene(mu);
  scene.add_floor();
  scene.add(make_sphere(radius), 1, at(0, 0, radius), {Vec3::Zero(), Vec3(v, 0, 0)});
  World world = exact_world(std::move(scene), 7e-3);
  const double stop = 2 * v / (7 * mu * kGravity);
  double found = -1;
  for (int i = 0; i < 100; ++i) {
    const double t = world.state().time;
    const StepReport report = world.step();
    check_clean(report);
    if (report.exact.stops > 0) found = t + report.exact.event_time;
  }
  CHECK_WITHIN(found - stop, 1e-10);
  CHECK((world.state().v_WBcm(1) - Vec3(5.0 / 7 * v, 0, 0)).norm() < 1e-10);
  CHECK((world.state().w_WB(1) - Vec3(0, 5.0 / 7 * v / radius, 0)).norm() < 1e-9);
}

TEST_CASE("exact: balls that land at different times within one step") {
  Scene scene(0, 0.5);
  scene.add_floor();
  for (int i = 0; i < 5; ++i) scene.add(make_sphere(0.1), 1 + i, at(i, 0, 0.1 + 0.01 * (i + 1)));
  World world = exact_world(std::move(scene), 0.12);
  const StepReport report = world.step();
  check_clean(report);
  CHECK(report.exact.collisions == 6);  // the lowest one twice
  for (int i = 0; i < 5; ++i) {
    const double hit = std::sqrt(2 * 0.01 * (i + 1) / kGravity), s = 0.12 - hit;
    if (0.5 * kGravity * hit < 0.5 * kGravity * s) continue;  // it bounced again
    CHECK_WITHIN(world.state().p_WBcm(1 + BodyIndex(i)).z() - 0.1 - (0.5 * kGravity * hit * s - 0.5 * kGravity * s * s),
                 1e-9);
  }
}

TEST_CASE("exact: a tumbling box comes to rest on the floor, with friction") {
  Scene scene(0.5, 0.2);
  scene.add_floor();
  scene.add(make_box(Vec3(0.3, 0.2, 0.1)), 3, {test::turned(Vec3(1, 2, 3), 1), Vec3(0, 0, 1)},
            {Vec3(1, -2, 0.5), Vec3(0.4, 0.1, 0)});
  World world = exact_world(std::move(scene));
  std::uint32_t pieces = 0;
  for (int i = 0; i < 3000; ++i) {
    const StepReport report = world.step();
    check_clean(report);
    pieces = std::max(pieces, report.exact.pieces);
    CHECK(report.depth_max < 1e-7);
  }
  MESSAGE("most pieces of a step: " << pieces);
  CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.1, 1e-7);
  CHECK(world.state().v_WBcm(1).norm() < 1e-6);
}

TEST_CASE("exact: five cubes stand") {
  World world = exact_world(test::stack(5, true));
  for (int i = 0; i < 100; ++i) check_clean(world.step());
  for (BodyIndex b = 1; b <= 5; ++b) CHECK(world.state().v_WBcm(b).norm() < 1e-9);
}

TEST_CASE("exact: no allocation, same bits from a copied state") {
  const auto scene = [] {
    Scene s(0.4, 0.5);
    s.add_floor();
    for (int i = 0; i < 4; ++i) {
      s.add(make_box(Vec3(0.1, 0.15, 0.2)), 1, {test::turned(Vec3(1, i, 2), 1), Vec3(0.1 * i, 0, 0.5 + 0.5 * i)});
    }
    s.add(make_capsule(0.1, 0.2), 1, {test::turned(Vec3(1, 1, 0), 1), Vec3(0.1, 0.1, 2.6)});
    return s;
  };
  World a = exact_world(scene()), b = exact_world(scene());
  for (int i = 0; i < 300; ++i) a.step();
  State state;
  a.snapshot(state);
  REQUIRE(b.restore(state));
  test::AllocGuard guard;
  for (int i = 0; i < 300; ++i) a.step(), b.step();
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK(a.hash() == b.hash());
}

}  // namespace tactus
