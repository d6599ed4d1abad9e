// What is kept between the looks of one scene: features of the nearest points, witnesses of pairs that went, and pieces
// of one body that touch at one place.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/collide/time/collide_ahead.h"
#include "core/collide/time/separation.h"
#include "core/dynamics/state_bytes.h"
#include "tests/support/motions.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Motion;
using test::Random;
using test::Scene;

struct Found {
  std::vector<ContactPoint> storage = std::vector<ContactPoint>(512);
  ContactBuffer buffer{storage.data(), 512};

  Found(const Shape& a, const Frame& A, const Shape& b, const Frame& B, double reach, Witness& witness) {
    collide_ahead(a, A, b, B, reach, witness, buffer);
  }
};

struct Solids {
  ConvexHull hull;
  std::vector<Shape> shapes;
  explicit Solids(Random& random) {
    std::vector<Vec3> points;
    for (int i = 0; i < 30; ++i) points.push_back(0.3 * random.direction());
    std::string error;
    REQUIRE(build_convex_hull(points, 64, hull, error));
    shapes = {make_sphere(0.2), make_box(Vec3(0.3, 0.2, 0.1)), make_capsule(0.1, 0.2), make_convex(&hull)};
  }
};

constexpr double kAnywhere = std::numeric_limits<double>::infinity();

TEST_CASE("least distances: those from remembered features are those found from nothing, and most need no search") {
  Random random(21);
  const Solids solids(random);
  int hits = 0, compared = 0;
  for (int pair = 0; pair < 120; ++pair) {
    const Shape &a = solids.shapes[random.below(4)], &b = solids.shapes[random.below(4)];
    Motion ma = test::random_motion(random, 0.3, 3, 0), mb = test::random_motion(random, 0.3, 3, 0);
    ma.c0 = random.uniform(0.35, 0.6) * random.direction(), mb.c0.setZero();
    CoreFeatures features;
    for (int i = 0; i < 200; ++i) {
      const Frame A = ma.at(1e-3 * i), B = mb.at(1e-3 * i);
      bool hit = false;
      const Separation warm = find_separation(a, A, b, B, kAnywhere, features, hit),
                       fresh = find_separation(a, A, b, B);
      CHECK_WITHIN(warm.gap - fresh.gap, 1e-12);
      if (fresh.apart < 1e-6) continue;
      CHECK_WITHIN((warm.n_W - fresh.n_W).norm(), 1e-6);
      if (i == 0 || fresh.gap <= 0) continue;
      ++compared;
      hits += hit ? 1 : 0;
      // What is claimed to be far is: along the direction given.
      CoreFeatures kept = features;
      const Separation far = find_separation(a, A, b, B, 0.5 * fresh.gap, kept, hit);
      CHECK(gap_along(a, A, b, B, far.n_W) > 0.499 * fresh.gap);
    }
  }
  CHECK(compared > 10000);
  CHECK(hits > 0.95 * compared);
}

TEST_CASE("least distances: any stored features are safe, and change nothing") {
  Random random(22);
  const Solids solids(random);
  int apart = 0;
  for (int i = 0; i < 2000; ++i) {
    const Shape &a = solids.shapes[random.below(4)], &b = solids.shapes[random.below(4)];
    const Frame A = test::random_motion(random, 0, 0, 0).at(0);
    const Frame B{random.rotation().toRotationMatrix(), A.p + random.uniform(0.3, 0.7) * random.direction()};
    CoreFeatures odd;
    odd.count = static_cast<int>(random.below(6)) - 1;
    for (int k = 0; k < 3; ++k) {
      odd.a[k] = static_cast<std::int32_t>(random.below(12)) - 2,
      odd.b[k] = static_cast<std::int32_t>(random.below(12)) - 2;
    }
    bool hit = false;
    const Separation from_odd = find_separation(a, A, b, B, kAnywhere, odd, hit), fresh = find_separation(a, A, b, B);
    CHECK_WITHIN(from_odd.gap - fresh.gap, 1e-12);
    apart += fresh.gap > 0 ? 1 : 0;
    // As numbers of a witness that came with a state.
    Witness nothing, stored;
    for (Vec3* step : {&stored.step_a, &stored.step_b}) {
      for (double& x : *step) x = random.chance(0.2) ? 1e300 * random.uniform(-1, 1) : random.uniform(-3, 40);
    }
    const Found found(a, A, b, B, 0.05, stored), expected(a, A, b, B, 0.05, nothing);
    CHECK((found.buffer.count == 0) == (expected.buffer.count == 0));
  }
  CHECK(apart > 500);
}

World exact_world(Scene scene) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->parameters.lcp_stepper = LcpStepper::exact;
  return scene.world();
}

Scene bouncing_ball() {
  Scene scene(0.3, 0.9);
  scene.add_floor();
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.3));
  scene.add(make_sphere(0.1), 1, test::at(1, 0, 0.5));
  return scene;
}

