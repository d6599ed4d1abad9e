// Continuous detection of meshes and smooth shapes: what has the option passes through none of them, in any model, and
// none of them, with the option, through anything; what flies past is not held.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/collide/narrow_phase.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/collide/time/separation.h"
#include "core/collide/time/swept_mesh.h"
#include "core/collide/time/thickness.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/models.h"
#include "tests/support/robots.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// Shapes that live as long as the tests: a body's shape only points to its mesh or surface.
const TriangleMesh* kept(TriangleMesh raw) {
  static std::vector<test::MeshPtr> meshes;
  meshes.push_back(test::finish_mesh(std::move(raw)));
  return meshes.back().get();
}
const Shape& mesh_pane() {
  static const Shape pane = make_mesh(kept(test::box_mesh(Vec3(0.0005, 0.5, 0.5), 1, 3, 3)));
  return pane;
}
const Shape& mesh_bullet() {
  static const Shape bullet = make_mesh(kept(test::box_mesh(Vec3(0.005, 0.004, 0.003))));
  return bullet;
}
const Shape& mesh_cube() {
  static const Shape cube = make_mesh(kept(test::box_mesh(Vec3::Constant(0.005))));
  return cube;
}
const Shape& smooth(std::unique_ptr<SmoothSurface> surface) {
  static std::vector<std::unique_ptr<SmoothSurface>> surfaces;
  static std::vector<std::unique_ptr<Shape>> shapes;
  surfaces.push_back(std::move(surface));
  shapes.push_back(std::make_unique<Shape>(make_smooth(surfaces.back().get())));
  return *shapes.back();
}
const Shape& ellipsoid_bullet() {
  static const Shape& bullet = smooth(make_ellipsoid({0.006, 0.004, 0.003}));
  return bullet;
}
const Shape& ellipsoid_pane() {
  static const Shape& pane = smooth(make_ellipsoid({0.001, 0.4, 0.4}));
  return pane;
}
const Shape& torus() {
  static const Shape& ring = smooth(make_torus(0.1, 0.01));
  return ring;
}

// A bullet that flies at 300 m/s, 30 cm a step, at something thin across its way.
struct Range {
  Scene scene;
  BodyIndex bullet = 0, target = 0;

  Range(ContactModelKind kind, const Shape& shape, const Shape& thin, bool continuous, BodyMode mode,
        const Vec3& aside = Vec3(0, 0.011, 0.023))
      : scene(0.3, 0) {
    scene.model->contact_model = kind;
    scene.set_gravity(Vec3::Zero());
    target = scene.add(thin, 1, test::at(0, 0, 0), {}, 0, mode);
    bullet = scene.add(shape, 0.01, {Quat::Identity(), Vec3(-1.07, 0, 0) + aside}, {Vec3::Zero(), Vec3(300, 0, 0)});
    scene.model->bodies[bullet].continuous = continuous;
  }
};

struct Pair {
  const char* name;
  Shape bullet, thin;
};
std::vector<Pair> pairs() {
  const Shape box = make_box(Vec3::Constant(0.005)), ball = make_sphere(0.005), rod = make_capsule(0.003, 0.004),
              puck = make_cylinder(0.005, 0.005), thin = make_box(Vec3(0.0005, 0.5, 0.5));
  return {{"ball at mesh", ball, mesh_pane()},
          {"box at mesh", box, mesh_pane()},
          {"capsule at mesh", rod, mesh_pane()},
          {"cylinder at mesh", puck, mesh_pane()},
          {"mesh at mesh", mesh_bullet(), mesh_pane()},
          {"mesh at box", mesh_bullet(), thin},
          {"ellipsoid at mesh", ellipsoid_bullet(), mesh_pane()},
          {"mesh at ellipsoid", mesh_cube(), ellipsoid_pane()},
          {"ball at ellipsoid", ball, ellipsoid_pane()},
          {"box at ellipsoid", box, ellipsoid_pane()},
          {"ellipsoid at box", ellipsoid_bullet(), thin},
          {"ellipsoid at ellipsoid", ellipsoid_bullet(), ellipsoid_pane()}};
}

