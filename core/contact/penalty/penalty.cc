#include "core/contact/penalty/penalty.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/bottom_points.h"
#include "core/contact/impact/impact_simultaneous.h"
#include "core/contact/penalty/implicit_step.h"
#include "core/contact/penalty/linear_friction.h"
#include "core/dynamics/integrator.h"
#include "core/dynamics/robot_step.h"
#include "core/math/checks.h"

namespace tactus {

struct PenaltyModel::Scratch {
  PenaltyContact* contacts;
  ImpactContact* impacts;
  PenaltyMemory* memory;
  std::uint32_t* manifolds_on_body;
  std::uint32_t count;
};

namespace {

// Depths of one level of III-A: differences below this fraction of the deepest are noise of a flat face.
constexpr double kLevelTolerance = 1e-3;

double approach_speed(const Tick& tick, const State& state, const Manifold& m, const Vec3& p_WC) noexcept {
  const Vec3& x_a = tick.kinematics.bodies[m.body_a].X_WBcm.p;
  const Vec3& x_b = tick.kinematics.bodies[m.body_b].X_WBcm.p;
  const Vec3 v_rel = state.v_WBcm(m.body_a) + state.w_WB(m.body_a).cross(p_WC - x_a) - state.v_WBcm(m.body_b) -
                     state.w_WB(m.body_b).cross(p_WC - x_b);
  return m.nhat_BA_W.dot(v_rel);  // > 0 separating
}

// The order in which manifolds are treated: upward along gravity, as loads travel; at one height those of lighter
// bodies later. It comes from physics only, so that neither the numbers of bodies nor the axes of the world matter.
const std::uint32_t* upward(const Tick& tick) noexcept {
  constexpr double kLevel = 1e-3;  // manifolds this close are at one height [m]
  const std::uint32_t count = tick.contacts.manifold_count;
  const Vec3& g = tick.parameters.gravity_W;
  const double size = g.norm();
  const Vec3 up = size > 0 ? Vec3(-g / size) : Vec3(Vec3::UnitZ());
  TACTUS_DCHECK(is_unit(up));
  struct Place {
    double height;
    std::uint32_t manifold;
  };
  auto* order = tick.arena.take<std::uint32_t>(count);
  auto* places = tick.arena.take<Place>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Manifold& m = tick.contacts.manifolds[i];
    const ContactPoint* points = tick.contacts.points + m.first;
    Vec3 sum = Vec3::Zero();
    for (std::uint32_t k = 0; k < m.count; ++k) sum += points[k].p_WC;
    const double inv_mass = tick.kinematics.bodies[m.body_a].inv_mass + tick.kinematics.bodies[m.body_b].inv_mass;
    places[i] = {up.dot(sum) / m.count + kLevel * inv_mass / (1 + inv_mass), i};
  }
  std::sort(places, places + count, [](const Place& x, const Place& y) {
    return x.height < y.height || (x.height == y.height && x.manifold < y.manifold);
  });
  for (std::uint32_t i = 0; i < count; ++i) order[i] = places[i].manifold;
  return order;
}

}  // namespace

// The implicit law takes all bottom points and steps in its own way; elsewhere "auto" means the explicit one.
bool PenaltyModel::implicit(const Model& model, const Parameters& parameters) const noexcept {
  return parameters.gains.law == GainLaw::automatic && !deepest_only_ &&
         model.integrator == Integrator::semi_implicit_euler;
}

StepReport PenaltyModel::advance(const Tick& tick, State& state) noexcept {
  TACTUS_ASSERT(tick.h > 0);
  TACTUS_DCHECK(is_well_formed(tick.contacts, state.body_count(), state.pairs.size()));
  StepReport report;
  Scratch s{};
  s.count = tick.contacts.manifold_count;
  s.contacts = tick.arena.take<PenaltyContact>(s.count);
  s.impacts = tick.arena.take<ImpactContact>(s.count);
  s.memory = tick.arena.take<PenaltyMemory>(s.count);
  s.manifolds_on_body = tick.arena.take<std::uint32_t>(state.body_count());
  choose_points(tick, upward(tick), s);
  update_phases(tick, state, s);
  collide(tick, state, s, report);
  if (implicit(tick.model, tick.parameters)) {
    implicit_step(tick, s.contacts, s.count, state, report);
    return report;
  }
  if (!prepare_robots(tick.kinematics, state, tick.model)) ++report.solver_failures;
  prepare(tick, state, s);
  integrate(tick, state, s, report);
  remember(tick, state, s);
  return report;
}

