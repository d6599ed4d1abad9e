// Runs a scene without a server: step by step, with the scene's own pushes, measuring each step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "server/sim/step_clock.h"

namespace tactus {

// The scene's pushes that are due at the world's tick, handed to World::apply.
class PushSchedule {
 public:
  explicit PushSchedule(const std::vector<Push>& pushes) : pushes_(&pushes) {}
  void apply(World& world) noexcept;

 private:
  const std::vector<Push>* pushes_;
  std::size_t first_ = 0;  // all before it are over
};

struct SimRow {  // one step
  std::uint64_t step;
  double time;  // at its end [s]
  double cpu_us, penetration, kinetic_energy;
  std::uint32_t contacts;
};

struct SimResult {
  std::uint64_t steps = 0, measured_steps = 0;
  Percentiles cpu_us;  // of the measured steps (after settle)
  double penetration_mean = 0, penetration_max = 0;
  double energy_mean = 0, energy_final = 0;           // kinetic
  double mechanical_start = 0, mechanical_final = 0;  // with potential energy; the drift of a system without losses
  double contacts_mean = 0;
  std::uint64_t contacts_dropped = 0, solver_failures = 0, solver_fallbacks = 0;  // over all steps
  std::uint64_t inconsistent = 0, indeterminate = 0;  // lcp: islands (StepReport), over all steps
  double solver_residual_max = 0;
  std::uint32_t bodies_frozen = 0;
  WitnessTotals witnesses;                                     // over all steps (State::witnesses)
  ExactTotals exact;                                           // over all steps
  std::uint64_t continuous_stops = 0, continuous_unknown = 0;  // over all steps
  std::uint64_t state_hash = 0;
};

struct SimHooks {
  std::function<void(const SimRow&)> row;                                 // every step, if set
  std::function<void(std::uint64_t step, std::uint64_t steps)> progress;  // about 20 times a second, if set
};

// steps of the model's own length; figures are over the steps after Model::settle (all of them, should none be left).
SimResult run_simulation(World& world, const std::vector<Push>& pushes, std::uint64_t steps, const SimHooks& hooks);

struct SimLabel {
  std::string scene, model;
};
// The one JSON object that tactus-sim prints; pretty: over several lines.
std::string result_json(const SimLabel& label, const World& world, const SimResult& result, bool pretty);
// Body name -> pose of B and velocity of B's origin, in W.
std::string final_state_json(const World& world);
// Text as a JSON string with quotes.
std::string json_text(const std::string& text);

}  // namespace tactus
