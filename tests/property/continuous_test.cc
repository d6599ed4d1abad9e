// Continuous detection: what is fast or thin does not pass through, in any model; momentum and energy are right.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/collide/time/swept_pair.h"
#include "tests/support/models.h"
#include "tests/support/motions.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// A bullet of 1 cm that flies at 300 m/s, 30 cm a step, at a pane of 1 mm.
struct Range {
  Scene scene;
  BodyIndex bullet = 0, pane = 0;

  Range(ContactModelKind kind, const Shape& shape, bool continuous, BodyMode pane_mode, double restitution = 0)
      : scene(0.3, restitution) {
    scene.model->contact_model = kind;
    pane = scene.add(make_box(Vec3(0.0005, 0.5, 0.5)), 1, test::at(0, 0, 0), {}, 0, pane_mode);
    bullet = scene.add(shape, 0.01, test::at(-1.07, 0.01, 0.02), {Vec3::Zero(), Vec3(300, 0, 0)});
    scene.model->bodies[bullet].continuous = continuous;
  }
};

std::vector<Shape> bullets() {
  return {make_sphere(0.005), make_box(Vec3::Constant(0.005)), make_capsule(0.003, 0.004), make_cylinder(0.005, 0.005)};
}

TEST_CASE("a bullet does not pass a thin pane, in any model") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    const ContactModelKind kind = stepping.kind;
    if (!World::has_model(kind)) continue;
    CAPTURE(stepping.name());
    for (const Shape& shape : bullets()) {
      CAPTURE(std::string(to_string(shape.kind)));
      Range range(kind, shape, true, BodyMode::fixed);
      stepping.set(*range.scene.model);
      World world = range.scene.world();
      double farthest = -1;
      for (int i = 0; i < 50; ++i) {
        world.step();
        farthest = std::max(farthest, world.state().p_WBcm(range.bullet).x());
      }
      CHECK(farthest < 0);
      // It got there; `ap` stops whatever comes nearer within the step's reach, by its definition.
      CHECK(farthest > (kind == ContactModelKind::ap ? -0.35 : -0.02));
      CHECK(world.state().v_WBcm(range.bullet).x() < 1);
    }
  }
}

TEST_CASE("without the option it does: the scene tests something") {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::deepest}) {
    Range range(kind, make_sphere(0.005), false, BodyMode::fixed);
    World world = range.scene.world();
    test::run(world, 50);
    CHECK(world.state().p_WBcm(range.bullet).x() > 1);
  }
}

TEST_CASE("a free pane takes the bullet's momentum: v = m V / (m + M) when it sticks; energy never grows") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    const ContactModelKind kind = stepping.kind;
    if (!World::has_model(kind)) continue;
    CAPTURE(stepping.name());
    Range range(kind, make_sphere(0.005), true, BodyMode::free);
    stepping.set(*range.scene.model);
    range.scene.set_gravity(Vec3::Zero());
    // Central, so that the pane does not turn.
    range.scene.model->X_WB0[range.bullet].p = Vec3(-1.07, 0, 0);
    World world = range.scene.world();
    const double start = kinetic_energy(world.model(), world.state());
    std::uint32_t stops = 0;
    for (int i = 0; i < 50; ++i) {
      stops += world.step().continuous_stops;
      const Vec3 momentum = 0.01 * world.state().v_WBcm(range.bullet) + 1.0 * world.state().v_WBcm(range.pane);
      CHECK_WITHIN((momentum - Vec3(3, 0, 0)).norm(), 3e-9);
      CHECK(kinetic_energy(world.model(), world.state()) <= start * (1 + 1e-9));
      CHECK(world.state().p_WBcm(range.bullet).x() < world.state().p_WBcm(range.pane).x());
    }
    if (kind == ContactModelKind::penalty) {
      CHECK(stops >= 1);
      CHECK_WITHIN(world.state().v_WBcm(range.pane).x() - 3 / 1.01, 0.03);
    }
  }
}

