// Drumwright's multi-point PID penalty method with impacts by impulses, and its deepest-point baseline.
#pragma once

#include "core/contact/contact_model.h"
#include "core/contact/impact/impact.h"
#include "core/contact/penalty/implicit_step.h"
#include "core/contact/penalty/penalty_force.h"

namespace tactus {

// Models `penalty` (all bottom points) and `deepest` (the deepest point only). One tick: phases of Fig. 2 -> impacts ->
// gains -> forces -> integrate -> what pairs remember. O(N lg N) in the points of a manifold, linear in manifolds and
// bodies.
class PenaltyModel final : public ContactModel {
 public:
  explicit PenaltyModel(bool deepest_only) : deepest_only_(deepest_only) {}
  StepReport advance(const Tick& tick, State& state) noexcept override;
  [[nodiscard]] double margin(const Model& model, const Parameters& parameters) const noexcept override {
    return implicit(model, parameters) ? parameters.contact_margin : 0;
  }
  // The implicit law's contacts are those of the middle of the tick (implicit_step.h).
  [[nodiscard]] double lead(const Model& model, const Parameters& parameters, double h) const noexcept override {
    return implicit(model, parameters) ? implicit_lead(h, model.substeps) : 0;
  }
  [[nodiscard]] ContactModelKind kind() const noexcept override {
    return deepest_only_ ? ContactModelKind::deepest : ContactModelKind::penalty;
  }

 private:
  [[nodiscard]] bool implicit(const Model& model, const Parameters& parameters) const noexcept;
  struct Scratch;
  void choose_points(const Tick& tick, const std::uint32_t* order, Scratch& s) const noexcept;
  void update_phases(const Tick& tick, const State& state, Scratch& s) const noexcept;
  void collide(const Tick& tick, State& state, Scratch& s, StepReport& report) const noexcept;
  ImpactResult collide_in_turn(const Tick& tick, State& state, Scratch& s) const noexcept;
  ImpactResult collide_together(const Tick& tick, State& state, Scratch& s) const noexcept;
  void prepare(const Tick& tick, const State& state, Scratch& s) const noexcept;
  void integrate(const Tick& tick, State& state, Scratch& s, StepReport& report) const noexcept;
  void remember(const Tick& tick, State& state, const Scratch& s) const noexcept;

  bool deepest_only_;
};

}  // namespace tactus
