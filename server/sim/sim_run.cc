#include "server/sim/sim_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tactus {

void PushSchedule::apply(World& world) noexcept {
  const std::uint64_t tick = world.state().tick;
  while (first_ < pushes_->size() && (*pushes_)[first_].end <= tick) ++first_;
  for (std::size_t i = first_; i < pushes_->size() && (*pushes_)[i].start <= tick; ++i)
    if (tick < (*pushes_)[i].end)
      world.apply((*pushes_)[i].body, push_force(world.model(), world.state(), (*pushes_)[i]));
}

SimResult run_simulation(World& world, const std::vector<Push>& pushes, std::uint64_t steps, const SimHooks& hooks) {
  using Clock = std::chrono::steady_clock;
  SimResult result;
  const Model& model = world.model();
  auto settled = static_cast<std::uint64_t>(std::llround(model.settle / model.step));
  if (settled >= steps) settled = 0;
  PushSchedule schedule(pushes);
  StepClock clock(steps);
  result.mechanical_start = mechanical_energy(model, world.parameters().gravity_W, world.state());
  auto next_word = Clock::now() + std::chrono::milliseconds(500);
  for (std::uint64_t i = 0; i < steps; ++i) {
    schedule.apply(world);
    clock.begin();
    const StepReport report = world.step();
    const double us = clock.end();
    const double energy = kinetic_energy(model, world.state());
    result.contacts_dropped += report.points_dropped + report.pairs_dropped + report.robot_contacts_dropped;
    result.solver_failures += report.solver_failures;
    result.solver_fallbacks += report.solver_fallbacks;
    result.inconsistent += report.inconsistent;
    result.indeterminate += report.indeterminate;
    result.solver_residual_max = std::max(result.solver_residual_max, report.solver_residual);
    result.bodies_frozen += report.bodies_frozen;
    result.witnesses += report.witnesses;
    result.exact += report.exact;
    result.continuous_stops += report.continuous_stops;
    result.continuous_unknown += report.continuous_unknown;
    if (i >= settled) {
      result.penetration_mean += report.depth_max;
      result.penetration_max = std::max(result.penetration_max, report.depth_max);
      result.energy_mean += energy;
      result.contacts_mean += report.contacts;
    }
    if (hooks.row) hooks.row({i + 1, world.state().time, us, report.depth_max, energy, report.contacts});
    if (hooks.progress && i % 16 == 0 && Clock::now() > next_word) {
      hooks.progress(i, steps);
      next_word = Clock::now() + std::chrono::milliseconds(50);
    }
  }
  const auto& times = clock.finish();
  result.steps = steps;
  result.measured_steps = steps - settled;
  result.cpu_us = percentiles({times.begin() + static_cast<std::ptrdiff_t>(settled), times.end()});
  const double n = static_cast<double>(std::max<std::uint64_t>(1, result.measured_steps));
  result.penetration_mean /= n;
  result.energy_mean /= n;
  result.contacts_mean /= n;
  result.energy_final = kinetic_energy(model, world.state());
  result.mechanical_final = mechanical_energy(model, world.parameters().gravity_W, world.state());
  result.state_hash = world.hash();
  return result;
}

}  // namespace tactus
