// Smooth bodies on triangle meshes in a World: they come to rest under each model and stay there, at the depth and on
// the points that a half-space gives; in an L on both walls; a restored state goes on with the same bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/models.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

const TriangleMesh& slab() {
  static const test::MeshPtr mesh = test::finish_mesh(test::box_mesh({4, 1, 0.25}, 31, 9, 2));
  return *mesh;
}
const TriangleMesh& corner() {
  static const test::MeshPtr mesh = test::finish_mesh(test::l_prism_mesh(1.5, 0.2, 1, 3));
  return *mesh;
}

BodyIndex add_mesh(Scene& scene, const TriangleMesh& mesh, const Pose& X_WB) {
  return scene.add(make_mesh(&mesh), 0, X_WB, {}, 0, BodyMode::fixed);
}

struct Bodies {
  std::unique_ptr<SmoothSurface> egg = make_ellipsoid({0.3, 0.2, 0.1}),
                                 pebble = make_superellipsoid({0.2, 0.2, 0.1}, 0.7, 0.8), ring = make_torus(0.3, 0.1),
                                 ball;
  Bodies() {
    std::string error;
    ball = make_spline(test::ball_control(5, 4, 6), {5, 4, 6}, error);
    REQUIRE(ball != nullptr);
  }
};

}  // namespace

namespace {

struct Rest {
  double height[3], speed[3], spin[3], moved[3];  // of each body at the end; in the last half second
  double risen = 0;  // most that the energy, without what contacts store, rose above its least so far
  std::uint64_t allocations = 0;
  std::uint64_t dropped = 0, fallbacks = 0;
};

Rest come_to_rest(const Bodies& shapes, const test::Stepping& stepping, bool mesh) {
  Scene scene;
  stepping.set(*scene.model);
  if (mesh) {
    add_mesh(scene, slab(), test::at(0, 0, -0.25));
  } else {
    scene.add_floor();
  }
  const BodyIndex bodies[] = {scene.add(make_smooth(shapes.egg.get()), 2, test::at(-3, 0, 0.101)),
                              scene.add(make_smooth(shapes.pebble.get()), 1, test::at(-1, 0, 0.101)),
                              scene.add(make_smooth(shapes.ring.get()), 1, test::at(1, 0, 0.101))};
  World world = scene.world();
  Rest out;
  double energy = test::total_energy(world);
  Vec3 settled[3];
  for (int i = 0; i < 2000; ++i) {
    const test::AllocGuard guard;
    const StepReport report = world.step();
    out.allocations += guard.count();
    out.dropped += report.points_dropped + report.pairs_dropped;
    out.fallbacks += report.witnesses.fallbacks;
    const double now = test::total_energy(world);
    out.risen = std::max(out.risen, now - energy);
    energy = std::min(energy, now);
    for (int b = 0; b < 3 && i == 1500; ++b) settled[b] = world.state().p_WBcm(bodies[b]);
  }
  for (int b = 0; b < 3; ++b) {
    out.height[b] = world.state().p_WBcm(bodies[b]).z();
    out.speed[b] = world.state().v_WBcm(bodies[b]).norm();
    out.spin[b] = world.state().w_WB(bodies[b]).norm();
    out.moved[b] = (world.state().p_WBcm(bodies[b]) - settled[b]).norm();
  }
  return out;
}

}  // namespace

TEST_CASE("mesh and smooth: bodies come to rest on a floor of triangles as on a plane, under each model") {
  const Bodies shapes;
  for (const test::Stepping stepping : test::kAllSteppings) {
    CAPTURE(stepping.name());
    const Rest rest = come_to_rest(shapes, stepping, true), plane = come_to_rest(shapes, stepping, false);
    CHECK(rest.allocations == 0);
    CHECK(rest.dropped == 0);
    CHECK(rest.fallbacks == 0);
    MESSAGE(stepping.name() << ": energy rose by " << rest.risen << ", on the plane by " << plane.risen);
    CHECK(rest.risen <= 1.1 * plane.risen + 2e-5);
    for (int b = 0; b < 3; ++b) {
      CAPTURE(b);
      // A ring trembles: with one point a tick; and as on a box where the exact stepper's first touch is by more points
      // on one side.
      const bool exact = stepping.stepper == LcpStepper::exact;
      if (b == 2 && (stepping.kind == ContactModelKind::deepest || exact)) continue;
      CHECK_WITHIN(rest.height[b] - 0.1, 2e-4);
      CHECK_WITHIN(rest.moved[b], std::max(1e-4, 2 * plane.moved[b]));
      CHECK_WITHIN(rest.speed[b], std::max(2e-3, 2 * plane.speed[b]));
      CHECK_WITHIN(rest.spin[b], std::max(2e-2, 2 * plane.spin[b]));
    }
  }
}

// The same body thrown at a half-space and at a floor of triangles: the triangles are not felt.
TEST_CASE("mesh and smooth: rolling over edges between triangles is rolling on a plane") {
  const Bodies shapes;
  for (const test::Stepping stepping : test::kAllSteppings) {
    CAPTURE(stepping.name());
    Vec3 end[2];
    Quat turned[2];
    for (const bool mesh : {false, true}) {
      Scene scene;
      stepping.set(*scene.model);
      if (mesh) {
        add_mesh(scene, slab(), test::at(0, 0, -0.25));
      } else {
        scene.add_floor();
      }
      const double tilt = 0.1, height = std::hypot(0.2 * std::sin(tilt), 0.1 * std::cos(tilt));
      const BodyIndex egg =
          scene.add(make_smooth(shapes.egg.get()), 2, {test::turned(Vec3::UnitX(), tilt), Vec3(-1, 0, height + 1e-3)},
                    {Vec3(-0.5, 0, 0), Vec3(0.3, 0.2, 0)});
      World world = scene.world();
      test::run(world, 600);
      end[mesh ? 1 : 0] = world.state().p_WBcm(egg);
      turned[mesh ? 1 : 0] = world.state().q_WB(egg);
    }
    CHECK_WITHIN((end[1] - end[0]).norm(), 1e-6);
    CHECK_WITHIN(turned[1].angularDistance(turned[0]), 1e-5);
  }
}

