// Where surfaces nearly fit each other the place of contact runs faster than a step follows: flat poles on each other,
// rings and superellipsoids in bowls that are no ellipsoids, a plate that bounces on a ring, under the exact stepper.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

World exact_world(Scene scene) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = 1e-3;
  scene.model->parameters.lcp_stepper = LcpStepper::exact;
  return scene.world();
}

struct Run {
  double deepest = 0, gained = 0, rise = 0;  // [m]; most energy above that of the start, and in one step [J]
  std::uint32_t collisions = 0;
};

Run run(const std::string& name, World& world, int steps) {
  Run out;
  const double start = test::total_energy(world);
  std::uint32_t unsolved = 0, exhausted = 0;
  double last = start;
  for (int i = 0; i < steps; ++i) {
    const StepReport report = world.step();
    unsolved += report.exact.unresolved + report.solver_failures;
    exhausted += report.exact.exhausted;
    out.collisions += report.exact.collisions;
    out.deepest = std::max(out.deepest, report.depth_max);
    const double energy = test::total_energy(world);
    out.gained = std::max(out.gained, energy - start);
    out.rise = std::max(out.rise, energy - last);
    last = energy;
  }
  MESSAGE(name << ": deepest " << out.deepest << " m, energy " << out.gained << " J above the start, at most "
               << out.rise << " in a step, " << out.collisions << " collisions");
  CHECK(unsolved == 0);
  CHECK(exhausted == 0);
  return out;
}

Quat tilted() {
  return test::turned(Vec3::UnitZ(), 0.3) * test::turned(Vec3::UnitY(), 0.1) * test::turned(Vec3::UnitX(), 0.2);
}

}  // namespace

// Its centre is off the place where the two touch: they tremble, by what a fall of a step off that place is.
TEST_CASE("exact, fit: superellipsoids that stand on flat poles sink by 1e-6 m, and are not lifted for nothing") {
  test::OwnedShapes owned;
  const Shape pebble = owned.add(make_superellipsoid({0.15, 0.15, 0.1}, 0.3, 0.3));
  Scene scene(0.5);
  scene.add_floor();
  scene.add(pebble, 1, at(0, 0, 0.1));
  scene.add(pebble, 1, at(0.02, 0.01, 0.3));
  World world = exact_world(std::move(scene));
  const Run out = run("two", world, 3000);
  CHECK(out.deepest < 3e-6);
  CHECK(out.gained < 6 * kGravity * 1e-6);
  CHECK(out.collisions < 1500);
  CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.1, 2e-6);
  CHECK_WITHIN(world.state().p_WBcm(2).z() - 0.3, 4e-6);
}

TEST_CASE("exact, fit: a superellipsoid set down at a slight tilt on its flat pole comes no higher") {
  test::OwnedShapes owned;
  const Shape pebble = owned.add(make_superellipsoid(Vec3::Constant(0.1), 0.3, 0.3));
  for (const double tilt : {1e-4, 1e-6}) {
    Scene scene(0.3);
    scene.add_floor();
    scene.add(pebble, 1, {test::turned(Vec3::UnitX(), tilt), Vec3(0, 0, 0.1)});
    World world = exact_world(std::move(scene));
    const Run out = run("tilted by " + std::to_string(tilt), world, 2000);
    CHECK(out.deepest < 2e-6);
    CHECK(out.gained < 2 * kGravity * 1e-6);
    CHECK(out.collisions < 100);
  }
}

