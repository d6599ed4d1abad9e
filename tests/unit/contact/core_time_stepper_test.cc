// Stewart-Trinkle and Anitescu-Potra steps against closed forms of mechanics.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/smooth_shapes.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

constexpr double kStep = 1e-2;

World world_of(Scene scene, ContactModelKind kind = ContactModelKind::st, double h = kStep) {
  scene.model->contact_model = kind;
  scene.model->step = h;
  return scene.world();
}

// Gravity that leans: a floor whose slope is `tangent`, downhill along `angle` in the floor's plane.
Scene leaning(double mu, double tangent, double angle, std::uint32_t directions) {
  Scene scene(mu);
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 2, test::at(0, 0, 0.1));
  scene.set_gravity(kGravity * Vec3(tangent * std::cos(angle), tangent * std::sin(angle), -1));
  scene.model->parameters.friction_directions = directions;
  return scene;
}

void check_solved(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.solver_fallbacks == 0);
  CHECK(report.solver_residual <= 1e-9);
}

}  // namespace

TEST_CASE("st: a box at rest is carried by impulses m g h in all, and does not move") {
  for (const double mass : {1e-3, 1.0, 1e4}) {
    Scene scene;
    scene.add_floor();
    scene.add(make_box(Vec3(0.3, 0.2, 0.1)), mass, test::at(0, 0, 0.1));
    World world = world_of(std::move(scene));
    for (int i = 0; i < 100; ++i) {
      check_solved(world.step());
      Vec3 sum = Vec3::Zero();
      for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) sum += world.contact_force(k);
      // The floor is the smaller shape: it is pushed down.
      CHECK(std::abs(sum.z() + mass * kGravity) <= 1e-10 * mass * kGravity);
      CHECK(sum.head<2>().norm() <= 1e-10 * mass * kGravity);
    }
    CHECK((world.state().p_WBcm(1) - Vec3(0, 0, 0.1)).norm() < 1e-13);
  }
}

TEST_CASE("st: a falling box touches down exactly, whatever its height") {
  for (const double height : {0.001, 0.0123, 0.2, 1.0}) {
    Scene scene;
    scene.add_floor();
    scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, 0.5 + height));
    World world = world_of(std::move(scene));
    double depth = 0;
    for (int i = 0; i < 100; ++i) depth = std::max(depth, world.step().depth_max);
    CHECK(depth < 1e-13);
    CHECK(std::abs(world.state().p_WBcm(1).z() - 0.5) < 1e-12);
  }
}

TEST_CASE("st: a sliding box loses mu g h of speed a step, to 1e-6, along any direction of the round cone") {
  for (const double angle : {0.0, 0.3, 1.0, 2.5}) {
    Scene scene(0.3);
    scene.add_floor();
    const Vec3 along(std::cos(angle), std::sin(angle), 0);
    scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), 2 * along});
    World world = world_of(std::move(scene));
    for (int n = 1; n <= 60; ++n) {
      check_solved(world.step());
      const double speed = 2 - 0.3 * kGravity * kStep * n;
      CHECK((world.state().v_WBcm(1) - speed * along).norm() < 1e-6);
    }
    test::run(world, 20);
    CHECK(world.state().v_WBcm(1).norm() < 1e-12);
  }
}

TEST_CASE("st, ap, lnc, peg: a polyhedral cone holds up to mu along its corners and to mu cos(pi/n) between them") {
  for (const ContactModelKind kind :
       {ContactModelKind::st, ContactModelKind::ap, ContactModelKind::lnc, ContactModelKind::peg}) {
    CAPTURE(std::string(to_string(kind)));
    for (const std::uint32_t directions : {0U, 4U, 8U}) {
      for (const bool between : {false, true}) {
        const double mu = 0.5, half = directions > 0 ? M_PI / directions : 0.3;
        const double holds = between && directions > 0 ? mu * std::cos(half) : mu;
        CAPTURE(directions);
        CAPTURE(between);
        World stays = world_of(leaning(mu, 0.999 * holds, between ? half : 0, directions), kind);
        World slides = world_of(leaning(mu, 1.001 * holds, between ? half : 0, directions), kind);
        for (int i = 0; i < 100; ++i) {
          check_solved(stays.step());
          check_solved(slides.step());
        }
        CHECK(stays.state().v_WBcm(1).norm() < 1e-9);
        CHECK(slides.state().v_WBcm(1).norm() == doctest::Approx(0.001 * holds * kGravity).epsilon(1e-3));
      }
    }
  }
}

