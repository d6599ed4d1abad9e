// What a step of each contact model costs: `lcp` beside `penalty` on the scenes at hand (Drumwright, IV-D, compares the
// same two), and lcp, st and ap over the height of a stack. usage: tactus_bench_models [CSV]
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/bench/bench_cases.h"
#include "tests/bench/usage.h"
#include "tests/support/scenes.h"

namespace tactus::bench {
namespace {

constexpr int kSettle = 300, kSteps = 500, kRuns = 3;

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[300];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

struct Row {
  double us = 0, us_p99 = 0, points = 0;
  std::uint32_t failures = 0, fallbacks = 0, iterations = 0;
};

Row run(std::unique_ptr<Model> model, const Limits& limits, ContactModelKind kind, double h) {
  model->contact_model = kind;
  if (h > 0) model->step = h;
  World world(std::move(model), limits);
  for (int i = 0; i < kSettle; ++i) world.step();
  Row row;
  StepClock clock(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    clock.begin();
    const StepReport report = world.step();
    clock.end();
    row.points += static_cast<double>(report.contacts) / kSteps;
    row.failures += report.solver_failures;
    row.fallbacks += report.solver_fallbacks;
    row.iterations += report.solver_iterations;
  }
  const Percentiles us = percentiles(clock.finish());
  row.us = us.median, row.us_p99 = us.p99;
  return row;
}

// The quicker of two: other work on the machine only ever slows one down. The rest is the same in every run.
void keep_quickest(const Row& row, Row& best) {
  if (best.us == 0 || row.us < best.us) best = row;
}

// In alternating runs, so that what else the machine does is shared.
void compare(const char* name, const char* file, int n, const char* history, std::string& csv) {
  SceneOptions options;
  if (n > 0) options.set.emplace_back("n", std::to_string(n));
  const auto load = [&] {
    return load_scene(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + file + ".toml", options);
  };
  Row penalty, lcp;
  for (int i = 0; i < kRuns; ++i) {
    keep_quickest(run(load(), Limits{}, ContactModelKind::penalty, 0), penalty);
    keep_quickest(run(load(), Limits{}, ContactModelKind::lcp, 0), lcp);
  }
  std::printf("%-16s penalty %8.2f us, lcp %9.2f us (p99 %.1f): %6.1f times; fallbacks %u, failures %u of %d%s\n", name,
              penalty.us, lcp.us, lcp.us_p99, lcp.us / penalty.us, lcp.fallbacks, lcp.failures, kSteps, history);
  csv += format("lcp,%s,%.4g,%.4g,%.4g,%.3f,%u,%u,%s\n", name, penalty.us, lcp.us, lcp.us_p99, lcp.us / penalty.us,
                lcp.fallbacks, lcp.failures, history);
}

void compare_all(std::string& csv) {
  std::printf("A step, median: %d steps of each model after %d, in one run\n", kSteps, kSettle);
  csv += "# lcp: scene,penalty_us,lcp_us,lcp_us_p99,ratio,lcp_fallbacks,lcp_failures,paper (LCP against penalty)\n";
  compare("block_pushed", "block_pushed", 0, "", csv);
  for (const int n : {5, 10, 20}) compare(format("stack_%d", n).c_str(), "stack", n, "", csv);
  for (const int n : {5, 10, 20}) compare(format("stack_jitter_%d", n).c_str(), "stack_jitter", n, "", csv);
  compare("pile_30", "pile", 30, "", csv);
  compare("mobile_robot", "mobile_robot", 0, " 32.6 against 80.6 steps/s", csv);
  compare("humanoid26", "humanoid26", 0, " 4.4 against 30.7 steps/s", csv);
}

// Cubes with friction, one on the other, 4 points an interface; after the first steps the last solution is the guess.
void over_height(std::string& csv) {
  std::printf("\nA step over the height of a stack, median us (h = 10 ms; lcp 1 ms)\n");
  csv += "# stack: model,jittered,cubes,points,us,us_p99,iterations_per_step,fallbacks,failures\n";
  for (const bool jitter : {false, true}) {
    for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap}) {
      std::vector<std::pair<double, double>> grows;
      for (const int n : {1, 5, 10, 20, 40}) {
        Row best;
        for (int i = 0; i < kRuns; ++i) {
          test::Scene scene = test::stack(n, jitter);
          finish_model(*scene.model);
          keep_quickest(run(std::move(scene.model), scene.limits, kind, kind == ContactModelKind::lcp ? 1e-3 : 1e-2),
                        best);
        }
        if (n >= 5) grows.emplace_back(n, best.us);
        std::printf("%-4s %-8s %2d cubes, %5.1f points: %8.2f (p99 %.2f), %.2f factorisations or pivots\n",
                    to_string(kind), jitter ? "jittered" : "aligned", n, best.points, best.us, best.us_p99,
                    static_cast<double>(best.iterations) / kSteps);
        csv +=
            format("stack,%s,%d,%d,%.1f,%.4g,%.4g,%.2f,%u,%u\n", to_string(kind), jitter ? 1 : 0, n, best.points,
                   best.us, best.us_p99, static_cast<double>(best.iterations) / kSteps, best.fallbacks, best.failures);
      }
      const double exponent = growth_exponent(grows);
      std::printf("%-4s %-8s grows with n^%.2f\n", to_string(kind), jitter ? "jittered" : "aligned", exponent);
      csv += format("# %s, %s: n^%.2f\n", to_string(kind), jitter ? "jittered" : "aligned", exponent);
    }
  }
  csv +=
      "# bars: st, 1 cube: 20 us; 10 cubes: 4000 us, goal 1000. ODE's direct solver 31 us (5 aligned), 762 (10 "
      "jittered); DART 129, 384 (5, 10 aligned)\n";
}

int bench_all(const char* path) {
  std::string csv = "# " + machine_line() + "\n";
  compare_all(csv);
  over_height(csv);
  return std::ofstream(path) << csv ? 0 : 1;
}

}  // namespace
}  // namespace tactus::bench

int main(int argc, char** argv) {
  if (tactus::bench::tells_usage(argc, argv, "[FILE]    where the CSV goes; the table goes to the terminal")) return 2;
  try {
    return tactus::bench::bench_all(argc > 1 ? argv[1] : "/dev/null");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus_bench_models: %s\n", e.what());
    return 1;
  }
}
