// The front door: snapshots, models, frozen bodies, limits, and what the order of bodies may not change.
#include "core/world.h"

#include <limits>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A few shapes that fall, hit, slide and pile up on a floor.
Scene falling_scene(ContactModelKind kind = ContactModelKind::penalty) {
  Scene scene(0.5, 0.3);
  scene.model->contact_model = kind;
  scene.add_floor();
  for (int i = 0; i < 4; ++i) {
    const Vec3 p(0.05 * i, 0.03 * i, 0.4 + 0.5 * i);
    scene.add(make_box(Vec3(0.2, 0.15, 0.1)), 1 + i, {test::turned({1, 2, 3}, 0.4 * i), p},
              {Vec3(1, i, 0), Vec3::Zero()});
    scene.add(make_sphere(0.15), 2, {Quat::Identity(), p + Vec3(0.4, 0, 0)}, {Vec3::Zero(), Vec3(-1, 0, 0)});
  }
  return scene;
}

TEST_CASE("world: two worlds of one scene stay equal to the bit") {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::deepest}) {
    World a = falling_scene(kind).world(), b = falling_scene(kind).world();
    for (int i = 0; i < 1500; ++i) {
      a.step(), b.step();
      REQUIRE(a.hash() == b.hash());
    }
    CHECK(kinetic_energy(a.model(), a.state()) >= 0);
    CHECK(a.contacts().point_count > 4);
  }
}

TEST_CASE("world: restored at any tick, in memory or through bytes, it continues to the bit") {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::deepest}) {
    Random random(1);
    World world = falling_scene(kind).world(), other = falling_scene(kind).world();
    test::run(other, 37);  // it has been elsewhere
    State state = world.state(), decoded = world.state();
    for (int i = 0; i < 12; ++i) {
      test::run(world, static_cast<int>(random.below(200)));
      world.snapshot(state);
      REQUIRE(world.deserialise(world.serialise(state), decoded));
      test::run(world, 100);
      const std::uint64_t end = world.hash();
      REQUIRE(other.restore(i % 2 ? state : decoded));
      CHECK(other.hash() == state_hash(state));
      test::run(other, 100);
      CHECK(other.hash() == end);
    }
  }
}

TEST_CASE("world: reset starts the scene again") {
  World world = falling_scene().world();
  const std::uint64_t start = world.hash();
  test::run(world, 700);
  const std::uint64_t end = world.hash();
  CHECK(end != start);
  world.set_model(ContactModelKind::deepest);
  world.reset();
  CHECK(world.hash() == start);
  CHECK(world.state().contact_model == ContactModelKind::penalty);
  test::run(world, 700);
  CHECK(world.hash() == end);
}

TEST_CASE("world: a switch of model clears what pairs remember for it and keeps the common part") {
  World world = test::stack(3, false).world();
  test::run(world, 300);
  const State before = world.state();
  REQUIRE(world.set_model(ContactModelKind::deepest));
  REQUIRE(world.state().pairs.size() == before.pairs.size());
  bool remembered = false;
  for (std::uint32_t i = 0; i < before.pairs.size(); ++i) {
    const PairRecord &old = before.pairs[i], &now = world.state().pairs[i];
    for (const double x : old.model) remembered = remembered || x != 0;
    for (const double x : now.model) CHECK(x == 0);
    CHECK(now.phase == old.phase);
    CHECK(now.age == old.age);
    CHECK(now.witness.axis_A == old.witness.axis_A);
  }
  CHECK(remembered);
  CHECK(!world.set_model(ContactModelKind::lcp));
  CHECK(world.state().contact_model == ContactModelKind::deepest);
  // Switched to and fro, a stack still stands.
  for (int i = 0; i < 20; ++i) {
    world.set_model(i % 2 ? ContactModelKind::deepest : ContactModelKind::penalty);
    test::run(world, 10);
  }
  test::run(world, 2000);
  CHECK_WITHIN(world.state().p_WBcm(3).z() - 2.5, 5e-3);
}

TEST_CASE("world: a force that is not finite is not applied") {
  World world = falling_scene().world(), calm = falling_scene().world();
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    world.apply(1, {Vec3(0, bad, 0), Vec3::Zero()});
    world.apply(2, {Vec3::Zero(), Vec3(bad, 0, 0)});
    world.step(), calm.step();
    CHECK(world.hash() == calm.hash());
  }
}

