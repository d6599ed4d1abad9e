// Sensors of robots and readings of joints, against statics and mechanics.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/actuation/robot_sensors.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

constexpr double kStep = 1e-3;

enum class Law { implicit, explicit_forces, runge_kutta };
constexpr Law kLaws[] = {Law::implicit, Law::explicit_forces, Law::runge_kutta};

void set_law(Scene& scene, Law law) {
  if (law == Law::explicit_forces) scene.model->parameters.gains.law = GainLaw::automatic_explicit;
  if (law == Law::runge_kutta) scene.model->integrator = Integrator::rk4;
}

Mat3 ball_inertia(double mass) {
  return mass * 0.004 * Mat3::Identity();
}

// A sensor of each body's own frame; body b has frame b.
SensorSpec& add_sensor(Scene& scene, SensorKind kind, JointIndex joint, const Pose& X_FS = {}) {
  Model& model = *scene.model;
  model.frames.clear();
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    const Body& body = model.bodies[b];
    model.frames.push_back({body.name, b, {}, body.first_shape, body.shape_count});
  }
  SensorSpec s;
  s.name = "sensor_" + std::to_string(model.sensors.size());
  s.kind = kind;
  s.joint = joint;
  s.frame = model.joints[joint].child;
  s.X_FS = X_FS;
  s.seed = 11 + model.sensors.size();
  model.sensors.push_back(s);
  return model.sensors.back();
}

Vec3 first(const World& world, std::uint32_t i = 0) {
  const auto x = world.sensor_values(i);
  return {x[0], x[1], x[2]};
}
Vec3 second(const World& world, std::uint32_t i = 0) {
  const auto x = world.sensor_values(i);
  return {x[3], x[4], x[5]};
}

// A ball of 0.1 m and 3 kg that slides along z above a floor.
Scene falling_slider(Law law, double height) {
  Scene scene;
  set_law(scene, law);
  scene.add_floor();
  test::add_robot(*scene.model, "faller");
  const BodyIndex b = test::add_link(*scene.model, 3, ball_inertia(3));
  scene.model->bodies[b].shape_count = 1;
  ShapeInstance instance;
  instance.shape = make_sphere(0.1);
  instance.body = b;
  scene.model->shapes.push_back(instance);
  test::add_joint(*scene.model, JointKind::prismatic, kNone, b, test::at(0, 0, height), Vec3::UnitZ());
  return scene;
}

}  // namespace

TEST_CASE("sensor: an IMU at rest reads +g upward in its own axes, before the first step too") {
  Scene scene;
  test::add_robot(*scene.model, "post");
  const BodyIndex b = test::add_link(*scene.model, 1, ball_inertia(1), Vec3(0.1, 0, 0.2));
  test::add_joint(*scene.model, JointKind::fixed, kNone, b, {test::turned(Vec3(1, 2, 0), 0.7), Vec3(1, 2, 3)});
  const Pose X_FS{test::turned(Vec3(3, -1, 1), 2), Vec3(0.3, 0.1, 0)};
  add_sensor(scene, SensorKind::imu, 0, X_FS);
  const Quat q_WS = test::turned(Vec3(1, 2, 0), 0.7) * X_FS.q;
  World world = scene.world();
  for (int n = 0; n < 5; ++n) {
    CHECK_WITHIN(first(world).norm(), 1e-14);
    CHECK_WITHIN((second(world) - q_WS.conjugate() * Vec3(0, 0, kGravity)).norm(), 1e-13);
    world.step();
  }
}

TEST_CASE("sensor: an IMU on a spinning arm reads w^2 r towards the axis and w along it") {
  for (const Law law : kLaws) {
    Scene scene;
    set_law(scene, law);
    scene.set_gravity(Vec3::Zero());
    test::add_robot(*scene.model, "arm");
    const BodyIndex b = test::add_link(*scene.model, 1, ball_inertia(1), Vec3(0.2, 0, 0));
    test::add_joint(*scene.model, JointKind::continuous, kNone, b);
    add_sensor(scene, SensorKind::imu, 0, test::at(0.5, 0, 0));
    finish_model(*scene.model);
    scene.model->joint_v0[0] = 8;
    World world = scene.world();
    test::run(world, 300);
    // A chord instead of the arc: 2 sin(w h / 2) / (w h).
    const double chord = 2 * std::sin(8 * kStep / 2) / (8 * kStep);
    CHECK_WITHIN((first(world) - Vec3(0, 0, 8)).norm(), 1e-9);
    CHECK_WITHIN((second(world) - Vec3(-64 * 0.5 * chord, 0, 0)).norm(), 1e-8);
  }
}