// ap lets no gap shrink that it sees: the ball comes to a stop before the floor or leaves it, by e.
TEST_CASE("ap: a ball leaves with e times the speed that it came with, from where it is seen") {
  for (const double e : {0.0, 0.3, 0.8, 1.0}) {
    Scene scene(0.5, e);
    scene.add_floor();
    scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.6));
    World world = world_of(std::move(scene), ContactModelKind::ap, 1e-3);
    double before = 0;
    for (int i = 0; i < 2000; ++i) {
      before = world.state().v_WBcm(1).z();
      check_solved(world.step());
      if (world.state().v_WBcm(1).z() > before) break;
    }
    CHECK(before < -3);
    CHECK(std::abs(world.state().v_WBcm(1).z() + e * before) <= 1e-9);
    CHECK(world.state().p_WBcm(1).z() >= 0.1 - 1e-12);
  }
}

TEST_CASE("st: a ball leaves with e times the speed that it came with") {
  for (const double e : {0.3, 0.8, 1.0}) {
    Scene scene(0.5, e);
    scene.add_floor();
    scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.6));
    World world = world_of(std::move(scene), ContactModelKind::st, 1e-3);
    double before = 0;
    for (int i = 0; i < 2000; ++i) {
      before = world.state().v_WBcm(1).z();
      check_solved(world.step());
      if (world.state().v_WBcm(1).z() > before) break;
    }
    CHECK(before < -3);
    CHECK(world.state().v_WBcm(1).z() >= -e * before - 1e-9);
    CHECK(world.state().v_WBcm(1).z() <= -e * before + 1e-9);
  }
}

TEST_CASE("st, ap: what moves on a kinematic floor moves with it") {
  for (const ContactModelKind kind : {ContactModelKind::st, ContactModelKind::ap}) {
    Scene scene(0.5);
    const SpatialVelocity lift{Vec3::Zero(), Vec3(0.4, 0, 0.3)};
    scene.add(make_box(Vec3(2, 2, 0.1)), 1, test::at(0, 0, -0.1), lift, 0, BodyMode::kinematic);
    scene.add(make_box(Vec3::Constant(0.2)), 1, test::at(0, 0, 0.2));
    World world = world_of(std::move(scene), kind);
    for (int i = 0; i < 100; ++i) check_solved(world.step());
    CHECK((world.state().v_WBcm(1) - lift.v).norm() < 1e-9);
    const double gap = world.state().p_WBcm(1).z() - 0.2 - 0.3;
    CHECK(std::abs(gap) < 1e-9);
  }
}

TEST_CASE("st: bodies that strike each other in the void keep momentum, linear and angular, and gain no energy") {
  for (const double e : {0.0, 0.5}) {
    test::Random random(7);
    Scene scene(0.4, e);
    scene.set_gravity(Vec3::Zero());
    for (int i = 0; i < 6; ++i) {
      const Vec3 p = 0.7 * Vec3(i % 2, i / 2 % 2, i / 4) + random.in_cube(0.02), w = random.in_cube(1);
      const Quat q = random.rotation();
      scene.add(make_box(Vec3::Constant(0.2)), 1 + i, {q, p}, {w, -2 * p});
    }
    World world = world_of(std::move(scene), ContactModelKind::st, 2e-3);
    const test::Momentum start = test::momentum(world.model(), world.state());
    double energy = kinetic_energy(world.model(), world.state());
    std::uint32_t met = 0;
    for (int i = 0; i < 500; ++i) {
      const StepReport report = world.step();
      CHECK(report.solver_failures == 0);
      met += report.manifolds;
      const double now = kinetic_energy(world.model(), world.state());
      CHECK(now <= energy + 1e-9);
      energy = now;
    }
    CHECK(met > 0);
    const test::Momentum end = test::momentum(world.model(), world.state());
    CHECK((end.linear - start.linear).norm() < 1e-11);
    CHECK((end.angular - start.angular).norm() < 1e-11);
  }
}