TEST_CASE("a bouncing bullet comes back with e times its speed and later goes on as if it had lost one step at most") {
  Range range(ContactModelKind::penalty, make_sphere(0.005), true, BodyMode::fixed, 0.5);
  range.scene.set_gravity(Vec3::Zero());
  World world = range.scene.world();
  test::run(world, 10);
  CHECK_WITHIN(world.state().v_WBcm(range.bullet).x() + 150, 1e-6);
  // Out from the touch at -0.0055 m, which is at 1.0645/300 s: at most 1 ms is lost.
  const double x = -0.0055 - 150 * (world.state().time - 1.0645 / 300);
  CHECK(world.state().p_WBcm(range.bullet).x() >= x - 1e-4);
  CHECK(world.state().p_WBcm(range.bullet).x() <= x + 150 * 1.001e-3);
}

TEST_CASE("what is put back keeps its kinetic plus potential energy") {
  // Falls on a thin shelf at 60 m/s: 6 cm a step. Until the impact's step nothing but gravity acts.
  Scene scene(0.3, 0);
  scene.add(make_box(Vec3(0.5, 0.5, 0.0005)), 1, test::at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex ball = scene.add(make_sphere(0.005), 0.01, test::at(0, 0, 0.5), {Vec3::Zero(), Vec3(1, 0, -60)});
  scene.model->bodies[ball].continuous = true;
  World world = scene.world();
  const double start = mechanical_energy(world.model(), world.parameters().gravity_W, world.state());
  bool stopped = false;
  for (int i = 0; i < 30; ++i) {
    const bool put_back = world.step().continuous_stops > 0;
    const double energy = mechanical_energy(world.model(), world.parameters().gravity_W, world.state());
    CHECK(energy <= start * (1 + 1e-12));
    if (!put_back || stopped) continue;
    stopped = true;
    CHECK_WITHIN(energy / start - 1, 1e-6);  // the integrator's own error of the flight
    CHECK_WITHIN(world.state().v_WBcm(ball).x() - 1, 1e-12);
    CHECK_WITHIN(world.state().p_WBcm(ball).z() - 0.0055, 1e-6);
  }
  CHECK(stopped);
}

TEST_CASE("two bullets meet head on and neither passes the other") {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::st}) {
    Scene scene(0.3, 0);
    scene.set_gravity(Vec3::Zero());
    scene.model->contact_model = kind;
    const BodyIndex a = scene.add(make_sphere(0.005), 0.01, test::at(-1, 0, 0), {Vec3::Zero(), Vec3(310, 0, 0)});
    const BodyIndex b = scene.add(make_sphere(0.005), 0.01, test::at(1, 0, 0), {Vec3::Zero(), Vec3(-290, 0, 0)});
    scene.model->bodies[a].continuous = scene.model->bodies[b].continuous = true;
    World world = scene.world();
    for (int i = 0; i < 20; ++i) {
      world.step();
      REQUIRE(world.state().p_WBcm(a).x() < world.state().p_WBcm(b).x());
      CHECK_WITHIN(world.state().v_WBcm(a).x() + world.state().v_WBcm(b).x() - 20, 1e-9);
    }
    // They met where the slower had flown 290/600 of the way between.
    CHECK_WITHIN(world.state().p_WBcm(a).x() - (-1 + 1.99 * 310 / 600), 0.2);
    CHECK(world.state().v_WBcm(a).x() < 30);
  }
}

// Angle from the rod's line to the post, -pi/2 to pi/2.
double angle_to_post(const World& world, BodyIndex rod, const Vec3& post) {
  const Vec3 d = world.state().q_WB(rod).conjugate() * (post - world.state().p_WBcm(rod));
  return std::atan(d.y() / d.x());
}

