// A robot's link as a haptic tool: arm7 of config/robots held by its flange, in zero gravity where it floats freely,
// and under gravity with its drives.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/haptic_cases.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::HapticRig;
using test::RigOptions;

constexpr haptic::Mode kModes[] = {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave};

// The arm as its scene has it, or without drives and gravity: then only its inertia and its joints' damping are felt.
struct ArmScene {
  explicit ArmScene(bool drives, bool table = false) {
    scene.model = load_scene(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/arm7.toml", SceneOptions{});
    if (!drives) {
      scene.model->drives.clear();
      scene.set_gravity(Vec3::Zero());
    }
    frame = *scene.model->find_frame("arm/flange");
    if (table) add_table();
  }
  // 5 mm below the lowest point of the flange.
  void add_table() {
    ArmScene same(true);
    const World world = same.scene.world();
    const State& state = world.state();
    const ShapeInstance& shape = world.model().shapes[world.model().bodies[frame.body].first_shape];
    const Pose X_WS = Pose{state.q_WB(frame.body), state.p_WBcm(frame.body)} * shape.X_BcmS;
    const Aabb box = bounds(shape.shape, {X_WS.q.toRotationMatrix(), X_WS.p});
    const Vec3 top(0.5 * (box.lo.x() + box.hi.x()), 0.5 * (box.lo.y() + box.hi.y()), box.lo.z() - 0.005);
    scene.add(make_box(Vec3(0.1, 0.1, 0.02)), 1, Pose{Quat::Identity(), top - Vec3(0, 0, 0.02)}, {}, 0,
              BodyMode::fixed);
  }
  // The device at the middle of the flange, with axes of the world's.
  RigOptions options(haptic::Mode mode) const {
    RigOptions o = test::rig_options(frame.body, 1.0, mode);
    o.tool.X_BT = frame.X_BF;
    o.hand.turn_stiffness = 2;
    o.hand.turn_damping = 0.02;
    return o;
  }
  test::Scene scene;
  LinkFrame frame;
};

haptic::Pose aside(double x, double y, double z) {
  haptic::Pose X;
  X.p = haptic::Vec3(x, y, z);
  return X;
}

TEST_CASE("haptic_links: an arm without drives follows the hand that holds its flange, in every mode") {
  for (const haptic::Mode mode : kModes) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    ArmScene arm(false);
    World world = arm.scene.world();
    RigOptions o = arm.options(mode);
    o.hand.wants = [](double t) {
      const double s = std::clamp(0.5 * (t - 0.3), 0.0, 1.0), smooth = s * s * (3 - 2 * s);
      return aside(0.05 * smooth, -0.04 * smooth, 0.06 * smooth);
    };
    HapticRig rig(world, o);
    const Vec3 start = (body_pose(world.model(), world.state(), arm.frame.body) * arm.frame.X_BF).p;
    test::Meter meter;
    for (int k = 0; k < 6000; ++k) {
      rig.tick();
      meter.look(rig, rig.loop.round_trip_peak());
    }
    const Vec3 moved = rig.report().X_WT.p - start;
    MESSAGE(std::string(haptic::mode_name(mode))
            << ": moved " << moved.transpose() << ", gains " << rig.desk.rows()[0].gains.stiffness << " N/m, out "
            << 1e3 * meter.out.motor_out << " mJ, to the hand " << 1e3 * meter.out.hand_out << " mJ");
    CHECK(rig.loop.engaged());
    CHECK_WITHIN((moved - Vec3(0.05, -0.04, 0.06)).norm(), 2e-3);
    CHECK(meter.out.motor_out < 1e-3);
    CHECK(meter.out.hand_out < 1e-3);
  }
}

