#include "core/contact/step/time_stepper.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/check.h"
#include "core/contact/step/overlap_drift.h"
#include "core/dynamics/integrator.h"
#include "core/dynamics/state_bounds.h"

namespace tactus {

namespace {

// What a pair remembers: impulses of its first points, and a number by which a point is known again. All zero: nothing.
struct StepperMemory {
  struct Point {
    float n, t1, t2;  // [N s]
    float key;
  } points[8];
};
// By their sum, too: the largest of numbers that are none may be one.
bool is_bearable(const StepperMemory::Point& x) noexcept {
  return std::max({std::abs(x.n), std::abs(x.t1), std::abs(x.t2), std::abs(x.key)}) <= kMostMemory &&
         std::isfinite(x.n + x.t1 + x.t2 + x.key);
}
constexpr std::uint32_t kRemembered = 8;
constexpr float kKeyReach = 0.02F;

// A point's place in shape A's body along a direction that no edge of a box has [m].
float key_of(const Tick& tick, const Manifold& m, const Vec3& p_WC) noexcept {
  const Vec3 p_A = tick.kinematics.bodies[m.body_a].X_WBcm.to_local(p_WC);
  const Vec3 p_B = tick.kinematics.bodies[m.body_b].X_WBcm.to_local(p_WC);
  const Vec3 weights(0.61, 0.37, 0.23);
  // The body that moves knows its points best.
  return static_cast<float>(weights.dot(moves(tick.kinematics.bodies[m.body_b]) ? p_B : p_A));
}

}  // namespace

TimeStepper::TimeStepper(const Model& model, const Limits& limits)
    : problem_(model, limits),
      solver_(model, limits),
      p_(problem_contacts_max(model, limits)),
      u_(6 * model.bodies.size() + model.joint_v0.size()),
      y_(u_.size()),
      u_drift_(u_.size()),
      force_(model.bodies.size()) {}

// Robots with their drives, damping and bias, without contacts. Gives how many stand still because they cannot be
// solved for.
std::uint32_t TimeStepper::load_robots(const Tick& tick, const State& state, RobotSweep* sweeps) noexcept {
  std::uint32_t failed = 0;
  for (std::size_t i = 0; i < tick.kinematics.robots.size(); ++i) {
    Tree& tree = *tick.kinematics.robots[i];
    sweeps[i].tree = nullptr;
    if (robot_frozen(tick.model, state, tree.robot())) continue;
    tree.velocities(state);
    tree.prepare_factor();
    const StopLaw unused{1, 1, tick.parameters.overlap_relax_speed};
    if (start_sweep(tick.model, state, tree, tick.parameters.gravity_W, tick.drives + tree.robot().first_v,
                    tick.applied, tick.h, unused, tick.arena, sweeps[i])) {
      predict(sweeps[i]);
      continue;
    }
    sweeps[i].tree = nullptr;
    ++failed;
  }
  return failed;
}

float TimeStepper::point_key(const Tick& tick, const ProblemContact& contact) const noexcept {
  return key_of(tick, tick.contacts.manifolds[contact.manifold], tick.contacts.points[contact.point].p_WC);
}

SolverReport TimeStepper::solve(const Tick& tick, const ContactProblem& problem, ContactSolver& solver, Vec3* p,
                                double* u) noexcept {
  SolverWork work;
  return solver.solve(problem, tick.parameters.friction_directions, p, u, work);
}

bool TimeStepper::bearable(const PairRecord& record) noexcept {
  const auto memory = load_block<StepperMemory>(record);
  return std::all_of(std::begin(memory.points), std::end(memory.points), is_bearable);
}

// Each remembered point goes to the contact of its pair that is nearest to it, and to no other: given to two, the
// impulse that held a body still would throw it.
void TimeStepper::recall(const Tick& tick, const State& state) noexcept {
  for (std::uint32_t first = 0, end = 0; first < problem_.count(); first = end) {
    const std::uint32_t manifold = problem_.contact(first).manifold;
    p_[end++].setZero();
    if (manifold == kNone) continue;
    TACTUS_DCHECK(manifold < tick.contacts.manifold_count);
    const std::uint32_t pair = tick.contacts.manifolds[manifold].pair;
    for (; end < problem_.count(); ++end) {
      const std::uint32_t next = problem_.contact(end).manifold;
      if (next == kNone || tick.contacts.manifolds[next].pair != pair) break;
      p_[end].setZero();
    }
    const auto memory = load_block<StepperMemory>(state.pairs[pair]);
    if (memory.points[0].n == 0) continue;
    std::uint32_t taker[kRemembered];
    float distance[kRemembered];
    std::fill_n(distance, kRemembered, kKeyReach);
    for (std::uint32_t i = first; i < end; ++i) {
      const float key = point_key(tick, problem_.contact(i));
      for (std::uint32_t k = 0; k < kRemembered && memory.points[k].n != 0; ++k) {
        const float d = std::abs(memory.points[k].key - key);
        if (d < distance[k]) distance[k] = d, taker[k] = i;
      }
    }
    for (std::uint32_t k = 0; k < kRemembered && memory.points[k].n != 0; ++k) {
      if (!(distance[k] < kKeyReach)) continue;
      bool nearest = true;
      for (std::uint32_t l = 0; l < kRemembered && memory.points[l].n != 0; ++l) {
        if (l == k || !(distance[l] < kKeyReach) || taker[l] != taker[k]) continue;
        nearest = nearest && (distance[k] < distance[l] || (distance[k] == distance[l] && k < l));
      }
      const StepperMemory::Point& point = memory.points[k];
      if (nearest) p_[taker[k]] = Vec3(point.n, point.t1, point.t2);
    }
  }
}

void TimeStepper::remember(const Tick& tick, State& state) const noexcept {
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    PairRecord& record = state.pairs[tick.contacts.manifolds[i].pair];
    record.model.fill(0.0);
    record.phase = ContactPhase::apart;
  }
  std::uint32_t last = kNone, count = 0;
  StepperMemory memory{};
  for (std::uint32_t i = 0; i < problem_.count(); ++i) {
    const ProblemContact& contact = problem_.contact(i);
    if (contact.manifold == kNone) continue;
    const Manifold& m = tick.contacts.manifolds[contact.manifold];
    TACTUS_DCHECK(m.pair < state.pairs.size());
    if (m.pair != last) memory = {}, count = 0;
    last = m.pair;
    if (p_[i][0] <= 0 || count == kRemembered) continue;
    const StepperMemory::Point point{static_cast<float>(p_[i][0]), static_cast<float>(p_[i][1]),
                                     static_cast<float>(p_[i][2]), point_key(tick, contact)};
    if (!is_bearable(point)) continue;
    memory.points[count++] = point;
    store_block(state.pairs[m.pair], memory);
    state.pairs[m.pair].phase = ContactPhase::resting;
  }
}

