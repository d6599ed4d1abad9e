// What must never happen to a hand: a kick when the link is cut, a tool that jumps through a sheet, a force that comes
// back by itself, a force from a reading that cannot be.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>

#include "tests/support/haptic_cases.h"
#include "tests/support/share.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::BallOnFloor;
using test::Cut;
using test::cut_at_full_push;
using test::HapticRig;
using test::pushed_through;
using test::RigOptions;

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