TEST_CASE("continuous surfaces: a bullet does not pass a thin pane, whichever is a mesh or smooth, in any model") {
  for (const Pair& pair : pairs()) {
    CAPTURE(std::string(pair.name));
    for (const test::Stepping stepping : test::kAllSteppings) {
      const ContactModelKind kind = stepping.kind;
      if (!World::has_model(kind)) continue;
      CAPTURE(stepping.name());
      Range range(kind, pair.bullet, pair.thin, true, BodyMode::fixed);
      stepping.set(*range.scene.model);
      World world = range.scene.world();
      double farthest = -1;
      for (int i = 0; i < 50; ++i) {
        world.step();
        farthest = std::max(farthest, world.state().p_WBcm(range.bullet).x());
      }
      CHECK(farthest < 0);
      CHECK(farthest > (kind == ContactModelKind::ap ? -0.35 : -0.02));
      // These hit with one corner: what is left is mostly spin, which stops the body at the begin of each step.
      const bool corner = kind == ContactModelKind::deepest || stepping.stepper == LcpStepper::exact ||
                          pair.bullet.mesh == mesh_cube().mesh;
      CHECK(world.state().v_WBcm(range.bullet).x() < (corner ? 150 : 3));
    }
  }
}

TEST_CASE("continuous surfaces: without the option the bullets pass: the scenes test something") {
  for (const Pair& pair : pairs()) {
    CAPTURE(std::string(pair.name));
    Range range(ContactModelKind::penalty, pair.bullet, pair.thin, false, BodyMode::fixed);
    World world = range.scene.world();
    test::run(world, 50);
    CHECK(world.state().p_WBcm(range.bullet).x() > 1);
  }
}

TEST_CASE("continuous surfaces: a free pane takes the momentum, energy never grows") {
  for (const Pair& pair : pairs()) {
    CAPTURE(std::string(pair.name));
    for (const test::Stepping stepping : test::kAllSteppings) {
      const ContactModelKind kind = stepping.kind;
      if (!World::has_model(kind)) continue;
      CAPTURE(stepping.name());
      Range range(kind, pair.bullet, pair.thin, true, BodyMode::free);
      stepping.set(*range.scene.model);
      World world = range.scene.world();
      const double start = kinetic_energy(world.model(), world.state());
      double most = 0, momentum = 0;
      bool behind = false;
      for (int i = 0; i < 30; ++i) {
        world.step();
        most = std::max(most, kinetic_energy(world.model(), world.state()));
        momentum = std::max(momentum, (test::momentum(world.model(), world.state()).linear - Vec3(3, 0, 0)).norm());
        const State& s = world.state();
        const Vec3 d = s.q_WB(range.target).conjugate() * (s.p_WBcm(range.bullet) - s.p_WBcm(range.target));
        behind = behind || d.x() > 0;
      }
      // `deepest` is explicit: its spring may act again from the pose that was put back (core/README.md).
      if (kind != ContactModelKind::deepest) CHECK(most <= start * (1 + 1e-9));
      CHECK_WITHIN(momentum, 3e-9);
      CHECK(!behind);
    }
  }
}

TEST_CASE("continuous surfaces: same inputs, same bits, and no allocation") {
  for (const Pair& pair : pairs()) {
    CAPTURE(std::string(pair.name));
    std::uint64_t hash[2] = {}, allocations = 0;
    std::uint32_t stops = 0;
    for (std::uint64_t& h : hash) {
      Range range(ContactModelKind::penalty, pair.bullet, pair.thin, true, BodyMode::free);
      World world = range.scene.world();
      const test::AllocGuard guard;
      for (int i = 0; i < 20; ++i) stops += world.step().continuous_stops;
      allocations += guard.count();
      h = state_hash(world.state());
    }
    CHECK(stops >= 2);
    CHECK(hash[0] == hash[1]);
    if (test::AllocGuard::available()) CHECK(allocations == 0);
  }
}

