// What lies on a line, a circle or a face, under the exact stepper: it rests, and its forces carry it. Where extremal
// points are ill-conditioned the stepper has no rates of them (core/contact/README.md): no stall, and nothing but
// numbers.
#include <doctest/doctest.h>

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
  scene.limits.pairs = 16, scene.limits.problem_contacts = 128, scene.limits.problem_rows = 64;
  return scene.world();
}

struct Rest {
  double drift = 0, turn = 0, speed = 0, force = 0;
  std::uint32_t fewest = 1000, unsolved = 0, exhausted = 0;
};

// Body 1 of mass m on body 0, for one second.
Rest rest(World& world, double m) {
  Rest out;
  const Vec3 start = world.state().p_WBcm(1);
  const Quat turned = world.state().q_WB(1);
  for (int i = 0; i < 1000; ++i) {
    const double before = world.state().time;
    const StepReport report = world.step();
    const State& state = world.state();
    CHECK_WITHIN(state.time - before - world.h(), 1e-15);
    REQUIRE(std::isfinite(state.p_WBcm(1).sum() + state.v_WBcm(1).sum() + state.q_WB(1).coeffs().sum()));
    out.unsolved += report.solver_failures + report.inconsistent + report.exact.unresolved + report.bodies_frozen;
    out.exhausted += report.exact.exhausted;
    out.drift = std::max(out.drift, (state.p_WBcm(1) - start).norm());
    out.turn = std::max(out.turn, state.q_WB(1).angularDistance(turned));
    out.speed = std::max(out.speed, state.v_WBcm(1).norm());
    Vec3 sum = Vec3::Zero();
    const ContactSet& contacts = world.contacts();
    for (std::uint32_t k = 0; k < contacts.point_count; ++k) sum += world.contact_force(k);
    out.fewest = std::min(out.fewest, contacts.point_count);
    if (i > 0)
      out.force = std::max(out.force, (sum + Vec3(0, 0, m * kGravity)).norm() / (m * kGravity));  // on A: body 0
  }
  return out;
}

void check_stays(const char* name, const Rest& rest, double slack) {
  MESSAGE(std::string(name) << ": moves by " << rest.drift << ", turns by " << rest.turn << ", force off by "
                            << rest.force << ", at least " << rest.fewest << " points, " << rest.unsolved
                            << " unsolved");
  CHECK(rest.unsolved == 0);
  CHECK(rest.exhausted == 0);
  CHECK_WITHIN(rest.drift, slack);
}

void check_rest(const char* name, const Rest& rest, std::uint32_t points, double slack) {
  check_stays(name, rest, slack);
  CHECK(rest.fewest >= points);
  CHECK_WITHIN(rest.turn, slack);
  CHECK_WITHIN(rest.force, 1e-9);
}

}  // namespace

TEST_CASE("exact: a cylinder that stands, and one that lies, rest on a plane and on a box") {
  const double r = 0.1, half = 0.2;
  const Quat lying = test::turned(Vec3::UnitY(), M_PI / 2) * test::turned(Vec3::UnitZ(), 0.3);
  for (const bool stands : {true, false}) {
    for (const bool on_box : {false, true}) {
      Scene scene(0.5);
      if (on_box) scene.add(make_box({1, 1, 0.5}), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
      if (!on_box) scene.add_floor();
      scene.add(make_cylinder(r, half), 2, {stands ? Quat::Identity() : lying, Vec3(0.1, 0.2, stands ? half : r)});
      World world = exact_world(std::move(scene));
      const std::string name = std::string(stands ? "stands" : "lies") + (on_box ? " on a box" : " on a plane");
      check_rest(name.c_str(), rest(world, 2), stands ? 3 : 2, 1e-10);
    }
  }
}

TEST_CASE("exact: a torus that lies flat and a superellipsoid on its flat pole rest on a plane and on a box") {
  test::OwnedShapes owned;
  const Shape torus = owned.add(make_torus(0.3, 0.1));
  const Shape pebble = owned.add(make_superellipsoid({0.3, 0.25, 0.1}, 0.5, 0.5));
  for (const Shape& shape : {torus, pebble}) {
    for (const bool on_box : {false, true}) {
      Scene scene(0.5);
      if (on_box) scene.add(make_box({1, 1, 0.5}), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
      if (!on_box) scene.add_floor();
      scene.add(shape, 2, at(0.1, 0.2, 0.1));
      World world = exact_world(std::move(scene));
      const std::string name = to_string(shape.smooth->kind()) + std::string(on_box ? " on a box" : " on a plane");
      check_rest(name.c_str(), rest(world, 2), 3, 1e-9);
    }
  }
}

// Every direction, or every place of a circle, is as near as another. In the bowl each step's fall is met by an
// impulse.
TEST_CASE("exact: a ball in a bowl of its own radius, and one that closes a torus' hole, stay: no stall") {
  test::OwnedShapes owned;
  const Shape ball = owned.add(make_ellipsoid(Vec3::Constant(0.2)));
  {
    Scene scene(0.5);
    test::add_fixed(scene, owned.add(make_cavity(make_ellipsoid(Vec3::Constant(0.2)))));
    scene.add(ball, 2, {});
    World world = exact_world(std::move(scene));
    check_stays("bowl", rest(world, 2), 1e-12);
  }
  for (const Shape& shape : {ball, make_sphere(0.2)}) {
    Scene scene(0.5);
    scene.add(owned.add(make_torus(0.25, 0.1)), 1, {}, {}, 0, BodyMode::fixed);
    scene.add(shape, 2, at(0, 0, std::sqrt(0.3 * 0.3 - 0.25 * 0.25)));
    World world = exact_world(std::move(scene));
    check_stays("hole", rest(world, 2), 1e-12);
  }
}

}  // namespace tactus
