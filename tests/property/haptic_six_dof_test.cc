// The haptic loop in six degrees of freedom, with slow models, and with two devices in one scene.
#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "tests/support/alloc_guard.h"
#include "tests/support/haptic_cases.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::contact_wrench;
using test::delay;
using test::HapticRig;
using test::RigOptions;

constexpr haptic::Mode kModes[] = {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave};
constexpr int kDelays[] = {0, 5, 20};  // each way [ms]
// What must be felt at least for a run to say something: `direct` over 20 ms is a spring of 110 N/m.
double at_least(double value, haptic::Mode mode, int ticks) {
  return mode == haptic::Mode::direct && ticks >= 20 ? 0.25 * value : value;
}

TEST_CASE(
    "a box pressed on a ridge off its centre: the torque felt is the contact's within 1 %, with friction or without") {
  for (const haptic::Mode mode : kModes) {
    for (const int run : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
      const double mu = std::array{0.0, 0.3, 1.0}[run % 3];
      const int ticks = kDelays[run / 3];
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(mu);
      CAPTURE(ticks);
      const auto [contact, felt, engaged] = test::on_a_ridge(mode, mu, ticks);
      REQUIRE(engaged);
      MESSAGE(std::string(haptic::mode_name(mode))
              << ", mu " << mu << ", " << ticks << " ms: force " << felt.force.z() << " N against " << contact.force.z()
              << ", torque " << felt.torque.y() << " N m against " << contact.torque.y());
      CHECK(std::abs(contact.torque.y()) > at_least(0.01, mode, ticks));
      CHECK_WITHIN((felt.force - contact.force).norm() / contact.force.norm(), 2e-3);
      CHECK_WITHIN((felt.torque - contact.torque).norm() / contact.torque.norm(), 1e-2);
    }
  }
}

void peg_in_hole(haptic::Mode mode, int ticks) {
  test::Scene scene(0.1);
  scene.set_gravity(Vec3::Zero());
  const double half = 0.0102;  // of the hole; the peg's is 0.01
  for (const double side : {-1.0, 1.0}) {
    scene.add(make_box(Vec3(0.02, 0.04, 0.02)), 1, test::at(side * (half + 0.02), 0, -0.02), {}, 0, BodyMode::fixed);
    scene.add(make_box(Vec3(half, 0.02, 0.02)), 1, test::at(0, side * (half + 0.02), -0.02), {}, 0, BodyMode::fixed);
  }
  const BodyIndex peg = scene.add(make_box(Vec3(0.01, 0.01, 0.02)), 0.1, test::at(0, 0, 0.021));
  World world = scene.world();
  RigOptions o = test::rig_options(peg, 1.0, mode);
  delay(o, ticks);
  o.hand.wants = [](double t) {
    haptic::Pose X = test::down_by(std::clamp(0.03 * (t - 0.4), 0.0, 0.025));
    const double s = std::clamp(t - 0.4, 0.0, 1.0);
    X.p.x() = 0.0015 * s;  // the hand goes askew: 1.5 mm aside and 2 degrees over
    X.q = Eigen::AngleAxisd(0.035 * s, Vec3::UnitY());
    return X;
  };
  HapticRig rig(world, o);
  double deepest = 0;
  test::Meter meter;
  for (int k = 0; k < 2000 + 20 * ticks; ++k) {
    rig.tick();
    for (std::uint32_t i = 0; i < world.contacts().point_count; ++i)
      deepest = std::max(deepest, world.contacts().points[i].depth);
    meter.look(rig, rig.loop.round_trip_peak());
  }
  const Pose X = body_pose(world.model(), world.state(), peg);
  MESSAGE(std::string(haptic::mode_name(mode))
          << ", " << ticks << " ms: peg at " << X.p.transpose() << ", deepest " << 1e6 * deepest << " um, motor out "
          << 1e3 * meter.out.motor_out << " mJ");
  CHECK(rig.loop.engaged());
  CHECK(X.p.z() < 0.021 - 0.02);    // it went in
  CHECK(std::abs(X.p.x()) < 3e-4);  // and the walls hold it, not the hand
  CHECK(rig.force.force.norm() > at_least(0.2, mode, ticks));
  CHECK(deepest < 1e-3);
  CHECK(meter.out.motor_out < 1e-3);
  CHECK(meter.out.hand_out < 1e-3);
}