TEST_CASE("a thin rod that turns fast does not jump a post") {
  for (const bool continuous : {true, false}) {
    Scene scene(0, 0);
    scene.set_gravity(Vec3::Zero());
    const Vec3 post(0.35, 0, 0);
    scene.add(make_cylinder(0.001, 0.5), 1, {Quat::Identity(), post}, {}, 0, BodyMode::fixed);
    const BodyIndex rod = scene.add(make_box(Vec3(0.5, 0.0025, 0.0025)), 0.2,
                                    {test::turned(Vec3::UnitZ(), 0.7), Vec3::Zero()}, {Vec3(0, 0, 300), Vec3::Zero()});
    scene.model->bodies[rod].continuous = continuous;
    World world = scene.world();
    int jumps = 0;
    double before = angle_to_post(world, rod, post);
    for (int i = 0; i < 40; ++i) {
      world.step();
      const Vec3 d = world.state().q_WB(rod).conjugate() * (post - world.state().p_WBcm(rod));
      const double angle = angle_to_post(world, rod, post);
      if (std::abs(d.x()) < 0.49 && before * angle < 0 && std::abs(before) + std::abs(angle) < 1) ++jumps;
      before = angle;
    }
    CHECK((jumps > 0) == !continuous);
  }
}

TEST_CASE("a thin rod that spins at a post loses energy only, with the option and without, in every model but one") {
  // `deepest` is explicit: with the option its spring may act again from the pose that was put back (core/README.md).
  for (const test::Stepping stepping : test::kAllSteppings) {
    const ContactModelKind kind = stepping.kind;
    if (!World::has_model(kind) || kind == ContactModelKind::deepest) continue;
    for (int i = 0; i < 16; ++i) {
      const bool continuous = (i & 1) != 0, box = (i & 2) != 0, fast = (i & 4) != 0;
      CAPTURE(stepping.name());
      CAPTURE(i);
      Scene scene((i & 8) != 0 ? 0.5 : 0, 0);
      scene.set_gravity(Vec3::Zero());
      stepping.set(*scene.model);
      scene.add(make_cylinder(0.002, 0.5), 1, test::at(0.1, 0.05, 0), {}, 0, BodyMode::fixed);
      const Shape shape = box ? make_box(Vec3(0.0025, 0.0025, 0.5)) : make_capsule(0.0025, 0.5);
      const BodyIndex rod = scene.add(shape, 0.1, {test::turned(Vec3::UnitY(), M_PI / 2), Vec3::Zero()},
                                      {Vec3(0, 0, fast ? 300 : 60), Vec3::Zero()});
      scene.model->bodies[rod].continuous = continuous;
      World world = scene.world();
      const double start = kinetic_energy(world.model(), world.state());
      double most = 0;
      for (int k = 0; k < 600; ++k) {
        world.step();
        most = std::max(most, kinetic_energy(world.model(), world.state()));
      }
      CHECK(most <= start * 1.001);
    }
  }
}

// One corner leaves as the next one comes: stopped where the first is as deep as may be, the box had no contact that
// answers, and stood there tilted for ever, its clock at a stand (9,814 stops in 10,000 steps).
TEST_CASE("a box that lands on a thin pane comes to rest on it, in any model") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    if (stepping.kind == ContactModelKind::deepest) continue;  // one point a manifold: it trembles
    Random rng(3);
    for (int i = 0; i < 6; ++i) {
      CAPTURE(stepping.name());
      CAPTURE(i);
      Scene scene(0.5);
      stepping.set(*scene.model);
      scene.add(make_box({1, 1, 0.0005}), 1, test::at(0, 0, 0), {}, 0, BodyMode::fixed);
      const Quat q = i == 0
                         ? Quat(Eigen::AngleAxisd(0.1, Vec3::UnitZ())) * Quat(Eigen::AngleAxisd(0.4, Vec3::UnitY())) *
                               Quat(Eigen::AngleAxisd(0.3, Vec3::UnitX()))
                         : rng.rotation();
      const BodyIndex box =
          scene.add(make_box({0.1, 0.075, 0.05}), 1, {q, Vec3(0, 0, 0.3)}, {Vec3::Zero(), Vec3(0, 0, -0.5)});
      scene.model->bodies[box].continuous = true;
      World world = scene.world();
      std::uint32_t stops = 0, late = 0;
      for (int k = 0; k < 4000; ++k) {
        const std::uint32_t now = world.step().continuous_stops;
        stops += now, late += k < 3000 ? 0 : now;
      }
      CHECK(stops < 50);
      CHECK(late == 0);
      CHECK(world.state().v_WBcm(box).norm() + 0.1 * world.state().w_WB(box).norm() < 1e-6);
      CHECK(world.state().p_WBcm(box).z() > 0.05);
    }
  }
}

