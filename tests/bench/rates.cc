// Whether the slow models hold the rates that the server gives them: processor time of each step of config/scenes with
// the pushes that they declare, from the first step on, in steps of 1 / rate, nothing left out. A line per scene and
// model: median, 99th percentile and worst step [ms], steps over their length, islands solved by a fallback and those
// not solved (each step may have several), the worst residual, the largest energy over that of the start. CSV on
// stdout. usage: tactus_bench_rates [STEPS [RATE_HZ [SCENE]...]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/bench/bench_cases.h"
#include "tests/bench/usage.h"

namespace tactus {
namespace {

void measure(const std::string& scene, ContactModelKind kind, int steps, double rate) {
  SceneOptions options;
  options.set.emplace_back("step_s", std::to_string(1 / rate));
  SceneRun run = load_scene_run(TACTUS_SOURCE_DIR "/config/scenes/" + scene + ".toml", options);
  run.model->contact_model = kind;
  World world(std::move(run.model), options.limits);
  const auto energy = [&] { return mechanical_energy(world.model(), world.parameters().gravity_W, world.state()); };
  const double start = energy();
  StepClock clock(static_cast<std::uint64_t>(steps));
  std::uint32_t fallbacks = 0, failures = 0, failing_steps = 0, over = 0;
  double residual = 0, most = start;
  for (int i = 0; i < steps; ++i) {
    for (const Push& push : run.pushes) {
      const auto tick = static_cast<std::uint64_t>(i);
      if (push.start <= tick && tick < push.end) world.apply(push.body, push_force(world.model(), world.state(), push));
    }
    clock.begin();
    const StepReport report = world.step();
    clock.end();
    fallbacks += report.solver_fallbacks, failures += report.solver_failures;
    failing_steps += report.solver_failures > 0 ? 1 : 0;
    residual = std::max(residual, report.solver_residual), most = std::max(most, energy());
  }
  std::vector<float> us = clock.finish();
  for (const float t : us) over += t > 1e6 / rate ? 1 : 0;
  std::sort(us.begin(), us.end());
  const std::size_t n = us.size();
  std::printf("%s,%s,%d,%g,%.3f,%.2f,%.1f,%u,%u,%u,%u,%.2g,%.2f\n", scene.c_str(), to_string(kind), steps, rate,
              1e-3 * us[n / 2], 1e-3 * us[n * 99 / 100], 1e-3 * us.back(), over, fallbacks, failures, failing_steps,
              residual, most - start);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tactus

int main(int argc, char** argv) {
  using tactus::ContactModelKind;
  if (tactus::bench::tells_usage(argc, argv, "[STEPS [RATE_HZ [SCENE]...]]    default: 1000 100 default dominoes"))
    return 2;
  const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  const double rate = argc > 2 ? std::atof(argv[2]) : 100;
  std::vector<std::string> scenes(argv + std::min(argc, 3), argv + argc);
  if (scenes.empty()) scenes = {"default", "dominoes"};
  try {
    std::printf("# %s\n", tactus::bench::machine_line().c_str());
    std::printf(
        "scene,model,steps,rate_hz,ms_median,ms_p99,ms_worst,steps_over,fallbacks,failures,failing_steps,residual,"
        "energy_gained_j\n");
    for (const std::string& scene : scenes) {
      for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap,
                                          ContactModelKind::lnc, ContactModelKind::peg}) {
        tactus::measure(scene, kind, steps, rate);
      }
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus_bench_rates: %s\n", e.what());
    return 1;
  }
}
