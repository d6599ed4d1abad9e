#include "core/contact/lcp/lcp_model.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/step/overlap_drift.h"
#include "core/dynamics/integrator.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Slip that friction may stop within so many steps has no direction of its own left: that of the step's end counts.
constexpr double kSoon = 2;

}  // namespace

LcpModel::LcpModel(const Model& model, const Limits& limits) : TimeStepper(model, limits), forces_(model, limits) {
  if (model.robots.empty()) exact_ = std::make_unique<ExactStepper>(model, limits);
}

bool LcpModel::finds_again(const Model& model, const Parameters& parameters) const noexcept {
  return parameters.lcp_stepper == LcpStepper::exact && model.robots.empty();
}

bool LcpModel::bias(const ContactStart& s, double& out) const noexcept {
  out = std::max(0.0, s.gap) / s.h;
  return true;
}

// What friction does at each contact, and gaps that late collisions have closed.
void LcpModel::set_laws(const Tick& tick, const State& state, const LcpCollisions& collisions) noexcept {
  const LcpFriction friction = tick.parameters.lcp_friction;
  for (std::uint32_t i = 0; i < problem_.count(); ++i) {
    ProblemContact& contact = problem_.contact(i);
    if (contact.manifold == kNone) continue;
    const Manifold& m = tick.contacts.manifolds[contact.manifold];
    const Vec3& p_WC = tick.contacts.points[contact.point].p_WC;
    const double gap = -tick.contacts.points[contact.point].depth;
    const double later = gap + late_closing(tick, collisions, m, p_WC);
    contact.b[0] += (std::max(0.0, later) - std::max(0.0, gap)) / tick.h;
    const Vec3 v = ContactProblem::frame(m.nhat_BA_W, tick.model.planar).transpose() *
                   (point_velocity(state, tick.kinematics.bodies[m.body_a], m.body_a, p_WC) -
                    point_velocity(state, tick.kinematics.bodies[m.body_b], m.body_b, p_WC));
    if (friction == LcpFriction::none) contact.mu = 0;
    const double slip = v.tail<2>().norm();
    const double soon = kSoon * contact.mu * tick.h * tick.parameters.gravity_W.norm();
    const bool slides = slip > std::max(tick.parameters.impact_epsilon, soon);
    if (slides) contact.slip = v.tail<2>() / slip;
    TACTUS_DCHECK(is_unit(contact.slip));
    if (friction == LcpFriction::lotstedt) {
      contact.law = ContactLaw::bounded;
      contact.bound = contact.mu * std::max(0.0, p_[i][0]);  // what a restored pair remembers may pull
    } else if (slides) {
      contact.law = ContactLaw::sliding;
    }
  }
}

StepReport LcpModel::advance(const Tick& tick, State& state) noexcept {
  StepReport report;
  if (tick.finder == nullptr || !finds_again(tick.model, tick.parameters)) {
    advance_fixed(tick, state, report);
    return report;
  }
  const double left = exact_->advance(tick, state, report);
  TACTUS_DCHECK(left >= 0 && left <= tick.h);
  if (left == 0) return report;
  Tick rest = tick;
  rest.h = left;
  advance_fixed(rest, state, report);
  return report;
}

void LcpModel::advance_fixed(const Tick& tick, State& state, StepReport& report) noexcept {
  TACTUS_DCHECK(is_well_formed(tick.contacts, state.body_count(), state.pairs.size()));
  auto* sweeps = tick.arena.take<RobotSweep>(tick.kinematics.robots.size());
  prescribe_velocities(tick.model, state.time, tick.h, state);
  const LcpCollisions collisions = tactus::collide(tick, state, report);
  report.solver_failures += load_robots(tick, state, sweeps);
  problem_.build(tick, state, sweeps, *this);
  report.points_dropped = problem_.dropped();
  report.robot_contacts_dropped = problem_.robot_contacts_dropped();
  recall(tick, state);
  set_laws(tick, state, collisions);
  const LcpReport solved = forces_.solve(problem_, tick.parameters.lcp_method, p_.data(), u_.data());
  report.solver_failures += solved.failures;
  report.solver_fallbacks += solved.fallbacks;
  report.solver_iterations += solved.iterations;
  report.solver_residual = std::max(report.solver_residual, solved.residual);
  report.inconsistent += solved.inconsistent;
  report.indeterminate += solved.indeterminate;
  remember(tick, state);
  find_drift(tick);
  move_bodies(tick, state);
  move_robots(tick, sweeps, state);
  move_late(tick, collisions, state);
  move_by_drift(tick, problem_, u_drift_.data(), state);
  update_links(tick.model, tick.kinematics, state);
}

std::unique_ptr<ContactModel> make_lcp(const Model& model, const Limits& limits) {
  return std::make_unique<LcpModel>(model, limits);
}

}  // namespace tactus
