// Drives and sensors in steps of several ticks: what is counted in ticks stays what it is in seconds.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "server/solver/model_rates.h"
#include "server/solver/slow_ticker.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

constexpr double kTick = 1e-3, kMass = 2;
constexpr std::uint32_t kTicks = 10;

// A slider along x without gravity, with a drive: a model that worlds of different steps share.
std::shared_ptr<Model> slider(DriveKind kind, std::uint32_t delay_ticks, double lag) {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "slider");
  const BodyIndex b = test::add_link(*scene.model, kMass, Mat3::Identity());
  JointDrive drive;
  drive.joint = test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
  drive.kind = kind;
  drive.kd = kind == DriveKind::torque ? 0 : 40;
  drive.kp = kind == DriveKind::position ? 200 : 0;
  drive.delay_ticks = delay_ticks;
  drive.lag = lag;
  scene.model->drives.push_back(drive);
  scene.model->step = kTick;
  scene.model->contact_model = ContactModelKind::st;
  finish_model(*scene.model);
  return std::shared_ptr<Model>(std::move(scene.model));
}

// The same model in steps of one tick and of ten; `at_tick` commands both before the steps that begin there.
template <typename Command>
void hold_against_ticks(std::shared_ptr<Model> model, std::uint32_t ticks, double epsilon, Command&& command) {
  const Limits limits = Scene().limits;
  World fine(model, limits, 1), coarse(model, limits, kTicks);
  for (std::uint32_t n = 0; n < ticks; n += kTicks) {
    command(fine, n);
    command(coarse, n);
    for (std::uint32_t k = 0; k < kTicks; ++k) fine.step();
    coarse.step();
    REQUIRE(coarse.state().tick == fine.state().tick);
    CHECK_WITHIN(coarse.state().joint_v[0] - fine.state().joint_v[0], epsilon);
  }
}

// A hinge about its link's mass centre with a torque drive, under a model at one tick a step (penalty) or at ten,
// commanded in each tick.
struct Hinge {
  std::unique_ptr<World> world;
  std::unique_ptr<SlowSolver> solver;
  SlowTicker ticker{4, 16};

  Hinge(ContactModelKind kind, double inertia, double damping) {
    Scene scene;
    scene.set_gravity(Vec3::Zero());
    test::add_robot(*scene.model, "hinge");
    const BodyIndex b = test::add_link(*scene.model, kMass, inertia * Mat3::Identity());
    JointDrive drive;
    drive.joint = test::add_joint(*scene.model, JointKind::continuous, kNone, b);
    scene.model->joints[drive.joint].damping = damping;
    drive.kind = DriveKind::torque;
    scene.model->drives.push_back(drive);
    scene.model->step = kTick;
    finish_model(*scene.model);
    world = std::make_unique<World>(std::shared_ptr<Model>(std::move(scene.model)), scene.limits, 1);
    if (kind == ContactModelKind::penalty) return;
    solver =
        std::make_unique<SlowSolver>(make_solver_world(world->shared_model(), world->limits(), kind, kTicks), kind, 16);
    world->yield_to(kind);
    ticker.exchange(solver.get(), *world);
  }
  void tick(double torque) {
    CHECK(world->command_joint({0, DriveKind::torque, torque, 0}, 1) == JointVerdict::applied);
    ticker.step(*world, Meet::wait, Meet::wait, true);
  }
};

}  // namespace

TEST_CASE("slow drives: a torque of the scene comes as late, behind a delay and a lag, as at one tick a step") {
  for (const std::uint32_t delay : {0u, 1u, 7u, 10u, 25u, 1000u}) {
    for (const double lag : {0.0, 0.004, 0.05}) {
      CAPTURE(delay);
      CAPTURE(lag);
      auto model = slider(DriveKind::torque, delay, lag);
      model->drives[0].target = {0.5, 2, 11, 0.3};
      hold_against_ticks(model, delay + 200, 1e-13, [](World&, std::uint32_t) {});
    }
  }
}

