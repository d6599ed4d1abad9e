// Channels of joints: what acts in ticks without a command, limits, filter, faults. Sliders of 2 kg on rails of their
// own.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

constexpr double kStep = 1e-3;

test::Scene sliders(std::uint32_t joints, double damping = 0) {
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "slider");
  for (std::uint32_t i = 0; i < joints; ++i) {
    const BodyIndex b = test::add_link(*scene.model, 2, Mat3::Identity());
    test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
    JointDrive drive;
    drive.joint = i;
    drive.kd = damping;
    scene.model->drives.push_back(drive);
  }
  return scene;
}

double effort(const World& world, JointIndex i = 0) {
  return world.joint_reading(i).effort;
}
std::uint32_t bits(const World& world, std::size_t i = 0) {
  return world.robot_drives().bits(i);
}
void torque(World& world, double value, std::uint64_t ticks, JointIndex joint = 0) {
  REQUIRE(accepted(world.command_joint({joint, DriveKind::torque, value, 0}, ticks)));
}

}  // namespace

TEST_CASE("actuation_channels: hold repeats the last command until its deadline, and says which ticks it held") {
  test::Scene scene = sliders(1);
  World world = scene.world();
  torque(world, 4, 20);
  for (int n = 0; n < 20; ++n) {
    world.step();
    CHECK(effort(world) == 4);
    CHECK(bits(world) == (n < 2 ? kJointCommanded : kJointCommanded | kJointHeld));
    CHECK((world.robot_drives().missed().size() == 1) == (n == 2));
  }
  CHECK(world.robot_drives().missed_ticks(0) == 18);
  world.step();
  CHECK((bits(world) & kJointSafe) != 0);
  test::run(world, 10);
  CHECK(effort(world) == 0);
}

TEST_CASE("actuation_channels: extrapolation goes on along the last two commands, within the limits") {
  test::Scene scene = sliders(1);
  scene.model->drives[0].effort_limit = 5;
  World world = scene.world();
  ChannelOptions options;
  options.missed = MissedPolicy::extrapolate;
  options.tolerance_ticks = 1;
  world.set_joint_options(0, options);
  for (int n = 0; n < 4; ++n) {
    torque(world, 1 + 0.25 * n, 100);
    world.step();
  }
  for (int n = 4; n < 60; ++n) {
    world.step();
    CHECK_WITHIN(effort(world) - std::min(5.0, 1 + 0.25 * n), 1e-12);
    CHECK((bits(world) & kJointExtrapolated) != 0);
    CHECK(((bits(world) & kJointEffortLimited) != 0) == (1 + 0.25 * n > 5));
  }
}

TEST_CASE("actuation_channels: ramp and brake end a command at its first missed tick") {
  for (const MissedPolicy policy : {MissedPolicy::ramp, MissedPolicy::brake}) {
    test::Scene scene = sliders(1, 30);
    World world = scene.world();
    ChannelOptions options;
    options.missed = policy;
    options.tolerance_ticks = 3;
    options.ramp = 0.005;
    world.set_joint_options(0, options);
    torque(world, 10, 100);
    for (int n = 0; n < 3; ++n) {
      world.step();
      CHECK(effort(world) == 10);
    }
    world.step();
    CHECK(world.expired_joints().size() == 1);
    if (policy == MissedPolicy::ramp) {
      CHECK(effort(world) > 0);  // four fifths of the effort
      test::run(world, 4);
    }
    // The safe state: nothing but the brake, an impulse of -kd v h.
    const double v = world.joint_reading(0).v;
    CHECK(v > 0);
    world.step();
    CHECK_WITHIN(effort(world) + 30 * world.joint_reading(0).v, 30 * v * 0.02);
    test::run(world, 1000);
    CHECK(std::abs(world.joint_reading(0).v) < 1e-6);
  }
}

// y' = 2 pi f (u - y): a step is answered by 1 - exp(-2 pi f t), to first order in the step.
TEST_CASE("actuation_channels: the low-pass filter answers a step with its time constant") {
  test::Scene scene = sliders(1);
  World world = scene.world();
  ChannelOptions options;
  options.cutoff = 5;
  world.set_joint_options(0, options);
  for (int n = 1; n <= 300; ++n) {
    torque(world, 8, 10);
    world.step();
    CHECK_WITHIN(effort(world) - 8 * (1 - std::exp(-2 * M_PI * 5 * n * kStep)), 8 * M_PI * 5 * kStep);
    if (n < 100) CHECK((bits(world) & kJointFiltered) != 0);
  }
}

TEST_CASE("actuation_channels: an effort changes no faster than its rate limit, but ends in its ramp's time") {
  test::Scene scene = sliders(1);
  World world = scene.world();
  ChannelOptions options;
  options.effort_rate_limit = 1000;  // 1 N a tick
  world.set_joint_options(0, options);
  double last = 0;
  for (int n = 1; n <= 60; ++n) {
    torque(world, n <= 30 ? 20 : -20, 5);
    world.step();
    CHECK(std::abs(effort(world) - last) <= 1 + 1e-12);
    CHECK(((bits(world) & kJointRateLimited) != 0) == (n < 20 || n > 30));
    last = effort(world);
  }
  test::run(world, 4);  // the rest of the last command's deadline
  test::run(world, 10);
  CHECK(effort(world) == 0);
  torque(world, 20, 5);  // and starts from nothing again
  world.step();
  CHECK_WITHIN(effort(world) - 1, 1e-12);
}

