// Building what solves beside the tick: slow models and the shadow. Costly; on the loader's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/net/options.h"
#include "server/realtime/messages.h"
#include "server/solver/shadow_solver.h"
#include "server/solver/slow_solver.h"

namespace tactus::net {

// What shadows, and how often.
struct ShadowWish {
  std::optional<ContactModelKind> model;
  double rate_hz = 100;
  bool chosen = false;  // by a user: refused where the tick is slower
};

struct SolverOptions {
  ModelRates rates;
  ShadowWish shadow;
  std::uint32_t contacts = 2048;
  ConfigPlaces places;
};
// What the shadow has found in this scene.
struct ShadowSeen {
  ShadowSummary last;
  float position_max = 0, angle_max = 0, velocity_max = 0, force_max = 0;

  void add(const ShadowSummary& summary) noexcept;
};

// What solves beside the tick, as clients wish it now, and what the shadow has shown.
struct SolverState {
  SolverOptions options;
  ShadowSeen shadow_seen;
};

// Throws InputError for an unknown shadow model.
SolverOptions solver_options(const NetOptions& options);

// Throws InputError: a rate that the user chose is above the tick's.
void require_rates(const SolverOptions& options, double step_s);

[[nodiscard]] bool is_slow(const ModelRates& rates, ContactModelKind kind, double step_s) noexcept;
// Null: the model is not slow (or not in this build). The thread is not started.
std::unique_ptr<SlowSolver> make_slow_solver(const SolverOptions& options, const std::shared_ptr<const Model>& model,
                                             const Limits& limits, ContactModelKind kind);
// Null: none is wished.
std::unique_ptr<ShadowSolver> make_shadow_solver(const SolverOptions& options,
                                                 const std::shared_ptr<const Model>& model, const Limits& limits);

}  // namespace tactus::net
