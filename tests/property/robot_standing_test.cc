// A real humanoid on its own feet, held by position drives alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/world.h"
#include "tests/support/real_robots.h"

namespace tactus {
namespace {

// H1 upright, its soles 2 mm over the floor, drives at every joint; the ankles hold it a little forward.
World upright(double stiffness) {
  const test::RealRobot* h1 = std::find_if(std::begin(test::kRealRobots), std::end(test::kRealRobots),
                                           [](const test::RealRobot& r) { return std::string(r.name) == "h1"; });
  const std::string text = R"(title = "H1 on its feet"
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[robot]]
name = "h1"
urdf = ")" + (test::real_robots_folder() / h1->file).string() +
                           R"("
position_m = [0, 0, 1.038]
)";
  std::unique_ptr<Model> model = parse_scene(text, "h1.toml", {});
  for (JointIndex j = 0; j < model->joints.size(); ++j) {
    const Joint& joint = model->joints[j];
    if (position_count(joint.kind) != 1) continue;
    const double target = joint.name.find("ankle") != std::string::npos ? -0.03 : 0.0;
    model->joint_q0[joint.first_q] = target;
    JointDrive drive;
    drive.joint = j;
    drive.kind = DriveKind::position;
    drive.target.offset = target;
    drive.kp = stiffness, drive.kd = 0.04 * stiffness;
    drive.effort_limit = joint.effort_limit;
    model->drives.push_back(drive);
  }
  return World(std::move(model), Limits{});
}

}  // namespace

TEST_CASE("H1 stands on its feet for 10 s under PD, and its soles carry its weight") {
  if (!test::real_robots_found()) return;
  World world = upright(1500);
  const BodyIndex pelvis = world.model().joints[world.model().robots[0].first_joint].child;
  double mass = 0;
  for (const Joint& joint : world.model().joints) mass += world.model().bodies[joint.child].mass;
  std::uint32_t failures = 0;
  for (int i = 0; i < 10000; ++i) failures += world.step().solver_failures;
  CHECK(failures == 0);
  CHECK(std::abs(world.state().p_WBcm(pelvis).z() - upright(1500).state().p_WBcm(pelvis).z()) < 0.01);
  CHECK(world.state().v_WBcm(pelvis).norm() < 1e-3);
  Vec3 on_floor = Vec3::Zero();
  for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
    const Manifold& manifold = world.contacts().manifolds[m];
    for (std::uint32_t k = 0; k < manifold.count; ++k) {
      const Vec3& on_a = world.contact_force(manifold.first + k);
      on_floor += world.model().bodies[manifold.body_a].mode == BodyMode::link ? on_a : Vec3(-on_a);
    }
  }
  const double weight = mass * test::kGravity;
  CHECK(std::abs(on_floor.z() - weight) < 0.01 * weight);
}

TEST_CASE("H1 with slack drives falls: the test above can fail") {
  if (!test::real_robots_found()) return;
  World world = upright(20);
  const BodyIndex pelvis = world.model().joints[world.model().robots[0].first_joint].child;
  for (int i = 0; i < 5000; ++i) world.step();
  CHECK(world.state().p_WBcm(pelvis).z() < 0.7);
}

}  // namespace tactus