TEST_CASE("st: a wheel set down while it slides ends rolling at 2/3 of its speed, whatever the friction") {
  for (const double mu : {0.1, 0.5}) {
    Scene scene(mu);
    scene.add_floor();
    const Quat on_edge = test::turned(Vec3::UnitX(), M_PI / 2);
    scene.add(make_cylinder(0.2, 0.05), 1, {on_edge, Vec3(0, 0, 0.2)}, {Vec3::Zero(), Vec3(1.5, 0, 0)});
    World world = world_of(std::move(scene), ContactModelKind::st, 1e-3);
    for (int i = 0; i < 1500; ++i) check_solved(world.step());
    CHECK(world.state().v_WBcm(1).x() == doctest::Approx(1.0).epsilon(1e-3));
    CHECK(world.state().w_WB(1).y() == doctest::Approx(5.0).epsilon(1e-3));
  }
}

TEST_CASE("st: an end of a joint holds exactly, its friction and its drive carry no more than they may") {
  Scene scene;
  test::add_robot(*scene.model, "rod");
  const Mat3 I = Vec3(0.1, 0.1, 0.01).asDiagonal();
  const BodyIndex rod = test::add_link(*scene.model, 1, I, Vec3(0, 0, -0.5));
  const JointIndex j = test::add_joint(*scene.model, JointKind::revolute, kNone, rod, {}, Vec3::UnitY());
  finish_robots(*scene.model);
  const double weight = kGravity * 0.5, inertia = 0.1 + 0.25;
  SUBCASE("end") {
    scene.model->joints[j].upper = 0.5;
    scene.model->joint_q0 = {-1.5};
    World world = world_of(std::move(scene));
    double most = -1;
    for (int i = 0; i < 400; ++i) {
      check_solved(world.step());
      most = std::max(most, world.state().joint_q[0]);
    }
    CHECK(most <= 0.5 + 1e-12);
  }
  SUBCASE("friction below and above what weight asks") {
    for (const bool holds : {true, false}) {
      Scene own;
      test::add_robot(*own.model, "rod");
      const BodyIndex link = test::add_link(*own.model, 1, I, Vec3(0, 0, -0.5));
      const JointIndex joint = test::add_joint(*own.model, JointKind::revolute, kNone, link, {}, Vec3::UnitY());
      own.model->joints[joint].friction = weight * (holds ? 1.001 : 0.9);
      finish_robots(*own.model);
      own.model->joint_q0 = {M_PI / 2};
      World world = world_of(std::move(own));
      check_solved(world.step());
      const double v = -(holds ? 0 : 0.1 * weight / inertia * kStep);
      CHECK(std::abs(world.state().joint_v[0] - v) < 1e-9);
    }
  }
  SUBCASE("a drive at its limit") {
    World world = world_of(std::move(scene));
    DofDrive drive;
    drive.damping = 1e3, drive.target_rate = 10, drive.limit = 0.7;
    world.set_drive(0, drive);
    check_solved(world.step());
    CHECK(world.state().joint_v[0] == doctest::Approx(0.7 / inertia * kStep).epsilon(1e-9));
    CHECK(world.joint_effort(0) == doctest::Approx(0.7));
  }
}

TEST_CASE("st: a floating link falls, strikes and rests like the free body that it is") {
  Scene robot, body;
  for (Scene* scene : {&robot, &body}) scene->add_floor();
  const Vec3 half(0.3, 0.2, 0.1);
  const Pose X_WB{test::turned({1, 1, 0}, 0.3), Vec3(0, 0, 0.6)};
  body.add(make_box(half), 2, X_WB);
  test::add_robot(*robot.model, "box");
  const Mat3 I = body.model->bodies[1].I_BBcm;
  const BodyIndex link = test::add_link(*robot.model, 2, I);
  robot.model->bodies[link].shape_count = 1;
  ShapeInstance instance;
  instance.shape = make_box(half);
  instance.body = link;
  robot.model->shapes.push_back(instance);
  test::add_joint(*robot.model, JointKind::floating, kNone, link);
  finish_robots(*robot.model);
  robot.model->joint_q0 = {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), X_WB.q.w(), X_WB.q.x(), X_WB.q.y(), X_WB.q.z()};
  World a = world_of(std::move(robot), ContactModelKind::st, 1e-3);
  World b = world_of(std::move(body), ContactModelKind::st, 1e-3);
  for (int i = 0; i < 1500; ++i) {
    check_solved(a.step());
    check_solved(b.step());
  }
  CHECK(std::abs(a.state().p_WBcm(1).z() - 0.1) < 1e-9);
  CHECK(std::abs(b.state().p_WBcm(1).z() - 0.1) < 1e-9);
  CHECK(a.state().v_WBcm(1).norm() < 1e-9);
  CHECK((a.state().p_WBcm(1) - b.state().p_WBcm(1)).norm() < 5e-3);  // two integrators of the same tumbling
}