TEST_CASE("slow drives: a torque commanded for n ticks gives n ticks' impulse and its ramp's, whatever the step") {
  for (const std::uint32_t delay : {0u, 4u, 33u}) {
    for (const std::uint32_t deadline : {1u, 3u, 10u, 17u}) {
      CAPTURE(delay);
      CAPTURE(deadline);
      auto model = slider(DriveKind::torque, delay, 0);
      hold_against_ticks(model, 150, 1e-13, [&](World& world, std::uint32_t n) {
        if (n == 20) CHECK(world.command_joint({0, DriveKind::torque, 5, 0}, deadline) == JointVerdict::applied);
      });
      World world(model, Scene().limits, kTicks);
      world.command_joint({0, DriveKind::torque, 5, 0}, deadline);
      for (int n = 0; n < 15; ++n) world.step();
      double impulse = deadline * 5 * kTick;
      for (int k = 1; k < 10; ++k) impulse += 5 * kTick * (1 - k / 10.0);
      CHECK_WITHIN(kMass * world.state().joint_v[0] - impulse, 1e-13);
    }
  }
}

TEST_CASE("slow drives: a position drive follows a target that runs as the law at the end of the step says") {
  // (m + h kd + h^2 kp) v' = m v + h kp (p - q) + h kd r; the target's last tick of the step counts.
  auto model = slider(DriveKind::position, 12, 0);
  model->drives[0].target = {0, 0.1, 2, 0};
  const DriveTarget target = model->drives[0].target;
  World world(model, Scene().limits, kTicks);
  const double h = kTicks * kTick;
  double q = 0, v = 0;
  for (int n = 0; n < 100; ++n) {
    const double t = (n * 10.0 + 9 - 12) * kTick, p = t < 0 ? 0 : target.value(t), r = t < 0 ? 0 : target.rate(t);
    v = (kMass * v + h * (200 * (p - q) + 40 * r)) / (kMass + h * 40 + h * h * 200);
    q += h * v;
    world.step();
    CHECK_WITHIN(world.state().joint_q[0] - q, 1e-12);
    CHECK_WITHIN(world.state().joint_v[0] - v, 1e-11);
  }
}

TEST_CASE("slow drives: a whole state of a robot under a slow model is copied without allocating, also amid a step") {
  auto model = slider(DriveKind::position, 3, 0);
  model->drives[0].target = {0, 0.1, 2, 0};
  World world(model, Scene().limits, 1);
  SlowSolver solver(make_solver_world(world.shared_model(), world.limits(), ContactModelKind::st, kTicks),
                    ContactModelKind::st, 16);
  SlowTicker ticker(static_cast<std::uint32_t>(world.model().bodies.size()), 16);
  world.yield_to(ContactModelKind::st);
  REQUIRE(ticker.exchange(&solver, world) == nullptr);
  State state = world.state();
  SlowMemory memory;
  SlowTicker::resize_memory(world, kTicks, memory);
  int amid = 0;
  for (int n = 0; n < 35; ++n) {
    ticker.step(world, Meet::ready, Meet::ready, true);
    bool saved = false;
    {
      const test::AllocGuard guard;
      world.snapshot(state);
      saved = ticker.save(world, memory);
      if (test::AllocGuard::available()) CHECK(guard.count() == 0);
    }
    CHECK(saved);
    CHECK(state_hash(state) == world.hash());
    amid += memory.begun && n % 10 != 9 ? 1 : 0;
    solver.solve_here();
  }
  CHECK(amid > 20);
  ticker.exchange(nullptr, world);
}

TEST_CASE("slow drives: a step asked for commands tick by tick takes these, and leaves its own channels alone") {
  auto model = slider(DriveKind::torque, 3, 0);
  World world(model, Scene().limits, kTicks);
  std::vector<JointChannels::Output> rows(world.driven_joint_count() * kTicks);
  double impulse = 0;
  for (std::uint32_t step = 0; step < 5; ++step) {
    for (std::uint32_t k = 0; k < kTicks; ++k) {
      const double torque = step < 4 && k % 4 == 1 ? 1.0 + k : 0.0;
      rows[k].active = true;
      rows[k].setpoint = {static_cast<double>(DriveKind::torque), torque, 0, 0};
      impulse += torque * kTick;
    }
    const test::AllocGuard guard;
    world.set_joint_commands(rows);
    world.step();
    if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  }
  CHECK_WITHIN(kMass * world.state().joint_v[0] - impulse, 1e-13);
  world.command_joint({0, DriveKind::torque, 7, 0}, 100);  // still works, now that no rows are given
  world.step();
  CHECK_WITHIN(kMass * world.state().joint_v[0] - impulse - 7 * 7 * kTick, 1e-13);
}

