// Drumwright IV-D: a mobile robot and a humanoid of 26 joints drive for 2,500 steps, at most ten contact points a
// wheel. The paper compares times (80.6 and 30.7 steps a second by penalty, 32.6 and 4.4 by its LCP, in 2007); here:
// the robots do what their drives ask, and the time of the run.
#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

constexpr int kSteps = 2500;

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::unique_ptr<Model> load(const std::string& name) {
  return load_scene(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + name + ".toml", {});
}

struct Drive {
  double seconds = 0;
  std::uint32_t wheel_points_max = 0, failures = 0, frozen = 0;
  double droop_max = 0;  // of position drives after half a second: error over what gravity can bend the drive
  double tilt_max = 0;   // of the base [rad]
  Vec3 p_W = Vec3::Zero();
};

std::uint32_t most_points_on_one_link(const World& world) {
  std::vector<std::uint32_t> points(world.model().bodies.size(), 0);
  for (std::uint32_t i = 0; i < world.contacts().manifold_count; ++i) {
    const Manifold& m = world.contacts().manifolds[i];
    points[m.body_a] += world.model().bodies[m.body_a].mode == BodyMode::link ? m.count : 0;
    points[m.body_b] += world.model().bodies[m.body_b].mode == BodyMode::link ? m.count : 0;
  }
  return *std::max_element(points.begin(), points.end());
}

// The most that gravity can ask of a joint: every body that it carries, at its distance from the joint [N m].
double gravity_load(const World& world, JointIndex joint) {
  const Model& model = world.model();
  const Robot& robot = model.robots[model.joints[joint].robot];
  const Vec3 p_W = body_pose(model, world.state(), model.joints[joint].child).p;
  std::vector<BodyIndex> carried{model.joints[joint].child};
  for (JointIndex j = joint + 1; j < robot.first_joint + robot.joint_count; ++j) {
    if (std::find(carried.begin(), carried.end(), model.joints[j].parent) != carried.end()) {
      carried.push_back(model.joints[j].child);
    }
  }
  double load = 0;
  for (const BodyIndex b : carried) load += model.bodies[b].mass * 9.81 * (world.state().p_WBcm(b) - p_W).norm();
  return load;
}

Drive drive(const std::string& name, ContactModelKind kind = ContactModelKind::penalty) {
  auto model = load(name);
  model->contact_model = kind;
  World world(std::move(model), Limits{});
  const BodyIndex base = world.model().joints[world.model().robots[0].first_joint].child;
  const bool penalty = kind == ContactModelKind::penalty;
  auto csv = test::open_csv("ivd_" + name + (penalty ? "" : "_lcp") + ".csv", "time_s,x_m,y_m,yaw_rad,depth_m,points");
  Drive out;
  for (int i = 0; i < kSteps; ++i) {
    const double begin = cpu_s();
    const StepReport report = world.step();
    out.seconds += cpu_s() - begin;
    out.failures += report.solver_failures;
    out.frozen += report.bodies_frozen;
    out.wheel_points_max = std::max(out.wheel_points_max, most_points_on_one_link(world));
    const Mat3 R = world.state().q_WB(base).toRotationMatrix();
    out.tilt_max = std::max(out.tilt_max, std::acos(std::min(1.0, R(2, 2))));
    out.p_W = world.state().p_WBcm(base);
    const double yaw = std::atan2(R(1, 0), R(0, 0));
    csv << world.state().time << ',' << out.p_W.x() << ',' << out.p_W.y() << ',' << yaw << ',' << report.depth_max
        << ',' << report.contacts << '\n';
    if (world.state().time < 0.5) continue;
    for (const JointDrive& d : world.model().drives) {
      if (d.kind != DriveKind::position) continue;
      const double error = std::abs(world.joint_reading(d.joint).q - d.target.value(world.state().time));
      out.droop_max = std::max(out.droop_max, error * d.kp / gravity_load(world, d.joint));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("IV-D: the mobile robot drives in curves") {
  const Drive run = drive("mobile_robot");
  CHECK(run.failures == 0);
  CHECK(run.frozen == 0);
  CHECK(run.wheel_points_max <= 10);
  CHECK(run.tilt_max < 0.01);
  // Both wheels turn 5 rad/s on average, of radius 0.1 m: 1.25 m of path, a little less after the start, in curves.
  CHECK(run.p_W.head<2>().norm() > 1.0);
  CHECK(run.p_W.head<2>().norm() < 1.25);
  const Drive lcp = drive("mobile_robot", ContactModelKind::lcp);
  CHECK(lcp.failures == 0);
  CHECK(lcp.frozen == 0);
  // As far, but not to one place: how wheels with two points of contact scrub in curves is open (redundant friction),
  // and the ends of other engines are as far apart (tests/bench/results).
  CHECK_WITHIN(lcp.p_W.head<2>().norm() / run.p_W.head<2>().norm() - 1, 0.05);
  test::table_row("d1_mobile", "IV-D: mobile robot, 2,500 steps: LCP / penalty [s]", "76.7 / 31.0", "no contact gains",
                  test::number(lcp.seconds) + " / " + test::number(run.seconds));
}

TEST_CASE("IV-D: the humanoid drives, and every joint follows its sine") {
  const Drive run = drive("humanoid26");
  CHECK(run.failures == 0);
  CHECK(run.frozen == 0);
  CHECK(run.wheel_points_max <= 10);
  CHECK(run.tilt_max < 0.05);
  CHECK(run.p_W.head<2>().norm() > 0.7);
  // Drives without feed-forward give way by load over stiffness. Besides gravity there are the accelerations of the
  // sines, of less than g: twice the most that gravity alone can ask.
  CHECK(run.droop_max < 2);
  const Drive lcp = drive("humanoid26", ContactModelKind::lcp);
  CHECK(lcp.failures == 0);
  CHECK(lcp.frozen == 0);
  CHECK(lcp.tilt_max < 0.05);
  CHECK_WITHIN(lcp.p_W.head<2>().norm() / run.p_W.head<2>().norm() - 1, 0.05);
  test::table_row("d2_humanoid", "IV-D: humanoid, 2,500 steps: LCP / penalty [s]", "566.9 / 81.4", "no contact gains",
                  test::number(lcp.seconds) + " / " + test::number(run.seconds));
}

TEST_CASE("IV-D: an arm pushes a free box") {
  World world(load("arm_push"), Limits{});
  BodyIndex box = kNoBody;
  for (BodyIndex b = 0; b < world.model().bodies.size(); ++b) {
    if (world.model().bodies[b].mode == BodyMode::free) box = b;
  }
  REQUIRE(box != kNoBody);
  const Vec3 start = world.state().p_WBcm(box);
  std::uint32_t failures = 0;
  for (int i = 0; i < 5000; ++i) failures += world.step().solver_failures;
  CHECK(failures == 0);
  CHECK((world.state().p_WBcm(box) - start).head<2>().norm() > 0.02);
  CHECK(std::abs(world.state().p_WBcm(box).z() - start.z()) < 0.01);
}

}  // namespace tactus
