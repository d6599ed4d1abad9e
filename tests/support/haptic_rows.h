// Rows of seeded runs of presses, holds and releases over one link: the tables of tests/bench/results/haptic.md.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/support/haptic_runs.h"

namespace tactus::test {

// TACTUS_HAPTIC_RUNS=100 makes those tables.
inline int runs_of_a_row(int by_default) {
  const char* text = std::getenv("TACTUS_HAPTIC_RUNS");
  return text != nullptr ? std::atoi(text) : by_default;
}

// A link, a mode and a scene; many hands feel them.
struct LinkRow {
  haptic::Mode mode = haptic::Mode::local;
  int delay = 0, jitter = 0;  // one way [ms]
  double loss = 0;
  bool movable = false;  // a 1 kg block on the floor instead of the floor
  double damping = 1;
  bool passivity = false;             // direct mode: time-domain passivity
  double passivity_round_trip = 1e9;  // its limit [s]
  bool gate = true;                   // of both ports
};

inline HapticResult run(const LinkRow& row, std::uint64_t seed) {
  Random random(seed * 7919 + 17);
  Scene scene;
  double top = 0;
  scene.add_floor();
  if (row.movable) {
    scene.add(make_box(Vec3(0.05, 0.05, 0.02)), 1, at(0, 0, 0.02));
    top = 0.04;
  }
  const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, at(0, 0, top + 0.015));
  World world = scene.world();
  RigOptions o = rig_options(ball, row.damping, row.mode);
  o.loop.gate = o.tool.gate = row.gate;
  o.loop.passivity_round_trip = row.passivity_round_trip;
  o.loop.passivity = o.tool.passivity = row.passivity;
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
  meter.out.oscillates = sustained(forces);
  meter.out.engaged = rig.loop.engaged();
  return meter.out;
}

struct RunSummary {
  int runs = 0, motor_over = 0, hand_over = 0, oscillating = 0, let_go = 0;
  double motor_worst = 0, hand_worst = 0, stiffness_least = 1e9, stiffness_mean = 0;
};

inline RunSummary sum_up(const LinkRow& row, int runs) {
  RunSummary s;
  s.runs = runs;
  for (int i = 0; i < s.runs; ++i) {
    const HapticResult r = run(row, static_cast<std::uint64_t>(i) + 1);
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

// Felt at least, in each run [N/m]; 0: nothing is asked.
inline double asked(const LinkRow& row) {
  const bool clean = row.loss == 0;
  if (row.mode == haptic::Mode::local) return 0.7 * 2 * row.damping / 1e-3;
  if (row.mode != haptic::Mode::wave) return 0;
  if (!clean) return row.delay == 50 ? 150 : 0;
  return row.delay <= 5 ? 1000 : row.delay == 20 ? 500 : 250;
}

}  // namespace tactus::test
