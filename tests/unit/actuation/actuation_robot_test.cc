// Drives of joints in a World: laws, lag, delay, limits, commands and their end.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStep = 1e-3;

// Sliders of 2 kg along x on rails of their own, no gravity; a drive each on request.
constexpr double kMass = 2;

JointIndex add_slider(Scene& scene) {
  const BodyIndex b = test::add_link(*scene.model, kMass, Mat3::Identity());
  return test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
}

JointDrive& add_drive(Scene& scene, JointIndex joint, DriveKind kind) {
  JointDrive drive;
  drive.joint = joint;
  drive.kind = kind;
  if (kind != DriveKind::torque) drive.kd = 40;
  if (kind == DriveKind::position) drive.kp = 200;
  scene.model->drives.push_back(drive);
  return scene.model->drives.back();
}

Scene slider_scene() {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "slider");
  add_slider(scene);
  return scene;
}

double q_of(const World& world, JointIndex i = 0) {
  return world.joint_reading(i).q;
}
double v_of(const World& world, JointIndex i = 0) {
  return world.joint_reading(i).v;
}
double effort(const World& world, JointIndex i = 0) {
  return world.joint_reading(i).effort;
}

}  // namespace

TEST_CASE("drive: the effort behind a lag answers a step as 1 - exp(-t / lag)") {
  Scene scene = slider_scene();
  JointDrive& drive = add_drive(scene, 0, DriveKind::torque);
  drive.target.offset = 3;
  drive.lag = 0.05;
  World world = scene.world();
  double impulse = 0;
  for (int n = 1; n <= 300; ++n) {
    world.step();
    CHECK_WITHIN(effort(world) - 3 * (1 - std::exp(-n * kStep / 0.05)), 1e-12);
    impulse += kStep * effort(world);
    CHECK_WITHIN(kMass * v_of(world) - impulse, 1e-12);
  }
}

TEST_CASE("drive: a delay of n ticks is exact, from the scene and from commands") {
  for (const std::uint32_t delay : {1u, 7u, 1000u}) {
    CAPTURE(delay);
    Scene scene = slider_scene();
    JointDrive& drive = add_drive(scene, 0, DriveKind::torque);
    drive.target = {0.5, 2, 11, 0.3};
    drive.delay_ticks = delay;
    const DriveTarget target = drive.target;
    World world = scene.world();
    const std::uint32_t commanded = delay + 40, ticks = 5;
    for (std::uint32_t n = 0; n < delay + 60; ++n) {
      if (n == commanded) CHECK(world.command_joint({0, DriveKind::torque, 1.25, 0}, ticks) == JointVerdict::applied);
      world.step();
      const double wanted = n < delay ? 0.0 : target.value(static_cast<double>(n - delay) * kStep);
      if (n < commanded + delay) CHECK_WITHIN(effort(world) - wanted, 1e-14);
    }
    for (std::uint32_t n = delay + 60; n < commanded + delay; ++n) world.step();
    if (delay != 1000) continue;
    for (std::uint32_t n = 0; n < ticks; ++n) {
      world.step();
      CHECK_WITHIN(effort(world) - 1.25, 1e-14);
    }
    world.step();
    CHECK_WITHIN(effort(world) - 1.25 * 0.9, 1e-14);  // the ramp comes as late
  }
}

TEST_CASE("drive: before the first target came through a delay, a position drive holds the initial position") {
  Scene scene = slider_scene();
  JointDrive& drive = add_drive(scene, 0, DriveKind::position);
  drive.target.offset = 1;
  drive.delay_ticks = 20;
  finish_model(*scene.model);
  scene.model->joint_q0[0] = 0.25;
  World world = scene.world();
  test::run(world, 20);
  CHECK(q_of(world) == 0.25);
  CHECK(v_of(world) == 0);
  world.step();
  CHECK(v_of(world) > 0);
}

TEST_CASE("drive: effort never exceeds its limit, with every law and with a lag") {
  for (const DriveKind kind : {DriveKind::torque, DriveKind::velocity, DriveKind::position}) {
    for (const double lag : {0.0, 0.02}) {
      CAPTURE(std::string(to_string(kind)));
      CAPTURE(lag);
      Scene scene = slider_scene();
      JointDrive& drive = add_drive(scene, 0, kind);
      drive.target.offset = 50;
      drive.effort_limit = 5;
      drive.lag = lag;
      World world = scene.world();
      for (int n = 1; n <= 100; ++n) {
        world.step();
        const double wanted = lag > 0 ? 5 * (1 - std::exp(-n * kStep / lag)) : 5.0;
        CHECK_WITHIN(effort(world) - wanted, 1e-12);
        CHECK(effort(world) <= 5 + 1e-12);
      }
    }
  }
}

