// Eight real robots against figures that others printed, and three ways to their equations of motion.
#include <string>
#include <vector>

#include "tests/support/algebra.h"
#include "tests/support/real_robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kRealRobots;
using test::Random;
using test::random_vector;
using test::real_robot_bench;
using test::RealRobot;
using test::RobotBench;
using Vector = RobotBench::Vector;
using Matrix = RobotBench::Matrix;

const Vec3 kG(0, 0, -9.81);

const RealRobot& robot_named(const std::string& name) {
  for (const RealRobot& r : kRealRobots)
    if (name == r.name) return r;
  FAIL("no such robot");
  return kRealRobots[0];
}

// Half a unit of the last printed digit.
double half_digit(const std::string& printed) {
  const std::size_t point = printed.find('.'), e = printed.find('e');
  const std::size_t end = e == std::string::npos ? printed.size() : e;
  const int exponent = e == std::string::npos ? 0 : std::stoi(printed.substr(e + 1));
  return 0.5 * std::pow(10, exponent - static_cast<int>(end - point - 1));
}

struct Printed {
  const char *robot, *joint, *inertia;
};
// Diagonals of mass matrices at joint position zero, base fixed, joints that follow others free: a script of composite
// rigid bodies, and KDL (all but the panda).
const Printed kDiagonals[] = {
    {"ur5e", "shoulder_pan_joint", "3.398392724"},
    {"ur5e", "shoulder_lift_joint", "3.194195939"},
    {"ur5e", "elbow_joint", "0.5414840304"},
    {"ur5e", "wrist_1_joint", "0.01887092878"},
    {"ur5e", "wrist_2_joint", "0.003398499132"},
    {"ur5e", "wrist_3_joint", "0.0001321171875"},
    {"h1", "left_hip_yaw_joint", "0.13874172"},
    {"h1", "left_hip_roll_joint", "1.58669142"},
    {"h1", "left_hip_pitch_joint", "1.507005438"},
    {"h1", "left_knee_joint", "0.2288921636"},
    {"h1", "left_ankle_joint", "0.005867069018"},
    {"panda", "panda_joint1", "0.1210851151"},
    {"panda", "panda_joint2", "2.8570265213"},
    {"panda", "panda_joint3", "0.0837476666"},
    {"panda", "panda_joint4", "0.6330609647"},
    {"panda", "panda_joint5", "0.0401557058"},
    {"panda", "panda_joint6", "0.0530412366"},
    {"panda", "panda_joint7", "0.006684152"},
    {"panda", "panda_finger_joint1", "0.015"},
    {"panda", "panda_finger_joint2", "0.015"},
    {"turtlebot3_burger", "wheel_left_joint", "2.0712558e-05"},
    {"turtlebot3_burger", "wheel_right_joint", "2.0712558e-05"},
    {"atlas", "l_leg_hpz", "0.06998286321"},
    {"atlas", "l_leg_hpx", "4.751293922"},
    {"atlas", "l_leg_hpy", "3.842293338"},
    {"atlas", "l_leg_kny", "0.8411969778"},
    {"atlas", "l_leg_aky", "0.01958380775"},
    {"atlas", "l_leg_akx", "0.01281849"},
};

TEST_CASE("real robots: diagonals of mass matrices agree with other programs to all digits that they print") {
  if (!test::real_robots_found()) return;
  for (const RealRobot& robot : kRealRobots) {
    RobotBench bench = real_robot_bench(robot, "fixed", false);
    for (const Printed& p : kDiagonals) {
      if (std::string(p.robot) != robot.name) continue;
      INFO(std::string(p.robot), " ", std::string(p.joint));
      const JointIndex j = bench.model->find_joint(bench.tree->robot().name + "/" + p.joint);
      REQUIRE(j != kNone);
      const DofIndex d = bench.model->joints[j].first_v;
      CHECK_WITHIN(bench.tree->mass(d, d) - std::stod(p.inertia), 1.0001 * half_digit(p.inertia));
    }
  }
}

double condition_number(const Matrix& M) {
  const Vector eigenvalues = test::symmetric_eigenvalues(M);
  return eigenvalues.maxCoeff() / eigenvalues.minCoeff();
}

TEST_CASE("real robots: condition numbers of mass matrices agree with another program") {
  if (!test::real_robots_found()) return;
  CHECK_WITHIN(condition_number(real_robot_bench(robot_named("h1"), "fixed", false).mass()) - 438, 0.5);
  CHECK_WITHIN(condition_number(real_robot_bench(robot_named("atlas"), "fixed", false).mass()) - 6.5e4, 0.05e4);
}

