// Poses and velocities of links from joint coordinates, against products of poses and finite differences.
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::for_random_robots;
using test::Random;
using test::RobotBench;
using Vector = RobotBench::Vector;

Quat turn(const Vec3& axis, double angle) {
  return Quat(Eigen::AngleAxisd(angle, axis));
}

// X_FB by the definition of JointKind.
Pose joint_pose(const Joint& joint, const double* q) {
  if (joint.kind == JointKind::fixed) return {};  // has no coordinate
  const double x = joint.mimic == kNone ? q[0] : joint.multiplier * q[0] + joint.offset;
  Vec3 t1, t2;
  tangent_basis(joint.axis_F, t1, t2);
  switch (joint.kind) {
    case JointKind::fixed:
      return {};
    case JointKind::revolute:
    case JointKind::continuous:
      return {turn(joint.axis_F, x), Vec3::Zero()};
    case JointKind::prismatic:
      return {Quat::Identity(), x * joint.axis_F};
    case JointKind::planar:
      return {turn(joint.axis_F, q[2]), q[0] * t1 + q[1] * t2};
    case JointKind::spherical:
      return {Quat(q[0], q[1], q[2], q[3]), Vec3::Zero()};
    case JointKind::floating:
      return {Quat(q[3], q[4], q[5], q[6]), Vec3(q[0], q[1], q[2])};
  }
  return {};
}

double pose_error(const Pose& a, const Pose& b) {
  return std::max((a.p - b.p).norm(), (a.q.toRotationMatrix() - b.q.toRotationMatrix()).norm());
}

TEST_CASE("tree: a link's pose is its parent's times X_PF times the joint's") {
  for_random_robots(100, 80, true, [](RobotBench& bench, Random&) {
    for (const Joint& joint : bench.model->joints) {
      const Pose X_WP = joint.parent == kNone ? Pose{} : body_pose(*bench.model, bench.state, joint.parent);
      const Pose X_FB = joint_pose(joint, bench.state.joint_q.data() + joint.first_q);
      const Pose X_WB = body_pose(*bench.model, bench.state, joint.child);
      CHECK_WITHIN(pose_error(X_WB, X_WP * joint.X_PF * X_FB), 1e-13);
    }
  });
}

TEST_CASE("tree: link velocities are the rates of link poses, carriers moving along") {
  for_random_robots(200, 80, true, [](RobotBench& bench, Random&) {
    const double t = 1e-5;
    const State before = bench.state;
    const Vector v = bench.v();
    bench.move(t, v);
    bench.update();
    const State later = bench.state;
    bench.state = before;
    bench.move(-t, v);
    bench.update();
    for (const Joint& joint : bench.model->joints) {
      const BodyIndex b = joint.child;
      const Vec3 rate = (later.p_WBcm(b) - bench.state.p_WBcm(b)) / (2 * t);
      CHECK_WITHIN((rate - before.v_WBcm(b)).norm(), 1e-7);
      const Mat3 R_rate = (later.q_WB(b).toRotationMatrix() - bench.state.q_WB(b).toRotationMatrix()) / (2 * t);
      CHECK_WITHIN((R_rate - skew(before.w_WB(b)) * before.q_WB(b).toRotationMatrix()).norm(), 1e-7);
    }
  });
}

TEST_CASE("tree: J v and the carrier's part make a point's velocity; J^T is add_force") {
  for_random_robots(300, 60, true, [](RobotBench& bench, Random& random) {
    for (std::uint32_t link = 0; link < bench.tree->link_count(); ++link) {
      const Vec3 p_W = bench.tree->p_WBcm(link) + random.in_cube(0.3);
      const Vector twist = bench.jacobian(link, p_W) * bench.v();
      const SpatialVelocity V = bench.tree->point_velocity(link, p_W), C = bench.tree->carrier_velocity(link, p_W);
      CHECK_WITHIN((twist.head<3>() - (V.v - C.v)).norm(), 1e-12);
      CHECK_WITHIN((twist.tail<3>() - (V.w - C.w)).norm(), 1e-12);
    }
  });
}