// From below at a torus around z.
Vec3 end_of_flight(const test::Stepping& stepping, const Vec3& from, bool continuous, std::uint32_t& stops) {
  Scene scene(0.3, 0);
  stepping.set(*scene.model);
  scene.set_gravity(Vec3::Zero());
  scene.add(torus(), 1, test::at(0, 0, 0), {}, 0, BodyMode::fixed);
  const BodyIndex ball = scene.add(make_sphere(0.005), 0.01, {Quat::Identity(), from}, {Vec3::Zero(), Vec3(0, 0, 300)});
  scene.model->bodies[ball].continuous = continuous;
  World world = scene.world();
  stops = 0;
  for (int i = 0; i < 10; ++i) stops += world.step().continuous_stops;
  return world.state().p_WBcm(ball);
}

TEST_CASE("continuous surfaces: a ball flies through the hole of a torus, and not through its tube") {
  for (const test::Stepping stepping : test::kAllSteppings) {
    const ContactModelKind kind = stepping.kind;
    if (!World::has_model(kind)) continue;
    CAPTURE(stepping.name());
    std::uint32_t stops = 0, none = 0;
    const Vec3 hole(0.03, 0.02, -1.07), tube(0.06, 0.08, -1.07);
    const Vec3 through = end_of_flight(stepping, hole, true, stops);
    CHECK(stops == 0);
    CHECK((through - end_of_flight(stepping, hole, false, none)).norm() == 0);
    CHECK_WITHIN((through - hole - Vec3(0, 0, 3)).norm(), 1e-9);
    CHECK(end_of_flight(stepping, tube, true, stops).z() < 0);
    // Models that see contacts ahead hold it back at a plane before the tube by themselves.
    const bool ahead = kind != ContactModelKind::penalty && kind != ContactModelKind::deepest;
    if (ahead) continue;
    CHECK(stops > 0);
    CHECK(end_of_flight(stepping, tube, false, none).z() > 1);
  }
}

TEST_CASE("continuous surfaces: a continuous torus falls over a post, but not through a rod") {
  for (const bool inside : {true, false}) {
    Scene scene(0, 0);
    scene.set_gravity(Vec3::Zero());
    scene.add(make_capsule(0.005, 0.3), 1,
              {inside ? Quat::Identity() : test::turned(Vec3::UnitX(), M_PI / 2), Vec3::Zero()}, {}, 0,
              BodyMode::fixed);
    const BodyIndex ring = scene.add(torus(), 0.1, test::at(0.02, 0, -1), {Vec3::Zero(), Vec3(0, 0, 100)});
    scene.model->bodies[ring].continuous = true;
    World world = scene.world();
    std::uint32_t stops = 0;
    // Where the rod crosses the ring, seen from the ring: on the side that it came from, however the ring swings round
    // it.
    double lowest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 30; ++i) {
      stops += world.step().continuous_stops;
      const Quat q = world.state().q_WB(ring).conjugate();
      for (const double y : {-0.1, 0.0, 0.1}) {
        lowest = std::min(lowest, (q * (Vec3(0, y, 0) - world.state().p_WBcm(ring))).z());
      }
    }
    CHECK((stops > 0) == !inside);
    if (inside) CHECK_WITHIN(world.state().p_WBcm(ring).z() - 2, 1e-9);
    if (!inside) CHECK(lowest > 0.013);  // radii of tube and rod: 0.015
  }
}

SweptShape still(const Shape& shape) {
  return {shape, Frame{}, Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), radius_about(shape, Vec3::Zero()), 1};
}

// From where it would touch at t, moving by v in the step.
SweptShape flying(const Shape& shape, const Mat3& R, const Vec3& at_touch, const Vec3& v, double t) {
  const Vec3 from = at_touch - t * v;
  return {shape, {R, from}, from, v, Vec3::Zero(), radius_about(shape, Vec3::Zero()), 1};
}

