// The acceleration-level model: forces that leave no contact accelerating inwards (Baraff 1989, 1993), collisions by
// impulses, overlap by a spring at the deepest point.
#pragma once

#include <vector>

#include "core/contact/exact/exact_stepper.h"
#include "core/contact/impact/lcp_impact.h"
#include "core/contact/solve/lcp_forces.h"
#include "core/contact/step/time_stepper.h"

namespace tactus {

// One step: collide (impulses, at their times within the step) -> a_N = A f_N + b with friction, f constant over the
// step -> v' = v + h a, q' = q + h v'. b holds forces, prescribed motion of kinematic bodies, and v_n / h: what is left
// of a normal velocity is stopped within the step. That is also the velocity-dependent term n'.v of Baraff's chi'', as
// the last step left it, for surfaces of any curvature. A contact that is still gap > 0 away may close: a_N >= -(v_n +
// gap / h) / h. Friction (Baraff 1993, 5): a contact that slides faster than Parameters::impact_epsilon has f_t =
// -mu_dynamic f_N along its slip; else f_t is static, at most mu_static f_N, and against the acceleration where that is
// not enough. With lotstedt bounds are mu times the last step's f_N (none in a contact's first step): a convex program,
// at the price that friction is a step late. Parameters::friction_directions is not used.
class LcpModel final : public TimeStepper {
 public:
  LcpModel(const Model& model, const Limits& limits);
  StepReport advance(const Tick& tick, State& state) noexcept override;
  // With Parameters::lcp_stepper = exact, and no robots: exact_stepper.h.
  [[nodiscard]] bool finds_again(const Model& model, const Parameters& parameters) const noexcept override;
  [[nodiscard]] ContactModelKind kind() const noexcept override { return ContactModelKind::lcp; }

 private:
  void advance_fixed(const Tick& tick, State& state, StepReport& report) noexcept;
  [[nodiscard]] bool drifts(const Parameters& parameters) const noexcept override {
    return parameters.lcp_drift != OverlapDrift::off;
  }
  [[nodiscard]] bool bias(const ContactStart& start, double& out) const noexcept override;
  void set_laws(const Tick& tick, const State& state, const LcpCollisions& collisions) noexcept;

  LcpForces forces_;
  std::unique_ptr<ExactStepper> exact_;  // null where there are robots
};

std::unique_ptr<ContactModel> make_lcp(const Model& model, const Limits& limits);

}  // namespace tactus