TEST_CASE("mesh and smooth: an egg in an L leans on both walls, each with its own normal") {
  const Bodies shapes;
  for (const test::Stepping stepping : test::kAllSteppings) {
    CAPTURE(stepping.name());
    Scene scene;
    stepping.set(*scene.model);
    // Its two walls rise at 45 degrees.
    const Quat q = test::turned(Vec3::UnitY(), -M_PI / 4);
    add_mesh(scene, corner(), {q, Vec3::Zero()});
    const double a = 0.2 + 0.2 + 1e-3;
    const Vec3 p = q * Vec3(a, 0, a);
    const auto round = make_ellipsoid({0.2, 0.35, 0.2});
    const BodyIndex egg = scene.add(make_smooth(round.get()), 2, {q, p});
    World world = scene.world();
    test::run(world, 1500);
    CHECK_WITHIN(world.state().v_WBcm(egg).norm(), 2e-3);
    const Vec3 in_corner = q.conjugate() * world.state().p_WBcm(egg);
    CHECK_WITHIN(in_corner.x() - 0.4, 2e-4);
    CHECK_WITHIN(in_corner.z() - 0.4, 2e-4);
    const ContactSet& contacts = world.contacts();
    REQUIRE(contacts.manifold_count == 2);
    for (std::uint32_t m = 0; m < 2; ++m) {
      const Vec3 n = q.conjugate() * contacts.manifolds[m].nhat_BA_W;
      CHECK_WITHIN(n.cwiseAbs().maxCoeff() - 1, 1e-3);
    }
  }
}

TEST_CASE(
    "mesh and smooth: an egg rocks in a bowl of triangles and gains no energy, a ring rests around a peg's foot") {
  const Bodies shapes;
  const test::MeshPtr bowl = test::finish_mesh(test::bowl_mesh(0.6, 0.7, 8, 24));
  const test::MeshPtr peg = test::finish_mesh(test::box_mesh({0.1, 0.1, 0.4}, 2, 2, 5));
  for (const test::Stepping stepping : test::kAllSteppings) {
    if (stepping.kind == ContactModelKind::deepest) continue;  // one point a tick
    CAPTURE(stepping.name());
    Scene scene;
    stepping.set(*scene.model);
    add_mesh(scene, *bowl, test::at(-2, 0, 0.7));
    add_mesh(scene, slab(), test::at(0, 0, -0.25));
    add_mesh(scene, *peg, test::at(2, 0, 0.3));
    const BodyIndex egg =
        scene.add(make_smooth(shapes.egg.get()), 2, {test::turned(Vec3(1, 2, 0), 0.3), Vec3(-1.9, 0.05, 0.5)});
    const BodyIndex ring =
        scene.add(make_smooth(shapes.ring.get()), 1, {test::turned(Vec3(1, 2, 0), 0.1), Vec3(2.03, 0.02, 0.4)});
    World world = scene.world();
    std::uint64_t dropped = 0, fallbacks = 0;
    double energy = test::total_energy(world), risen = 0;
    for (int i = 0; i < 2000; ++i) {
      const StepReport report = world.step();
      dropped += report.points_dropped, fallbacks += report.witnesses.fallbacks;
      const double now = test::total_energy(world);
      risen = std::max(risen, now - energy);
      energy = std::min(energy, now);
    }
    CHECK(dropped == 0);
    CHECK(fallbacks == 0);
    // The egg goes on rocking: nothing brakes what rolls.
    MESSAGE(stepping.name() << ": energy rose by " << risen << " J");
    CHECK(risen < 1e-3);
    // Two seconds after its fall it still rolls round on its rim, like a coin, under the exact stepper.
    const bool rolls = stepping.stepper == LcpStepper::exact;
    CHECK_WITHIN(world.state().v_WBcm(ring).norm(), rolls ? 0.5 : 5e-3);
    CHECK_WITHIN(world.state().p_WBcm(ring).z() - 0.1, rolls ? 0.02 : 1e-3);
    CHECK_WITHIN((world.state().p_WBcm(egg) - Vec3(-2, 0, 0.2)).norm(), 0.1);
  }
}

TEST_CASE("mesh and smooth: a state that is saved and restored goes on with the same bits") {
  const Bodies shapes;
  for (const test::Stepping stepping : test::kAllSteppings) {
    CAPTURE(stepping.name());
    const auto scene = [&] {
      Scene s(0.4, 0.1);
      stepping.set(*s.model);
      add_mesh(s, corner(), test::at(0, 0, 0));
      s.add(make_smooth(shapes.ball.get()), 1, {test::turned(Vec3(1, 2, 3), 0.5), Vec3(0.7, 0, 0.5)});
      s.add(make_smooth(shapes.ring.get()), 1, {test::turned(Vec3(1, 0, 0), 0.3), Vec3(0.8, 0.1, 1.2)});
      return s;
    };
    World world = scene().world();
    test::run(world, 400);
    const State saved = world.state();
    test::run(world, 300);
    World other = scene().world();
    test::run(other, 123);
    REQUIRE(other.restore(saved));
    test::run(other, 300);
    CHECK(other.hash() == world.hash());
  }
}

}  // namespace tactus
