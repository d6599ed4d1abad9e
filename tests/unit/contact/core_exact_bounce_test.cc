// Balls that bounce too low to leave the floor by what counts as a touch (1e-8 m), under the exact stepper: what
// overlapped when it parted must not touch again deeper than it did.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/world.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

struct Bounced {
  double deepest = 0, most_energy = 0;
  std::uint32_t unresolved = 0, exhausted = 0, collisions = 0;
};

Bounced bounce(World& world, int steps) {
  Bounced out;
  out.most_energy = test::total_energy(world);
  for (int i = 0; i < steps; ++i) {
    const StepReport report = world.step();
    CHECK(report.solver_failures == 0);
    out.unresolved += report.exact.unresolved;
    out.exhausted += report.exact.exhausted;
    out.collisions += report.exact.collisions;
    out.deepest = std::max(out.deepest, report.depth_max);
    out.most_energy = std::max(out.most_energy, test::total_energy(world));
  }
  return out;
}

World exact_world(Scene scene, double epsilon) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = 1e-3;
  scene.model->parameters.lcp_stepper = LcpStepper::exact;
  scene.model->parameters.impact_epsilon = epsilon;
  return scene.world();
}

constexpr double kRadius = 0.1;

}  // namespace

TEST_CASE("exact: balls that bounce to rest, thousands of times and ever lower, do not sink") {
  Scene scene(0.2, 0.97);
  scene.add_floor();
  for (int i = 0; i < 3; ++i) scene.add(make_sphere(kRadius), 1, at(0.3 * i, 0, kRadius + 2e-4 + 2e-7 * i));
  World world = exact_world(std::move(scene), 1e-7);
  const double start = test::total_energy(world);
  const Bounced out = bounce(world, 1500);
  MESSAGE("deepest " << out.deepest << ", " << out.collisions << " collisions");
  CHECK(out.unresolved == 0);
  CHECK(out.exhausted == 0);
  CHECK(out.deepest < 2e-8);
  CHECK(out.most_energy <= start + 1e-12);
  for (BodyIndex b = 1; b <= 3; ++b) {
    CHECK_WITHIN(world.state().p_WBcm(b).z() - kRadius, 1e-8);
    CHECK(world.state().v_WBcm(b).norm() < 1e-7);
  }
}

// A flight of 2 v / g is 30 us, its top 5e-10 m: thirty times a step it comes back to where it overlapped.
TEST_CASE("exact: a ball that keeps its speed bounces by less than a touch, and does not sink") {
  const double v = 1.5e-4;
  for (const double overlap : {0.0, 9e-9}) {
    CAPTURE(overlap);
    Scene scene(0, 1);
    scene.add_floor();
    scene.add(make_sphere(kRadius), 1, at(0, 0, kRadius - overlap), {Vec3::Zero(), Vec3(0, 0, v)});
    World world = exact_world(std::move(scene), 1e-7);
    const double start = test::total_energy(world);
    const Bounced out = bounce(world, 1000);
    MESSAGE("deepest " << out.deepest << ", " << out.collisions << " collisions");
    CHECK(out.unresolved == 0);
    CHECK(out.exhausted == 0);
    CHECK(out.deepest <= overlap + 1e-10);
    CHECK(out.most_energy <= start + kGravity * overlap + 1e-10);  // it may be lifted out
    if (overlap > 0) continue;  // where a step ends in its flight it touches, and so comes to rest
    CHECK(out.collisions > 0.97 * kGravity / (2 * v));
    CHECK_WITHIN(test::total_energy(world) - start, 1e-10);
  }
}

}  // namespace tactus