TEST_CASE("world: forces add up, act for one tick, and accelerate by F / m") {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  const BodyIndex b = scene.add(make_sphere(0.1), 4, Pose{});
  World world = scene.world();
  world.apply(b, {Vec3(0, 0, 0.1), Vec3(1, 0, 0)});
  world.apply(b, {Vec3(0, 0, 0.1), Vec3(2, 0, 0)});
  test::run(world, 5);
  CHECK_WITHIN(world.state().v_WBcm(b).x() - 3.0 / 4 * 1e-3, 1e-18);
  CHECK_WITHIN(world.state().w_WB(b).z() - 0.2 / (0.4 * 4 * 0.01) * 1e-3, 1e-16);
}

// Spheres resting apart on a floor; index 1 is the one that things happen to.
Scene row_of_spheres() {
  Scene scene;
  scene.add_floor();
  for (int i = 0; i < 4; ++i) scene.add(make_sphere(0.1), 1, test::at(i, 0, 0.15), {Vec3::Zero(), Vec3(0, 0.3, 0)});
  return scene;
}

TEST_CASE("world: a body that overflows is frozen where it was, named and counted; the others do not notice") {
  for (const int when : {5, 500}) {  // in the air, and at rest on the floor
    World world = row_of_spheres().world(), calm = row_of_spheres().world();
    test::run(world, when), test::run(calm, when);
    const Vec3 last = world.state().p_WBcm(2);
    const double huge = std::numeric_limits<double>::max();
    world.apply(2, {Vec3::Zero(), Vec3(huge, 0, 0)});
    world.apply(2, {Vec3::Zero(), Vec3(huge, 0, 0)});
    const StepReport report = world.step();
    CHECK(report.bodies_frozen == 1);
    CHECK(report.frozen_body == 2);
    CHECK(world.state().frozen[2] == 1);
    CHECK((world.state().p_WBcm(2) - last).norm() == 0);
    calm.step();
    for (int i = 0; i < 1000; ++i) {
      CHECK(world.step().bodies_frozen == 0);
      calm.step();
    }
    CHECK((world.state().p_WBcm(2) - last).norm() == 0);
    CHECK(world.state().v_WBcm(2).norm() == 0);
    for (const BodyIndex other : {1u, 3u, 4u}) {
      CHECK((world.state().p_WBcm(other) - calm.state().p_WBcm(other)).norm() == 0);
    }
  }
}

TEST_CASE("world: a force of 1e300 N carries one body off, and the others stay where physics puts them") {
  World world = row_of_spheres().world(), calm = row_of_spheres().world();
  test::run(world, 500), test::run(calm, 500);
  world.apply(2, {Vec3(1e300, 0, 0), Vec3(0, 1e300, 1e300)});
  for (int i = 0; i < 1000; ++i) world.step(), calm.step();
  for (const double x : world.state().q) REQUIRE(std::isfinite(x));
  for (const double x : world.state().v) REQUIRE(std::isfinite(x));
  for (const BodyIndex other : {1u, 3u, 4u}) {
    CHECK_WITHIN((world.state().p_WBcm(other) - calm.state().p_WBcm(other)).norm(), 1e-12);
  }
}

TEST_CASE("world: a frozen body is a fixed obstacle for the others") {
  Scene scene;
  scene.add_floor();
  const BodyIndex low = scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, 0.5));
  const BodyIndex high = scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, 1.5));
  World world = scene.world();
  test::run(world, 500);
  const double huge = std::numeric_limits<double>::max();
  for (int i = 0; i < 2; ++i) world.apply(low, {Vec3::Zero(), Vec3(0, 0, huge)});
  world.step();
  REQUIRE(world.state().frozen[low] == 1);
  for (int i = 0; i < 300; ++i) {
    world.apply(low, {Vec3(5, 0, 0), Vec3(100, 0, 0)});
    world.step();
  }
  CHECK_WITHIN(world.state().p_WBcm(high).z() - 1.5, 1e-3);
  CHECK_WITHIN(world.state().p_WBcm(low).head<2>().norm(), 1e-9);
}

TEST_CASE("world: pairs over the limit are counted, and the tick goes on") {
  Scene scene = row_of_spheres();
  scene.limits.pairs = 2;
  World world = scene.world();
  std::uint32_t dropped = 0;
  for (int i = 0; i < 500; ++i) dropped = std::max(dropped, world.step().pairs_dropped);
  CHECK(dropped == 2);
  CHECK(world.state().tick == 500);
  // Those in contact first: what stood on the floor first still stands, the others fell through.
  int standing = 0;
  for (BodyIndex b = 1; b < 5; ++b) standing += world.state().p_WBcm(b).z() > 0.09;
  CHECK(standing == 2);
}