TEST_CASE("tree: the initial state puts links where joint_q0 says, with joint_v0's velocities") {
  Random random(7);
  test::Scene scene = test::random_robot(random, {});
  Model& model = *scene.model;
  finish_model(model);
  REQUIRE(model.joint_q0.size() == model.robots[0].q_count);
  State wanted = initial_state(model, 4);
  test::randomise_joints(model, random, 1, wanted);
  model.joint_q0 = wanted.joint_q;
  model.joint_v0 = wanted.joint_v;
  const State state = initial_state(model, 4);
  Tree tree(model, 0);
  tree.positions(state);
  tree.velocities(state);
  tree.write_links(wanted);
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    CHECK(state.p_WBcm(b) == wanted.p_WBcm(b));
    CHECK(state.v_WBcm(b) == wanted.v_WBcm(b));
    CHECK(state.w_WB(b) == wanted.w_WB(b));
    CHECK(tree.p_WBcm(model.bodies[b].joint) == state.p_WBcm(b));
  }
}

TEST_CASE("tree: quaternions stay unit, and turning on at a constant rate is one turn") {
  test::Scene scene;
  test::add_robot(*scene.model, "ball");
  const BodyIndex link = test::add_link(*scene.model, 1, Mat3::Identity());
  test::add_joint(*scene.model, JointKind::floating, kNone, link);
  RobotBench bench(std::move(scene));
  Vector v(6);
  v << 1, 2, 3, 0.6, -0.4, 1.1;
  for (int i = 0; i < 1000; ++i) bench.move(1e-3, v);
  const Vec3 w = v.tail<3>();
  bench.update();
  CHECK_WITHIN(pose_error(body_pose(*bench.model, bench.state, link), {turn(w.normalized(), w.norm()), v.head<3>()}),
               1e-12);
  CHECK_WITHIN(bench.state.q_WB(link).norm() - 1, 1e-15);
}

// The same floating robot at the origin and 1 km away: relative poses, M, bias and half responses.
TEST_CASE("tree: a robot at 1 km is the robot at the origin") {
  const Vec3 away(1000, -700, 300);
  for (int i = 0; i < 20; ++i) {
    Random random(400 + static_cast<std::uint64_t>(i));
    test::RobotOptions options;
    options.base = i % 2 == 0 ? test::Base::floating : test::Base::world;
    RobotBench near(random, options);
    Random again(400 + static_cast<std::uint64_t>(i));
    RobotBench far(again, options);
    if (options.base == test::Base::floating) {
      const Joint& root = far.model->joints[0];
      const Vec3 shift_F = root.X_PF.q.conjugate() * away;
      for (int k = 0; k < 3; ++k) far.state.joint_q[root.first_q + static_cast<std::uint32_t>(k)] += shift_F[k];
    } else {
      far.model->joints[0].X_PF.p += away;
      far.tree = std::make_unique<Tree>(*far.model, 0);
    }
    far.update();
    const double scale = near.mass().cwiseAbs().maxCoeff();
    CHECK_WITHIN((near.mass() - far.mass()).cwiseAbs().maxCoeff() / scale, 1e-9);
    const Vec3 gravity(0, 0, -9.81);
    const Vector b = near.bias(gravity);
    CHECK_WITHIN((b - far.bias(gravity)).norm() / b.norm(), 1e-9);
    for (BodyIndex k = 0; k < near.model->bodies.size(); ++k) {
      CHECK_WITHIN((near.state.p_WBcm(k) + away - far.state.p_WBcm(k)).norm(), 1e-9);
      CHECK_WITHIN((near.state.v_WBcm(k) - far.state.v_WBcm(k)).norm(), 1e-9);
    }
  }
}

}  // namespace
}  // namespace tactus
