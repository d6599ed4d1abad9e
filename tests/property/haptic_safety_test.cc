// What must never happen to a hand: a kick when the link is cut, a tool that jumps through a sheet, a force that comes
// back by itself, a force from a reading that cannot be.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>

#include "tests/support/haptic_rig.h"
#include "tests/support/share.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::BallOnFloor;
using test::HapticRig;
using test::RigOptions;

struct Cut {
  double force_at_cut = 0, force_left = 0, slope = 0, beyond_stored = 0;
  bool released = false, resumed = false;
};

// Pushes at nearly full force; the link dies at a random tick, in either or both directions.
Cut cut_at_full_push(haptic::Mode mode, std::uint64_t seed) {
  test::Random random(seed + 1000);
  BallOnFloor ball(0.0);
  World world = ball.scene.world();
  RigOptions o = test::rig_options(ball.ball, random.uniform(0.5, 2.0), mode);
  o.loop.watchdog_s = 0.005;
  o.tool.watchdog_ticks = 5;
  o.hand.stiffness = random.uniform(500, 2000);
  o.hand.damping = seed % 3 == 0 ? 0.0 : random.uniform(1, 10);
  const double depth = random.uniform(0.01, 0.02), speed = random.uniform(0.05, 0.2);
  o.hand.wants = [=](double t) { return test::down_by(std::clamp((t - 0.25) * speed, 0.0, depth)); };
  const int at = 500 + static_cast<int>(random.below(200));
  const std::uint32_t which = random.below(3);
  if (which != 0) o.up.cut_at = at;
  if (which != 1) o.down.cut_at = at;
  o.seed = seed;
  HapticRig rig(world, o);
  rig.run(at);
  Cut out;
  out.force_at_cut = rig.device.acting().force.norm();
  const double stiffness = rig.loop.options().gains.stiffness;
  const double work = rig.device.motor_work(), stored = 0.5 * out.force_at_cut * out.force_at_cut / stiffness;
  double last = out.force_at_cut, at_loss = -1, stored_at_loss = stored;
  for (int k = 0; k < 400; ++k) {
    rig.tick();
    const double force = rig.device.acting().force.norm();
    if (at_loss < 0 && !rig.loop.engaged()) at_loss = k, stored_at_loss = 0.5 * force * force / stiffness;
    if (k > 60) out.slope = std::max(out.slope, force > 0 ? 1e9 : 0.0);
    out.slope = std::max(out.slope, std::abs(force - last));
    if (k == 55 + 2) out.force_left = force;  // two ticks: the cut is felt a tick later on either side
    if (k > 100 && (force > 0 || rig.loop.engaged())) out.resumed = true;
    out.beyond_stored = std::max(out.beyond_stored, rig.device.motor_work() - work - std::max(stored, stored_at_loss));
    last = force;
  }
  out.released = rig.loop.idle() && rig.report().F_T_W.force.isZero(0);
  return out;
}

TEST_CASE("link cut at full push: below 1 % at watchdog + 50 ms, at most 2 N/ms, 1 mJ beyond what was stored") {
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    const int cuts = test::share(mode == haptic::Mode::local ? 1000 : 200);
    Cut worst;
    double least = 1e9, most = 0;
    for (int i = 0; i < cuts; ++i) {
      const Cut c = cut_at_full_push(mode, static_cast<std::uint64_t>(i));
      worst.force_left = std::max(worst.force_left, c.force_left / std::max(c.force_at_cut, 1e-9));
      worst.slope = std::max(worst.slope, c.slope);
      worst.beyond_stored = std::max(worst.beyond_stored, c.beyond_stored);
      worst.resumed = worst.resumed || c.resumed;
      least = std::min(least, c.force_at_cut);
      most = std::max(most, c.force_at_cut);
      REQUIRE(c.released);
    }
    MESSAGE(std::string(haptic::mode_name(mode))
            << ": " << cuts << " cuts at " << least << " to " << most << " N: left " << 100 * worst.force_left
            << " %, slope " << worst.slope << " N/ms, beyond stored " << 1e3 * worst.beyond_stored << " mJ");
    CHECK(least > 1);
    CHECK(worst.force_left < 0.01);
    CHECK(worst.slope <= 2.0 + 1e-9);
    CHECK(worst.beyond_stored <= 1e-3);
    CHECK_FALSE(worst.resumed);
  }
}