// A prism of n corners, standing on its face.
Scene prism_scene(int n, ConvexHull& hull) {
  std::vector<Vec3> corners;
  for (int i = 0; i < n; ++i) {
    const double a = 2 * M_PI * i / n;
    for (const double z : {-0.2, 0.2}) corners.emplace_back(0.5 * std::cos(a), 0.5 * std::sin(a), z);
  }
  std::string error;
  REQUIRE_MESSAGE(build_convex_hull(corners, 256, hull, error), error);
  Scene scene;
  scene.add_floor();
  scene.add(make_convex(&hull), 3, test::at(0, 0, 0.2));
  return scene;
}

TEST_CASE("world: points over the limit are counted, and the body stands on those that are kept") {
  ConvexHull hull;
  Scene scene = prism_scene(48, hull);
  scene.limits.points_per_pair = 8;
  World world = scene.world();
  std::uint32_t dropped = 0, kept = 0;
  for (int i = 0; i < 3000; ++i) {
    const StepReport report = world.step();
    dropped = std::max(dropped, report.points_dropped);
    kept = std::max(kept, report.contacts);
  }
  CHECK(dropped == 40);
  CHECK(kept == 8);
  CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.2, 1e-3);
  CHECK_WITHIN(world.state().q_WB(1).angularDistance(Quat::Identity()), 1e-3);
}

TEST_CASE("world: few raw points are reported too") {
  ConvexHull hull;
  Scene scene = prism_scene(48, hull);
  scene.limits.raw_points_per_pair = 20;
  World world = scene.world();
  std::uint32_t dropped = 0;
  for (int i = 0; i < 1000; ++i) dropped = std::max(dropped, world.step().points_dropped);
  CHECK(dropped > 0);
}

// Six bodies numbered upwards or downwards; apart: with air between them, otherwise a stack of boxes.
Scene heap(bool reversed, bool apart) {
  Scene scene(0.4, 0.2);
  scene.add_floor();
  for (int k = 0; k < 6; ++k) {
    const int i = reversed ? 5 - k : k;
    const Pose fallen{test::turned({1, 1, 0.3}, 0.1 * i), Vec3(0.03 * i, 0.02 * i * i, 0.3 + 0.35 * i)};
    const Pose stacked = test::at(0.01 * i, -0.01 * i * i, 0.1 + 0.2 * i);
    const Shape shape = apart && i % 2 ? make_sphere(0.15) : make_box(Vec3(0.2, 0.2, 0.1));
    scene.add(shape, 1 + 0.3 * i, apart ? fallen : stacked);
  }
  return scene;
}

// Largest distance between the same bodies of the two numberings.
double numbering_error(bool apart, int ticks) {
  World a = heap(false, apart).world(), b = heap(true, apart).world();
  for (int i = 0; i < ticks; ++i) {
    a.apply(6, {Vec3::Zero(), Vec3(2, 0, 0)}), b.apply(1, {Vec3::Zero(), Vec3(2, 0, 0)});
    a.step(), b.step();
  }
  double worst = 0;
  for (BodyIndex i = 1; i <= 6; ++i) {
    worst = std::max(worst, (a.state().p_WBcm(i) - b.state().p_WBcm(7 - i)).norm());
    worst = std::max(worst, a.state().q_WB(i).angularDistance(b.state().q_WB(7 - i)));
  }
  return worst;
}

TEST_CASE("world: the order of the bodies matters neither to forces nor to impacts, several in one tick too") {
  // What is left is the normal between faces parallel to 1e-6: that of the first body's. A tumbling heap enlarges it.
  CHECK_WITHIN(numbering_error(false, 1000), 3e-7);
  CHECK_WITHIN(numbering_error(true, 240), 1e-12);
  CHECK_WITHIN(numbering_error(true, 280), 1e-6);
}

// A box that rocks on its corners under `deepest`: the four points of its face take turns in carrying it.
TEST_CASE("world: points that the model does not use carry no force of an earlier tick") {
  Scene scene;
  scene.model->contact_model = ContactModelKind::deepest;
  scene.add_floor();
  scene.add(make_box(Vec3::Constant(0.5)), 10, {test::turned({1, 2, 0.3}, 0.03), Vec3(0, 0, 0.52)});
  World world = scene.world();
  int many = 0;
  for (int i = 0; i < 3000; ++i) {
    world.step();
    std::uint32_t carrying = 0;
    for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) carrying += world.contact_force(k).norm() > 0;
    CHECK(carrying <= 1);
    many += world.contacts().point_count > 1;
  }
  CHECK(many > 100);
}

TEST_CASE("world: time is the tick times the step, without drift") {
  World world = row_of_spheres().world();
  test::run(world, 12345);
  CHECK(world.state().tick == 12345);
  CHECK(world.state().time == 12345 * 1e-3);
}

}  // namespace
}  // namespace tactus