TEST_CASE("actuation_channels: limits of effort and velocity beyond the drive's own") {
  test::Scene scene = sliders(1, 50);
  World world = scene.world();
  ChannelOptions options;
  options.effort_limit = 3;
  options.velocity_limit = 0.5;
  world.set_joint_options(0, options);
  CHECK(world.command_joint({0, DriveKind::torque, 10, 0}, 5) == JointVerdict::clamped);
  world.step();
  CHECK(effort(world) == 3);
  CHECK((bits(world) & kJointEffortLimited) != 0);
  CHECK(world.command_joint({0, DriveKind::velocity, 2, 0}, 2000) == JointVerdict::clamped);
  test::run(world, 1500);
  CHECK_WITHIN(world.joint_reading(0).v - 0.5, 1e-6);
  CHECK((bits(world) & kJointVelocityLimited) != 0);
}

TEST_CASE("actuation_channels: N missed in a row latch a fault for the robot; it ends by recover alone, or by reset") {
  test::Scene scene = sliders(3);
  World world = scene.world();
  ChannelOptions options;
  options.tolerance_ticks = 1;
  options.fault_ticks = 5;
  world.set_joint_options(1, options);
  torque(world, 2, 100, 0);
  torque(world, 2, 100, 1);
  for (int n = 0; n < 6; ++n) {
    CHECK_FALSE(world.robot_fault(0));
    CHECK(world.robot_drives().faults().empty());
    world.step();
  }
  REQUIRE(world.robot_drives().faults().size() == 1);
  CHECK(world.robot_drives().faults()[0] == 0);
  CHECK(world.robot_fault(0));
  test::run(world, 11);
  for (const JointIndex joint : {0u, 1u, 2u}) {
    CHECK(effort(world, joint) == 0);
    CHECK((bits(world, joint) & kJointFault) != 0);
    CHECK(world.command_joint({joint, DriveKind::torque, 1, 0}, 5) == JointVerdict::fault);
  }
  CHECK(world.command_robot(0, DriveKind::torque, std::array<double, 3>{1, 1, 1}, 5) == JointVerdict::fault);
  world.recover_robot(0);
  test::run(world, 50);
  CHECK(effort(world, 1) == 0);  // nothing resumes by itself
  torque(world, 1, 5, 1);
  world.step();
  CHECK(effort(world, 1) == 1);
  world.release_joint(1);  // given back: what follows is not missed
  test::run(world, 50);
  CHECK_FALSE(world.robot_fault(0));
  torque(world, 1, 5, 1);
  test::run(world, 20);
  REQUIRE(world.robot_fault(0));
  world.reset();
  CHECK_FALSE(world.robot_fault(0));
}

TEST_CASE("actuation_channels: deadlines pass while the world stands still") {
  test::Scene scene = sliders(1);
  World world = scene.world();
  torque(world, 2, 50);
  test::run(world, 3);
  world.pass_joint_time(1000);
  world.step();
  CHECK(effort(world) == 0);
}

TEST_CASE("actuation_channels: a restored state goes on with the same bits, filters and faults included") {
  test::Scene scene = sliders(2, 5);
  World world = scene.world();
  ChannelOptions options;
  options.cutoff = 20;
  options.effort_rate_limit = 500;
  options.missed = MissedPolicy::extrapolate;
  options.fault_ticks = 12;
  for (const JointIndex joint : {0u, 1u}) world.set_joint_options(joint, options);
  torque(world, 5, 30, 0);
  world.step();
  torque(world, 7, 30, 0);
  torque(world, -3, 8, 1);
  test::run(world, 4);
  State state = world.state();
  test::run(world, 60);
  const std::uint64_t hash = world.hash();
  CHECK(world.robot_fault(0));
  REQUIRE(world.restore(state));
  CHECK_FALSE(world.robot_fault(0));
  test::run(world, 60);
  CHECK(world.hash() == hash);
}

TEST_CASE("actuation_channels: options that make no sense are named") {
  ChannelOptions good;
  CHECK(fault_in(good) == nullptr);
  for (double ChannelOptions::*number : {&ChannelOptions::ramp, &ChannelOptions::cutoff, &ChannelOptions::effort_limit,
                                         &ChannelOptions::effort_rate_limit, &ChannelOptions::velocity_limit}) {
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
      ChannelOptions options;
      options.*number = bad;
      CHECK(fault_in(options) != nullptr);
    }
  }
}

TEST_CASE("actuation_channels: commands, missed ticks and faults allocate nothing") {
  test::Scene scene = sliders(3);
  World world = scene.world();
  ChannelOptions options;
  options.fault_ticks = 6;
  options.cutoff = 50;
  world.set_joint_options(0, options);
  test::run(world, 2);
  const test::AllocGuard guard;
  for (int n = 0; n < 100; ++n) {
    if (n % 20 == 0) world.recover_robot(0);
    if (n % 3 == 0) world.command_joint({0, DriveKind::torque, 1, 0}, 3);
    world.step();
  }
  CHECK(guard.count() == 0);
}

}  // namespace tactus
