// The deadband codec in the loop, both directions: what is saved, what it costs, and that the hand gets no energy for
// it.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/haptic_cases.h"
#include "tests/support/share.h"

namespace tactus {
namespace {

void check(haptic::Mode mode, int delay, std::uint32_t watchdog) {
  constexpr int kRuns = test::share(50);
  double up = 0, down = 0, error = 0, motor = 0, hand = 0;
  int ringing = 0, over = 0;
  for (int i = 0; i < kRuns; ++i) {
    const test::Saving s = test::deadband_run(mode, 0.1, delay, static_cast<std::uint64_t>(i) + 1, watchdog);
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
          << ", " << delay << " ms, watchdog " << watchdog << " ms: saved " << 100 * up << " % up, " << 100 * down
          << " % down, error " << error << " bands, motor " << 1e3 * motor << " mJ, hand " << 1e3 * hand
          << " mJ, ringing " << ringing);
  CHECK(up >= 0.85);
  CHECK(down >= 0.85);
  CHECK(error <= 1);
  CHECK(over == 0);
  CHECK(ringing <= 2);
}

// 40 ms: what the server grants where a client names no watchdog; heartbeats each 16 ms.
TEST_CASE(
    "deadband 10 %: 85 % fewer packets on the mean, no error above the band, ledger 0, at most 5 % of 50 runs ring") {
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct}) {
    for (const int delay : {0, 5}) check(mode, delay, 100);
    check(mode, 0, 40);
  }
}

}  // namespace
}  // namespace tactus