TEST_CASE("haptic_links: the force at the device is the coupling's, and the joints get J^T of it") {
  for (const haptic::Mode mode : {haptic::Mode::direct, haptic::Mode::wave}) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    ArmScene arm(true);
    World world = arm.scene.world();
    test::run(world, 1000);  // the drives take the weight
    RigOptions o = arm.options(mode);
    o.hand.wants = [](double t) { return test::down_by(-0.03 * std::clamp(2 * (t - 0.3), 0.0, 1.0)); };
    HapticRig rig(world, o);
    rig.run(3000);
    REQUIRE(rig.loop.engaged());
    const haptic::Wrench motor = rig.device.acting();
    const SpatialForce on_tool = rig.report().F_T_W;
    CHECK(on_tool.force.norm() > 3);
    CHECK_WITHIN((motor.force + on_tool.force).norm() / on_tool.force.norm(), 1e-2);
    CHECK_WITHIN((motor.torque + on_tool.torque).norm(), 1e-2 * on_tool.torque.norm() + 2e-3);
    // Virtual work: the coupling's power at the tool is what the joints are given, whatever they do.
    const SpatialForce at_link = world.external_wrench(arm.frame.body);
    CHECK_WITHIN((at_link.force - on_tool.force).norm(), 1e-6);
    const Vec3 arm_W = rig.report().X_WT.p - world.state().p_WBcm(arm.frame.body);
    CHECK_WITHIN((at_link.torque - on_tool.torque - arm_W.cross(on_tool.force)).norm(), 1e-4);
  }
}

TEST_CASE("haptic_links: an undamped hand on the last link gets no energy out of the arm, its drives or the floor") {
  test::Random random(5);
  for (const haptic::Mode mode : kModes) {
    for (int run = 0; run < 6; ++run) {
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(run);
      ArmScene arm(run % 2 == 1, true);
      World world = arm.scene.world();
      if (run % 2 == 1) test::run(world, 1000);
      RigOptions o = arm.options(mode);
      o.up.delay = o.down.delay = run / 2;
      o.hand.damping = o.hand.turn_damping = 0;
      o.hand.stiffness = random.log_uniform(100, 1000);
      const Vec3 way(random.uniform(-0.03, 0.03), random.uniform(-0.03, 0.03), 0.04);  // onto the table and off
      const double speed = random.uniform(3, 12);
      o.hand.wants = [=](double t) {
        const double s = std::sin(speed * std::max(0.0, t - 0.3));
        return aside(s * way.x(), s * way.y(), s * way.z());
      };
      HapticRig rig(world, o);
      test::Meter meter;
      int touches = 0;
      for (int k = 0; k < 4000; ++k) {
        rig.tick();
        meter.look(rig, rig.loop.round_trip_peak());
        for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m)
          touches += world.contacts().manifolds[m].body_a == arm.frame.body ||
                     world.contacts().manifolds[m].body_b == arm.frame.body;
      }
      MESSAGE(std::string(haptic::mode_name(mode))
              << ", run " << run << ": out " << 1e3 * meter.out.motor_out << " mJ, to the hand "
              << 1e3 * meter.out.hand_out << " mJ, " << touches << " ticks on the table");
      CHECK(rig.loop.engaged());
      CHECK(touches > 20);
      CHECK(meter.out.hand_out < 1e-3);
      CHECK(meter.out.motor_out < 1e-3);
    }
  }
}

// Asks for more than it can get; what it gets after one tick.
ToolGains granted(World& world, BodyIndex body) {
  ToolDesk desk;
  RigOptions o = test::rig_options(body, 1.0, haptic::Mode::direct);
  o.tool.gains = {1e9, 1e6, 1e9, 1e6};
  desk.attach(0, o.tool, 0.05);
  DeviceRow row;
  row.grip = row.sample = 1;
  CHECK(desk.take(row, 0, 1e-3));
  desk.apply(world, 0);
  CHECK((desk.rows()[0].report.bits & kToolGainsLimited) != 0);
  return desk.rows()[0].gains;
}