TEST_CASE("a peg goes into a hole by touch, over 0 to 20 ms: aligned by the walls, no overlap, nothing given out") {
  for (const haptic::Mode mode : kModes) {
    for (const int ticks : kDelays) {
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(ticks);
      peg_in_hole(mode, ticks);
    }
  }
}

void edge_over_corner(haptic::Mode mode, int ticks) {
  test::Scene scene(0.3);
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(Vec3(0.05, 0.05, 0.05)), 1, test::at(0, 0, -0.05), {}, 0, BodyMode::fixed);
  const BodyIndex box =
      scene.add(make_box(Vec3(0.01, 0.01, 0.01)), 0.1, {test::turned(Vec3(0.3, 1, 0), 0.7), Vec3(0.03, 0, 0.016)});
  World world = scene.world();
  RigOptions o = test::rig_options(box, 1.0, mode);
  delay(o, ticks);
  o.hand.wants = [](double t) {
    haptic::Pose X = test::down_by(std::clamp(0.02 * (t - 0.3), 0.0, 0.008));
    X.p.x() = std::clamp(0.04 * (t - 0.8), 0.0, 0.05);
    return X;
  };
  HapticRig rig(world, o);
  double pressed = 0;
  test::Meter meter;
  for (int k = 0; k < 2600 + 40 * ticks; ++k) {
    rig.tick();
    meter.look(rig, rig.loop.round_trip_peak());
    pressed = std::max(pressed, rig.force.force.norm());
  }
  CHECK(rig.loop.engaged());
  CHECK(pressed > at_least(1, mode, ticks));
  MESSAGE(std::string(haptic::mode_name(mode))
          << ", " << ticks << " ms: edge pressed with " << pressed << " N, left " << rig.force.force.norm()
          << " N, out " << 1e3 * meter.out.motor_out << " mJ, to the hand " << 1e3 * meter.out.hand_out << " mJ");
  CHECK(meter.out.motor_out < 1e-3);
  CHECK(meter.out.hand_out < 1e-3);
  CHECK(rig.force.force.norm() < 0.05);  // beyond the corner, in the air
}

TEST_CASE("an edge dragged over a corner and down beyond it, over 0 to 20 ms: nothing given out, no force is left") {
  for (const haptic::Mode mode : kModes) {
    for (const int ticks : kDelays) {
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(ticks);
      edge_over_corner(mode, ticks);
    }
  }
}

TEST_CASE("a world at 100 Hz: 0.9 of 2b/T on a wall, and the motor's force is the contact's") {
  test::Scene scene;
  scene.add_floor();
  const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 0.01));
  World world = scene.world();
  SlowTicker slow(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
  const ContactModelKind kind = ContactModelKind::st;
  SlowSolver solver(make_solver_world(world.shared_model(), world.limits(), kind, 10), kind, 64);
  world.yield_to(kind);
  slow.exchange(&solver, world);
  RigOptions o = test::rig_options(ball, 1.0);
  o.loop.gains.stiffness = 0.9 * 2 / 1e-3;
  o.loop.gains.damping = 0.05;
  o.tool.gains.stiffness = o.loop.gains.stiffness;
  o.hand.damping = 0;
  o.hand.stiffness = 300;
  o.hand.wants = [](double t) { return test::down_by(std::clamp(0.05 * (t - 0.5), 0.0, 0.02)); };
  HapticRig rig(world, o);
  rig.slow = &slow;
  double force = 0, contact = 0, pressed = 0, out = 0;
  for (int k = 0; k < 3000; ++k) {
    rig.tick();
    out = std::max(out, rig.device.motor_work());
    if (k < 2700) continue;
    force += rig.device.acting().force.z();
    pressed += 0.01 - rig.loop.message().X_WR.p.z();
    for (const ContactRow& row : slow.contacts()) contact += row.value[8];
  }
  MESSAGE("stiffness " << force / pressed << " N/m, motor " << force / 300 << " N, contact " << std::abs(contact) / 300
                       << " N, out " << 1e3 * out << " mJ");
  CHECK(rig.loop.engaged());
  CHECK(force / pressed > 0.9 * 0.99 * 2000);
  CHECK_WITHIN(std::abs(contact) / force - 1, 5e-3);
  CHECK(out < 1e-3);
}

