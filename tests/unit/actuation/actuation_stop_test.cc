// A joint that is driven into its end: the drive's effort stays within its limit in every tick and model, what the end
// gives is external, and both together are what moves the joint.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/models.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

constexpr double kMass = 2, kStep = 1e-3, kLimit = 30;

// A slider on a rail with an end, no gravity.
World slider(const test::Stepping& stepping, Integrator integrator, std::uint32_t substeps) {
  Scene scene;
  stepping.set(*scene.model);
  scene.model->integrator = integrator;
  scene.model->substeps = substeps;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "slider");
  const BodyIndex b = test::add_link(*scene.model, kMass, Mat3::Identity());
  const JointIndex j = test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
  Joint& joint = scene.model->joints[j];
  joint.lower = -1, joint.upper = 0.2;
  joint.effort_limit = kLimit;
  joint.velocity_limit = 2;
  JointDrive drive;
  drive.joint = j;
  drive.kind = DriveKind::position;
  drive.kp = 4000, drive.kd = 400;
  drive.effort_limit = kLimit;
  scene.model->drives.push_back(drive);
  return scene.world();
}

struct Driven {
  double most_effort = 0, most_external = 0, worst = 0;  // of the balance m dv = h (effort + external) [N]
  double held = 0;                                       // external at last
};

Driven drive(World& world, DriveKind kind, double value, int ticks) {
  Driven out;
  for (int i = 0; i < ticks; ++i) {
    const double before = world.joint_reading(0).v;
    CHECK(world.command_joint({0, kind, value}, 1) <= JointVerdict::clamped);
    world.step();
    const World::JointReading r = world.joint_reading(0);
    out.most_effort = std::max(out.most_effort, std::abs(r.effort));
    out.most_external = std::max(out.most_external, std::abs(r.external_effort));
    out.worst = std::max(out.worst, std::abs(kMass * (r.v - before) / kStep - r.effort - r.external_effort));
    out.held = r.external_effort;
  }
  return out;
}

}  // namespace

TEST_CASE("actuation_stop: against an end the told effort is within its limit and balances with what the end gave") {
  for (const test::Stepping& stepping : test::kAllSteppings) {
    if (stepping.stepper == LcpStepper::exact) continue;  // without robots
    for (const DriveKind kind : {DriveKind::torque, DriveKind::velocity, DriveKind::position}) {
      CAPTURE(stepping.name() + ", " + to_string(kind));
      World world = slider(stepping, Integrator::semi_implicit_euler, 1);
      const double value = kind == DriveKind::torque ? kLimit : kind == DriveKind::velocity ? 2.0 : 0.2;
      const Driven run = drive(world, kind, value, 800);
      CHECK(run.most_effort <= kLimit * (1 + 1e-12));
      CHECK_WITHIN(run.worst, 1e-7);
      if (kind == DriveKind::position) continue;  // its target is the end: it does not push
      CHECK(run.most_external > 2 * kLimit);      // the stop itself, from 2 m/s
      CHECK(run.held == doctest::Approx(-kLimit).epsilon(0.02));
    }
  }
}

TEST_CASE("actuation_stop: substeps and Runge-Kutta tell no effort beyond the limit either") {
  World substeps = slider({ContactModelKind::deepest}, Integrator::semi_implicit_euler, 4);
  const Driven run = drive(substeps, DriveKind::torque, kLimit, 800);
  CHECK(run.most_effort <= kLimit * (1 + 1e-12));
  CHECK_WITHIN(run.worst, 1e-7);
  World stages = slider({ContactModelKind::deepest}, Integrator::rk4, 1);
  CHECK(drive(stages, DriveKind::torque, kLimit, 800).most_effort <= kLimit * (1 + 1e-12));
}

}  // namespace tactus
