// The haptic loop over links with delay, jitter and burst loss: seeded runs of presses, holds and releases by hands of
// many kinds. TACTUS_HAPTIC_RUNS=100 makes the tables of tests/bench/results/haptic.md (tests/out/haptic_delay.csv); 4
// runs a row otherwise.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/haptic_rows.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::asked;
using test::sum_up;
using Row = test::LinkRow;
using Summary = test::RunSummary;

std::FILE* table() {
  std::filesystem::create_directories("tests/out");
  static std::FILE* file = [] {
    std::FILE* f = std::fopen("tests/out/haptic_delay.csv", "w");
    if (f != nullptr)
      std::fputs(
          "mode,scene,delay_ms,jitter_ms,loss,runs,motor_over_1mJ,hand_over_1mJ,motor_worst_mJ,hand_worst_mJ,"
          "oscillating,let_go,stiffness_mean,stiffness_least\n",
          f);
    return f;
  }();
  return file;
}

void report(const Row& row, const Summary& s) {
  char text[256];
  std::snprintf(text, sizeof text, "%s,%s,%d,%d,%.2f,%d,%d,%d,%.3f,%.3f,%d,%d,%.0f,%.0f\n", haptic::mode_name(row.mode),
                row.movable ? "block" : "floor", row.delay, row.jitter, row.loss, s.runs, s.motor_over, s.hand_over,
                1e3 * s.motor_worst, 1e3 * s.hand_worst, s.oscillating, s.let_go, s.stiffness_mean, s.stiffness_least);
  if (std::FILE* f = table()) std::fputs(text, f), std::fflush(f);
  MESSAGE(std::string(text));
}

void check_mode(haptic::Mode mode, bool movable) {
  for (const int delay : {0, 1, 5, 20, 50}) {
    for (const bool bad : {false, true}) {
      const Row row{mode, delay, bad ? 5 : 0, bad ? 0.10 : 0.0, movable, 1.0};
      const Summary s = sum_up(row, test::runs_of_a_row(4));
      report(row, s);
      CHECK(s.motor_over == 0);
      CHECK(s.hand_over == 0);
      CHECK(s.oscillating == 0);
      CHECK(s.let_go == 0);
      CHECK(s.stiffness_least >= asked(row));
    }
  }
}

TEST_CASE("local contact model over any link: nothing given out, no oscillation") {
  check_mode(haptic::Mode::local, false);
}
TEST_CASE("local contact model, a block that moves") {
  check_mode(haptic::Mode::local, true);
}
TEST_CASE("wave variables over any link") {
  check_mode(haptic::Mode::wave, false);
}
TEST_CASE("wave variables, a block that moves") {
  check_mode(haptic::Mode::wave, true);
}
TEST_CASE("gains by age over any link") {
  check_mode(haptic::Mode::direct, false);
}
TEST_CASE("gains by age, a block that moves") {
  check_mode(haptic::Mode::direct, true);
}

}  // namespace
}  // namespace tactus