TEST_CASE("sensor: an IMU in free fall reads no force, tumbling or not, at the mass centre") {
  for (const Law law : kLaws) {
    Scene scene;
    set_law(scene, law);
    test::add_robot(*scene.model, "thrown");
    const Mat3 I = Vec3(0.01, 0.02, 0.025).asDiagonal();
    const BodyIndex b = test::add_link(*scene.model, 2, I);
    test::add_joint(*scene.model, JointKind::floating, kNone, b);
    add_sensor(scene, SensorKind::imu, 0);
    finish_model(*scene.model);
    for (int k = 0; k < 6; ++k) scene.model->joint_v0[static_cast<std::size_t>(k)] = 1 + 0.5 * k;
    World world = scene.world();
    for (int n = 0; n < 200; ++n) {
      world.step();
      CHECK_WITHIN(second(world).norm(), 1e-9);
    }
  }
}

TEST_CASE("sensor: a force sensor reads the weight that hangs below it and its moment, and not what is pushed") {
  for (const Law law : kLaws) {
    Scene scene;
    set_law(scene, law);
    Model& model = *scene.model;
    test::add_robot(model, "crane");
    const BodyIndex mast = test::add_link(model, 5, ball_inertia(5));
    const BodyIndex hook = test::add_link(model, 1, ball_inertia(1), Vec3(0.1, 0, 0));
    const BodyIndex load = test::add_link(model, 3, ball_inertia(3), Vec3(0, 0.2, 0));
    test::add_joint(model, JointKind::fixed, kNone, mast);
    const JointIndex wrist = test::add_joint(model, JointKind::fixed, mast, hook, test::at(1, 0, 0));
    test::add_joint(model, JointKind::fixed, hook, load, test::at(0.5, 0, 0));
    const Quat q_FS = test::turned(Vec3(1, 1, 3), 1);
    add_sensor(scene, SensorKind::force_torque, wrist, {q_FS, Vec3(0.05, 0, 0)});
    World world = scene.world();
    test::run(world, 5);
    const Vec3 up(0, 0, kGravity);
    const Vec3 arm_hook(0.05, 0, 0), arm_load(0.45, 0.2, 0);
    const Vec3 moment = arm_hook.cross(1 * up) + arm_load.cross(3 * up);
    CHECK_WITHIN((q_FS * first(world) - 4 * up).norm(), 1e-11);
    CHECK_WITHIN((q_FS * second(world) - moment).norm(), 1e-11);
    const Vec3 push(3, -2, 5), twist(0.5, 1, -2);
    world.apply(load, {twist, push});
    world.step();
    CHECK_WITHIN((q_FS * first(world) - (4 * up - push)).norm(), 1e-11);
    CHECK_WITHIN((q_FS * second(world) - (moment - twist - arm_load.cross(push))).norm(), 1e-11);
    CHECK(world.sensor_values(0).size() == 6);
  }
}

TEST_CASE("sensor: a force sensor reads m a of a load that is accelerated, and m w^2 r of one that is swung") {
  for (const Law law : kLaws) {
    Scene scene;
    set_law(scene, law);
    scene.set_gravity(Vec3::Zero());
    Model& model = *scene.model;
    test::add_robot(model, "cart");
    const BodyIndex cart = test::add_link(model, 5, ball_inertia(5)), load = test::add_link(model, 3, ball_inertia(3));
    test::add_joint(model, JointKind::prismatic, kNone, cart, {}, Vec3::UnitX());
    const JointIndex mount = test::add_joint(model, JointKind::fixed, cart, load, test::at(0, 0, 0.5));
    test::add_robot(model, "sling");
    const BodyIndex stone = test::add_link(model, 2, ball_inertia(2), Vec3(0.7, 0, 0));
    const JointIndex axle = test::add_joint(model, JointKind::continuous, kNone, stone);
    add_sensor(scene, SensorKind::force_torque, mount);
    add_sensor(scene, SensorKind::force_torque, axle);
    finish_model(model);
    model.joint_v0[1] = 4;
    World world = scene.world();
    for (int n = 0; n < 50; ++n) {
      REQUIRE(accepted(world.command_joint({0, DriveKind::torque, 16, 0}, 2)));
      world.step();
      CHECK_WITHIN((first(world, 0) - Vec3(3 * 16.0 / 8, 0, 0)).norm(), 1e-9);
      CHECK_WITHIN(second(world, 0).norm(), 1e-9);
      // In the axes of the tick's end, half a tick's turn after the mean.
      CHECK_WITHIN((first(world, 1) - Vec3(-2 * 16 * 0.7, 0, 0)).norm(), 2 * 16 * 0.7 * 4 * kStep);
      CHECK_WITHIN(first(world, 1).norm() - 2 * 16 * 0.7, 1e-3);
      CHECK_WITHIN(second(world, 1).norm(), 1e-6);
    }
  }
}

