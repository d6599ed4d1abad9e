// The haptic loop over links with delay, jitter and burst loss: seeded runs of presses, holds and releases by hands of
// many kinds. TACTUS_HAPTIC_RUNS=100 makes the table of the README (tests/out/haptic_delay.csv); 4 runs a row
// otherwise.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/haptic_runs.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::HapticRig;
using test::Meter;
using test::random_hand;
using Result = test::HapticResult;
using test::RigOptions;

int runs_of_a_row() {
  const char* text = std::getenv("TACTUS_HAPTIC_RUNS");
  return text != nullptr ? std::atoi(text) : 4;
}

struct Row {
  haptic::Mode mode = haptic::Mode::local;
  int delay = 0, jitter = 0;  // one way [ms]
  double loss = 0;
  bool movable = false;  // a 1 kg block on the floor instead of the floor
  double damping = 1;
};

Result run(const Row& row, std::uint64_t seed) {
  test::Random random(seed * 7919 + 17);
  test::Scene scene;
  double top = 0;
  scene.add_floor();
  if (row.movable) {
    scene.add(make_box(Vec3(0.05, 0.05, 0.02)), 1, test::at(0, 0, 0.02));
    top = 0.04;
  }
  const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, top + 0.015));
  World world = scene.world();
  RigOptions o = test::rig_options(ball, row.damping, row.mode);
  double end = 0;
  o.hand = random_hand(random, seed, end);
  o.up = o.down = {row.delay, row.jitter, row.loss, 5, -1};
  o.seed = seed;
  const double patience = 1e-3 * (2 * (row.delay + row.jitter) + 60);
  o.loop.watchdog_s = patience;
  o.tool.watchdog_ticks = static_cast<std::uint32_t>(1000 * patience);
  HapticRig rig(world, o);
  Meter meter;
  std::vector<double> forces;
  double pressed = 0, force = 0;  // of the reference beyond where the tool rests; means over the last 0.3 s
  const int ticks = static_cast<int>(1000 * end);
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    meter.look(rig, 2e-3 * (row.delay + row.jitter));
    if (k >= ticks - 1000) forces.push_back(rig.device.acting().force.z());
    if (k >= ticks - 300) pressed += top + 0.01 - rig.loop.message().X_WR.p.z();
    if (k >= ticks - 300) force += rig.device.acting().force.z();
  }
  meter.out.stiffness = pressed > 0 ? force / pressed : 0;
  meter.out.oscillates = test::sustained(forces);
  meter.out.engaged = rig.loop.engaged();
  return meter.out;
}

struct Summary {
  int runs = 0, motor_over = 0, hand_over = 0, oscillating = 0, let_go = 0;
  double motor_worst = 0, hand_worst = 0, stiffness_least = 1e9, stiffness_mean = 0;
};

Summary sum_up(const Row& row) {
  Summary s;
  s.runs = runs_of_a_row();
  for (int i = 0; i < s.runs; ++i) {
    const Result r = run(row, static_cast<std::uint64_t>(i) + 1);
    s.motor_over += r.motor_out > 1e-3 ? 1 : 0;
    s.hand_over += r.hand_out > 1e-3 ? 1 : 0;
    s.oscillating += r.oscillates ? 1 : 0;
    s.let_go += r.engaged ? 0 : 1;
    s.motor_worst = std::max(s.motor_worst, r.motor_out);
    s.hand_worst = std::max(s.hand_worst, r.hand_out);
    s.stiffness_least = std::min(s.stiffness_least, r.stiffness);
    s.stiffness_mean += r.stiffness / s.runs;
  }
  return s;
}

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

// Felt at least, in each run [N/m]; 0: nothing is asked.
double asked(const Row& row) {
  const bool clean = row.loss == 0;
  if (row.mode == haptic::Mode::local) return 0.7 * 2 * row.damping / 1e-3;
  if (row.mode != haptic::Mode::wave) return 0;
  if (!clean) return row.delay == 50 ? 150 : 0;
  return row.delay <= 5 ? 1000 : row.delay == 20 ? 500 : 250;
}

void check_mode(haptic::Mode mode, bool movable) {
  for (const int delay : {0, 1, 5, 20, 50}) {
    for (const bool bad : {false, true}) {
      const Row row{mode, delay, bad ? 5 : 0, bad ? 0.10 : 0.0, movable, 1.0};
      const Summary s = sum_up(row);
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
