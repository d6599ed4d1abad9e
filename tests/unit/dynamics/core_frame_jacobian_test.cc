// The Jacobian of a frame from published poses: against finite differences and against joint efforts.
#include <doctest/doctest.h>

#include <vector>

#include "core/dynamics/frame_jacobian.h"
#include "core/dynamics/kinematics.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

// Poses of all bodies' user frames as the server publishes them.
std::vector<double> published(const Model& model, const State& state) {
  std::vector<double> out;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Pose X_WB = body_pose(model, state, b);
    for (const double x : {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), X_WB.q.w(), X_WB.q.x(), X_WB.q.y(), X_WB.q.z()})
      out.push_back(x);
  }
  return out;
}

Pose frame_pose(const Model& model, const State& state, const LinkFrame& frame) {
  return body_pose(model, state, frame.body) * frame.X_BF;
}

test::Scene random_scene(test::Random& random, int i) {
  test::RobotOptions options;
  options.base = static_cast<test::Base>(i % 4);
  options.mimic = i % 3 == 0 ? 0.3 : 0;
  return test::random_robot(random, options);
}

}  // namespace

// Moving the joints by h v for a short time moves the frame by h J v, of every tree, mimics and floating bases
// included.
TEST_CASE("core_frame_jacobian: J v is the frame's velocity, by central differences") {
  test::Random random(3);
  for (int i = 0; i < 40; ++i) {
    test::Scene scene = random_scene(random, i);
    World world = scene.world();
    const Model& model = world.model();
    const Robot& robot = model.robots[0];
    const BodyIndex link = model.joints[robot.first_joint + robot.joint_count - 1].child;
    const LinkFrame frame{"robot/tip", link, test::random_pose(random, 0.3), 0, 0};
    State start = world.state();
    for (BodyIndex b = 0; b < start.body_count(); ++b) start.set_velocity(b, Vec3::Zero(), Vec3::Zero());
    std::vector<double> v(robot.v_count);
    for (double& x : v) x = random.uniform(-1, 1);
    constexpr double h = 1e-5;
    Pose moved[2];
    for (int side = 0; side < 2; ++side) {
      State state = start;
      integrate_joints(model, robot, side == 0 ? -h : h, v.data(), state.joint_q.data() + robot.first_q);
      REQUIRE(world.restore(state));  // links follow from the joints
      moved[side] = frame_pose(model, world.state(), frame);
    }
    REQUIRE(world.restore(start));
    const Vec3 p_WE = frame_pose(model, world.state(), frame).p;
    std::vector<JacobianColumn> columns(robot.v_count);
    const std::uint32_t n = frame_jacobian(model, published(model, world.state()), link, p_WE, columns);
    Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
    for (std::uint32_t k = 0; k < n; ++k) {
      if (k > 0) CHECK(columns[k - 1].dof < columns[k].dof);
      linear += v[columns[k].dof - robot.first_v] * columns[k].linear;
      angular += v[columns[k].dof - robot.first_v] * columns[k].angular;
    }
    CHECK_WITHIN((linear - (moved[1].p - moved[0].p) / (2 * h)).norm(), 1e-7);
    Quat turn = moved[1].q * moved[0].q.conjugate();
    if (turn.w() < 0) turn.coeffs() *= -1;
    CHECK_WITHIN((angular - turn.vec() / h).norm(), 1e-7);
  }
}

// A force at one link alone: what the joints read as external effort is J^T F of that link's mass centre.
TEST_CASE("core_frame_jacobian: J^T F is the external effort of the joints") {
  test::Random random(5);
  for (int i = 0; i < 20; ++i) {
    test::Scene scene = random_scene(random, 2 * i + 1);  // without mimics in every third
    scene.set_gravity(Vec3::Zero());
    World world = scene.world();
    const Model& model = world.model();
    const Robot& robot = model.robots[0];
    const BodyIndex link = model.joints[robot.first_joint + robot.joint_count - 1].child;
    SpatialForce F;
    F.force = random.in_cube(5);
    F.torque = random.in_cube(1);
    world.apply(link, F);
    world.step();
    const SpatialForce& felt = world.external_wrench(link);
    CHECK_WITHIN((felt.force - F.force).norm(), 1e-12);
    std::vector<JacobianColumn> columns(robot.v_count);
    const std::uint32_t n =
        frame_jacobian(model, published(model, world.state()), link, world.state().p_WBcm(link), columns);
    std::vector<double> tau(robot.v_count, 0.0);
    for (std::uint32_t k = 0; k < n; ++k)
      tau[columns[k].dof - robot.first_v] = columns[k].linear.dot(felt.force) + columns[k].angular.dot(felt.torque);
    for (std::uint32_t d = 0; d < robot.v_count; ++d)
      CHECK_WITHIN(tau[d] - world.external_effort(robot.first_v + d), 1e-9 * (1 + std::abs(tau[d])));
  }
}

}  // namespace tactus