// What the floor gives less the weight is what changes the momentum, at each tick, the strike included; the slider's
// joint carries nothing along its axis all the time.
TEST_CASE("sensor: contact reads the impulse of a strike and then m g; the joint above carries none of it") {
  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Scene scene = falling_slider(law, 0.13);
    add_sensor(scene, SensorKind::contact, 0);
    add_sensor(scene, SensorKind::force_torque, 0);
    World world = scene.world();
    double sum = 0;
    for (int n = 0; n < 1500; ++n) {
      world.step();
      sum += kStep * (first(world, 0).z() - 3 * kGravity);
      CHECK_WITHIN((first(world, 1)).norm(), 1e-8);
      CHECK_WITHIN(world.joint_reading(0).external_effort - first(world, 0).z(), 1e-8);
      if (law != Law::runge_kutta) CHECK_WITHIN(3 * world.joint_reading(0).v - sum, 1e-9);
    }
    CHECK_WITHIN((first(world, 0) - Vec3(0, 0, 3 * kGravity)).norm(), 3e-3);
  }
}

TEST_CASE("sensor: simultaneous impacts are felt as sequential ones are") {
  for (const bool together : {false, true}) {
    CAPTURE(together);
    Scene scene = falling_slider(Law::implicit, 0.13);
    if (together) scene.model->parameters.impacts = Impacts::simultaneous;
    add_sensor(scene, SensorKind::contact, 0);
    World world = scene.world();
    double sum = 0;
    for (int n = 0; n < 300; ++n) {
      world.step();
      sum += kStep * (first(world, 0).z() - 3 * kGravity);
      CHECK_WITHIN(3 * world.joint_reading(0).v - sum, 1e-9);
    }
  }
}

TEST_CASE("reading: the external effort is J^T F of what is applied, and balances gravity where a joint rests") {
  Scene scene;
  scene.add_floor();
  Model& model = *scene.model;
  test::add_robot(model, "flail");
  const BodyIndex b = test::add_link(model, 2, ball_inertia(2), Vec3(0.8, 0, 0));
  model.bodies[b].shape_count = 1;
  ShapeInstance instance;
  instance.shape = make_sphere(0.1);
  instance.body = b;
  model.shapes.push_back(instance);
  test::add_joint(model, JointKind::revolute, kNone, b, test::at(0, 0, 0.1), Vec3(0, -1, 0));
  World world = scene.world();
  test::run(world, 2000);
  CHECK_WITHIN(world.joint_reading(0).v, 1e-6);
  CHECK_WITHIN(world.joint_reading(0).external_effort - 2 * kGravity * 0.8, 1e-4);
  CHECK(world.joint_reading(0).external_effort == world.external_effort(0));
  State lifted = world.state();
  lifted.joint_q[0] = 0.5;
  lifted.joint_v[0] = 0;
  REQUIRE(world.restore(lifted));
  CHECK(world.external_effort(0) == 0);
  const SpatialForce F{Vec3(0.3, -0.5, 1), Vec3(2, 3, -4)};  // the arm turns by -q about y
  world.apply(b, F);
  world.step();
  const double q = world.joint_reading(0).q;
  const Vec3 lever = 0.8 * Vec3(std::cos(q), 0, std::sin(q));
  CHECK_WITHIN(world.external_effort(0) + (lever.cross(F.force) + F.torque).y(), 0.8 * 5 * 1e-3);
}

TEST_CASE("sensor: an encoder reads the nearest step of its resolution; a mimic its own angle; bias is added") {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  Model& model = *scene.model;
  test::add_robot(model, "two");
  const BodyIndex a = test::add_link(model, 1, ball_inertia(1)), b = test::add_link(model, 1, ball_inertia(1));
  test::add_joint(model, JointKind::continuous, kNone, a);
  test::add_joint(model, JointKind::continuous, kNone, b);
  model.joints[1].mimic = 0;
  model.joints[1].multiplier = -2;
  model.joints[1].offset = 0.3;
  add_sensor(scene, SensorKind::encoder, 0).resolution = 0.01;
  add_sensor(scene, SensorKind::encoder, 1);
  SensorSpec& biased = add_sensor(scene, SensorKind::encoder, 0);
  biased.linear_bias.x() = 0.5;
  biased.angular_bias.x() = -0.25;
  finish_model(model);
  model.joint_v0[0] = 1.7;
  World world = scene.world();
  for (int n = 0; n < 200; ++n) {
    const double q = world.joint_reading(0).q, v = world.joint_reading(0).v;
    const auto coarse = world.sensor_values(0), mimic = world.sensor_values(1), off = world.sensor_values(2);
    CHECK_WITHIN(coarse[0] - q, 0.005 + 1e-12);
    CHECK_WITHIN(coarse[0] / 0.01 - std::round(coarse[0] / 0.01), 1e-9);
    CHECK(coarse[1] == v);
    CHECK_WITHIN(mimic[0] - (0.3 - 2 * q), 1e-14);
    CHECK_WITHIN(mimic[1] + 2 * v, 1e-14);
    CHECK(world.joint_reading(1).q == mimic[0]);
    CHECK_WITHIN(off[0] - q - 0.5, 1e-14);
    CHECK_WITHIN(off[1] - v + 0.25, 1e-14);
    world.step();
  }
}