// Bottom points (III-A), or the deepest one; counts the manifolds on each body.
void PenaltyModel::choose_points(const Tick& tick, const std::uint32_t* order, Scratch& s) const noexcept {
  std::fill(s.manifolds_on_body, s.manifolds_on_body + tick.model.bodies.size(), 0u);
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const Manifold& m = tick.contacts.manifolds[order[i]];
    PenaltyContact& c = s.contacts[i];
    c.manifold = order[i];
    c.a = m.body_a, c.b = m.body_b;
    c.pair = m.pair;
    c.nhat_BA_W = m.nhat_BA_W;
    c.points = tick.contacts.points + m.first;
    ++s.manifolds_on_body[c.a];
    ++s.manifolds_on_body[c.b];
    auto* chosen = tick.arena.take<std::uint32_t>(m.count);
    if (deepest_only_) {
      const auto deeper = [](const ContactPoint& x, const ContactPoint& y) { return x.depth < y.depth; };
      chosen[0] = static_cast<std::uint32_t>(std::max_element(c.points, c.points + m.count, deeper) - c.points);
      c.count = 1;
    } else if (m.all_on_bottom) {
      for (std::uint32_t k = 0; k < m.count; ++k) chosen[k] = k;
      c.count = m.count;
    } else {
      c.count =
          bottom_points(m.nhat_BA_W, c.points, m.count, kLevelTolerance * std::abs(m.depth_max), chosen, tick.arena);
    }
    TACTUS_DCHECK(c.count > 0 && c.count <= m.count);
    c.chosen = chosen;
    c.p_ref = c.points[chosen[0]].p_WC;
  }
}

// Fig. 2: a new contact that approaches anywhere faster than epsilon is an impact; otherwise it rests at once.
void PenaltyModel::update_phases(const Tick& tick, const State& state, Scratch& s) const noexcept {
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const PenaltyContact& c = s.contacts[i];
    const Manifold& m = tick.contacts.manifolds[c.manifold];
    const SurfacePair& surface =
        tick.model.surface(tick.model.shapes[m.shape_a].material, tick.model.shapes[m.shape_b].material);
    ImpactContact& impact = s.impacts[i];
    impact = {m.body_a, m.body_b, m.nhat_BA_W, c.p_ref, surface.restitution, surface.friction.mu_dynamic,
              false,    false,    0,           0};
    Vec3 sum = Vec3::Zero();
    for (std::uint32_t k = 1; k < c.count; ++k) sum += c.points[c.chosen[k]].p_WC - c.p_ref;
    impact.p_WC = c.p_ref + sum / c.count;
    if (state.pairs[m.pair].phase == ContactPhase::resting) continue;
    for (std::uint32_t k = 0; k < c.count && !impact.pending; ++k) {
      impact.pending = approach_speed(tick, state, m, c.points[c.chosen[k]].p_WC) < -tick.parameters.impact_epsilon;
    }
  }
}

ImpactResult PenaltyModel::collide_in_turn(const Tick& tick, State& state, Scratch& s) const noexcept {
  auto* stamps = tick.arena.take<std::uint32_t>(state.body_count());
  return resolve_impacts(s.impacts, s.count, tick.parameters.impact_epsilon, tick.limits.impact_sweeps, tick.kinematics,
                         stamps, state, tick.parameters.restitution_law);
}

ImpactResult PenaltyModel::collide_together(const Tick& tick, State& state, Scratch& s) const noexcept {
  auto* patches = tick.arena.take<ImpactPatch>(s.count);
  for (std::uint32_t i = 0; i < s.count; ++i) {
    patches[i] = {s.contacts[i].points, s.contacts[i].chosen, s.contacts[i].count};
  }
  return resolve_impacts_together(s.impacts, patches, s.count, tick.parameters.impact_epsilon,
                                  tick.limits.impact_sweeps, tick.kinematics, tick.arena, state);
}

void PenaltyModel::collide(const Tick& tick, State& state, Scratch& s, StepReport& report) const noexcept {
  const bool any = std::any_of(s.impacts, s.impacts + s.count, [](const ImpactContact& c) { return c.pending; });
  if (!any) return;
  if (!prepare_robots(tick.kinematics, state, tick.model)) {
    ++report.solver_failures;
    return;
  }
  const ImpactResult result = tick.parameters.impacts == Impacts::simultaneous ? collide_together(tick, state, s)
                                                                               : collide_in_turn(tick, state, s);
  report.impacts = static_cast<std::uint32_t>(
      std::count_if(s.impacts, s.impacts + s.count, [](const ImpactContact& c) { return c.hit; }));
  report.sweeps_exhausted = result.exhausted ? 1 : 0;
}