TEST_CASE("drive: no effort pushes on beyond the velocity limit; below it the effort is whole") {
  for (const bool rk4 : {false, true}) {
    for (const DriveKind kind : {DriveKind::torque, DriveKind::velocity, DriveKind::position}) {
      CAPTURE(rk4);
      CAPTURE(std::string(to_string(kind)));
      Scene scene = slider_scene();
      if (rk4) scene.model->integrator = Integrator::rk4;
      scene.model->joints[0].velocity_limit = 0.5;
      add_drive(scene, 0, kind).target.offset = 100;
      World world = scene.world();
      bool whole = true;
      for (int n = 0; n < 1000; ++n) {
        const double before = v_of(world);
        world.step();
        CHECK(v_of(world) <= 0.5 * (1 + 1e-9));
        if (kind == DriveKind::torque && v_of(world) < 0.99 * 0.5)
          whole = whole && std::abs(effort(world) - 100) < 1e-9;
        CHECK(v_of(world) >= before - 1e-9);
      }
      CHECK(whole);
      // Runge-Kutta's stages cannot resolve the fade: they stop short of it by what one tick of full effort gives.
      CHECK(v_of(world) > 0.99 * 0.5 - (rk4 ? 100 / kMass * kStep : 0.0));
    }
  }
}

TEST_CASE("drive: a joint that something else made too fast gets no effort in that direction, all of it against") {
  Scene scene = slider_scene();
  scene.model->joints[0].velocity_limit = 0.5;
  add_drive(scene, 0, DriveKind::torque).target.offset = 10;
  finish_model(*scene.model);
  scene.model->joint_v0[0] = 2;
  World world = scene.world();
  test::run(world, 50);
  CHECK(v_of(world) == 2);
  CHECK(effort(world) == 0);
  REQUIRE(accepted(world.command_joint({0, DriveKind::torque, -10, 0}, 100)));
  test::run(world, 100);
  CHECK_WITHIN(v_of(world) - (2 - 10 / kMass * 0.1), 1e-12);
}

// m q'' = kp (p - q) + kd (p' - q'): q = p (kp + i kd w) / (kp - m w^2 + i kd w). The target that stands still during
// a tick costs up to h w of phase.
TEST_CASE("drive: a position drive follows a sine with the amplitude and phase of its transfer function") {
  for (const double frequency : {0.5, 1.5, 4.0}) {
    CAPTURE(frequency);
    Scene scene = slider_scene();
    add_drive(scene, 0, DriveKind::position).target = {0, 0.2, frequency, 0};
    World world = scene.world();
    const double w = 2 * M_PI * frequency;
    test::run(world, 4000);
    const int ticks = static_cast<int>(std::lround(2 / frequency / kStep));
    std::complex<double> sum = 0;
    for (int n = 0; n < ticks; ++n) {
      world.step();
      sum += q_of(world) * std::exp(std::complex<double>(0, -w * world.state().time)) * (2.0 / ticks);
    }
    const std::complex<double> i(0, 1), target = -0.2 * i;  // sine
    const std::complex<double> wanted = target * (200.0 + 40.0 * w * i) / (200.0 - kMass * w * w + 40.0 * w * i);
    CHECK_WITHIN(std::arg(sum / wanted), w * kStep);
    CHECK_WITHIN(std::abs(sum) / std::abs(wanted) - 1, w * kStep);
  }
}

TEST_CASE("command: acts for its ticks, then ramps to zero within 10 ms, and is said to expire once") {
  Scene scene = slider_scene();  // no drive: any joint of one coordinate takes torques
  World world = scene.world();
  test::run(world, 5);
  REQUIRE(world.command_joint({0, DriveKind::torque, 4, 0}, 20) == JointVerdict::applied);
  int expired = 0;
  for (int n = 0; n < 60; ++n) {
    world.step();
    const double wanted = n < 20 ? 4.0 : std::max(0.0, 4 * (1 - 0.1 * (n - 19)));
    CHECK_WITHIN(effort(world) - wanted, 1e-14);
    if (world.expired_joints().empty()) continue;
    ++expired;
    CHECK(n == 20);
    CHECK(world.expired_joints()[0] == 0);
  }
  CHECK(expired == 1);
}

