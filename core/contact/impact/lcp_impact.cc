#include "core/contact/impact/lcp_impact.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/impact/impact_simultaneous.h"

namespace tactus {

namespace {

constexpr int kPasses = 8;  // of a collision's time from body to body

double normal_velocity(const Tick& tick, const State& state, const Manifold& m, const Vec3& p_WC) noexcept {
  return m.nhat_BA_W.dot(point_velocity(state, tick.kinematics.bodies[m.body_a], m.body_a, p_WC) -
                         point_velocity(state, tick.kinematics.bodies[m.body_b], m.body_b, p_WC));
}

// The points of a manifold that touch, or will within the step.
struct Struck {
  ImpactContact* contacts;
  ImpactPatch* patches;
  double* time;  // until the first point touches [s]
  std::uint32_t count = 0;
  bool pending = false;
};

void look_at(const Tick& tick, const State& state, const Manifold& m, Struck& out) noexcept {
  TACTUS_DCHECK(m.first + m.count <= tick.contacts.point_count && tick.h > 0);
  const ContactPoint* const points = tick.contacts.points + m.first;
  auto* const chosen = tick.arena.take<std::uint32_t>(m.count);
  const double epsilon = tick.parameters.impact_epsilon;
  const double gravity = tick.h * tick.parameters.gravity_W.norm();
  double time = std::numeric_limits<double>::infinity();
  std::uint32_t closing = 0, touching = 0;
  for (std::uint32_t k = 0; k < m.count; ++k) {
    const double speed = -normal_velocity(tick, state, m, points[k].p_WC), gap = -points[k].depth;
    if (speed <= epsilon || gap > tick.h * (speed + gravity)) continue;
    chosen[closing++] = k;
    time = std::min(time, std::clamp(gap / speed, 0.0, tick.h));
  }
  const bool pending = closing > 0;
  for (std::uint32_t k = 0; k < m.count && !pending; ++k) {
    if (points[k].depth >= -tick.parameters.contact_margin) chosen[touching++] = k;
  }
  const std::uint32_t count = pending ? closing : touching;
  if (count == 0) return;
  Vec3 centre = Vec3::Zero();
  for (std::uint32_t k = 0; k < count; ++k) centre += points[chosen[k]].p_WC;
  const SurfacePair& surface =
      tick.model.surface(tick.model.shapes[m.shape_a].material, tick.model.shapes[m.shape_b].material);
  out.contacts[out.count] = {
      m.body_a, m.body_b, m.nhat_BA_W, centre / count, surface.restitution, surface.friction.mu_dynamic, pending, false,
      0,        0};
  out.patches[out.count] = {points, chosen, count};
  out.time[out.count] = time;
  out.pending = out.pending || pending;
  ++out.count;
}

// A body is struck when the first of its collisions happens, and so are all that it strikes in turn.
const double* find_delays(const Tick& tick, const State& state, Struck& struck) noexcept {
  auto* const delay = tick.arena.take<double>(state.body_count());
  std::fill_n(delay, state.body_count(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < kPasses; ++pass) {
    bool changed = false;
    for (std::uint32_t i = 0; i < struck.count; ++i) {
      const ImpactContact& c = struck.contacts[i];
      if (!c.hit) continue;
      double time = struck.time[i];
      for (const BodyIndex b : {c.a, c.b}) {
        if (moves(tick.kinematics.bodies[b])) time = std::min(time, delay[b]);
      }
      for (const BodyIndex b : {c.a, c.b}) {
        changed = changed || time < delay[b];
        delay[b] = std::min(delay[b], time);
      }
      struck.time[i] = time;
    }
    if (!changed) break;
  }
  for (const auto& tree : tick.kinematics.robots) {
    double first = std::numeric_limits<double>::infinity();
    for (std::uint32_t link = 0; link < tree->link_count(); ++link) first = std::min(first, delay[tree->body(link)]);
    for (std::uint32_t link = 0; link < tree->link_count(); ++link) delay[tree->body(link)] = first;
  }
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (!(delay[b] <= tick.h)) delay[b] = 0;
    TACTUS_DCHECK(delay[b] >= 0);
  }
  return delay;
}

}  // namespace

LcpCollisions collide(const Tick& tick, State& state, StepReport& report) noexcept {
  LcpCollisions out;
  const std::uint32_t manifolds = tick.contacts.manifold_count;
  Struck struck{tick.arena.take<ImpactContact>(manifolds), tick.arena.take<ImpactPatch>(manifolds),
                tick.arena.take<double>(manifolds)};
  for (std::uint32_t i = 0; i < manifolds; ++i) look_at(tick, state, tick.contacts.manifolds[i], struck);
  if (!struck.pending) return out;
  if (!prepare_robots(tick.kinematics, state, tick.model)) {
    ++report.solver_failures;
    return out;
  }
  auto* const lost = tick.arena.take<double>(state.v.size());
  auto* const joint_lost = tick.arena.take<double>(state.joint_v.size());
  std::copy(state.v.begin(), state.v.end(), lost);
  std::copy(state.joint_v.begin(), state.joint_v.end(), joint_lost);
  const Parameters& p = tick.parameters;
  ImpactResult result;
  if (p.impacts == Impacts::simultaneous) {
    result = resolve_impacts_together(struck.contacts, struck.patches, struck.count, p.impact_epsilon,
                                      tick.limits.impact_sweeps, tick.kinematics, tick.arena, state);
  } else {
    auto* const stamps = tick.arena.take<std::uint32_t>(state.body_count());
    result = resolve_impacts(struck.contacts, struck.count, p.impact_epsilon, tick.limits.impact_sweeps,
                             tick.kinematics, stamps, state, p.restitution_law);
  }
  report.sweeps_exhausted = result.exhausted ? 1 : 0;
  for (std::uint32_t i = 0; i < struck.count; ++i) report.impacts += struck.contacts[i].hit ? 1 : 0;
  for (std::size_t i = 0; i < state.v.size(); ++i) lost[i] -= state.v[i];
  for (std::size_t i = 0; i < state.joint_v.size(); ++i) joint_lost[i] -= state.joint_v[i];
  out = {report.impacts > 0, find_delays(tick, state, struck), lost, joint_lost};
  return out;
}

void move_late(const Tick& tick, const LcpCollisions& collisions, State& state) noexcept {
  if (!collisions.any) return;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const double delay = collisions.delay[b];
    if (delay == 0 || state.frozen[b] || tick.model.bodies[b].mode != BodyMode::free) continue;
    const Eigen::Map<const Vec3> v(collisions.lost + 6 * std::size_t{b}), w(collisions.lost + 6 * std::size_t{b} + 3);
    state.set_pose(b, state.p_WBcm(b) + delay * v, rotate_by(delay * w, state.q_WB(b)));
  }
  for (const auto& tree : tick.kinematics.robots) {
    const Robot& robot = tree->robot();
    const double delay = collisions.delay[tree->body(0)];
    if (delay == 0 || robot_frozen(tick.model, state, robot)) continue;
    integrate_joints(tick.model, robot, delay, collisions.joint_lost + robot.first_v,
                     state.joint_q.data() + robot.first_q);
  }
}

double late_closing(const Tick& tick, const LcpCollisions& collisions, const Manifold& m, const Vec3& p_WC) noexcept {
  if (!collisions.any) return 0;
  TACTUS_DCHECK(collisions.delay != nullptr && collisions.lost != nullptr);
  Vec3 moved = Vec3::Zero();
  const auto add = [&](BodyIndex b, double sign) {
    if (collisions.delay[b] == 0) return;
    const Eigen::Map<const Vec3> v(collisions.lost + 6 * std::size_t{b}), w(collisions.lost + 6 * std::size_t{b} + 3);
    moved += sign * collisions.delay[b] * (v + w.cross(p_WC - tick.kinematics.bodies[b].X_WBcm.p));
  };
  add(m.body_a, 1);
  add(m.body_b, -1);
  return m.nhat_BA_W.dot(moved);
}

}  // namespace tactus
