// The cases of the benchmark, and running one of them with one engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/sim/step_clock.h"
#include "tests/bench/engine.h"
#include "tests/bench/machine_line.h"

namespace tactus::bench {

struct Case {
  std::string name, scene;  // scene: file in config/scenes
  int n = 0;                // parameter n of the scene; 0: it has none
  std::uint64_t steps = 0;
  bool exact_solver_too = true;  // ODE's exact solver takes minutes on piles over 30
};

struct Row {
  Case what;
  EngineKind engine{};
  Percentiles cpu_us;
  double depth_mean = 0, depth_max = 0, energy_final = 0;
  bool fell = false;  // stacks: a box ended below 0.7 of its height at the start
};

// quick: short stacks and small piles, for a check that takes seconds.
std::vector<Case> all_cases(bool quick);
Row run_case(const Case& what, EngineKind engine);

// Median microseconds of bottom_points on n random points, beside one sort of the same points through an index: O(N lg
// N) is the claim, so the ratio of the two must not grow, caches and all.
struct BottomRow {
  std::uint32_t points = 0, chosen = 0;
  double us = 0, sort_us = 0;
};
std::vector<BottomRow> bottom_scaling(bool quick);

// Least squares of log y over log x.
double growth_exponent(const std::vector<std::pair<double, double>>& xy);
std::string csv_text(const std::vector<Row>& rows, const std::vector<BottomRow>& bottom);
// A table for people: each case's engines side by side, and ours against the best peer.
std::string table_text(const std::vector<Row>& rows, const std::vector<BottomRow>& bottom);
// Ours against the fastest peer that did not fall, or 0 without one. "Best" is by speed; depth is shown beside.
double ratio_to_best_peer(const std::vector<Row>& rows, const std::string& name);

}  // namespace tactus::bench