TEST_CASE("haptic_links: what a link bears is what its robot resists, not its own mass") {
  // A tip of 5 g bolted to a carriage of 2 kg, which slides on a second one of 3 kg, across.
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "rail");
  const Mat3 inertia = 1e-3 * Mat3::Identity();
  const BodyIndex lower = test::add_link(*scene.model, 3, inertia), upper = test::add_link(*scene.model, 2, inertia);
  const BodyIndex tip = test::add_link(*scene.model, 0.005, 1e-3 * inertia);
  test::add_joint(*scene.model, JointKind::prismatic, kNone, lower, {}, Vec3::UnitX());
  test::add_joint(*scene.model, JointKind::prismatic, lower, upper, {}, Vec3::UnitY());
  test::add_joint(*scene.model, JointKind::fixed, upper, tip, test::at(0, 0, 0.1));
  World world = scene.world();
  const ToolGains g = granted(world, tip);
  const double h = world.model().step;
  CHECK_WITHIN(4 * g.stiffness * h * h / 2.005 - 1, 1e-12);  // least along y
  CHECK_WITHIN(3 * g.damping * h / 2.005 - 1, 1e-12);
  CHECK(g.turn_stiffness == 1e9);  // sliders do not turn at all
}

// Two equal rods in a plane, bent by a right angle; the tip bears more there than stretched: W of 3 against 24/7 of
// 1/m.
struct TwoRods {
  static constexpr double kLength = 0.3;
  TwoRods() {
    scene.set_gravity(Vec3::Zero());
    test::add_robot(*scene.model, "rods");
    const Mat3 inertia = kLength * kLength / 12 * Vec3(1e-3, 1, 1).asDiagonal().toDenseMatrix();
    const Vec3 middle(0.5 * kLength, 0, 0);
    const BodyIndex first = test::add_link(*scene.model, 1, inertia, middle);
    tip = test::add_link(*scene.model, 1, inertia, middle);
    test::add_joint(*scene.model, JointKind::revolute, kNone, first);
    test::add_joint(*scene.model, JointKind::revolute, first, tip, test::at(kLength, 0, 0));
    scene.model->joint_q0 = {0, 0.5 * std::numbers::pi};
    scene.model->joint_v0 = {0, 0};
  }
  test::Scene scene;
  BodyIndex tip = 0;
};

TEST_CASE("haptic_links: as an arm stretches, gains follow what it bears down, never up, and nothing rings") {
  TwoRods rods;
  World world = rods.scene.world();
  const double h = world.model().step;
  ToolDesk desk;
  ToolSettings tool;
  tool.body = rods.tip;
  tool.X_BT = test::at(TwoRods::kLength, 0, 0);
  tool.mode = ToolMode::direct;
  tool.gains = {1e7, 1e5, 0, 0};  // of a reference that nobody must hold: as stiff as the arm bears
  tool.force_limit = 1e6;
  desk.attach(0, tool, 0.05);
  const auto X_WT = [&] { return body_pose(world.model(), world.state(), tool.body) * tool.X_BT; };
  const Pose start = X_WT();
  std::vector<double> bears, error;
  for (int k = 0; k < 4000; ++k) {  // out to 1.9 lengths, and back
    const double s = std::clamp(std::min(0.0005 * (k - 300), 0.0005 * (3700 - k)), 0.0, 1.0);
    const Vec3 p = (1 + s * (1.9 / std::sqrt(2.0) - 1)) * start.p;
    DeviceRow row;
    row.grip = 1;
    row.sample = static_cast<std::uint64_t>(k) + 1;
    row.bits = kDeviceAnchored;
    row.pose = {p.x(), p.y(), p.z(), 1, 0, 0, 0};
    Eigen::Matrix<double, 6, 6> W;
    REQUIRE(world.mobility(tool.body, X_WT().p, W));
    CHECK(desk.take(row, world.state().tick, h));
    desk.apply(world, 0);
    bears.push_back(desk.rows()[0].gains.stiffness);
    // A sampled spring is stable below 4; a sixteenth of that is used.
    CHECK(h * h * bears.back() * W.topLeftCorner<3, 3>().operatorNorm() <= 0.25 * (1 + 1e-9));
    world.step();
    if (k > 3900) error.push_back((X_WT().p - p).norm());
  }
  CHECK(std::is_sorted(bears.rbegin(), bears.rend()));
  CHECK_WITHIN(4 * h * h * bears.front() * 3 - 1, 1e-6);
  CHECK(bears.back() < 0.97 * bears.front());
  CHECK(bears.back() > 0.25 / (h * h) * 7 / 24 - 1);
  CHECK_WITHIN(*std::max_element(error.begin(), error.end()), 1e-5);
}

