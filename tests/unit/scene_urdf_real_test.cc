// Eight robot descriptions from public repositories: each loads with the repairs that its data needs, by name, and has
// the links, bodies, coordinates and mass that an independent reading of the files found. They are not part of this
// repository; without them this test says that it was skipped.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/check.h"
#include "core/scene/scene.h"
#include "core/shape/mass_properties.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

fs::path robots() {
  const char* own = std::getenv("TACTUS_ROBOTS");
  return own ? fs::path(own) : fs::path(TACTUS_SOURCE_DIR) / ".." / "shared" / "robots";
}

struct Expected {
  const char* file;
  const char* repairs;  // what it needs, and no less
  const char* complaint;  // part of the refusal without the last of these repairs; empty: loads as it is
  std::size_t links, bodies, dof, free;
  double mass;  // of all bodies, given repairs included; 0: not known
};

// bodies, dof: base fixed. PR2: two massless links get 1 g each.
const Expected kRobots[] = {
    {"panda/robots/panda_description/urdf/panda.urdf", "none", "", 13, 10, 9, 8, 17.4519},
    {"panda/robots/panda_description/urdf/panda_collision.urdf", "none", "", 13, 10, 9, 8, 17.4519},
    {"panda_moveit/urdf/panda.urdf", "inertia_from_shapes",
     "link \"panda_link1\": found no mass on a link that moves", 12, 10, 9, 8, 0},
    {"turtlebot3_burger/urdf/turtlebot3_burger.urdf", "none", "", 7, 3, 2, 2, 1.0017},
    {"atlas/atlas/atlas_convex_hull.urdf", "none", "", 70, 31, 30, 30, 175.1180},
    {"pr2/urdf/robot.xml", "triangle_inequality,min_inertia",
     "link \"r_gripper_l_finger_tip_frame\": found no mass on a link that moves", 95, 46, 45, 39, 267.1322 + 0.002},
    {"h1/urdf/h1.urdf", "none", "", 25, 20, 19, 19, 59.3380},
    {"ur5e/urdf/ur5e.urdf", "none", "", 11, 7, 6, 6, 20.9939},
};

std::unique_ptr<Model> load(const Expected& e, const std::string& repairs, const char* base) {
  SceneOptions options;
  options.set = {{"repairs", repairs}, {"base", base}};
  return load_scene((robots() / e.file).string(), options);
}

bool found() {
  if (fs::is_directory(robots() / "pr2")) return true;
  std::cout << "skipped: " << robots().string() << " is not there; TACTUS_ROBOTS may name its folder\n";
  return false;
}

void check_joints(const Model& m, const Expected& e) {
  std::size_t dof = 0, free = 0, coordinates = 0;
  for (JointIndex j = 0; j < m.joints.size(); ++j) {
    const Joint& joint = m.joints[j];
    INFO(joint.name);
    dof += velocity_count(joint.kind);
    free += joint.mimic == kNone ? velocity_count(joint.kind) : 0;
    coordinates += joint.mimic == kNone ? position_count(joint.kind) : 0;
    CHECK(joint.axis_F.norm() == doctest::Approx(1));
    CHECK(joint.lower <= joint.upper);
    REQUIRE(joint.parent < m.bodies.size());
    const bool parent_known = m.bodies[joint.parent].mode == BodyMode::fixed || joint.parent < joint.child;
    CHECK(parent_known);
    CHECK(m.bodies[joint.child].mode == BodyMode::link);
  }
  CHECK(dof == e.dof);
  CHECK(free == e.free);
  CHECK(m.joint_q0.size() == coordinates);
}

TEST_CASE("real robots: links, bodies, coordinates and mass are those of the files") {
  if (!found()) return;
  for (const Expected& e : kRobots) {
    INFO(std::string(e.file));
    const auto model = load(e, e.repairs, "fixed");
    REQUIRE(model->robots.size() == 1);
    CHECK(model->frames.size() == e.links);
    CHECK(model->bodies.size() - 1 == e.bodies);  // beside the floor
    check_joints(*model, e);
    double mass = 0;
    for (const Body& body : model->bodies) {
      mass += body.mass;
      if (body.mode != BodyMode::link) continue;
      INFO(body.name);
      CHECK(body.mass > 0);
      const Eigen::SelfAdjointEigenSolver<Mat3> moments(body.I_BBcm);
      CHECK(moments.eigenvalues()[0] > 0);
      CHECK(moments.eigenvalues()[2] <= (1 + 1e-6) * (moments.eigenvalues()[0] + moments.eigenvalues()[1]));
    }
    if (e.mass > 0) CHECK(std::abs(mass - e.mass) < 6e-5);
    for (const std::string& note : model->notes) MESSAGE(note);
  }
}

}  // namespace
}  // namespace tactus