TEST_CASE("command: what is renewed in time does not end; what is released ends at once and unannounced") {
  Scene scene = slider_scene();
  World world = scene.world();
  for (int n = 0; n < 100; ++n) {
    if (n % 10 == 0) REQUIRE(accepted(world.command_joint({0, DriveKind::torque, 1, 0}, 10)));
    world.step();
    CHECK(effort(world) == 1);
    CHECK(world.expired_joints().empty());
  }
  REQUIRE(accepted(world.command_joint({0, DriveKind::torque, 1, 0}, 100)));
  world.release_joint(0);
  for (int n = 1; n <= 20; ++n) {
    world.step();
    CHECK_WITHIN(effort(world) - std::max(0.0, 1 - 0.1 * n), 1e-14);
    CHECK(world.expired_joints().empty());
  }
}

TEST_CASE("command: after its end each kind comes to rest; a position stays where the joint was") {
  for (const DriveKind kind : {DriveKind::torque, DriveKind::velocity, DriveKind::position}) {
    CAPTURE(std::string(to_string(kind)));
    Scene scene = slider_scene();
    add_drive(scene, 0, DriveKind::position);
    World world = scene.world();
    const double value = kind == DriveKind::torque ? 8.0 : kind == DriveKind::velocity ? 0.5 : 3.0;
    REQUIRE(accepted(world.command_joint({0, kind, value, 0}, 100)));
    test::run(world, 100);
    const double speed = v_of(world), there = q_of(world);
    CHECK(speed > 0.1);
    test::run(world, 3000);
    CHECK_WITHIN(v_of(world), 1e-6);
    CHECK_WITHIN(effort(world), 1e-4);
    if (kind == DriveKind::position) CHECK_WITHIN(q_of(world) - there, 1e-6);
    // Braked by kd alone: m v / kd, besides what the 10 ms of the ramp add.
    if (kind != DriveKind::position) CHECK_WITHIN(q_of(world) - there - kMass * speed / 40, 0.011 * speed);
  }
}

TEST_CASE("command: a refusal is named and changes nothing") {
  Scene scene = slider_scene();
  Model& model = *scene.model;
  const JointIndex follower = add_slider(scene), servo = add_slider(scene);
  model.joints[follower].mimic = 0;
  model.joints[servo].lower = -1, model.joints[servo].upper = 1;
  model.joints[servo].velocity_limit = 2;
  model.joints[0].effort_limit = 7;
  add_drive(scene, servo, DriveKind::position);
  test::add_robot(model, "free");
  const BodyIndex body = test::add_link(model, 1, Mat3::Identity());
  const JointIndex floating = test::add_joint(model, JointKind::floating, kNone, body);
  World world = scene.world();
  test::run(world, 3);
  const std::uint64_t before = world.hash();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(world.command_joint({99, DriveKind::torque, 1, 0}, 5) == JointVerdict::no_joint);
  CHECK(world.command_joint({follower, DriveKind::torque, 1, 0}, 5) == JointVerdict::no_joint);
  CHECK(world.command_joint({floating, DriveKind::torque, 1, 0}, 5) == JointVerdict::no_joint);
  CHECK(world.command_joint({0, DriveKind::position, 0.5, 0}, 5) == JointVerdict::no_gains);
  CHECK(world.command_joint({0, DriveKind::velocity, 0.5, 0}, 5) == JointVerdict::no_gains);
  CHECK(world.command_joint({0, DriveKind::torque, nan, 0}, 5) == JointVerdict::not_a_number);
  CHECK(world.command_joint({servo, DriveKind::position, 0, kInfinity}, 5) == JointVerdict::not_a_number);
  CHECK(world.command_joint({servo, DriveKind::position, 1.01, 0}, 5) == JointVerdict::out_of_range);
  REQUIRE(world.driven_joints(0).size() == 2);
  CHECK(world.driven_joints(1).empty());
  const double three[] = {1, 1, 1}, second_bad[] = {1, nan}, first_good[] = {0.1, 0.1};
  CHECK(world.command_robot(0, DriveKind::torque, three, 5) == JointVerdict::wrong_count);
  CHECK(world.command_robot(0, DriveKind::torque, second_bad, 5) == JointVerdict::not_a_number);
  CHECK(world.command_robot(0, DriveKind::velocity, first_good, 5) == JointVerdict::no_gains);
  CHECK(world.command_robot(1, DriveKind::torque, {}, 5) == JointVerdict::no_joint);
  CHECK(world.command_robot(7, DriveKind::torque, {}, 5) == JointVerdict::no_joint);
  CHECK(world.hash() == before);
  const double high[] = {8, 3};
  CHECK(world.command_robot(0, DriveKind::torque, high, 5) == JointVerdict::clamped);
  world.step();
  CHECK(effort(world, 0) == 7);
  CHECK(effort(world, servo) == 3);
  CHECK(world.command_joint({servo, DriveKind::velocity, 2.5, 0}, 5) == JointVerdict::clamped);
}