// Memory, gains and friction springs of this tick.
void PenaltyModel::prepare(const Tick& tick, const State& state, Scratch& s) const noexcept {
  const Gains& gains = tick.parameters.gains;
  const bool automatic = gains.law == GainLaw::automatic || gains.law == GainLaw::automatic_explicit;
  const double h = tick.h;
  // The gains are those of one force evaluation's step; RK4 takes the whole tick in one.
  const double h_stage = tick.model.integrator == Integrator::rk4 ? h : h / tick.model.substeps;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    PenaltyContact& c = s.contacts[i];
    const Manifold& m = tick.contacts.manifolds[c.manifold];
    const PairRecord& record = state.pairs[m.pair];
    const bool is_new = record.phase == ContactPhase::apart;
    PenaltyMemory memory = load_block<PenaltyMemory>(record);
    if (automatic) {
      // Overlap that came up within one tick (an impact between ticks, a corner that strikes while another rests, a bad
      // start) is worked off gently (penalty_memory.h): the spring's reach follows the depth at a quiet speed, or with
      // the relaxation time.
      if (is_new) memory.reach = kQuietSpeed * h;
      c.reach = memory.reach;
      automatic_gains(gains, h_stage, tick.kinematics, state, s.manifolds_on_body[c.a], s.manifolds_on_body[c.b], c);
    } else {
      c.reach = std::numeric_limits<double>::infinity();
      const double mass = tick.model.bodies[c.a].mass * moves(tick.kinematics.bodies[c.a]) +
                          tick.model.bodies[c.b].mass * moves(tick.kinematics.bodies[c.b]);
      c.kp = gains.law == GainLaw::paper ? 100.0 * mass : gains.kp;  // III-C
      c.kv = gains.law == GainLaw::paper ? 50.0 * mass : gains.kv;
    }
    TACTUS_DCHECK(not_below(c.kp, 0) && not_below(c.kv, 0));
    const double ki = automatic ? 0.0 : gains.law == GainLaw::explicit_gains ? gains.ki : 0.02 * c.kp;
    c.integral_force = ki * memory.integral;
    c.divide_by_points = gains.divide_by_points;
    const Friction& friction =
        tick.model.surface(tick.model.shapes[m.shape_a].material, tick.model.shapes[m.shape_b].material).friction;
    c.mu_static = std::max(friction.mu_static, friction.mu_dynamic);
    c.mu_dynamic = friction.mu_dynamic;
    c.viscous = friction.viscous;
    c.stribeck_velocity = friction.stribeck_velocity;
    c.linear_friction = friction.law == FrictionLaw::linear_system && tick.model.integrator != Integrator::rk4;
    c.was_slipping = memory.slipping != 0;
    c.slipped = false;  // all of it is set: arena memory has no past
    c.normal_force = 0;
    c.active = 0;
    // The tangential spring turns with the two bodies' mean spin and stays in the plane of this tick.
    Vec3 stretch(memory.stretch[0], memory.stretch[1], memory.stretch[2]);
    const double spin = 0.5 * h * c.nhat_BA_W.dot(state.w_WB(c.a) + state.w_WB(c.b));
    stretch += spin * c.nhat_BA_W.cross(stretch);
    c.h_moved = is_new ? 0.0 : h_stage;
    c.stretch = stretch - c.nhat_BA_W.dot(stretch) * c.nhat_BA_W;
    c.twist = memory.twist;
    s.memory[i] = memory;
  }
}

namespace {

// The penalty forces over one tick: the first evaluation is at the start, later ones follow the bodies.
class PenaltyForceLaw final : public ForceLaw {
 public:
  PenaltyForceLaw(StageKind kind, double h_stage, const Tick& tick, const State& state, PenaltyContact* contacts,
                  std::uint32_t count)
      : kind_(kind),
        h_stage_(h_stage),
        tick_(tick),
        state_(state),
        contacts_(contacts),
        count_(count),
        stage_(tick.arena.take<StageBody>(state.body_count())),
        linear_(tick, state, contacts, count) {}

  void evaluate(const double* q, const double* v, SpatialForce* F) noexcept override {
    std::copy(tick_.applied, tick_.applied + state_.body_count(), F);
    for (BodyIndex b = 0; b < state_.body_count(); ++b)
      follow(b, q + 7 * static_cast<std::size_t>(b), v + 6 * static_cast<std::size_t>(b));
    for (std::uint32_t i = 0; i < count_; ++i) {
      PenaltyContact& c = contacts_[i];
      SpatialForce* points = first_ ? tick_.contact_force + (c.points - tick_.contacts.points) : nullptr;
      tactus::evaluate(first_ ? StageKind::start : kind_, c, stage_[c.a], stage_[c.b], F[c.a], F[c.b], points);
      if (!first_) continue;
      c.h_moved = h_stage_;
      c.was_slipping = c.slipped;
    }
    linear_.add(stage_, h_stage_, F, first_ ? tick_.contact_force : nullptr);
    first_ = false;
    if (tick_.contact_wrench != nullptr) add_to_mean(F);
  }