TEST_CASE("continuous surfaces: the time of a touch of smooth shapes is the closed form's") {
  // A ball's centre is a radius over the surface's point when it touches.
  Random random(7);
  for (const test::SurfacePtr& surface : test::smooth_surfaces()) {
    if (surface->cavity()) continue;
    const Shape shape = make_smooth(surface.get());
    const double size = half_thickness(shape), r = 0.5 * size, slack = 1e-6 * size;
    const Shape ball = make_sphere(r);
    CAPTURE(std::string(to_string(surface->kind())));
    int done = 0;
    for (int i = 0; i < 40; ++i) {
      const SurfaceSeed at = surface->at(test::random_layout(random, *surface));
      const Vec3 v = (surface->convex() ? 20.0 : 1.0) * size * (-at.n_S + 0.5 * random.direction());
      const double t = random.uniform(0.2, 0.8), speed = -v.dot(at.n_S);
      // Into a hollow that is narrower than the ball there is another touch before: not the closed form's.
      const SweptShape a = flying(ball, Mat3::Identity(), at.p_S + r * at.n_S, v, t), b = still(shape);
      ExtremalSide none_a, none_b;
      if (!surface->convex() &&
          extremal_points(ball, a.at(t - 1e-3), shape, b.at(0), none_a, none_b).d < 0.5e-3 * speed) {
        continue;
      }
      const SweptTouch found = first_touch(a, b, slack, 0.25 * size);
      ++done;
      CHECK(found.found);
      CHECK(found.unknown == 0);
      CHECK_WITHIN(found.t - t, 2 * slack / speed);
    }
    CHECK(done >= 20);
  }
}

TEST_CASE("continuous surfaces: the time of a touch of a round surface and a mesh is the closed form's") {
  // As a sphere's: a radius over a face, from an edge, from a corner; and of a torus, tube first.
  Random random(9);
  const Shape block = make_mesh(kept(test::box_mesh(Vec3(0.3, 0.2, 0.1), 3, 2, 2)));
  const double r = 0.02, slack = 1e-8;
  const Shape& ball = smooth(make_ellipsoid(Vec3::Constant(r)));
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const double t = random.uniform(0.1, 0.9);
    const Vec3 on(i % 3 == 0 ? random.uniform(-0.25, 0.25) : 0.3, i % 3 == 2 ? 0.2 : random.uniform(-0.15, 0.15), 0.1);
    const Vec3 out(i % 3 == 0 ? 0 : random.uniform(0.1, 1), i % 3 == 2 ? random.uniform(0.1, 1) : 0, 1);
    const Vec3 n = out.normalized(), v = -n + 0.4 * random.in_cube(1);
    const double speed = -v.dot(n);
    const SweptShape moving = flying(ball, Mat3::Identity(), on + r * n, v, t);
    const SweptShape against = flying(block, Mat3::Identity(), Vec3::Zero(), -v, t);
    const SweptShape stands{ball, {Mat3::Identity(), on + r * n}, on + r * n, Vec3::Zero(), Vec3::Zero(), r, 1};
    for (const SweptTouch& touch :
         {first_touch(moving, still(block), slack, 1e-3), first_touch(stands, against, slack, 1e-3)}) {
      CHECK(touch.found);
      CHECK(touch.unknown == 0);
      CHECK_WITHIN(touch.t - t, 2 * slack / speed);
    }
    if (i % 3 != 0) continue;
    const Mat3 R = test::shortest_rotation(Vec3::UnitX(), -n).toRotationMatrix();  // on its outer rim
    const SweptTouch ring = first_touch(flying(torus(), R, on + 0.11 * n, v, t), still(block), slack, 1e-3);
    if ((on + 0.11 * n).head<2>().cwiseAbs().maxCoeff() > 0.09) continue;  // may meet an edge before
    CHECK(ring.found);
    CHECK_WITHIN(ring.t - t, 2 * slack / speed);
  }
}

