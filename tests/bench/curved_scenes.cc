// Baraff 1990, Table 1 beside ours: the falling jack (Fig. 10) and the dice (Fig. 11) with the exact stepper of `lcp`.
// Steps, discontinuities, what was spent on finding them, and time, at the paper's number of steps and at larger ones.
// usage: tactus_bench_curved_scenes [CSV] [SCENE...]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

#include "core/scene/scene.h"
#include "core/world.h"

namespace tactus::bench {
namespace {

struct Total {
  std::uint32_t steps = 0, failures = 0, inconsistent = 0;
  ExactReport exact;
  std::uint64_t points = 0;
  double depth = 0, seconds = 0;
};

void add(const StepReport& report, Total& t) {
  ++t.steps;
  t.failures += report.solver_failures, t.inconsistent += report.inconsistent;
  t.exact.pieces += report.exact.pieces, t.exact.collisions += report.exact.collisions;
  t.exact.evaluations += report.exact.evaluations, t.exact.bisections += report.exact.bisections;
  t.exact.breaks += report.exact.breaks, t.exact.stops += report.exact.stops;
  t.exact.unresolved += report.exact.unresolved, t.exact.exhausted += report.exact.exhausted;
  t.points += report.contacts;
  t.depth = std::max(t.depth, report.depth_max);
}

Total run(const std::string& scene, double h, double seconds) {
  SceneRun loaded = load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + scene + ".toml", {});
  loaded.model->contact_model = ContactModelKind::lcp;
  loaded.model->parameters.lcp_stepper = LcpStepper::exact;
  loaded.model->step = h;
  World world(std::move(loaded.model), Limits{});
  Total total;
  const auto steps = static_cast<int>(seconds / h + 0.5);
  const std::clock_t begin = std::clock();  // of this program, whatever else the machine does
  for (int i = 0; i < steps; ++i) add(world.step(), total);
  total.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return total;
}

struct Paper {
  const char* scene;
  double seconds;
  int steps, discontinuities;
  double minutes;
};
constexpr Paper kTable1[] = {{"jack", 1.475, 1475, 60, 2.1}, {"dice", 4.162, 4162, 343, 78.6}};

}  // namespace
}  // namespace tactus::bench

int main(int argc, char** argv) {
  using namespace tactus::bench;
  std::string csv =
      "scene,step_s,steps,discontinuities,collisions,breaks,stops,evaluations,bisections,pieces,unresolved,exhausted,"
      "failures,inconsistent,contacts_mean,depth_max_m,cpu_s,paper_steps,paper_discontinuities,paper_cpu_min\n";
  for (const Paper& paper : kTable1) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i) wanted = wanted || std::string(argv[i]) == paper.scene;
    if (!wanted) continue;
    for (const double h : {1e-3, 2e-3, 5e-3}) {
      const Total t = run(paper.scene, h, paper.seconds);
      char line[400];
      std::snprintf(line, sizeof line, "%s,%g,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%.3g,%.2e,%.3f,%d,%d,%g\n",
                    paper.scene, h, t.steps, t.exact.discontinuities(), t.exact.collisions, t.exact.breaks,
                    t.exact.stops, t.exact.evaluations, t.exact.bisections, t.exact.pieces, t.exact.unresolved,
                    t.exact.exhausted, t.failures, t.inconsistent, double(t.points) / t.steps, t.depth, t.seconds,
                    paper.steps, paper.discontinuities, paper.minutes);
      std::fputs(line, stdout);
      std::fflush(stdout);
      csv += line;
    }
  }
  if (argc > 1) std::ofstream(argv[1]) << csv;
  return 0;
}