TEST_CASE("a pair that leaves and comes back is met once; without coherence each look is a first one") {
  World world = exact_world(bouncing_ball()), off = exact_world(bouncing_ball());
  Parameters p = off.parameters();
  REQUIRE(World::parse_parameter("coherence", "off", p));
  off.set_parameters(p);
  std::uint32_t bounces = 0;
  for (int i = 0; i < 1500; ++i) bounces += world.step().exact.collisions, off.step();
  CHECK(bounces > 4);
  const WitnessTotals &w = world.state().witnesses, &o = off.state().witnesses;
  CHECK(w.hits + w.misses == 0);  // all in closed form
  CHECK(w.closed_misses == 2);    // two balls, one floor
  CHECK(w.closed_hits >= 2 * bounces);
  CHECK(o.closed_hits == 0);
  CHECK(o.closed_misses == w.closed_hits + w.closed_misses);
}

TEST_CASE("witnesses of pairs that left are part of State: hash, bytes, and a replay to the bit") {
  World world = exact_world(bouncing_ball());
  while (world.state().pairs.left().empty()) world.step();
  const State kept = world.state();
  State back = world.initial();
  const std::vector<std::uint8_t> bytes = to_bytes(kept);
  REQUIRE(from_bytes(bytes, back));
  CHECK(to_bytes(back) == bytes);
  CHECK(state_hash(back) == state_hash(kept));
  back.pairs.resize_left(0);
  CHECK(state_hash(back) != state_hash(kept));
  test::run(world, 400);
  const std::vector<std::uint8_t> later = to_bytes(world.state());
  REQUIRE(world.restore(kept));
  test::run(world, 400);
  CHECK(to_bytes(world.state()) == later);
  // A pair is either there or has left, and they are in order.
  State bad = kept;
  bad.pairs.resize_left(2)[1] = bad.pairs.left()[0];
  CHECK_FALSE(from_bytes(to_bytes(bad), back));
  while (world.state().pairs.records().empty()) world.step();
  bad = world.state();
  bad.pairs.resize_left(1)[0].key = bad.pairs.records()[0].key;
  CHECK_FALSE(from_bytes(to_bytes(bad), back));
}

// A cube of half width 0.1 with rounded edges and corners: three boxes, twelve capsules and eight balls.
void add_die(Scene& scene, const Pose& X_WB) {
  constexpr double kRound = 0.02, kCore = 0.08;
  scene.add(make_box(Vec3(kCore + kRound, kCore, kCore)), 0.5, X_WB);
  Model& model = *scene.model;
  const auto piece = [&](const Shape& shape, const Pose& X) {
    ShapeInstance instance = model.shapes[model.bodies.back().first_shape];
    instance.shape = shape;
    instance.X_BcmS = X;
    model.shapes.push_back(instance);
    ++model.bodies.back().shape_count;
  };
  piece(make_box(Vec3(kCore, kCore + kRound, kCore)), {});
  piece(make_box(Vec3(kCore, kCore, kCore + kRound)), {});
  for (int axis = 0; axis < 3; ++axis) {
    for (const double s : {-kCore, kCore}) {
      for (const double t : {-kCore, kCore}) {
        Pose X;
        X.q = test::shortest_rotation(Vec3::UnitZ(), Vec3::Unit(axis));
        X.p[(axis + 1) % 3] = s, X.p[(axis + 2) % 3] = t;
        piece(make_capsule(kRound, kCore), X);
        if (axis == 0) piece(make_sphere(kRound), {Quat::Identity(), Vec3(kCore, s, t)});
        if (axis == 0) piece(make_sphere(kRound), {Quat::Identity(), Vec3(-kCore, s, t)});
      }
    }
  }
}

TEST_CASE("a rounded die at rest touches at four places: pieces that touch at one count once, and none breaks") {
  Scene scene(0.3, 0.3);
  scene.add_floor();
  add_die(scene, {test::turned(Vec3(1, 0.4, 0.2), 0.5), Vec3(0, 0, 0.3)});
  World world = exact_world(std::move(scene));
  std::uint32_t breaks = 0;
  for (int i = 0; i < 2000; ++i) breaks += world.step().exact.breaks;
  CHECK(breaks < 10);
  const ContactSet& contacts = world.contacts();
  CHECK(contacts.point_count == 20);  // four each of a box and of balls, twelve of capsules
  int pushing = 0;
  Vec3 sum = Vec3::Zero();
  for (std::uint32_t i = 0; i < contacts.point_count; ++i) {
    const Vec3 force = world.contact_force(i);
    if (force.norm() > 1e-6) ++pushing;
    sum += force;
  }
  CHECK(pushing >= 3);
  CHECK(pushing <= 4);
  CHECK_WITHIN((sum + Vec3(0, 0, 0.5 * kGravity)).norm(), 1e-9);  // on the floor, which is A
  const double energy = test::total_energy(world);
  for (int i = 0; i < 500; ++i) CHECK(world.step().exact.discontinuities() == 0);
  CHECK_WITHIN(test::total_energy(world) - energy, 1e-12);
}

}  // namespace
}  // namespace tactus
