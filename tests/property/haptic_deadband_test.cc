// The deadband codec in the loop, both directions: what is saved, what it costs, and that the hand gets no energy for
// it.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/haptic_runs.h"
#include "tests/support/share.h"

namespace tactus {
namespace {

struct Saving {
  double up = 0, down = 0, error = 0, stiffness = 0;
  test::HapticResult result;
};

Saving run(haptic::Mode mode, double share, int delay, std::uint64_t seed) {
  test::Random random(seed * 7919 + 17);
  test::BallOnFloor ball(0.005);
  World world = ball.scene.world();
  test::RigOptions o = test::rig_options(ball.ball, 1.0, mode);
  double end = 0;
  o.hand = test::random_hand(random, seed, end);
  o.mechanism.coulomb = 0.05;
  o.deadband = o.loop.deadband = share;
  o.tool.predict_ticks = wire::DeadbandOptions{}.heartbeat;
  o.loop.watchdog_s = 0.1 + 2e-3 * delay;
  o.tool.watchdog_ticks = static_cast<std::uint32_t>(100 + 2 * delay);
  o.up = o.down = {delay, 0, 0, 5, -1};
  test::HapticRig rig(world, o);
  test::Meter meter;
  std::vector<double> forces;
  const int ticks = static_cast<int>(1000 * end);
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    meter.look(rig, 2e-3 * delay);
    if (k >= ticks - 1000) forces.push_back(rig.device.acting().force.z());
  }
  Saving out;
  out.result = meter.out;
  out.result.oscillates = test::sustained(forces);
  out.result.engaged = rig.loop.engaged();
  out.up = rig.device_band.count().saved();
  out.down = rig.tool_band.count().saved();
  out.error = std::max(rig.device_band.count().error_max, rig.tool_band.count().error_max);
  return out;
}

TEST_CASE(
    "deadband 10 %: 85 % fewer packets on the mean, no error above the band, ledger 0, at most 5 % of 50 runs ring") {
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct}) {
    for (const int delay : {0, 5}) {
      constexpr int kRuns = test::share(50);
      double up = 0, down = 0, error = 0, motor = 0, hand = 0;
      int ringing = 0, over = 0;
      for (int i = 0; i < kRuns; ++i) {
        const Saving s = run(mode, 0.1, delay, static_cast<std::uint64_t>(i) + 1);
        up += s.up / kRuns;
        down += s.down / kRuns;
        error = std::max(error, s.error);
        motor = std::max(motor, s.result.motor_out);
        hand = std::max(hand, s.result.hand_out);
        over += s.result.motor_out > 1e-3 || s.result.hand_out > 1e-3 ? 1 : 0;
        ringing += s.result.oscillates ? 1 : 0;
        CHECK(s.result.engaged);
      }
      MESSAGE(std::string(haptic::mode_name(mode))
              << ", " << delay << " ms: saved " << 100 * up << " % up, " << 100 * down << " % down, error " << error
              << " bands, motor " << 1e3 * motor << " mJ, hand " << 1e3 * hand << " mJ, ringing " << ringing);
      CHECK(0.5 * (up + down) >= 0.85);
      CHECK(error <= 1);
      CHECK(over == 0);
      CHECK(ringing <= 2);
    }
  }
}

}  // namespace
}  // namespace tactus
