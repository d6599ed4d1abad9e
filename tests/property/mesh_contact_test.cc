// Bodies made of triangles behave as the bodies that they describe: they rest, stand still, hook and hold.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::Scene;
using test::turned;

Pose pose(const World& world, BodyIndex b) {
  return body_pose(world.model(), world.state(), b);
}
double speed(const World& world, BodyIndex b) {
  const SpatialVelocity V = body_velocity(world.model(), world.state(), b);
  return V.v.norm() + V.w.norm();
}

test::MeshPtr cube(int n) {
  return test::finish_mesh(test::box_mesh(Vec3::Constant(0.5), n, n, n));
}

// Stands for `ticks`: how far the body goes meanwhile [m], and its largest speed.
struct Stand {
  double moved = 0, speed = 0;
};
Stand stand(World& world, BodyIndex b, int ticks) {
  Stand out;
  const Vec3 start = pose(world, b).p;
  for (int i = 0; i < ticks; ++i) {
    world.step();
    out.moved = std::max(out.moved, (pose(world, b).p - start).norm());
    out.speed = std::max(out.speed, speed(world, b));
  }
  return out;
}

}  // namespace

TEST_CASE("mesh: a cube of triangles rests as deep as a box, and as still, on every kind of floor") {
  Scene box;
  box.add_floor();
  const BodyIndex on_floor = box.add(make_box(Vec3::Constant(0.5)), 1, at(0, 0, 0.5));
  World reference = box.world();
  test::run(reference, 1000);
  const double depth = 0.5 - pose(reference, on_floor).p.z();
  REQUIRE(depth > 1e-7);
  const test::MeshPtr table[2] = {test::finish_mesh(test::box_mesh(Vec3(2, 2, 0.5))),
                                  test::finish_mesh(test::box_mesh(Vec3(2, 2, 0.5), 16, 16, 4))};
  for (const int n : {1, 6}) {
    const test::MeshPtr mesh = cube(n);
    for (int floor = 0; floor < 4; ++floor) {
      Scene scene;
      if (floor == 0) scene.add_floor();
      if (floor == 1) scene.add(make_box(Vec3(2, 2, 0.5)), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
      if (floor > 1) scene.add(make_mesh(table[floor - 2].get()), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
      const BodyIndex b = scene.add(make_mesh(mesh.get()), 1, at(0.1, 0.05, 0.5));
      World world = scene.world();
      test::run(world, 1000);
      INFO("n " << n << ", floor " << floor);
      CHECK_WITHIN(0.5 - pose(world, b).p.z() - depth, 1e-3 * depth);
      const Stand still = stand(world, b, 1000);
      CHECK_WITHIN(still.moved, 1e-9);
      CHECK_WITHIN(still.speed, 1e-9);
    }
  }
}

TEST_CASE("mesh: a fine cube thrown on a fine table comes to rest flat") {
  const test::MeshPtr mesh = cube(6), table = test::finish_mesh(test::box_mesh(Vec3(2, 2, 0.5), 16, 16, 4));
  Scene scene;
  scene.add(make_mesh(table.get()), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
  const BodyIndex b = scene.add(make_mesh(mesh.get()), 1, {turned(Vec3(1, 1, 0), 0.3), Vec3(0.1, 0.05, 1)});
  World world = scene.world();
  test::run(world, 3000);
  CHECK_WITHIN(pose(world, b).p.z() - 0.5, 2e-5);
  CHECK_WITHIN(stand(world, b, 1000).speed, 1e-6);
}

TEST_CASE("mesh: a torus lies on a floor and on a table, and stays") {
  const test::MeshPtr torus = test::finish_mesh(test::torus_mesh(0.5, 0.2, 36, 20));
  const test::MeshPtr table = test::finish_mesh(test::box_mesh(Vec3(2, 2, 0.5), 8, 8, 2));
  for (const bool on_mesh : {false, true}) {
    Scene scene;
    if (on_mesh) {
      scene.add(make_mesh(table.get()), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    } else {
      scene.add_floor();
    }
    const BodyIndex b = scene.add(make_mesh(torus.get()), 1, at(0, 0, 0.23));
    World world = scene.world();
    test::run(world, 2000);
    CHECK_WITHIN(pose(world, b).p.z() - 0.2, 2e-5);
    const Stand still = stand(world, b, 1000);
    CHECK_WITHIN(still.moved, 1e-7);
    CHECK_WITHIN(still.speed, 1e-6);
  }
}

TEST_CASE("mesh: an L hooks over a bar and hangs") {
  // Upside down: the foot lies on the bar, the leg hangs beside it.
  const test::MeshPtr l = test::finish_mesh(test::l_prism_mesh(1, 0.2, 0.4, 3));
  Scene scene;
  scene.add(make_box(Vec3(0.1, 1, 0.1)), 1, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex b = scene.add(make_mesh(l.get()), 1, {turned(Vec3::UnitX(), M_PI), Vec3(-0.305, 0, 0.301)});
  World world = scene.world();
  test::run(world, 3000);
  CHECK_WITHIN(pose(world, b).p.z() - 0.3, 1e-3);
  CHECK_WITHIN(stand(world, b, 1000).moved, 1e-7);
  world.apply(b, {Vec3::Zero(), Vec3(400, 0, 0)});  // a knock sideways: the leg meets the bar and holds
  test::run(world, 3000);
  CHECK(pose(world, b).p.z() > 0.2);
}

TEST_CASE("mesh: a ring hangs on a round peg and stays on it") {
  const test::MeshPtr ring =
      test::finish_mesh(test::revolved_mesh({{0.25, -0.05}, {0.35, -0.05}, {0.35, 0.05}, {0.25, 0.05}}, 48));
  Scene scene;
  const Quat along_x = turned(Vec3::UnitY(), M_PI / 2);
  scene.add(make_cylinder(0.2, 1), 1, {along_x, Vec3::Zero()}, {}, 0, BodyMode::fixed);
  const BodyIndex b = scene.add(make_mesh(ring.get()), 1, {along_x, Vec3(0, 0, -0.045)});
  World world = scene.world();
  test::run(world, 3000);
  CHECK_WITHIN(pose(world, b).p.x(), 1e-3);
  CHECK_WITHIN(pose(world, b).p.z() + 0.0496, 1e-3);  // a 48-sided hole of 0.25: 0.5 mm higher on its flats
  CHECK_WITHIN(stand(world, b, 1000).moved, 1e-6);
}

TEST_CASE("mesh: a ball rolls to and fro in a bowl of triangles, gains no energy and settles near its bottom") {
  const test::MeshPtr bowl = test::finish_mesh(test::bowl_mesh(0.4, 0.5, 12, 36));
  Scene scene(0.9);
  scene.add(make_mesh(bowl.get()), 1, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex b = scene.add(make_sphere(0.1), 1, at(0.15, 0.02, -0.24));
  World world = scene.world();
  const double start = test::total_energy(world);
  double most = start;
  for (int i = 0; i < 20000; ++i) {
    world.step();
    most = std::max(most, test::total_energy(world));
  }
  CHECK_WITHIN(most - start, 1e-3);
  CHECK_WITHIN(pose(world, b).p.head<2>().norm(), 0.1);
  CHECK(pose(world, b).p.z() < -0.28);  // the bottom is at -0.3
  CHECK(world.contacts().manifold_count == 1);
}

TEST_CASE("mesh: a cube pushed into the corner of an L touches floor and wall at once and stands") {
  const test::MeshPtr l = test::finish_mesh(test::l_prism_mesh(1, 0.2, 0.8, 3));
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh(Vec3::Constant(0.15), 4, 4, 4));
  Scene scene;
  scene.set_gravity(Vec3(-4, 0, -9));
  scene.add(make_mesh(l.get()), 1, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex b = scene.add(make_mesh(mesh.get()), 1, at(0.352, 0.01, 0.353));
  World world = scene.world();
  test::run(world, 2000);  // the springs settle with 75 ms
  CHECK(world.contacts().manifold_count == 2);
  CHECK_WITHIN(pose(world, b).p.x() - 0.35, 5e-5);
  CHECK_WITHIN(pose(world, b).p.z() - 0.35, 5e-5);
  CHECK_WITHIN(stand(world, b, 1000).speed, 1e-9);
}

TEST_CASE("mesh: a tick with meshes allocates nothing; a snapshot replays to the same bits" *
          doctest::skip(!test::AllocGuard::available())) {
  const test::MeshPtr torus = test::finish_mesh(test::torus_mesh(0.3, 0.1, 24, 12)), box = cube(4);
  const test::MeshPtr table = test::finish_mesh(test::box_mesh(Vec3(3, 3, 0.5), 12, 12, 2));
  Scene scene(0.4, 0.3);
  scene.add(make_mesh(table.get()), 1, at(0, 0, -0.5), {}, 0, BodyMode::fixed);
  test::Random random(9);
  for (int i = 0; i < 4; ++i) {
    scene.add(make_mesh(torus.get()), 1, {random.rotation(), Vec3(0.3 * i, 0, 0.5 + 0.7 * i)});
    scene.add(make_mesh(box.get()), 1, {random.rotation(), Vec3(0, 0.4 * i - 1, 1 + i)});
    scene.add(make_capsule(0.1, 0.2), 1, {random.rotation(), Vec3(0.5, 0.3 * i, 1 + i)});
    scene.add(make_cylinder(0.1, 0.2), 1, {random.rotation(), Vec3(-0.5, 0.3 * i, 1 + i)});
  }
  World world = scene.world();
  test::run(world, 10);
  State middle;
  world.snapshot(middle);
  std::uint64_t allocations = 0, contacts = 0;
  for (int i = 0; i < 1500; ++i) {
    if (i == 700) world.snapshot(middle);
    const test::AllocGuard guard;
    contacts += world.step().contacts;
    allocations += guard.count();
  }
  CHECK(allocations == 0);
  CHECK(contacts > 1000);
  const std::uint64_t end = world.hash();
  REQUIRE(world.restore(middle));
  test::run(world, 800);
  CHECK(world.hash() == end);
  CHECK(kinetic_energy(world.model(), world.state()) < 1e3);
}

}  // namespace tactus
