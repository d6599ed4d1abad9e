#include "tests/bench/bench_cases.h"

#include <algorithm>
#include <cmath>

#include "server/sim/sim_run.h"
#include "tests/bench/depth_meter.h"

namespace tactus::bench {

std::vector<Case> all_cases(bool quick) {
  const std::uint64_t tower = quick ? 1500 : 10000;
  std::vector<Case> cases{{"block_rest", "block_penetrating", 0, quick ? 1000u : 3000u, true},
                          {"block_push", "block_pushed", 0, quick ? 2000u : 10000u, true}};
  for (const char* kind : {"stack", "stack_jitter"})
    for (int n : {5, 10, 20})
      cases.push_back({std::string(kind) + " " + std::to_string(n), kind, n, n == 20 && quick ? 700 : tower, n < 20});
  for (int n : {10, 30, 100, 300, 1000})
    if (n <= 100 || !quick) cases.push_back({std::string("pile ") + std::to_string(n), "pile", n, 4000, n <= 10});
  return cases;
}

namespace {

bool is_stack(const Case& c) {
  return c.scene.starts_with("stack");
}

void push_all(Engine& engine, const Model& model, State& state, const std::vector<Push>& pushes, std::uint64_t tick) {
  state.tick = tick;
  for (const Push& push : pushes) {
    if (tick < push.start || tick >= push.end) continue;
    Pose X;
    SpatialVelocity V;
    engine.read(push.body, X, V);
    state.set_pose(push.body, X.p, X.q);
    engine.apply(push.body, push_force(model, state, push));
  }
}

}  // namespace

Row run_case(const Case& what, EngineKind kind) {
  SceneOptions options;
  if (what.n) options.set.emplace_back("n", std::to_string(what.n));
  const SceneRun scene =
      load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + what.scene + ".toml", options);
  const Model& model = *scene.model;
  const auto engine = make_engine(kind, model);
  DepthMeter meter(model);
  State state = initial_state(model, 0);
  const auto settled = static_cast<std::uint64_t>(std::llround(model.settle / model.step));
  StepClock clock(what.steps);
  Row row{what, kind, {}, 0, 0, 0, false};
  for (std::uint64_t i = 0; i < what.steps; ++i) {
    push_all(*engine, model, state, scene.pushes, i);
    clock.begin();
    engine->step();
    clock.end();
    if (i < settled) continue;
    const double depth = meter.deepest(*engine);
    row.depth_mean += depth / static_cast<double>(what.steps - settled);
    row.depth_max = std::max(row.depth_max, depth);
  }
  const auto& us = clock.finish();
  row.cpu_us = percentiles({us.begin() + static_cast<std::ptrdiff_t>(settled), us.end()});
  row.energy_final = meter.energy();
  row.fell = is_stack(what) && meter.lowest_height_ratio() < 0.7;
  return row;
}

double growth_exponent(const std::vector<std::pair<double, double>>& xy) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : xy) {
    const double a = std::log(x), b = std::log(y);
    n += 1, sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return n < 2 ? 0 : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

double ratio_to_best_peer(const std::vector<Row>& rows, const std::string& name) {
  double ours = 0, best = 0;
  for (const auto& r : rows) {
    if (r.what.name != name) continue;
    if (r.engine == EngineKind::tactus)
      ours = r.cpu_us.median;
    else if (!r.fell && (best == 0 || r.cpu_us.median < best))
      best = r.cpu_us.median;
  }
  return best > 0 ? ours / best : 0;
}

}  // namespace tactus::bench