TEST_CASE("continuous surfaces: the time of a touch with a mesh's face, edge and corner is the closed form's") {
  Random random(8);
  const Shape block = make_mesh(kept(test::box_mesh(Vec3(0.3, 0.2, 0.1), 3, 2, 2)));
  const double r = 0.02, slack = 1e-8;
  const Shape ball = make_sphere(r), cube = make_box(Vec3::Constant(0.02)), half_space = make_half_space();
  const Shape pebble = make_mesh(kept(test::sphere_mesh(0.02, 2)));
  MeshSweep sweep;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const double t = random.uniform(0.1, 0.9);
    // Of the face z = 0.1, of the edge between it and x = 0.3, or of the corner.
    const Vec3 on(i % 3 == 0 ? random.uniform(-0.25, 0.25) : 0.3, i % 3 == 2 ? 0.2 : random.uniform(-0.15, 0.15), 0.1);
    const Vec3 out(i % 3 == 0 ? 0 : random.uniform(0.1, 1), i % 3 == 2 ? random.uniform(0.1, 1) : 0, 1);
    const Vec3 n = out.normalized(), v = -n + 0.4 * random.in_cube(1);
    const double speed = -v.dot(n);
    const SweptTouch of_ball =
        sweep.first_touch(flying(ball, Mat3::Identity(), on + r * n, v, t), still(block), slack, 1e-3);
    CHECK(of_ball.found);
    CHECK_WITHIN(of_ball.t - t, 2 * slack / speed);
    // A corner of a cube that points down meets a face; its edge along (1, -1, 0) meets the block's edge across n.
    const Vec3 down = i % 3 == 0 ? Vec3(-1, -1, -1) : Vec3(0, -1, -1);
    const Mat3 R = test::shortest_rotation(down, -n).toRotationMatrix();
    const Vec3 middle = on - R * Vec3(0.02 * down);
    if (i % 3 == 2) continue;
    if (i % 3 == 1 && std::abs((R * Vec3::UnitX()).y()) > 0.9) continue;  // along the block's edge
    const SweptTouch of_cube = sweep.first_touch(flying(cube, R, middle, v, t), still(block), slack, 1e-3);
    CHECK(of_cube.found);
    CHECK_WITHIN(of_cube.t - t, 2 * slack / speed);
    // The same ways round: the block falls on the cube.
    const SweptShape back = flying(block, Mat3::Identity(), Vec3::Zero(), -v, t);
    const SweptShape stands{cube, {R, middle}, middle, Vec3::Zero(), Vec3::Zero(), 0.04, 1};
    const SweptTouch other = sweep.first_touch(stands, back, slack, 1e-3);
    CHECK_WITHIN(other.t - t, 2 * slack / speed);
    if (i % 3 != 0) continue;
    // A mesh of a ball: its lowest corner meets the face.
    double low = 0;
    for (const Vec3& p : pebble.mesh->vertices) low = std::max(low, (R * p).dot(-n));
    const SweptTouch meshes = sweep.first_touch(flying(pebble, R, on + low * n, v, t), still(block), slack, 1e-3);
    CHECK(meshes.found);
    CHECK(meshes.t >= t - 1e-9);  // beside the point that we look under nothing is lower
    CHECK_WITHIN(meshes.t - t, 2 * slack / speed);
    const SweptShape floor{half_space, {Mat3::Identity(), Vec3(0, 0, 0.1)}, Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), 0,
                           1};
    const SweptTouch plane = first_touch(flying(pebble, R, on + low * n, v, t), floor, slack, 1e-3);
    CHECK(plane.found);
    CHECK_WITHIN(plane.t - t, 2 * slack / speed);
  }
}

double depth_of(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) {
  ContactPoint points[16];
  ContactBuffer buffer{points, 16};
  Witness witness;
  collide(a, X_WA, b, X_WB, witness, buffer);
  double depth = 0;
  for (std::uint32_t i = 0; i < buffer.count; ++i) depth = std::max(depth, points[i].depth);
  return depth;
}

