// lnc and peg with robots, moving bodies and shapes without corners: links are polyhedra like any other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/polygons.h"
#include "tests/support/robots.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

constexpr ContactModelKind kBoth[] = {ContactModelKind::lnc, ContactModelKind::peg};

BodyIndex add_box_link(Scene& scene, const Vec3& half, double mass) {
  Model& model = *scene.model;
  const Vec3 square = half.cwiseProduct(half);
  const Vec3 moments = mass / 3 * Vec3(square.y() + square.z(), square.z() + square.x(), square.x() + square.y());
  const BodyIndex b = test::add_link(model, mass, Mat3(moments.asDiagonal()));
  model.bodies[b].shape_count = 1;
  model.bodies[b].first_shape = static_cast<std::uint32_t>(model.shapes.size());
  ShapeInstance instance;
  instance.shape = make_box(half);
  instance.body = b;
  model.shapes.push_back(instance);
  return b;
}

World world_of(Scene scene, ContactModelKind kind) {
  scene.model->contact_model = kind;
  scene.model->step = 0.01;
  scene.limits.problem_contacts = 1024;
  return scene.world();
}

void check_solved(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.solver_fallbacks == 0);
  CHECK(report.solver_residual <= 1e-9);
}

}  // namespace

TEST_CASE("lnc, peg: a robot of one floating box lands and slides as the free box does") {
  for (const ContactModelKind kind : kBoth) {
    CAPTURE(std::string(to_string(kind)));
    const Vec3 half(0.25, 0.125, 0.0625), v(1, 0.2, 0);
    const auto table = [](Scene& scene) {
      scene.add(make_box(Vec3(3, 3, 0.5)), 1, test::at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    };
    Scene scene(0.4), robot(0.4);
    table(scene), table(robot);
    const BodyIndex b = scene.add(make_box(half), 2, test::at(0, 0, 0.0625), {Vec3::Zero(), v});
    test::add_robot(*robot.model, "box");
    const BodyIndex link = add_box_link(robot, half, 2);
    test::add_joint(*robot.model, JointKind::floating, kNone, link);
    robot.model->joint_q0 = {0, 0, 0.0625, 1, 0, 0, 0};
    robot.model->joint_v0 = {v.x(), v.y(), v.z(), 0, 0, 0};
    World free = world_of(std::move(scene), kind), linked = world_of(std::move(robot), kind);
    for (int i = 0; i < 60; ++i) {
      check_solved(free.step());
      check_solved(linked.step());
      CHECK((free.state().v_WBcm(b) - linked.state().v_WBcm(link)).norm() < 1e-7);
    }
    CHECK(linked.state().v_WBcm(link).norm() < 1e-9);
    CHECK(std::abs(linked.state().p_WBcm(link).z() - 0.0625) < 1e-9);
  }
}

TEST_CASE("peg: a slide with a hinged bar comes to rest on a box, which carries all their weight") {
  Scene scene(0.5);
  scene.add(make_box(Vec3(0.5, 0.5, 0.25)), 1, test::at(1, 0, -0.25), {}, 0, BodyMode::fixed);
  test::add_robot(*scene.model, "arm");
  // A slide along z carries a hinged bar: both fall, the bar's end and the slide's own bar land.
  const Vec3 half(0.5, 0.04, 0.04);
  const BodyIndex upper = add_box_link(scene, half, 1), lower = add_box_link(scene, half, 1);
  test::add_joint(*scene.model, JointKind::prismatic, kNone, upper, test::at(1, 0, 0.5), Vec3::UnitZ());
  test::add_joint(*scene.model, JointKind::revolute, upper, lower, test::at(0.4, 0, -0.1), Vec3::UnitY());
  World world = world_of(std::move(scene), ContactModelKind::peg);
  std::uint32_t failures = 0;
  double residual = 0;
  for (int i = 0; i < 600; ++i) {
    const StepReport report = world.step();
    failures += report.solver_failures;
    residual = std::max(residual, report.solver_residual);
  }
  CHECK(failures == 0);
  CHECK(residual <= 1e-9);
  CHECK(world.state().v_WBcm(lower).norm() < 1e-6);
  Vec3 on_table = Vec3::Zero();
  for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
    const Manifold& manifold = world.contacts().manifolds[m];
    for (std::uint32_t i = manifold.first; i < manifold.first + manifold.count; ++i) {
      if (manifold.body_a == 0 || manifold.body_b == 0)
        on_table += (manifold.body_b == 0 ? 1 : -1) * world.contact_force(i);
    }
  }
  CHECK(on_table.z() == doctest::Approx(2 * kGravity).epsilon(1e-6));  // the slide carries nothing along z
  CHECK(test::gap_between(world, 0, lower) > -1e-6);
}

TEST_CASE("lnc, peg: a turning platform's own rate enters the gaps: a block on it is lifted, not overlapped") {
  for (const ContactModelKind kind : kBoth) {
    Scene scene(0.9);
    scene.add(make_box(Vec3(2, 1, 0.1)), 1, test::at(0, 0, -0.1), {Vec3(0, 0.05, 0), Vec3::Zero()}, 0,
              BodyMode::kinematic);
    scene.add(make_box(Vec3(0.2, 0.2, 0.2)), 2, test::at(-1, 0, 0.2));
    World world = world_of(std::move(scene), kind);
    for (int i = 0; i < 200; ++i) {
      CHECK(world.step().solver_failures == 0);
      CHECK(test::gap_between(world, 0, 1) > -1e-4);  // second order: (w h)^2 times its length
    }
    // It goes round with the platform: v = w x r.
    const Vec3 r = world.state().p_WBcm(1) - world.state().p_WBcm(0);
    CHECK((world.state().v_WBcm(1) - Vec3(0, 0.05, 0).cross(r)).norm() < 2e-3);
  }
}

TEST_CASE("lnc, peg: a sphere is its tangent plane of each step: it falls, bounces not, and rests as a sphere") {
  for (const ContactModelKind kind : kBoth) {
    Scene scene(0.4);
    scene.add(make_box(Vec3(1, 1, 0.5)), 1, test::at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(0.5, 0, 0)});
    scene.add(make_capsule(0.05, 0.1), 1, {test::turned(Vec3::UnitX(), M_PI / 2), Vec3(0, 0.6, 0.05)});
    World world = world_of(std::move(scene), kind);
    for (int i = 0; i < 100; ++i) CHECK(world.step().solver_failures == 0);
    // 5 / 7 of the speed once it rolls without slip: angular momentum about the contact.
    CHECK(world.state().v_WBcm(1).x() == doctest::Approx(0.5 * 5 / 7).epsilon(1e-6));
    CHECK(std::abs(world.state().p_WBcm(1).z() - 0.1) < 1e-6);
    CHECK(std::abs(world.state().p_WBcm(2).z() - 0.05) < 1e-6);
  }
}

}  // namespace tactus
