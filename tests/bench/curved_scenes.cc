// Baraff 1990, Table 1 beside ours: the falling jack (Fig. 10) and the dice (Fig. 11) with the exact stepper of `lcp`.
// Steps, witnesses that still decided (hits) and first meetings or searches (misses), discontinuities, what was spent
// on finding them, and time, at the paper's number of steps and at larger ones, with and without coherence. Hits and
// misses are of all pairs, as in the paper; closed_*: those of pairs in closed form among them (spheres and capsules
// with spheres, capsules and half-spaces; all with half-spaces). usage: tactus_bench_curved_scenes [CSV] [SCENE...]
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
  WitnessTotals witnesses;
  std::uint64_t points = 0;
  double depth = 0, seconds = 0;
};

void add(const StepReport& report, Total& t) {
  ++t.steps;
  t.failures += report.solver_failures, t.inconsistent += report.inconsistent;
  t.witnesses += report.witnesses;
  t.exact.pieces += report.exact.pieces, t.exact.collisions += report.exact.collisions;
  t.exact.evaluations += report.exact.evaluations, t.exact.bisections += report.exact.bisections;
  t.exact.breaks += report.exact.breaks, t.exact.stops += report.exact.stops;
  t.exact.unresolved += report.exact.unresolved, t.exact.exhausted += report.exact.exhausted;
  t.points += report.contacts;
  t.depth = std::max(t.depth, report.depth_max);
}

Total run(const std::string& scene, double h, double seconds, bool coherence) {
  SceneRun loaded = load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + scene + ".toml", {});
  loaded.model->contact_model = ContactModelKind::lcp;
  loaded.model->parameters.lcp_stepper = LcpStepper::exact;
  loaded.model->parameters.coherence = coherence;
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
  int steps, hits, misses, discontinuities;
  double minutes;
};
constexpr Paper kTable1[] = {{"jack", 1.475, 1475, 5243, 42, 60, 2.1}, {"dice", 4.162, 4162, 345793, 1384, 343, 78.6}};

std::string line(const Paper& paper, double h, bool coherence, const Total& t) {
  const WitnessTotals& w = t.witnesses;
  const std::uint64_t hits = w.hits + w.closed_hits, misses = w.misses + w.closed_misses;
  const double rate = hits + misses > 0 ? double(hits) / double(hits + misses) : 0.0;
  char text[500];
  std::snprintf(text, sizeof text,
                "%s,%g,%s,%u,%llu,%llu,%.5f,%llu,%llu,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%.3g,%.2e,%.3f,%d,%d,%d,%d,%g\n",
                paper.scene, h, coherence ? "on" : "off", t.steps, static_cast<unsigned long long>(hits),
                static_cast<unsigned long long>(misses), rate, static_cast<unsigned long long>(w.closed_hits),
                static_cast<unsigned long long>(w.closed_misses), t.exact.discontinuities(), t.exact.collisions,
                t.exact.breaks, t.exact.stops, t.exact.evaluations, t.exact.bisections, t.exact.pieces,
                t.exact.unresolved, t.exact.exhausted, t.failures, t.inconsistent, double(t.points) / t.steps, t.depth,
                t.seconds, paper.steps, paper.hits, paper.misses, paper.discontinuities, paper.minutes);
  return text;
}

}  // namespace
}  // namespace tactus::bench

int main(int argc, char** argv) {
  using namespace tactus::bench;
  std::string csv =
      "scene,step_s,coherence,steps,hits,misses,hit_rate,closed_hits,closed_misses,discontinuities,collisions,breaks,"
      "stops,evaluations,bisections,pieces,unresolved,exhausted,failures,inconsistent,contacts_mean,depth_max_m,cpu_s,"
      "paper_steps,paper_hits,paper_misses,paper_discontinuities,paper_cpu_min\n";
  std::fputs(csv.c_str(), stdout);
  for (const Paper& paper : kTable1) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i) wanted = wanted || std::string(argv[i]) == paper.scene;
    if (!wanted) continue;
    for (const double h : {1e-3, 2e-3, 5e-3, 1e-2}) {
      for (const bool coherence : {true, false}) {
        const std::string row = line(paper, h, coherence, run(paper.scene, h, paper.seconds, coherence));
        std::fputs(row.c_str(), stdout);
        std::fflush(stdout);
        csv += row;
      }
    }
  }
  if (argc > 1) std::ofstream(argv[1]) << csv;
  return 0;
}