TEST_CASE("continuous surfaces: what turns in the step is stopped at a mesh when it touches, not before, not after") {
  // By the narrow phase of the box that the mesh is made of.
  Random random(9);
  const Shape block = make_mesh(kept(test::box_mesh(Vec3(0.3, 0.2, 0.1), 3, 2, 2))),
              same = make_box(Vec3(0.3, 0.2, 0.1)), rod = make_box(Vec3(0.3, 0.005, 0.005));
  MeshSweep sweep;
  int touched = 0, passed = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Vec3 from = 0.8 * random.direction(), by = (i % 2 == 0 ? -1.0 : 0.3) * from + random.in_cube(0.5);
    const SweptShape a{rod, {random.rotation().toRotationMatrix(), from}, from, by, random.in_cube(2), 0.301, 1},
        b{block, Frame{}, Vec3::Zero(), Vec3::Zero(), random.in_cube(1), 0.375, 1};
    const double slack = 1e-5;
    if (find_separation(rod, a.at(0), same, b.at(0)).gap < 1e-3) continue;
    const SweptTouch found = sweep.first_touch(a, b, slack, 1e-3);
    double deepest = 0;
    for (int k = 0; k <= 400; ++k) {
      const double t = found.t * k / 400.0;
      deepest = std::max(deepest, depth_of(rod, a.at(t), same, b.at(t)));
    }
    CHECK(deepest < 1.1 * slack);
    ++(found.found ? touched : passed);
    if (found.found) CHECK(find_separation(rod, a.at(found.t), same, b.at(found.t)).gap < slack);
  }
  CHECK(touched > 50);
  CHECK(passed > 50);
}

TEST_CASE("continuous surfaces: what slides or rolls fast over a mesh is not held at its edges") {
  const Shape fine = make_mesh(kept(test::box_mesh(Vec3(1, 0.2, 0.001), 60, 12, 1)));
  const Shape pebble = make_mesh(kept(test::sphere_mesh(0.02, 2)));
  for (const Shape& shape : {make_sphere(0.02), make_box(Vec3::Constant(0.02)), make_capsule(0.02, 0.02),
                             make_cylinder(0.02, 0.02), pebble, mesh_bullet()}) {
    CAPTURE(std::string(to_string(shape.kind)));
    Scene scene(0, 0);
    scene.add(fine, 1, test::at(0, 0, -0.001), {}, 0, BodyMode::fixed);
    const double low = -support(shape, -Vec3::UnitZ()).z();
    const BodyIndex body = scene.add(shape, 0.05, test::at(-0.9, 0.003, low - 2e-5), {Vec3::Zero(), Vec3(20, 0.3, 0)});
    scene.model->bodies[body].continuous = true;
    World world = scene.world();
    for (int i = 0; i < 80; ++i) world.step();
    CHECK_WITHIN(world.state().p_WBcm(body).x() - (-0.9 + 20 * 0.08), 0.02);
    CHECK(world.state().p_WBcm(body).z() > low - 1e-3);
  }
}

TEST_CASE("continuous surfaces: random bullets at random panes: none comes out behind") {
  Random random(11);
  const std::vector<Pair> all = pairs();
  for (int i = 0; i < 150; ++i) {
    const Pair& pair = all[random.below(static_cast<std::uint32_t>(all.size()))];
    CAPTURE(i);
    CAPTURE(std::string(pair.name));
    Scene scene(random.uniform(0, 1), random.uniform(0, 1));
    const Quat q = random.rotation();
    const Vec3 n = q * -Vec3::UnitX();
    const bool fixed = random.chance(0.5);
    const BodyIndex pane =
        scene.add(pair.thin, 50, {q, random.in_cube(1)}, {Vec3::Zero(), random.in_cube(fixed ? 0 : 5)}, 0,
                  fixed ? BodyMode::fixed : BodyMode::free);
    const Vec3 aside = q * Vec3(0, random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2));
    Vec3 v = -n + 0.3 * random.direction();
    v *= random.uniform(20, 500) / v.norm();
    const BodyIndex bullet = scene.add(
        pair.bullet, 0.01, {random.rotation(), scene.model->X_WB0[pane].p + aside + random.uniform(0.05, 0.3) * n},
        {random.in_cube(1000), v});
    scene.model->bodies[bullet].continuous = true;
    scene.set_gravity(Vec3::Zero());
    World world = scene.world();
    for (int step = 0; step < 15; ++step) {
      world.step();
      const State& s = world.state();
      const Vec3 d = s.q_WB(pane).conjugate() * (s.p_WBcm(bullet) - s.p_WBcm(pane));
      if (std::sqrt(d.y() * d.y() + d.z() * d.z()) > 0.38) break;  // past its edge
      REQUIRE(d.x() < 5e-4);
    }
  }
}

