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
  const char* repairs;    // what it needs, and no less
  const char* complaint;  // part of the refusal without the last of these repairs; empty: loads as it is
  std::size_t links, bodies, dof, free;
  double mass;  // of all bodies, given repairs included; 0: not known
};

// bodies, dof: base fixed. PR2: two massless links get 1 g each.
const Expected kRobots[] = {
    {"panda/robots/panda_description/urdf/panda.urdf", "none", "", 13, 10, 9, 8, 17.4519},
    {"panda/robots/panda_description/urdf/panda_collision.urdf", "none", "", 13, 10, 9, 8, 17.4519},
    {"panda_moveit/urdf/panda.urdf", "inertia_from_shapes", "link \"panda_link0\": found no mass on a link that moves",
     12, 10, 9, 8, 0},
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
  }
}

std::string refusal(const Expected& e, const std::string& repairs) {
  try {
    load(e, repairs, "auto");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("real robots: what is not physical is refused by link and repair until the scene asks for it") {
  if (!found()) return;
  for (const Expected& e : kRobots) {
    INFO(std::string(e.file));
    const std::string all = e.repairs, bare = refusal(e, "none");
    if (*e.complaint == 0) {
      CHECK(bare == "");
      continue;
    }
    const auto comma = all.rfind(',');
    const std::string last = comma == std::string::npos ? all : all.substr(comma + 1);
    const std::string but_last = comma == std::string::npos ? "none" : all.substr(0, comma);
    const std::string message = refusal(e, but_last);
    CHECK_MESSAGE(message.find(e.complaint) != std::string::npos, message);
    CHECK_MESSAGE(message.find("repairs = [\"" + last + "\"]") != std::string::npos, message);
    CHECK(bare.find(std::string(e.file) + ":") != std::string::npos);
    CHECK(refusal(e, all) == "");
    CHECK(refusal(e, "all") == "");
  }
  CHECK(refusal(kRobots[5], "min_inertia").find("\"sensor_mount_link\": <inertial>") != std::string::npos);
}

TEST_CASE("real robots: a floating base is a joint of its own, and the lowest point stands on the floor") {
  if (!found()) return;
  for (const Expected& e : kRobots) {
    INFO(std::string(e.file));
    const auto m = load(e, "all", "auto");
    REQUIRE(m->joints.front().kind == JointKind::floating);
    CHECK(m->joints.front().parent == kNone);
    CHECK(m->bodies[m->joints.front().child].mode == BodyMode::link);
    CHECK(m->joints.size() == e.dof + 1);
    double lowest = std::numeric_limits<double>::infinity();
    for (const ShapeInstance& s : m->shapes) {
      if (m->bodies[s.body].mode == BodyMode::fixed) continue;
      Pose X_WS = m->X_WB0[s.body];
      X_WS.p += X_WS.q * m->bodies[s.body].p_BBcm;
      X_WS = X_WS * s.X_BcmS;
      lowest = std::min(lowest, bounds(s.shape, {X_WS.q.toRotationMatrix(), X_WS.p}).lo.z());
    }
    CHECK(std::abs(lowest) < 1e-9);
    // Where the loader has placed the links, for overlaps, is where the joints' coordinates put them.
    const State state = initial_state(*m, 16);
    for (BodyIndex b = 0; b < m->bodies.size(); ++b) {
      const Pose X_WB = body_pose(*m, state, b);
      CHECK((X_WB.p - m->X_WB0[b].p).norm() < 1e-12);
      CHECK(X_WB.q.angularDistance(m->X_WB0[b].q) < 1e-7);
    }
  }
}

struct Reference {
  const char* file;
  Vec3 centre;                                           // of mass, base fixed at the origin, joints at zero [m]
  std::vector<std::pair<const char*, double>> diagonal;  // of the mass matrix
};

// By an independent composite-rigid-body script; the diagonals agree with KDL to all their digits.
std::vector<Reference> references() {
  return {{"ur5e/urdf/ur5e.urdf",
           {0.25447, 0.07329, 0.12486},
           {{"shoulder_pan_joint", 3.398392724},
            {"shoulder_lift_joint", 3.194195939},
            {"elbow_joint", 0.5414840304},
            {"wrist_1_joint", 0.01887092878},
            {"wrist_2_joint", 0.003398499132},
            {"wrist_3_joint", 0.0001321171875}}},
          {"h1/urdf/h1.urdf",
           {0.01647, 0.00084, -0.07876},
           {{"left_hip_yaw_joint", 0.13874172},
            {"left_hip_roll_joint", 1.58669142},
            {"left_hip_pitch_joint", 1.507005438},
            {"left_knee_joint", 0.2288921636},
            {"left_ankle_joint", 0.005867069018}}},
          {"turtlebot3_burger/urdf/turtlebot3_burger.urdf",
           {-0.00405, 0, 0.03086},
           {{"wheel_left_joint", 2.0712558e-05}, {"wheel_right_joint", 2.0712558e-05}}},
          {"atlas/atlas/atlas_convex_hull.urdf",
           {0.00134, 0.00105, 0.29087},
           {{"l_leg_hpz", 0.06998286321},
            {"l_leg_hpx", 4.751293922},
            {"l_leg_hpy", 3.842293338},
            {"l_leg_kny", 0.8411969778},
            {"l_leg_aky", 0.01958380775},
            {"l_leg_akx", 0.01281849}}}};
}

// A drive of bandwidth 1 rad/s has the inertia that its joint moves as stiffness: the mass matrix' diagonal.
std::string reference_scene(const Reference& r) {
  std::string text = "[[robot]]\nname = \"r\"\nbase = \"fixed\"\nurdf = \"" + (robots() / r.file).string() + "\"\n";
  for (const auto& [joint, ignored] : r.diagonal)
    text += "[[robot.drive]]\njoint = \"" + std::string(joint) + "\"\nkind = \"position\"\nbandwidth_rad_per_s = 1\n";
  return text;
}

TEST_CASE("real robots: centre of mass and carried inertias agree with other programs") {
  if (!found()) return;
  for (const Reference& r : references()) {
    INFO(std::string(r.file));
    const auto m = parse_scene(reference_scene(r), "reference.toml", {});
    // A fixed body's mass centre is not kept: the root's part comes from the same robot with a floating base.
    SceneOptions options;
    options.set = {{"lowest_point_m", "0"}};
    const auto floating = load_scene((robots() / r.file).string(), options);
    const double lift = floating->X_WB0[1].p.z();
    Vec3 moment = Vec3::Zero();
    double mass = 0;
    for (std::size_t b = 1; b < floating->bodies.size(); ++b) {
      const Body& body = floating->bodies[b];
      moment += body.mass * (floating->X_WB0[b] * body.p_BBcm - Vec3(0, 0, lift));
      mass += body.mass;
    }
    for (int i = 0; i < 3; ++i) CHECK(std::abs(moment[i] / mass - r.centre[i]) < 6e-6);
    REQUIRE(m->drives.size() == r.diagonal.size());
    for (std::size_t k = 0; k < m->drives.size(); ++k)
      CHECK(m->drives[k].kp == doctest::Approx(r.diagonal[k].second).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace tactus