void TimeStepper::move_bodies(const Tick& tick, State& state) noexcept {
  std::fill_n(force_.begin(), state.body_count(), SpatialForce{});
  for (std::uint32_t i = 0; i < problem_.count(); ++i) {
    const ProblemContact& contact = problem_.contact(i);
    if (contact.manifold == kNone) continue;
    const Manifold& m = tick.contacts.manifolds[contact.manifold];
    const Vec3 f = ContactProblem::frame(m.nhat_BA_W, tick.model.planar) * p_[i] / tick.h;
    const Vec3& p_WC = tick.contacts.points[contact.point].p_WC;
    TACTUS_DCHECK(contact.point < tick.contacts.point_count);
    tick.contact_force[contact.point].force = f;
    force_[m.body_a].force += f;
    force_[m.body_a].torque += (p_WC - tick.kinematics.bodies[m.body_a].X_WBcm.p).cross(f);
    force_[m.body_b].force -= f;
    force_[m.body_b].torque -= (p_WC - tick.kinematics.bodies[m.body_b].X_WBcm.p).cross(f);
  }
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (tick.contact_wrench != nullptr) tick.contact_wrench[b] = force_[b];
    force_[b].force += tick.applied[b].force;
    force_[b].torque += tick.applied[b].torque;
  }
  semi_implicit_euler(tick.model, tick.parameters, tick.kinematics, state.time, tick.h, force_.data(), state);
}

void TimeStepper::move_robots(const Tick& tick, RobotSweep* sweeps, State& state) noexcept {
  for (std::uint32_t i = 0; i < problem_.count(); ++i) {
    const ProblemContact& contact = problem_.contact(i);
    if (contact.manifold == kNone) sweeps[contact.robot].rows[contact.joint_row].impulse = p_[i][0];
  }
  for (std::uint32_t b = 0; b < problem_.block_count(); ++b) {
    const ProblemBlock& block = problem_.block(b);
    if (block.body != kNoBody) continue;
    TACTUS_DCHECK(block.robot < tick.kinematics.robots.size() && sweeps[block.robot].tree != nullptr);
    RobotSweep& s = sweeps[block.robot];
    for (std::uint32_t d = 0; d < s.n; ++d) s.u[d] = s.u_free[d] + u_[block.start + d];
    end_substep(s);
    end_sweep(s, 1, state, tick.joint_effort + s.first_v, tick.stops_of(s.first_v));
  }
}

// Half velocities, for the solution of this step; zero where nothing is worked off.
void TimeStepper::find_drift(const Tick& tick) noexcept {
  std::fill_n(u_drift_.begin(), problem_.half_size(), 0.0);
  if (drifts(tick.parameters)) tactus::find_drift(tick, problem_, u_.data(), y_.data(), u_drift_.data());
}

StepReport TimeStepper::advance(const Tick& tick, State& state) noexcept {
  TACTUS_ASSERT(tick.h > 0 && problem_half_max(tick.model) <= u_.size());
  TACTUS_DCHECK(is_well_formed(tick.contacts, state.body_count(), state.pairs.size()));
  StepReport report;
  auto* sweeps = tick.arena.take<RobotSweep>(tick.kinematics.robots.size());
  prescribe_velocities(tick.model, state.time, tick.h, state);
  report.solver_failures = load_robots(tick, state, sweeps);
  start(tick);
  problem_.build(tick, state, sweeps, *this);
  report.points_dropped = problem_.dropped();
  report.robot_contacts_dropped = problem_.robot_contacts_dropped();
  recall(tick, state);
  const SolverReport solved = solve(tick, problem_, solver_, p_.data(), u_.data());
  report.solver_failures += solved.failures;
  report.solver_fallbacks = solved.fallbacks;
  report.solver_iterations = solved.iterations;
  report.solver_residual = solved.residual;
  find_drift(tick);
  move_bodies(tick, state);
  move_robots(tick, sweeps, state);
  move_by_drift(tick, problem_, u_drift_.data(), state);
  update_links(tick.model, tick.kinematics, state);
  remember(tick, state);
  return report;
}

}  // namespace tactus