TEST_CASE("continuous surfaces: a mesh does not fall through a floor, nor a marble out of a bowl") {
  Scene scene(0.3, 0.2);
  scene.add_floor();
  const BodyIndex plate =
      scene.add(make_mesh(kept(test::box_mesh(Vec3(0.0005, 0.05, 0.05)))), 0.1,
                {test::turned(Vec3(1, 2, 0.3), 1.2), Vec3(0, 0, 0.5)}, {Vec3(300, 20, 0), Vec3(0, 0, -200)});
  const BodyIndex bowl = scene.add(make_box(Vec3::Constant(0.1)), 1, test::at(3, 0, 1), {}, 0, BodyMode::fixed);
  scene.model->shapes.back().shape = smooth(make_cavity(make_ellipsoid({0.2, 0.2, 0.1})));
  const BodyIndex marble = scene.add(make_sphere(0.01), 0.01, test::at(3, 0, 1.02), {Vec3::Zero(), Vec3(30, 20, -60)});
  scene.model->bodies[plate].continuous = scene.model->bodies[marble].continuous = true;
  World world = scene.world();
  double lowest = 1, out = 0;
  for (int i = 0; i < 300; ++i) {
    world.step();
    lowest = std::min(lowest, world.state().p_WBcm(plate).z());
    const Vec3 d = world.state().p_WBcm(marble) - world.state().p_WBcm(bowl);
    out = std::max(out, d.cwiseQuotient(Vec3(0.2, 0.2, 0.1)).squaredNorm());
  }
  CHECK(lowest > 0);
  CHECK(out < 1);
}

TEST_CASE("continuous surfaces: a robot's thin link that swings is met, and takes the ball along") {
  Scene scene(0, 0);
  scene.set_gravity(Vec3::Zero());
  Model& model = *scene.model;
  test::add_robot(model, "arm");
  // A blade of 2 mm that sweeps 0.1 m of way a step at the ball's place.
  const BodyIndex blade = test::add_link(model, 5, Vec3(0.02, 0.5, 0.5).asDiagonal(), Vec3(0.5, 0, 0));
  ShapeInstance plate;
  plate.shape = make_box(Vec3(0.5, 0.001, 0.1));
  plate.body = blade;
  model.bodies[blade].shape_count = 1;
  model.shapes.push_back(plate);
  test::add_joint(model, JointKind::continuous, kNone, blade);
  model.joint_q0 = {0}, model.joint_v0 = {120};
  const BodyIndex ball = scene.add(make_sphere(0.005), 1e-4, test::at(0.8, 0.25, 0));
  model.bodies[ball].continuous = true;
  World world = scene.world();
  bool behind = false;
  for (int i = 0; i < 6; ++i) {
    world.step();
    const State& s = world.state();
    const Vec3 d = s.q_WB(blade).conjugate() * (s.p_WBcm(ball) - s.p_WBcm(blade));
    behind = behind || (d.y() < 0 && std::abs(d.x()) < 0.5);
  }
  CHECK(!behind);
  CHECK(world.state().v_WBcm(ball).norm() > 50);
}

}  // namespace
}  // namespace tactus