// How far below the sheet's middle the tool's centre got; negative: never.
double pushed_through(haptic::Mode mode, double mass, double speed, double tilt, ContactModelKind model) {
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(Vec3(0.1, 0.1, 0.0005)), 1, {test::turned(Vec3::UnitX(), tilt), Vec3::Zero()}, {}, 0,
            BodyMode::fixed);
  const BodyIndex ball = scene.add(make_sphere(0.005), mass, test::at(0, 0, 0.05));
  scene.model->contact_model = model;
  World world = scene.world();
  RigOptions o = test::rig_options(ball, 1.0, mode);
  o.hand.stiffness = 2000;
  o.hand.damping = 20;
  o.hand.wants = [=](double t) { return test::down_by(std::clamp((t - 0.25) * speed, 0.0, 0.065)); };
  o.tool.force_limit = 10;
  o.loop.force_limit = 10;
  HapticRig rig(world, o);
  double deepest = -1;
  const Vec3 n = test::turned(Vec3::UnitX(), tilt) * Vec3::UnitZ();
  const int ticks = 600 + static_cast<int>(65 / speed);  // the hand's way, and a while to press
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    deepest = std::max(deepest, -n.dot(world.state().p_WBcm(ball)));
  }
  return deepest;
}

TEST_CASE("a 1 mm sheet at 10 N, tools of 50 g and more, up to 1 m/s, every mode: never through in 500 tries") {
  test::Random random(5);
  int through = 0, tries = 0;
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
    for (int i = 0; i < test::share(167); ++i, ++tries) {
      const double mass = random.log_uniform(0.05, 1), speed = random.uniform(0.05, 1),
                   tilt = random.uniform(-0.4, 0.4);
      const ContactModelKind model = i % 4 == 3 ? ContactModelKind::lcp : ContactModelKind::penalty;
      const double deepest = pushed_through(mode, mass, speed, tilt, model);
      CAPTURE(std::string(haptic::mode_name(mode)));
      CAPTURE(mass);
      CAPTURE(speed);
      CAPTURE(deepest);
      CHECK(deepest < 0);
      CHECK(deepest > -0.007);  // it did touch
      through += deepest < 0 ? 0 : 1;
    }
  }
  MESSAGE(through << " of " << tries << " went through");
}

TEST_CASE("impossible readings: no force, a reason, and nothing resumes") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::array<Vec3, 3> bad{Vec3(nan, 0, 0), Vec3(1, 0, 0), Vec3(0, 0, 1e30)};
  for (const Vec3& p : bad) {
    BallOnFloor ball(0.0);
    World world = ball.scene.world();
    RigOptions o = test::rig_options(ball.ball, 1.0);
    o.hand.wants = [](double t) { return test::down_by(std::clamp(0.05 * (t - 0.25), 0.0, 0.01)); };
    HapticRig rig(world, o);
    rig.run(700);
    REQUIRE(rig.force.force.norm() > 1);
    haptic::Reading reading;
    reading.X_DH.p = p;
    double last = rig.force.force.norm();
    for (int k = 0; k < 80; ++k) {
      const haptic::Wrench F = rig.loop.step(reading);
      const double now = F.force.norm();
      CHECK(std::isfinite(now));
      CHECK(now <= last + 2.0 + 1e-9);  // no kick: at most the slew limit, upward
      last = now;
      rig.loop.receive(rig.loop.tool());
    }
    CHECK(last == 0);
    CHECK_FALSE(rig.loop.engaged());
    CHECK(rig.loop.reason().size() > 10);
    CHECK((rig.loop.bits() & haptic::kDeviceFault) != 0);
  }
}

TEST_CASE("a loop that stalls for 300 ms lets go, and does not come back by itself") {
  BallOnFloor ball(0.0);
  World world = ball.scene.world();
  RigOptions o = test::rig_options(ball.ball, 1.0);
  o.hand.wants = [](double t) { return test::down_by(std::clamp(0.05 * (t - 0.25), 0.0, 0.01)); };
  HapticRig rig(world, o);
  rig.run(700);
  haptic::Reading reading;
  rig.device.read(reading);
  const haptic::Wrench F = rig.loop.step(reading, 300);
  CHECK(F.force.norm() <= rig.force.force.norm() + 1e-9);
  CHECK_FALSE(rig.loop.engaged());
  rig.run(200);
  CHECK(rig.loop.idle());
  CHECK(rig.force.force.isZero(0));
  rig.loop.engage();
  rig.run(300);
  CHECK(rig.loop.engaged());
}

TEST_CASE("clutch: the device moves freely, the tool stays, and the force starts from zero") {
  BallOnFloor ball(0.0);
  World world = ball.scene.world();
  RigOptions o = test::rig_options(ball.ball, 1.0);
  o.hand.wants = [](double t) { return test::down_by(t < 0.6 ? 0 : std::min(0.05, 0.1 * (t - 0.6))); };
  HapticRig rig(world, o);
  rig.run(500);
  rig.device.set_buttons(1);
  rig.run(700);
  CHECK(rig.force.force.isZero(0));
  CHECK((rig.loop.bits() & haptic::kClutched) != 0);
  CHECK(rig.device.pose().p.z() < -0.04);
  const double tool = rig.report().X_WT.p.z();
  rig.device.set_buttons(0);
  rig.tick();
  CHECK(rig.force.force.norm() < 0.1);
  rig.run(400);
  CHECK_WITHIN(rig.report().X_WT.p.z() - tool, 1e-3);
  CHECK(rig.loop.engaged());
}

}  // namespace
}  // namespace tactus