 private:
  void follow(BodyIndex b, const double* q, const double* v) noexcept {
    StageBody& s = stage_[b];
    s.x = Eigen::Map<const Vec3>(q);
    s.v = Eigen::Map<const Vec3>(v);
    s.w = Eigen::Map<const Vec3>(v + 3);
    if (first_) return;
    const Frame& start = tick_.kinematics.bodies[b].X_WBcm;
    s.moved = s.x - start.p;
    s.turned.noalias() = Quat(q[3], q[4], q[5], q[6]).toRotationMatrix() * start.R.transpose();
    s.turned.diagonal().array() -= 1.0;
  }

  // Weights of the evaluations in the tick: equal, or Runge and Kutta's.
  void add_to_mean(const SpatialForce* F) noexcept {
    static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const double share = kind_ == StageKind::trial ? kWeight[evaluated_++ % 4] : h_stage_ / tick_.h;
    for (BodyIndex b = 0; b < state_.body_count(); ++b) {
      tick_.contact_wrench[b].force += share * (F[b].force - tick_.applied[b].force);
      tick_.contact_wrench[b].torque += share * (F[b].torque - tick_.applied[b].torque);
    }
  }

  StageKind kind_;
  double h_stage_;
  const Tick& tick_;
  const State& state_;
  PenaltyContact* contacts_;
  std::uint32_t count_;
  StageBody* stage_;
  LinearFriction linear_;
  bool first_ = true;
  int evaluated_ = 0;
};

}  // namespace

void PenaltyModel::integrate(const Tick& tick, State& state, Scratch& s, StepReport& report) const noexcept {
  if (tick.model.integrator == Integrator::rk4) {
    PenaltyForceLaw law(StageKind::trial, tick.h, tick, state, s.contacts, s.count);
    const RobotInputs robots{tick.kinematics, tick.drives, tick.joint_effort, tick.joint_stop};
    rk4(tick.model, tick.parameters, tick.h, law, tick.arena, state, tick.model.robots.empty() ? nullptr : &robots);
    return;
  }
  const std::uint32_t n = tick.model.substeps;
  const double h = tick.h / n;
  PenaltyForceLaw law(StageKind::substep, h, tick, state, s.contacts, s.count);
  auto* F = tick.arena.take<SpatialForce>(state.body_count());
  for (std::uint32_t k = 0; k < n; ++k) {
    law.evaluate(state.q.data(), state.v.data(), F);
    semi_implicit_euler(tick.model, tick.parameters, tick.kinematics, state.time + k * h, h, F, state);
    report.solver_failures += step_robots(tick.model, tick.kinematics, tick.parameters, tick.drives, F, h, 1.0 / n,
                                          tick.arena, state, tick.joint_effort, tick.joint_stop);
  }
}

// Eq. 2 forgets, so it is a low-pass filter and no integrator, which the paper does not say: the depth at rest is m g /
// (kp + ki / (1 - lambda)), and where the second term is larger than kp a contact that is unloaded suddenly pops.
void PenaltyModel::remember(const Tick& tick, State& state, const Scratch& s) const noexcept {
  const Parameters& parameters = tick.parameters;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const PenaltyContact& c = s.contacts[i];
    PenaltyMemory memory = s.memory[i];
    TACTUS_DCHECK(c.pair < state.pairs.size() && c.manifold < tick.contacts.manifold_count);
    PairRecord& record = state.pairs[c.pair];
    const double depth = tick.contacts.manifolds[c.manifold].depth_max;
    memory.integral = parameters.gains.lambda * memory.integral + depth;  // eq. 2
    memory.reach = next_reach(parameters, tick.h, depth, c.reach);
    for (int k = 0; k < 3; ++k) memory.stretch[k] = c.stretch[k];
    memory.twist = c.twist;
    memory.slipping = c.slipped ? 1 : 0;
    for (int k = 0; k < 3; ++k) memory.force[k] = memory.torque[k] = memory.roll[k] = 0;
    store_memory(record, memory);
    // After its impact too: a pair that parts again gets no force, because damping outweighs what the spring may feel.
    record.phase = ContactPhase::resting;
  }
}

}  // namespace tactus