TEST_CASE(
    "slow drives: pulses of torque are all in the momentum, w = integral / I, and damping takes d times the turn, "
    "under every model") {
  // No velocity limit: one cuts the effort of ticks in which the rate comes near it, where a step's mean may not.
  constexpr double kInertia = 0.004;
  for (const double damping : {0.0, 0.1}) {
    for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::lcp, ContactModelKind::st,
                                        ContactModelKind::ap, ContactModelKind::lnc, ContactModelKind::peg}) {
      CAPTURE(damping);
      CAPTURE(std::string(to_string(kind)));
      Hinge hinge(kind, kInertia, damping);
      double impulse = 0;
      const auto tick = [&](double torque) {
        impulse += torque * kTick;
        hinge.tick(torque);
      };
      for (int n = 0; n < 100; ++n) tick(n % 7 < 3 ? 0.5 + 0.1 * (n % 5) : 0.0);
      for (int n = 0; n < 30; ++n) tick(0);
      const double rate = hinge.world->state().joint_v[0], turn = hinge.world->state().joint_q[0];
      if (damping == 0) {
        CHECK_WITHIN(kInertia * rate - impulse, 1e-14);
        continue;
      }
      // What is left of the rate depends on when it is looked at: a slow model's pulses come up to two steps later, and
      // it damps by implicit steps of their length.
      CHECK(rate > 0);
      CHECK(rate < impulse / kInertia);
      for (int n = 0; n < 2000; ++n) tick(0);
      CHECK_WITHIN(damping * hinge.world->state().joint_q[0] - impulse, 1e-10);
      CHECK(turn < hinge.world->state().joint_q[0]);
    }
  }
}

TEST_CASE(
    "slow sensors: a mast's force sensor carries its weight, an IMU feels gravity at rest and nothing in free fall") {
  for (const std::uint32_t ticks : {1u, kTicks}) {
    for (const bool falls : {false, true}) {
      CAPTURE(ticks);
      CAPTURE(falls);
      Scene scene;
      test::add_robot(*scene.model, "mast");
      const BodyIndex b = test::add_link(*scene.model, 3, 0.01 * Mat3::Identity(), Vec3(0, 0, 0.2));
      const JointIndex j = test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitZ());
      if (!falls) scene.model->joints[j].lower = 0, scene.model->joints[j].upper = 1;
      scene.model->frames.push_back({scene.model->bodies[b].name, b, {}, 0, 0});
      for (const SensorKind kind : {SensorKind::force_torque, SensorKind::imu, SensorKind::encoder}) {
        SensorSpec s;
        s.kind = kind;
        s.joint = 0, s.frame = 0;
        scene.model->sensors.push_back(s);
      }
      scene.model->step = kTick;
      scene.model->contact_model = ContactModelKind::st;
      finish_model(*scene.model);
      World world(std::shared_ptr<Model>(std::move(scene.model)), scene.limits, ticks);
      for (int n = 0; n < 20; ++n) world.step();
      const double carried = falls ? 0 : 3 * kGravity, felt = falls ? 0 : kGravity;
      CHECK_WITHIN(world.sensor_values(0)[2] - carried, 1e-9);
      CHECK_WITHIN(world.sensor_values(1)[5] - felt, 1e-9);
      CHECK(world.sensor_values(2)[0] == world.state().joint_q[0]);
    }
  }
}

TEST_CASE("slow sensors: st's contact sensor reads the weight that a link leaves on the floor") {
  Scene scene;
  scene.add_floor();
  test::add_robot(*scene.model, "block");
  const BodyIndex b = test::add_link(*scene.model, 2, 0.01 * Mat3::Identity());
  scene.model->bodies[b].shape_count = 1;
  ShapeInstance instance;
  instance.shape = make_box(Vec3::Constant(0.1));
  instance.body = b;
  scene.model->shapes.push_back(instance);
  test::add_joint(*scene.model, JointKind::floating, kNone, b);
  scene.model->frames.push_back({scene.model->bodies[b].name, b, {}, scene.model->bodies[b].first_shape, 1});
  SensorSpec s;
  s.kind = SensorKind::contact;
  s.frame = 0;
  scene.model->sensors.push_back(s);
  scene.model->step = kTick;
  scene.model->contact_model = ContactModelKind::st;
  finish_model(*scene.model);
  scene.model->joint_q0 = {0, 0, 0.1, 1, 0, 0, 0};
  World world(std::shared_ptr<Model>(std::move(scene.model)), scene.limits, kTicks);
  for (int n = 0; n < 20; ++n) world.step();
  CHECK_WITHIN(world.sensor_values(0)[2] - 2 * kGravity, 1e-9);
  CHECK_WITHIN(world.external_effort(2) - 2 * kGravity, 1e-9);
}

}  // namespace tactus
