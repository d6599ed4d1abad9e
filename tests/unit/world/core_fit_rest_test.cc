// Flat poles on each other with their centres apart: a stack of rounded boxes comes to rest under each model, where by
// its nearest points alone it would rock for ever.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/models.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

constexpr double kHalf = 0.1, kBeside = 0.02;  // half a body's height, and how far centres are apart [m]

struct Stack {
  double exponent = 0.5, step = 1e-3, seconds = 5;
  int bodies = 2;
  bool fixed = false;  // the lowest
  double tilt = 0;     // of those above [rad], let fall from a little higher
};

World stack(test::OwnedShapes& owned, const Stack& s, const test::Stepping& stepping) {
  const Shape pebble = owned.add(make_superellipsoid({0.15, 0.15, kHalf}, s.exponent, s.exponent));
  Scene scene(0.5);
  stepping.set(*scene.model);
  scene.model->step = s.step;
  if (s.fixed) {
    test::add_fixed(scene, pebble);
  } else {
    scene.add_floor();
  }
  for (int i = s.fixed ? 1 : 0; i < s.bodies; ++i) {
    const double fall = s.tilt > 0 ? 0.003 * i : 0, turn = i > 0 ? s.tilt : 0;
    const Vec3 p(i % 2 == 1 ? kBeside : 0, 0, kHalf * (2 * i + (s.fixed ? 0 : 1)) + fall);
    scene.add(pebble, 1, {test::turned(Vec3::UnitX(), turn) * test::turned(Vec3::UnitY(), 0.3 * turn), p});
  }
  return scene.world();
}

void comes_to_rest(const Stack& s, const test::Stepping& stepping) {
  CAPTURE(stepping.name());
  CAPTURE(s.exponent);
  CAPTURE(s.step);
  test::OwnedShapes owned;
  World world = stack(owned, s, stepping);
  const double start = test::total_energy(world);
  double most = start;
  std::uint32_t unsolved = 0;
  StepReport report;
  for (int i = 0; i < static_cast<int>(s.seconds / s.step + 0.5); ++i) {
    report = world.step();
    unsolved += report.solver_failures + report.exact.unresolved + report.exact.exhausted;
    most = std::max(most, test::total_energy(world));
  }
  CHECK(unsolved == 0);
  CHECK(most - start < 1e-5);  // of 1 to 6 J
  const State& state = world.state();
  double weight = 0;
  for (BodyIndex b = 1; b < state.body_count(); ++b) {
    CHECK_WITHIN(state.v_WBcm(b).norm(), 1e-6);
    CHECK_WITHIN(state.w_WB(b).norm(), 1e-6);
    weight += kGravity;
  }
  CHECK(report.depth_max < 2e-5);
  // What stands below carries all that is above it.
  double lift = 0;
  const ContactSet& contacts = world.contacts();
  for (std::uint32_t i = 0; i < contacts.manifold_count; ++i) {
    const Manifold& m = contacts.manifolds[i];
    if (m.body_a != 0 && m.body_b != 0) continue;
    for (std::uint32_t k = m.first; k < m.first + m.count; ++k) {
      lift += (m.body_a == 0 ? -1 : 1) * world.contact_force(k).z();
    }
  }
  CHECK_WITHIN(lift / weight - 1, 1e-6);
}

}  // namespace

TEST_CASE("fit: flat poles on each other come to rest with their centres apart, under each model but the deepest") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    if (stepping.kind == ContactModelKind::deepest) continue;
    for (const double exponent : {0.3, 0.5, 0.7}) {
      // Under forces that yield a round one's rocking falls to a sixth in a second.
      const bool slow = exponent == 0.7 && stepping.kind == ContactModelKind::penalty;
      comes_to_rest({.exponent = exponent, .seconds = slow ? 9.0 : 5.0, .fixed = true}, stepping);
    }
  }
}

TEST_CASE("fit: stacks of three, and what falls onto another one at a tilt, come to rest at 1 and at 10 ms") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    if (stepping.kind == ContactModelKind::deepest) continue;
    comes_to_rest({.bodies = 3}, stepping);
    comes_to_rest({.tilt = 0.02}, stepping);
    if (stepping.kind == ContactModelKind::penalty) continue;
    comes_to_rest({.step = 0.01, .bodies = 3}, stepping);
    comes_to_rest({.step = 0.01, .tilt = 0.02}, stepping);
  }
}

// The points ahead of what lands (collide/places/points_ahead.h) must not rock what lies, nor displace its own.
TEST_CASE("fit: cubes with rounded edges that fall at 100 Hz come to rest on a face, on thin boxes, too") {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap}) {
    for (const double exponent : {0.3, 0.5}) {
      for (const bool thin : {false, true}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(exponent);
        CAPTURE(thin);
        test::OwnedShapes owned;
        Scene scene(0.5);
        scene.model->contact_model = kind;
        scene.model->step = 0.01;
        if (thin) {
          scene.add(make_box({1, 1, 0.005}), 0, at(0, 0, -0.005), {}, 0, BodyMode::fixed);
        } else {
          scene.add_floor();
        }
        const BodyIndex cube = scene.add(owned.add(make_superellipsoid({0.1, 0.1, 0.1}, exponent, exponent)), 1,
                                         {test::turned(Vec3(1, 2, 3).normalized(), 1), Vec3(0, 0, 0.3)});
        World world = scene.world();
        std::uint32_t dropped = 0;
        double deepest = 0;
        for (int i = 0; i < 1000; ++i) {
          const StepReport report = world.step();
          dropped += report.points_dropped;
          deepest = std::max(deepest, report.depth_max);
        }
        CHECK(dropped == 0);
        CHECK(deepest < 5e-3);
        CHECK_WITHIN(world.state().v_WBcm(cube).norm(), 1e-6);
        CHECK_WITHIN(world.state().w_WB(cube).norm(), 1e-6);
      }
    }
  }
}

// What touches over an area resists being rolled over it; what is round does not.
TEST_CASE("fit: the area over which two touch is that over which they are as near, and round ones have none") {
  test::OwnedShapes owned;
  const auto points = [&](double exponent, double radius_z) {
    const Shape shape = owned.add(make_superellipsoid({0.15, 0.15, radius_z}, exponent, exponent));
    ContactPoint storage[64];
    ContactBuffer out{storage, 64};
    Witness witness;
    collide(shape, {Mat3::Identity(), Vec3(kBeside, 0, 2 * radius_z - 5e-5)}, shape, {}, witness, out);
    double farthest = 0;
    for (std::uint32_t k = 0; k < out.count; ++k) {
      CHECK(out.points[k].depth <= out.points[0].depth);
      if (out.points[k].depth < out.points[0].depth) continue;
      farthest = std::max(farthest, (out.points[k].p_WC - out.points[0].p_WC).norm());
    }
    CHECK((out.count > 1) == (farthest > 0));
    return farthest;
  };
  CHECK(points(1, 0.15) == 0);
  const double flat = points(0.3, 0.1), less = points(0.5, 0.1), least = points(0.7, 0.1);
  CHECK(flat > less);
  CHECK(less > least);
  CHECK(least > 1e-4);
  CHECK(flat < 0.1);
}

}  // namespace tactus
