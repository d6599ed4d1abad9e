// Time-domain passivity between two ports (Ryu, Artigas & Preusche 2010) in mode `direct`: full gains, energies sent to
// and fro, a damper at the hand and a reference that waits at the tool. Both gates are off, so that what is seen is its
// own: it keeps the ledgers on clean links of up to 2 ms each way, and not beyond.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/haptic_rows.h"

namespace tactus {
namespace {

constexpr int kRuns = 8;

test::LinkRow row_of(int delay, bool bad, bool movable, bool gate) {
  test::LinkRow row{haptic::Mode::direct, delay, bad ? 5 : 0, bad ? 0.10 : 0.0, movable, 1.0};
  row.passivity = true;
  row.gate = gate;
  return row;
}

test::RunSummary told(const test::LinkRow& row) {
  const test::RunSummary s = test::sum_up(row, test::runs_of_a_row(kRuns));
  MESSAGE(std::string(row.movable ? "block, " : "floor, ")
          << row.delay << " ms, jitter " << row.jitter << " ms, loss " << row.loss
          << std::string(row.gate ? ", gates" : "") << ": " << s.motor_over << " / " << s.hand_over << " of " << s.runs
          << " above 1 mJ, worst " << 1e3 * s.motor_worst << " / " << 1e3 * s.hand_worst << " mJ, " << s.oscillating
          << " ring, " << s.stiffness_mean << " N/m in the mean, " << s.stiffness_least << " at least");
  CHECK(s.let_go == 0);
  return s;
}

TEST_CASE("haptic_passivity: clean links to 2 ms each way: by itself, without gates, 1 mJ at neither port, no ring") {
  for (const bool movable : {false, true}) {
    double last = 1e9;
    for (const int delay : {0, 1, 2}) {
      const test::RunSummary s = told(row_of(delay, false, movable, false));
      CHECK(s.motor_over == 0);
      CHECK(s.hand_over == 0);
      CHECK(s.oscillating == 0);
      CHECK(s.stiffness_least > 600);
      CHECK(s.stiffness_mean < 1.02 * last);  // what delay takes comes back from nowhere
      last = s.stiffness_mean;
    }
  }
}

TEST_CASE("haptic_passivity: beyond its limits it gives millijoules by itself; the gates take them") {
  int over = 0;
  for (const test::LinkRow& row : {row_of(5, false, false, false), row_of(20, false, false, false),
                                   row_of(1, true, false, false), row_of(5, true, false, false)}) {
    over += told(row).motor_over;
    test::LinkRow gated = row;
    gated.gate = true;
    const test::RunSummary s = told(gated);
    CHECK(s.motor_over == 0);
    CHECK(s.hand_over == 0);
  }
  CHECK(over > 0);
}

// The limit that the server grants: beyond it the gains go by age, too.
TEST_CASE("haptic_passivity: a link that becomes slower than was granted gets gains by age") {
  for (const int delay : {20, 50}) {
    test::LinkRow row = row_of(delay, false, false, true);
    row.passivity_round_trip = 0.005;
    const test::RunSummary s = told(row);
    CHECK(s.motor_over == 0);
    CHECK(s.hand_over == 0);
    CHECK(s.oscillating == 0);
    test::LinkRow plain = row;
    plain.passivity = false;
    const double by_age = test::sum_up(plain, s.runs).stiffness_mean;
    CHECK(s.stiffness_mean > 0.8 * by_age);
    CHECK(s.stiffness_mean < 1.2 * by_age);
  }
}

}  // namespace
}  // namespace tactus
