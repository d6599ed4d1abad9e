// Smooth bodies in a World: they come to rest under each model and gain no energy in a heap.
#include <string>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

// Without `deepest`, whose one point a tick lets a ring that lies on a circle tremble by millimetres a second.
constexpr ContactModelKind kKinds[] = {ContactModelKind::penalty, ContactModelKind::lcp, ContactModelKind::st,
                                       ContactModelKind::ap,      ContactModelKind::lnc, ContactModelKind::peg};

TEST_CASE("smooth bodies come to rest on a plane and on a box, under each model but deepest") {
  const auto egg = make_ellipsoid({0.3, 0.2, 0.1});
  const auto pebble = make_superellipsoid({0.2, 0.2, 0.1}, 0.7, 0.8);
  const auto ring = make_torus(0.3, 0.1);
  for (const ContactModelKind kind : kKinds) {
    test::Scene scene;
    scene.model->contact_model = kind;
    scene.add_floor();
    scene.add(make_box({0.5, 0.5, 0.1}), 0, test::at(3, 0, 0.1), {}, 0, BodyMode::fixed);
    const BodyIndex bodies[] = {scene.add(make_smooth(egg.get()), 2, test::at(0, 0, 0.101)),
                                scene.add(make_smooth(egg.get()), 2, test::at(3, 0, 0.301)),
                                scene.add(make_smooth(pebble.get()), 1, test::at(1.5, 0, 0.101)),
                                scene.add(make_smooth(ring.get()), 1, test::at(5, 0, 0.101))};
    World world = scene.world();
    std::uint64_t allocations = 0;
    for (int i = 0; i < 1500; ++i) {
      const test::AllocGuard guard;
      world.step();
      allocations += guard.count();
    }
    INFO(std::string(to_string(kind)));
    CHECK(allocations == 0);
    for (const BodyIndex b : bodies) {
      INFO("body " << b);
      const double height = world.state().p_WBcm(b).z() - (b == bodies[1] ? 0.2 : 0.0);
      CHECK_WITHIN(height - 0.1, 2e-4);
      CHECK_WITHIN(world.state().v_WBcm(b).norm(), 2e-3);
      CHECK_WITHIN(world.state().w_WB(b).norm(), 2e-2);
    }
  }
}

// Normals that are kept for a tick push along what they are in its middle: those of its start gave a ball that slides
// 0.8 % of its energy in each second.
TEST_CASE("penalty: a ball that slides, or rolls, in a bowl keeps its energy") {
  const auto bowl = make_cavity(make_ellipsoid(Vec3::Constant(0.5)));
  const auto ball = make_ellipsoid(Vec3::Constant(0.1));
  for (const double friction : {0.0, 0.8}) {
    for (const Shape& shape : {make_smooth(ball.get()), make_sphere(0.1)}) {
      CAPTURE(friction);
      test::Scene scene(friction);
      test::add_fixed(scene, make_smooth(bowl.get()));
      const Pose start_pose = test::at(0.2, 0, -std::sqrt(0.4 * 0.4 - 0.2 * 0.2));
      scene.add(shape, 1, start_pose, {Vec3::Zero(), Vec3(0, 1.3, 0)});
      World world = scene.world();
      const double bottom = -0.4 * test::kGravity;
      test::run(world, 2000);  // a first touch, and slip that ends
      const double start = test::total_energy(world) - bottom;
      test::run(world, 20000);
      const double end = test::total_energy(world) - bottom;
      MESSAGE("of " << start << " J in 20 s: " << end - start);
      CHECK_WITHIN(end / start - 1, 2e-3);
    }
  }
}

// Rolling without slip about the level position: the centre's height is c + (R - c) theta^2 / 2 with R = b^2 / c, so
// the small rocking has omega^2 = m g (R - c) / (I + m c^2).
TEST_CASE("smooth bodies rock on a plane with the period of rolling") {
  const double b = 0.2, c = 0.1, m = 2;
  const auto egg = make_ellipsoid({0.3, b, c});
  const double omega = std::sqrt(m * test::kGravity * (b * b / c - c) / (m / 5 * (b * b + c * c) + m * c * c));
  for (const ContactModelKind kind : kKinds) {
    test::Scene scene;
    scene.model->contact_model = kind;
    scene.add_floor();
    const double tilt = 0.02, height = std::hypot(b * std::sin(tilt), c * std::cos(tilt));
    const BodyIndex body =
        scene.add(make_smooth(egg.get()), m, {test::turned(Vec3::UnitX(), tilt), Vec3(0, 0, height)});
    World world = scene.world();
    // Times at which the body passes its level position, between ticks by a line.
    double last = tilt, first_pass = 0, last_pass = 0;
    int passes = 0;
    for (int i = 1; i <= 3000; ++i) {
      world.step();
      const double now = world.state().q_WB(body).x();
      if (last * now < 0) {
        last_pass = (i - now / (now - last)) * world.h();
        if (passes++ == 0) first_pass = last_pass;
      }
      last = now;
    }
    INFO(std::string(to_string(kind)));
    REQUIRE(passes >= 4);
    const double period = 2 * (last_pass - first_pass) / (passes - 1);
    MESSAGE(std::string(to_string(kind)) << ": " << passes << " passes, omega is off by "
                                         << 2 * M_PI / period / omega - 1);
    CHECK_WITHIN(2 * M_PI / period / omega - 1, 3e-3);
  }
}

TEST_CASE("smooth bodies in a heap do not gain energy") {
  const auto egg = make_ellipsoid({0.15, 0.12, 0.1});
  const auto ring = make_torus(0.15, 0.05);
  Random rng(36);
  for (const ContactModelKind kind : kKinds) {
    test::Scene scene(0.3);
    scene.model->contact_model = kind;
    scene.add_floor();
    for (int i = 0; i < 8; ++i) {
      const Shape shape = make_smooth(i == 3 ? ring.get() : egg.get());
      scene.add(shape, 1, {rng.rotation(), Vec3(0.05 * (i % 2), 0.04 * (i % 3), 0.2 + 0.32 * i)});
    }
    World world = scene.world();
    const Vec3 g(0, 0, -test::kGravity);
    double last = mechanical_energy(world.model(), g, world.state()), worst = 0;
    for (int i = 0; i < 2000; ++i) {
      world.step();
      const double now = mechanical_energy(world.model(), g, world.state());
      worst = std::max(worst, now - last);
      last = std::min(last, now);
    }
    INFO(std::string(to_string(kind)));
    MESSAGE("largest rise above the least energy so far: " << worst << " J");
    CHECK(worst < 0.02);
  }
}

}  // namespace
}  // namespace tactus