// Bounds of five standard deviations of each estimate.
TEST_CASE("noise: normal in its moments and tails, independent along ticks, values and seeds") {
  constexpr int n = 100000;
  double sum = 0, square = 0, fourth = 0, next_tick = 0, next_value = 0, next_seed = 0;
  int beyond[4] = {0, 0, 0, 0};
  for (int k = 0; k < n; ++k) {
    const auto tick = static_cast<std::uint64_t>(k);
    const double x = counter_gauss(5, tick, 0);
    sum += x, square += x * x, fourth += x * x * x * x;
    next_tick += x * counter_gauss(5, tick + 1, 0);
    next_value += x * counter_gauss(5, tick, 1);
    next_seed += x * counter_gauss(6, tick, 0);
    for (int s = 1; s < 4; ++s) beyond[s] += std::abs(x) > s ? 1 : 0;
  }
  const double root = std::sqrt(static_cast<double>(n));
  CHECK_WITHIN(sum / n, 5 / root);
  CHECK_WITHIN(square / n - 1, 5 * std::sqrt(2.0) / root);
  CHECK_WITHIN(fourth / n - 3, 5 * std::sqrt(96.0) / root);
  CHECK_WITHIN(next_tick / n, 5 / root);
  CHECK_WITHIN(next_value / n, 5 / root);
  CHECK_WITHIN(next_seed / n, 5 / root);
  for (int s = 1; s < 4; ++s) {
    const double p = std::erfc(s / std::sqrt(2.0));
    CHECK_WITHIN(beyond[s] / static_cast<double>(n) - p, 5 * std::sqrt(p * (1 - p) / n));
  }
}

TEST_CASE("noise: of the stated size in readings; a restored run repeats it; readings allocate nothing") {
  Scene scene;
  Model& model = *scene.model;
  test::add_robot(model, "post");
  const BodyIndex b = test::add_link(model, 1, ball_inertia(1));
  test::add_joint(model, JointKind::fixed, kNone, b);
  SensorSpec& imu = add_sensor(scene, SensorKind::imu, 0);
  imu.angular_noise = 0.01, imu.linear_noise = 0.2;
  imu.linear_bias = Vec3(1, 2, 3);
  SensorSpec& wrist = add_sensor(scene, SensorKind::force_torque, 0);
  wrist.linear_noise = 0.5, wrist.angular_noise = 0.05;
  World world = scene.world();
  test::run(world, 10);
  State saved = world.state();
  constexpr int n = 5000;
  std::vector<double> seen(n * 12), again(n * 12);
  const auto record = [&](std::vector<double>& out) {
    for (int k = 0; k < n; ++k) {
      world.step();
      for (std::uint32_t i = 0; i < 2; ++i) {
        const auto x = world.sensor_values(i);
        std::copy(x.begin(), x.end(), out.begin() + 12 * k + 6 * static_cast<int>(i));
      }
    }
  };
  {
    test::AllocGuard guard;
    record(seen);
    CHECK(guard.count() == 0);
  }
  REQUIRE(world.restore(saved));
  record(again);
  CHECK(seen == again);
  const double mean[12] = {0, 0, 0, 1, 2, 3 + kGravity, 0, 0, kGravity, 0, 0, 0};
  for (int c = 0; c < 12; ++c) {
    CAPTURE(c);
    const double sigma = c < 3 ? 0.01 : c < 6 ? 0.2 : c < 9 ? 0.5 : 0.05;
    double sum = 0, square = 0;
    for (int k = 0; k < n; ++k) {
      const double x = seen[static_cast<std::size_t>(12 * k + c)] - mean[c];
      sum += x, square += x * x;
    }
    CHECK_WITHIN(sum / n, 5 * sigma / std::sqrt(static_cast<double>(n)));
    CHECK_WITHIN(square / n / (sigma * sigma) - 1, 5 * std::sqrt(2.0 / n));
  }
}

}  // namespace tactus