TEST_CASE("real robots: torques that hold a UR5e agree with KDL") {
  if (!test::real_robots_found()) return;
  const double printed[] = {0, -52.40894871, -14.47961376, 0, 0, 0};
  RobotBench bench = real_robot_bench(robot_named("ur5e"), "fixed", false);
  const Vector tau = bench.bias(kG);
  REQUIRE(tau.size() == 6);
  for (int i = 0; i < 6; ++i) CHECK_WITHIN(tau[i] - printed[i], 0.50001e-8);
}

double relative(const Vector& x, const Vector& reference) {
  return (x - reference).norm() / reference.norm();
}

// One state: tau -> a by articulated bodies, by the factored mass matrix, and back by RNEA. No external forces.
void check_three_ways(RobotBench& bench, Random& random) {
  Tree& tree = *bench.tree;
  const Vector tau = random_vector(random, bench.n(), 20);
  Vector a(bench.n()), by_factor = tau - bench.bias(kG), back(bench.n());
  REQUIRE(tree.factor(nullptr));
  tree.solve(by_factor.data());
  tree.inverse_dynamics(kG, by_factor.data(), nullptr, back.data());
  CHECK_WITHIN((back - tau).norm() / (tau.norm() + bench.bias(kG).norm()), 1e-10);
  for (const Joint& joint : bench.model->joints)
    if (joint.mimic != kNone) return;
  tree.forward_dynamics(kG, tau.data(), nullptr, a.data());
  tree.inverse_dynamics(kG, a.data(), nullptr, back.data());
  CHECK_WITHIN((back - tau).norm() / (tau.norm() + bench.bias(kG).norm()), 1e-10);
  CHECK_WITHIN(relative(a, by_factor), 1e-10);
}

TEST_CASE("real robots: ABA, the factored mass matrix, and the inverse of RNEA agree at random states") {
  if (!test::real_robots_found()) return;
  Random random(7);
  for (const RealRobot& robot : kRealRobots) {
    for (const char* base : {"fixed", "floating"}) {
      for (const bool with_mimics : {false, true}) {
        INFO(std::string(robot.name), " ", std::string(base), with_mimics ? " with mimics" : "");
        RobotBench bench = real_robot_bench(robot, base, with_mimics);
        for (int i = 0; i < 20; ++i) {
          test::randomise_joints(*bench.model, random, 3, bench.state);
          bench.update();
          check_three_ways(bench, random);
        }
      }
    }
  }
}

// Coordinates of the robot whose followers are free, from those of the robot with mimics: v = G v_m.
Matrix mimic_map(const Model& with, const Model& without, Eigen::Index n_with, Eigen::Index n_without) {
  Matrix G = Matrix::Zero(n_without, n_with);
  for (JointIndex j = 0; j < with.joints.size(); ++j) {
    const Joint& a = with.joints[j];
    for (std::uint32_t k = 0; k < velocity_count(a.kind); ++k)
      G(without.joints[j].first_v + k, a.first_v + k) = a.mimic == kNone ? 1 : a.multiplier;
  }
  return G;
}

TEST_CASE("real robots: joints that follow others add G^T M G of the robot without that constraint") {
  if (!test::real_robots_found()) return;
  Random random(8);
  for (const RealRobot& robot : kRealRobots) {
    RobotBench with = real_robot_bench(robot, "floating", true), without = real_robot_bench(robot, "floating", false);
    INFO(std::string(robot.name));
    test::randomise_joints(*with.model, random, 3, with.state);
    const Matrix G = mimic_map(*with.model, *without.model, with.n(), without.n());
    without.set_v(G * with.v());
    for (JointIndex j = 0; j < with.model->joints.size(); ++j) {
      const Joint &a = with.model->joints[j], &b = without.model->joints[j];
      for (std::uint32_t k = 0; k < position_count(a.kind); ++k) {
        const double q = with.state.joint_q[a.first_q + k];
        without.state.joint_q[b.first_q + k] = a.mimic == kNone ? q : a.multiplier * q + a.offset;
      }
    }
    with.update();
    without.update();
    const Matrix M = G.transpose() * without.mass() * G;
    CHECK_WITHIN((M - with.mass()).norm() / M.norm(), 1e-13);
    const Vector bias = G.transpose() * without.bias(kG);
    CHECK_WITHIN(relative(with.bias(kG), bias), 1e-12);
  }
}

}  // namespace
}  // namespace tactus