TEST_CASE("command: each verdict has a name of its own") {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(JointVerdict::wrong_count); ++i) {
    names.emplace_back(to_string(static_cast<JointVerdict>(i)));
  }
  std::sort(names.begin(), names.end());
  CHECK(std::unique(names.begin(), names.end()) == names.end());
}

TEST_CASE("drive: what was set for a dof acts until a command takes its joint, and again after a restore") {
  Scene scene = slider_scene();
  World world = scene.world();
  world.set_drive(0, {1.5, 0, 0, 0, 0, kInfinity});
  world.step();
  CHECK(effort(world) == 1.5);
  State saved = world.state();
  REQUIRE(accepted(world.command_joint({0, DriveKind::torque, 4, 0}, 3)));
  world.step();
  CHECK(effort(world) == 4);
  REQUIRE(world.restore(saved));
  world.step();
  CHECK(effort(world) == 1.5);
}

TEST_CASE("drive: a run restored in the middle of a delay, a lag, a command and a ramp repeats its bits") {
  Scene scene = slider_scene();
  JointDrive& first = add_drive(scene, 0, DriveKind::torque);
  first.target = {0, 3, 2, 0};
  first.delay_ticks = 25;
  JointDrive& second = add_drive(scene, add_slider(scene), DriveKind::position);
  second.target = {0, 0.3, 3, 1};
  second.lag = 0.03;
  second.delay_ticks = 3;
  World world = scene.world();
  State saved = world.state();
  std::vector<std::uint64_t> hashes;
  const int save_at[] = {50, 63, 75, 82};  // idle, commanded, ramp, at rest
  for (const int at : save_at) {
    world.reset();
    test::run(world, 60);
    if (at < 60) {
      world.reset();
      test::run(world, at);
    } else {
      const double values[] = {1, 0.5};
      REQUIRE(world.command_robot(0, DriveKind::torque, values, 10) == JointVerdict::applied);
      test::run(world, at - 60);
    }
    world.snapshot(saved);
    hashes.clear();
    test::AllocGuard guard;
    const std::uint64_t start = guard.count();
    for (int n = 0; n < 100; ++n) world.step();
    CHECK(guard.count() == start);
    const std::uint64_t end = world.hash();
    State bytes = world.state();
    REQUIRE(world.deserialise(world.serialise(saved), bytes));
    REQUIRE(world.restore(bytes));
    CHECK(world.hash() == state_hash(saved));
    test::run(world, 100);
    CHECK(world.hash() == end);
  }
}

TEST_CASE("drive: memory that no actuator can have is refused, and the world stays as it is") {
  Scene scene = slider_scene();
  add_drive(scene, 0, DriveKind::torque).delay_ticks = 2;
  World world = scene.world();
  test::run(world, 3);
  const std::uint64_t before = world.hash();
  const State good = world.state();
  for (std::size_t i = 0; i < good.actuators.size(); ++i) {
    State bad = good;
    bad.actuators[i] = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(world.restore(bad));
  }
  State bad = good;
  bad.actuators[0] = 17;
  CHECK_FALSE(world.restore(bad));
  bad = good;
  bad.actuators.push_back(0);
  CHECK_FALSE(world.restore(bad));
  CHECK(world.hash() == before);
  CHECK(world.restore(good));
}

}  // namespace tactus