// What is lifted as it rocks is taken from how it rocks, not from how it slides.
TEST_CASE("exact, fit: on a slope without friction a superellipsoid that rocks on its flat pole slides as it must") {
  test::OwnedShapes owned;
  const Shape pebble = owned.add(make_superellipsoid(Vec3::Constant(0.1), 0.3, 0.3));
  for (const double slope : {0.1, 1.0}) {  // [m/s^2]
    Scene scene(0);
    scene.model->parameters.gravity_W = Vec3(slope, 0, -kGravity);
    scene.add_floor();
    scene.add(pebble, 1, {test::turned(Vec3::UnitX(), 1e-3), Vec3(0, 0, 0.1 + 2.5e-5)});
    World world = exact_world(std::move(scene));
    run("slope " + std::to_string(slope), world, 1000);
    CHECK_WITHIN(world.state().p_WBcm(1).x() - 0.5 * slope, 2e-3 * slope);
    CHECK_WITHIN(world.state().v_WBcm(1).x() - slope, 2e-3 * slope);
    CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.1, 5e-6);
  }
}

TEST_CASE("exact, fit: rings, superellipsoids and cylinders come to lie in bowls of other kinds") {
  test::OwnedShapes owned;
  std::string error;
  const Shape revolution = owned.add(make_cavity(
      make_revolution({{0, -0.6}, {0.5, -0.5}, {0.7, -0.2}, {0.45, 0}, {0.7, 0.2}, {0.5, 0.5}, {0, 0.6}}, error)));
  const Shape square = owned.add(make_cavity(make_superellipsoid({1, 0.8, 0.6}, 0.5, 0.5)));
  const Shape round = owned.add(make_cavity(make_patched_ellipsoid({1, 0.8, 0.6})));
  const Shape ring = owned.add(make_torus(0.2, 0.05));
  const Shape pebble = owned.add(make_superellipsoid({0.2, 0.15, 0.1}, 0.5, 0.5));
  struct Case {
    const char* name;
    Shape bowl, thing;
    Vec3 p;
    double depth, rise;
  };
  for (const Case& c :
       {Case{"ring in a revolution", revolution, ring, {0.1, 0.1, -0.3}, 1e-9, 1e-5},
        Case{"ring in a superellipsoid", square, ring, {0.15, 0.1, -0.3}, 1e-8, 1e-4},
        Case{"pebble in a superellipsoid", square, pebble, {0.15, 0.1, -0.3}, 1e-8, 1e-3},
        Case{"cylinder in an ellipsoid", round, make_cylinder(0.15, 0.1), {0.15, 0.1, -0.3}, 1e-9, 1e-6}}) {
    Scene scene(0.4);
    test::add_fixed(scene, c.bowl);
    scene.add(c.thing, 1, {tilted(), c.p});
    World world = exact_world(std::move(scene));
    const Run out = run(c.name, world, 2000);
    CHECK(out.deepest < c.depth);
    CHECK(out.gained < 1e-9);
    CHECK(out.rise < c.rise);
  }
}

TEST_CASE("exact, fit: a plate that bounces on a lying ring does not sink into it") {
  test::OwnedShapes owned;
  Scene scene(0.3, 0.2);
  test::add_fixed(scene, owned.add(make_torus(0.3, 0.08)));
  scene.add(make_box({0.3, 0.15, 0.02}), 1, at(0.03, 0, 0.2));
  World world = exact_world(std::move(scene));
  const Run out = run("plate", world, 2000);
  CHECK(out.deepest < 1e-6);
  CHECK(out.gained < 1e-9);
  CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.1, 1e-7);
  // Its border crosses the ring's top six times, twice on the side that is over it.
  const ContactSet& contacts = world.contacts();
  for (const Vec3& crossing :
       {Vec3(-0.27, std::sqrt(0.09 - 0.27 * 0.27), 0.08), Vec3(-std::sqrt(0.09 - 0.15 * 0.15), 0.15, 0.08),
        Vec3(std::sqrt(0.09 - 0.15 * 0.15), 0.15, 0.08)}) {
    for (const double side : {1.0, -1.0}) {
      CAPTURE(crossing.x());
      const auto at_it = [&](const ContactPoint& p) {
        return (p.p_WC - Vec3(crossing.x(), side * crossing.y(), crossing.z())).norm() < 1e-3;
      };
      CHECK(std::any_of(contacts.points, contacts.points + contacts.point_count, at_it));
    }
  }
}

}  // namespace tactus