TEST_CASE("random bullets at random panes: none comes out behind") {
  Random random(5);
  const std::vector<Shape> shapes = bullets();
  for (int i = 0; i < 120; ++i) {
    CAPTURE(i);
    Scene scene(random.uniform(0, 1), random.uniform(0, 1));
    const Quat q = random.rotation();
    const Vec3 n = q * Vec3::UnitX();
    const bool fixed = random.chance(0.5);
    const double half = random.log_uniform(1e-4, 5e-3);
    const BodyIndex pane =
        scene.add(make_box(Vec3(half, 2, 2)), 50, {q, random.in_cube(1)}, {Vec3::Zero(), random.in_cube(fixed ? 0 : 5)},
                  0, fixed ? BodyMode::fixed : BodyMode::free);
    const Vec3 at = scene.model->X_WB0[pane].p;
    const Vec3 aside = q * Vec3(0, random.uniform(-1, 1), random.uniform(-1, 1));
    Vec3 v = -n + 0.5 * random.direction();
    v *= random.uniform(20, 500) / v.norm();
    const BodyIndex bullet =
        scene.add(shapes[random.below(4)], 0.01, {random.rotation(), at + aside + random.uniform(0.1, 0.5) * n},
                  {random.in_cube(1000), v});
    scene.model->bodies[bullet].continuous = true;
    scene.set_gravity(Vec3::Zero());
    World world = scene.world();
    for (int step = 0; step < 15; ++step) {
      world.step();
      const Vec3 d = world.state().q_WB(pane).conjugate() * (world.state().p_WBcm(bullet) - world.state().p_WBcm(pane));
      if (std::abs(d.y()) > 1.99 || std::abs(d.z()) > 1.99) break;  // past its edge
      REQUIRE(d.x() > -half);
    }
  }
}

TEST_CASE("the time of a touch by conservative advancement is that of the closed form") {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    // Two balls on straight ways: |d + t v| = r.
    const double ra = random.uniform(0.01, 0.2), rb = random.uniform(0.01, 0.2);
    const Vec3 d = random.uniform(ra + rb + 0.01, 1) * random.direction();
    const Vec3 v = -d * random.uniform(0.5, 3) + random.in_cube(0.5), drift = random.in_cube(1);
    const Shape a = make_sphere(ra), b = make_sphere(rb);
    const SweptShape sa{a, {Mat3::Identity(), d}, d, v + drift, random.in_cube(2), ra, 1};
    const SweptShape sb{b, {Mat3::Identity(), Vec3::Zero()}, Vec3::Zero(), drift, random.in_cube(2), rb, 1};
    const double slack = 1e-6, r = ra + rb;
    const SweptTouch found = first_touch(sa, sb, slack, 0.1 * r);
    const double aa = v.squaredNorm(), bb = d.dot(v), cc = d.squaredNorm() - r * r, square = bb * bb - aa * cc;
    const double t = square > 0 && bb < 0 ? (-bb - std::sqrt(square)) / aa : 2;
    const double speed = square > 0 ? std::sqrt(square) / r : 0;  // of approach, at the touch
    if (speed < 0.1) continue;                                    // grazing: neither answer is wrong
    CHECK(found.found == (t < 1));
    if (t < 0.999) CHECK_WITHIN(found.t - t, 2 * slack / speed);
  }
}

}  // namespace
}  // namespace tactus