TEST_CASE("haptic_links: an arm that froze is let go at once, and no grip takes it") {
  ArmScene arm(false);
  World world = arm.scene.world();
  RigOptions o = arm.options(haptic::Mode::direct);
  o.hand.wants = [](double t) { return test::down_by(0.02 * std::clamp(2 * (t - 0.3), 0.0, 1.0)); };
  HapticRig rig(world, o);
  rig.run(600);
  REQUIRE(rig.loop.engaged());
  State state = world.state();
  for (const Joint& joint : world.model().joints) state.frozen[joint.child] = 1;
  REQUIRE(world.restore(state));
  rig.tick();
  CHECK((rig.report().bits & (kToolLost | kToolEngaged)) == kToolLost);
  CHECK(rig.report().F_T_W.force.norm() == 0);
  CHECK(rig.desk.lost_now() == 1);
  rig.run(60);
  CHECK_FALSE(rig.loop.engaged());
  CHECK(rig.device.acting().force.norm() == 0);
  rig.loop.engage();
  rig.run(20);
  CHECK_FALSE(rig.loop.engaged());
}

// Contacts look each millisecond: at 20 m/s the ball of 5 mm is beyond the sheet within one tick.
TEST_CASE("haptic_links: a link in the hand that is thrown at a 1 mm sheet at 5 to 20 m/s stops at it, in every mode") {
  for (const haptic::Mode mode : kModes) {
    for (const double speed : {5.0, 10.0, 20.0}) {
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(speed);
      test::Scene scene;
      scene.set_gravity(Vec3::Zero());
      scene.add(make_box(Vec3(0.1, 0.1, 0.0005)), 1, test::at(0, 0, 0), {}, 0, BodyMode::fixed);
      const BodyIndex ball = test::add_slider(*scene.model, 0.05, 0.0135);  // nearer than the hand stops it
      World world = scene.world();
      HapticRig rig(world, test::rig_options(ball, 1.0, mode));
      rig.run(400);
      REQUIRE(rig.loop.engaged());
      State state = world.state();
      state.joint_v[0] = -speed;
      REQUIRE(world.restore(state));
      double lowest = 1;
      for (int k = 0; k < 200; ++k) {
        rig.tick();
        lowest = std::min(lowest, body_pose(world.model(), world.state(), ball).p.z());
      }
      CHECK(lowest < 0.0055);           // it did touch
      CHECK(lowest > 0.0055 - 0.5e-3);  // 0.25 mm within the tick, and what the contact itself yields
    }
  }
}

TEST_CASE("haptic_links: the tick with a link as tool allocates nothing") {
  ArmScene arm(true);
  World world = arm.scene.world();
  ToolDesk desk;
  desk.attach(0, arm.options(haptic::Mode::direct).tool, 0.05);
  std::uint64_t sample = 0;
  const auto tick = [&] {
    DeviceRow row;
    row.grip = 1;
    row.sample = ++sample;
    CHECK(desk.take(row, world.state().tick, 1e-3));
    desk.apply(world, 0);
    world.step();
  };
  for (int k = 0; k < 100; ++k) tick();
  const test::AllocGuard guard;
  for (int k = 0; k < 100; ++k) tick();
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
}

}  // namespace
}  // namespace tactus
