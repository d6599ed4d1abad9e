// Smooth bodies in a World: they come to rest under each model and gain no energy in a heap.
#include "core/shape/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

TEST_CASE("smooth bodies come to rest on a plane and on a box under penalty, lcp, st and ap") {
  const auto egg = make_ellipsoid({0.3, 0.2, 0.1});
  const auto pebble = make_superellipsoid({0.2, 0.2, 0.1}, 0.7, 0.8);
  for (const ContactModelKind kind :
       {ContactModelKind::penalty, ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap}) {
    test::Scene scene;
    scene.model->contact_model = kind;
    scene.add_floor();
    scene.add(make_box({0.5, 0.5, 0.1}), 0, test::at(3, 0, 0.1), {}, 0, BodyMode::fixed);
    const Quat tilted = test::turned({1, 0.3, 0}, 0.05);
    const BodyIndex bodies[] = {
        scene.add(make_smooth(egg.get()), 2, {tilted, Vec3(0, 0, 0.12)}),
        scene.add(make_smooth(egg.get()), 2, {tilted, Vec3(3, 0, 0.32)}),
        scene.add(make_smooth(pebble.get()), 1, {tilted, Vec3(1.5, 0, 0.12)}),
    };
    World world = scene.world();
    std::uint64_t allocations = 0;
    for (int i = 0; i < 4000; ++i) {
      const test::AllocGuard guard;
      world.step();
      if (i > 10) allocations += guard.count();
    }
    INFO(to_string(kind));
    CHECK(allocations == 0);
    for (const BodyIndex b : bodies) {
      const double height = world.state().p_WBcm(b).z() - (b == bodies[1] ? 0.2 : 0.0);
      CHECK_WITHIN(height - 0.1, 5e-4);
      CHECK(world.state().v_WBcm(b).norm() < 0.02);
    }
  }
}

TEST_CASE("smooth bodies in a heap do not gain energy") {
  const auto egg = make_ellipsoid({0.15, 0.12, 0.1});
  const auto ring = make_torus(0.15, 0.05);
  Random rng(36);
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::st}) {
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
    INFO(to_string(kind));
    MESSAGE("largest rise above the least energy so far: " << worst << " J");
    CHECK(worst < 0.2);
  }
}

}  // namespace
}  // namespace tactus