TEST_CASE("ap: a gap within the detection distance cannot shrink; st closes it") {
  for (const bool ap : {true, false}) {
    Scene scene;
    scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, 0.7));
    scene.model->parameters.detection_distance = 0.7;
    World world = world_of(std::move(scene), ap ? ContactModelKind::ap : ContactModelKind::st, 0.25);
    check_solved(world.step());
    CHECK(world.state().p_WBcm(1).z() == doctest::Approx(ap ? 0.7 : 0.5).epsilon(1e-9));
  }
}

// Without contact the upper ones fall as the lower ones do, so no gap between them closes; the floor decides otherwise.
TEST_CASE("st, ap: cubes that fall together, or stand at gaps of rounding, do not get into each other as they land") {
  for (const ContactModelKind kind : {ContactModelKind::st, ContactModelKind::ap}) {
    for (const double height : {0.0, 0.5}) {
      for (const double gap : {0.0, 1e-16, 1e-6}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(height);
        CAPTURE(gap);
        Scene scene(0.5);
        scene.add_floor();
        for (int i = 0; i < 3; ++i)
          scene.add(make_box(Vec3::Constant(0.1)), 1, test::at(0.01 * (i % 2), 0, height + 0.1 + i * (0.2 + gap)));
        World world = world_of(std::move(scene), kind);
        double depth = 0;
        for (int i = 0; i < 100; ++i) {
          const StepReport report = world.step();
          check_solved(report);
          depth = std::max(depth, report.depth_max);
        }
        CHECK(depth < 1e-12);
        CHECK(kinetic_energy(world.model(), world.state()) < 1e-12);
        // ap stops where it sees that a gap would close, up to a step's fall above the floor.
        const double hover = kind == ContactModelKind::ap ? std::sqrt(2 * kGravity * height) * kStep + 1e-3 : 1e-9;
        for (BodyIndex b = 1; b < 4; ++b) CHECK(world.state().p_WBcm(b).z() >= 0.2 * b - 0.1 - 1e-12);
        CHECK(world.state().p_WBcm(3).z() <= 0.5 + hover);
      }
    }
  }
}

// Its own rule keeps overlap: what rolls comes to some by the square of each step's turn.
TEST_CASE("ap: what rolls does not sink unless overlap is kept, and what is worked off leaves no velocity") {
  test::OwnedShapes owned;
  const Shape egg = owned.add(make_ellipsoid({0.1, 0.1, 0.15}));
  const auto deepest = [&](OverlapDrift drift, double& rise) {
    Scene scene(0.5);
    scene.model->parameters.ap_drift = drift;
    scene.add_floor();
    const Quat q = test::turned(Vec3::UnitX(), 0.4) * test::turned(Vec3::UnitZ(), 0.3);
    scene.add(egg, 1, {q, Vec3(0, 0, 0.5)}, {Vec3(1, 2, 3), Vec3(0.5, 0, 0)});
    World world = world_of(std::move(scene), ContactModelKind::ap);
    double depth = 0, least = test::total_energy(world);
    for (int i = 0; i < 500; ++i) {
      const StepReport report = world.step();
      check_solved(report);
      depth = std::max(depth, report.depth_max);
      const double energy = test::total_energy(world);
      least = std::min(least, energy), rise = std::max(rise, energy - least);
    }
    return depth;
  };
  double rise = 0;
  CHECK(deepest(OverlapDrift::penalty, rise) < 3e-3);
  CHECK(rise < 0.05);  // of the 5 J that it fell with
  CHECK(deepest(OverlapDrift::off, rise) > 1e-2);
  // One that leaves by its restitution gets what is missing at most: it is not lifted off the floor.
  double height[2];
  for (const OverlapDrift drift : {OverlapDrift::penalty, OverlapDrift::off}) {
    Scene bounce(0, 0.5);
    bounce.model->parameters.ap_drift = drift;
    bounce.add_floor();
    bounce.add(make_box(Vec3(0.2, 0.2, 0.1)), 1, test::at(0, 0, 0.08), {Vec3::Zero(), Vec3(0, 0, -2)});
    World world = world_of(std::move(bounce), ContactModelKind::ap);
    test::run(world, 2);
    height[drift == OverlapDrift::off ? 1 : 0] = world.state().p_WBcm(1).z();
  }
  CHECK(height[0] <= 0.1 + 1e-9);
  CHECK(height[1] < 0.1);
  // A box set up 5 mm deep comes out as overlap_relax_time says, at rest all the while.
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3(0.2, 0.2, 0.1)), 1, test::at(0, 0, 0.095));
  World world = world_of(std::move(scene), ContactModelKind::ap, 1e-3);
  const double share = 1 - 1e-3 / Parameters{}.overlap_relax_time;
  double depth = 5e-3;
  for (int i = 0; i < 50; ++i) {
    check_solved(world.step());
    depth *= share;
    CHECK(std::abs(0.1 - world.state().p_WBcm(1).z() - depth) < 1e-12);
    CHECK(world.state().v_WBcm(1).norm() < 1e-12);
  }
}