TEST_CASE("two tools on one desk hold a box between them, and the tick allocates nothing") {
  test::Scene scene(0.8);
  scene.set_gravity(Vec3::Zero());
  const BodyIndex box = scene.add(make_box(Vec3::Constant(0.02)), 0.2, test::at(0, 0, 0));
  const BodyIndex left = scene.add(make_sphere(0.01), 0.05, test::at(-0.031, 0, 0));
  const BodyIndex right = scene.add(make_sphere(0.01), 0.05, test::at(0.031, 0, 0));
  World world = scene.world();
  ToolDesk desk;
  for (std::uint32_t i = 0; i < 2; ++i) {
    RigOptions o = test::rig_options(i == 0 ? left : right, 1.0);
    desk.attach(i, o.tool, 0.05);
  }
  const auto tick = [&](std::uint64_t k) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const double side = i == 0 ? -1 : 1, squeeze = 0.003 * std::min(1.0, 0.002 * static_cast<double>(k));
      const double lift = 0.05 * std::clamp(0.001 * (static_cast<double>(k) - 700), 0.0, 1.0);
      DeviceRow row;
      row.tool = i;
      row.grip = 1;
      row.sample = k + 1;
      row.bits = kDeviceAnchored;
      row.pose = {side * (0.031 - squeeze), 0, lift, 1, 0, 0, 0};
      CHECK(desk.take(row, world.state().tick, 1e-3));
    }
    desk.apply(world, 0);
    world.step();
  };
  for (std::uint64_t k = 0; k < 400; ++k) tick(k);
  const test::AllocGuard guard;
  for (std::uint64_t k = 400; k < 2200; ++k) tick(k);
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK_WITHIN(world.state().p_WBcm(box).z() - 0.05, 2e-3);  // it came along
  CHECK_WITHIN(world.state().p_WBcm(box).x(), 2e-3);
}

// A hand that pulls at an even wave and stops at its cycle `kStop`: cycles of the hand until the tool stands still
// again. `skip`: cycles that the world leaves out before, while samples come in and wait.
int cycles_to_stop(std::uint64_t skip, bool in_time) {
  constexpr std::uint64_t kStall = 300, kStop = 400;
  test::Scene scene(0);
  scene.set_gravity(Vec3::Zero());
  const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 0));
  World world = scene.world();
  ToolDesk desk;
  desk.attach(0, test::rig_options(ball, 1.0, haptic::Mode::wave).tool, 0.05);
  std::uint64_t sent = 0;
  double most = 0;
  for (std::uint64_t now = 0; now < 1000; ++now) {  // [cycles of the hand]
    if (now >= kStall && now < kStall + skip) continue;
    for (; sent <= now; ++sent) {
      DeviceRow row;
      row.grip = 1;
      row.sample = sent + 1;
      row.wave[0] = 1e-3 * 0.2 * static_cast<double>(std::min(sent, kStop));
      row.wait_us = in_time ? static_cast<std::uint32_t>(1000 * (now - sent)) : 0;
      CHECK(desk.take(row, world.state().tick, 1e-3));
    }
    desk.apply(world, 0);
    world.step();
    if (now + 1 == kStall) desk.skipped(skip);
    const double v = world.state().v_WBcm(ball).x();
    most = std::max(most, v);
    if (now > kStop && v < 0.3 * most) return static_cast<int>(now - kStop);
  }
  return 1000;
}

TEST_CASE("wave: a stall of the server leaves no lag behind; samples that waited are as old as when they came") {
  const int without = cycles_to_stop(0, true);
  CHECK(without < 100);
  CHECK_WITHIN(cycles_to_stop(20, true) - without, 3);
  // The counter-check: taken as if they came when the server went on, they leave it late by the stall.
  CHECK(cycles_to_stop(20, false) > without + 10);
}

}  // namespace
}  // namespace tactus
