// The time steppers: velocities of the next step from one contact problem, positions by those velocities.
#pragma once

#include <vector>

#include "core/contact/solve/contact_solver.h"

namespace tactus {

// v' = v + h M^-1 F + M^-1 J^T p, q' = q + h v', with p from the contact problem that a rule (stewart_trinkle.cc,
// anitescu_potra.cc) makes of the gaps at the start. Joint damping and drives are implicit (robot_sweep.h). Impulses of
// the last step, kept with the pairs, are the guess. One coefficient of friction a contact: mu_static below
// Parameters::impact_epsilon of slip, mu_dynamic above; viscous, Stribeck and rolling terms are penalty's alone.
class TimeStepper : public ContactModel, protected ContactRule {
 public:
  TimeStepper(const Model& model, const Limits& limits);
  StepReport advance(const Tick& tick, State& state) noexcept override;
  [[nodiscard]] bool looks_ahead() const noexcept final { return true; }
  // bearable_memory() of a time stepper.
  [[nodiscard]] static bool bearable(const PairRecord& record) noexcept;

 protected:
  // Before the contact problem is built.
  virtual void start(const Tick& tick) noexcept { (void)tick; }
  // p: the last step's impulses in, this one's out; u: half velocities out.
  virtual SolverReport solve(const Tick& tick, const ContactProblem& problem, ContactSolver& solver, Vec3* p,
                             double* u) noexcept;
  // Is overlap worked off by what overlap_drift.h gives, beside the contact problem?
  [[nodiscard]] virtual bool drifts(const Parameters& parameters) const noexcept {
    (void)parameters;
    return false;
  }
  // A number by which a point of a pair is known again in the next step, to 0.02.
  [[nodiscard]] virtual float point_key(const Tick& tick, const ProblemContact& contact) const noexcept;

  std::uint32_t load_robots(const Tick& tick, const State& state, RobotSweep* sweeps) noexcept;
  void recall(const Tick& tick, const State& state) noexcept;
  void remember(const Tick& tick, State& state) const noexcept;
  void move_bodies(const Tick& tick, State& state) noexcept;
  void find_drift(const Tick& tick) noexcept;
  void move_robots(const Tick& tick, RobotSweep* sweeps, State& state) noexcept;

  ContactProblem problem_;
  ContactSolver solver_;
  std::vector<Vec3> p_;
  std::vector<double> u_, y_, u_drift_;
  std::vector<SpatialForce> force_;
};

// Stewart & Trinkle 1996: the gap at the end of the step, to first order, is not negative: psi + h v_n' >= 0. Overlap
// is worked off within a step, at most at Parameters::overlap_relax_speed, not faster than overlap_relax_time.
std::unique_ptr<ContactModel> make_stewart_trinkle(const Model& model, const Limits& limits);
// Anitescu & Potra 1997: contacts within Parameters::detection_distance, and those that would close in this step, may
// not approach: v_n' >= 0. The gap does not enter, so bodies stop before they touch, and what overlaps (what rolls
// comes to, by the square of a step's turn) would stay as it is: with Parameters::ap_drift it is worked off beside
// this. A gap that only closes because of other contacts (a stack that lands) may close, but not more: psi + h v_n' >=
// 0.
std::unique_ptr<ContactModel> make_anitescu_potra(const Model& model, const Limits& limits);

}  // namespace tactus
