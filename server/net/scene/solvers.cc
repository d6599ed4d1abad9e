#include "server/net/scene/solvers.h"

#include <algorithm>

#include "core/check.h"
#include "server/net/scene/scene_view.h"

namespace tactus::net {

void ShadowSeen::add(const ShadowSummary& summary) noexcept {
  last = summary;
  position_max = std::max(position_max, summary.position.value);
  angle_max = std::max(angle_max, summary.angle.value);
  velocity_max = std::max(velocity_max, summary.velocity.value);
  force_max = std::max(force_max, summary.force.value);
}

SolverOptions solver_options(const NetOptions& options) {
  SolverOptions out{options.rates,
                    {std::nullopt, options.shadow_rate_hz, options.shadow_rate_chosen},
                    options.contacts,
                    options.places};
  if (options.shadow_model.empty()) return out;
  ContactModelKind kind{};
  if (!parse_contact_model(options.shadow_model, kind) || !World::has_model(kind)) {
    throw InputError(named(options.places, "shadow.model") + ": found '" + options.shadow_model +
                     "', expected one of " + model_names());
  }
  out.shadow.model = kind;
  return out;
}

void require_rates(const SolverOptions& options, double step_s) {
  for (std::size_t i = 0; i < kContactModels; ++i) {
    const std::string key = std::string("model.") + to_string(static_cast<ContactModelKind>(i)) + ".rate_hz";
    if (options.rates.chosen[i]) require_rate(named(options.places, key), options.rates.hz[i], step_s);
  }
  if (options.shadow.model && options.shadow.chosen)
    require_rate(named(options.places, "shadow.rate_hz"), options.shadow.rate_hz, step_s);
}

bool is_slow(const ModelRates& rates, ContactModelKind kind, double step_s) noexcept {
  return ticks_per_step(rates, kind, step_s) > 1;
}

std::unique_ptr<SlowSolver> make_slow_solver(const SolverOptions& options, const std::shared_ptr<const Model>& model,
                                             const Limits& limits, ContactModelKind kind) {
  if (!is_slow(options.rates, kind, model->step)) return nullptr;
  auto world = make_solver_world(model, limits, kind, ticks_per_step(options.rates, kind, model->step));
  return world == nullptr ? nullptr : std::make_unique<SlowSolver>(std::move(world), kind, options.contacts);
}

std::unique_ptr<ShadowSolver> make_shadow_solver(const SolverOptions& options,
                                                 const std::shared_ptr<const Model>& model, const Limits& limits) {
  if (!options.shadow.model) return nullptr;
  const ContactModelKind kind = *options.shadow.model;
  auto world = make_solver_world(model, limits, kind, ticks_per_step(options.shadow.rate_hz, model->step));
  return world == nullptr ? nullptr : std::make_unique<ShadowSolver>(std::move(world), kind);
}

}  // namespace tactus::net