TEST_CASE("st: a block slides over the seam between two blocks as over one") {
  for (int k = 0; k < 8; ++k) {
    Scene scene(0.2);
    for (const double x : {-1.0, 1.0}) {
      scene.add(make_box(Vec3(1, 1, 0.5)), 1, test::at(x, 0, -0.5), {}, 0, BodyMode::fixed);
    }
    const Vec3 v(1.5, 0, 0);
    scene.add(make_box(Vec3(0.2, 0.2, 0.1)), 1, test::at(-0.6037 + 0.0017 * k, 0.05, 0.1), {Vec3::Zero(), v});
    scene.limits.problem_contacts = 256;
    World world = world_of(std::move(scene));
    for (int n = 1; n <= 70; ++n) {
      check_solved(world.step());
      CHECK((world.state().v_WBcm(2) - (1.5 - 0.2 * kGravity * kStep * n) * Vec3::UnitX()).norm() < 1e-6);
    }
    CHECK(world.state().p_WBcm(2).x() > -0.1);
  }
}

TEST_CASE("st: two worlds stay equal to the bit, also from a snapshot; no step allocates") {
  const auto make = [] {
    Scene scene(0.4, 0.2);
    scene.add_floor();
    test::Random random(9);
    for (int i = 0; i < 12; ++i) {
      const Vec3 p = Vec3(0, 0, 0.3 + 0.3 * i) + random.in_cube(0.15);
      const Quat q = random.rotation();
      scene.add(i % 3 ? make_box(Vec3(0.1, 0.12, 0.08)) : make_sphere(0.1), 1, {q, p});
    }
    return world_of(std::move(scene), ContactModelKind::st, 5e-3);
  };
  World a = make(), b = make();
  State saved = a.state();
  for (int i = 0; i < 200; ++i) {
    {
      const test::AllocGuard guard;
      a.step();
      if (test::AllocGuard::available()) CHECK(guard.count() == 0);
    }
    b.step();
    REQUIRE(a.hash() == b.hash());
    if (i == 99) a.snapshot(saved);
  }
  REQUIRE(b.restore(saved));
  for (int i = 0; i < 100; ++i) b.step();
  CHECK(a.hash() == b.hash());
}

TEST_CASE("world: a time stepper is chosen while it runs once its memory is there") {
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3::Constant(0.2)), 1, test::at(0, 0, 0.2));
  World world = scene.world();
  CHECK(!world.set_model(ContactModelKind::st));
  CHECK(world.prepare_model(ContactModelKind::st));
  const test::AllocGuard guard;
  CHECK(world.set_model(ContactModelKind::st));
  test::run(world, 100);
  CHECK(world.set_model(ContactModelKind::penalty));
  test::run(world, 100);
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK(std::abs(world.state().p_WBcm(1).z() - 0.2) < 1e-4);
}

}  // namespace tactus
