#include "core/contact/penalty/implicit_step.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/penalty/penalty_memory.h"
#include "core/dynamics/integrator.h"
#include "core/dynamics/robot_sweep.h"

namespace tactus {

namespace {

// One more sweep for a contact for each such change of the lighter body's velocity by its impulse in a substep [m/s],
// at most so many.
constexpr double kStress = 0.2;
constexpr int kExtraSweeps = 8;

// What a contact carries stiffens it at most so many times.
constexpr double kMostCarried = 10;

// A place that moves in a tick by more than this part of its lever has jumped.
constexpr double kMostMoved = 0.05;

struct Sweep {
  const Tick& tick;
  const State& state;
  double h;  // of a substep
  const PenaltyContact* chosen;
  std::uint32_t count;
  ImplicitContact* contacts;
  SweepBody* bodies;
  std::span<const BodyIndex> moving;  // by forces, apart from links
  MeanVelocity* mean;                 // sums until the tick ends
  MeanVelocity* before;               // the same without the last substep
  SpatialVelocity* end;               // velocities at the end of the last substep
  MeanVelocity* drift;                // what forces other than contacts change velocities by in each substep
  Vec3* late_moment;                  // [N m s]
  std::uint32_t* again;
  std::uint32_t* on_links;  // contacts of which a side is a link
  RobotSweep* robots;       // of each robot; tree null: stands still in this tick
  std::uint32_t robot_count;
  std::uint32_t* link_contacts;  // met so far in this tick
};

Vec3 vec3(const double (&x)[3]) noexcept {
  return {x[0], x[1], x[2]};
}
void keep(const Vec3& x, double (&out)[3]) noexcept {
  out[0] = x[0], out[1] = x[1], out[2] = x[2];
}

// Of the links alone, along the normal.
double normal_mobility(const TreeSides& trees) noexcept {
  double K = 0;
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& side = trees.side[i];
    for (std::uint32_t r = 0; r < side.rows; ++r) K += side.Y[6 * r] * side.Y[6 * r];
  }
  return K;
}

void set_gains(const Sweep& s, const SurfacePair& surface, double load, ImplicitContact& c) noexcept {
  const Gains& gains = s.tick.parameters.gains;
  TACTUS_DCHECK(gains.alpha > 0 && gains.beta >= 0 && gains.depth_scale > 0 && c.count > 0);
  double inv_mass = s.bodies[c.a].inv_mass + s.bodies[c.b].inv_mass;
  if (c.trees != nullptr) inv_mass += inv_mass == 0 ? c.K_nn(0, 0) : normal_mobility(*c.trees);
  const double mass = inv_mass > 0 ? 1 / inv_mass : 0.0;
  // kp = alpha m / (h^2) + load / depth_scale, kv = (beta / alpha) h kp with 1 / m = 1 / m_a + 1 / m_b; times h, as
  // impulses. load: normal force of the last tick. A light body under a heavy one is then not pressed deeper than
  // depth_scale, because what it carries, not what it weighs, makes the contact stiff.
  // Bounded: a body squeezed between two others cannot give way, and its load would grow with its own stiffness.
  const double carried = std::max(0.0, load) * s.h * s.h / (gains.alpha * gains.depth_scale);
  const double unit = mass + std::min(carried, kMostCarried * mass);
  c.inv_mass = inv_mass;
  c.tangential_spring = gains.alpha * unit / s.h;
  c.tangential_yield = (gains.alpha + gains.beta) * unit;
  c.spring = c.tangential_spring / c.count;
  c.yield = c.tangential_yield / c.count;
  c.stop = c.yield / s.h;
  TACTUS_DCHECK(std::isfinite(c.spring) && std::isfinite(c.yield) && c.spring >= 0 && c.yield >= 0);
  c.mu_static = std::max(surface.friction.mu_static, surface.friction.mu_dynamic);
  c.mu_dynamic = surface.friction.mu_dynamic;
  c.stribeck_velocity = surface.friction.stribeck_velocity;
  c.viscous = s.h * surface.friction.viscous;
}

// Springs of the last tick in the basis of this one. The tangential ones turn with the mean spin of both bodies.
void recall(const Sweep& s, const PenaltyMemory& memory, ImplicitContact& c) noexcept {
  const Vec3 nhat = c.e.col(0);
  const double spin = 0.5 * s.tick.h * nhat.dot(s.state.w_WB(c.a) + s.state.w_WB(c.b));
  const auto turned = [&](const Vec3& x) { return Vec3(x + spin * nhat.cross(x)); };
  const Vec3 stretch = turned(vec3(memory.stretch)), roll = turned(vec3(memory.roll));
  c.stretch1 = c.e.col(1).dot(stretch), c.stretch2 = c.e.col(2).dot(stretch);
  c.twist = c.at_point ? 0.0 : memory.twist;
  c.roll1 = c.e.col(1).dot(roll), c.roll2 = c.e.col(2).dot(roll);
  c.was_slipping = memory.slipping != 0;
  c.slipped = false;
  const Vec3 f_W = s.h * vec3(memory.force), m_W = s.h * vec3(memory.torque) - c.r_a.cross(f_W);
  const Vec3 f = c.e.transpose() * f_W, m = c.e.transpose() * m_W;
  c.P = Vec3(f[0], c.at_point ? 0.0 : m[1], c.at_point ? 0.0 : m[2]);
  c.Q = Vec3(f[1], f[2], c.at_point ? 0.0 : m[0]);
  c.M1 = c.M2 = 0;
  c.patch_known = false;
  c.x = c.y = c.radius = c.sliding = 0;
  c.f_sum.setZero(), c.m_sum.setZero();
}

// One link's side. False: its robot stands still in this tick.
bool add_link(const Sweep& s, const BodyKinematics& k, double sign, const Vec3& p_WC, const Mat3& e,
              TreeSides& trees) noexcept {
  const std::uint32_t robot = s.tick.model.joints[s.tick.model.bodies[k.robot->body(k.link)].joint].robot;
  TACTUS_DCHECK(robot < s.robot_count && trees.count < 2);
  if (s.robots[robot].tree == nullptr) return false;
  const auto dofs = k.robot->reach(k.link);
  auto* Y = s.tick.arena.take<double>(6 * dofs.size());
  signed_response(k, p_WC, e, sign, Y);
  const SpatialVelocity carrier = k.robot->carrier_velocity(k.link, p_WC);
  if (!carrier.v.isZero(0) || !carrier.w.isZero(0)) {
    trees.V += sign * (e.transpose() * carrier.v);
    trees.W += sign * (e.transpose() * carrier.w);
  }
  trees.side[trees.count++] = {static_cast<std::uint32_t>(dofs.size()), dofs.data(), Y, s.robots[robot].u};
  return true;
}

// Two links of one robot are one side, where what they do to each other cancels as it must.
void merge(const Sweep& s, TreeSides& trees) noexcept {
  TACTUS_DCHECK(trees.count == 2);
  const TreeSide a = trees.side[0], b = trees.side[1];
  auto* dofs = s.tick.arena.take<DofIndex>(a.rows + b.rows);
  auto* Y = s.tick.arena.take<double>(6 * static_cast<std::size_t>(a.rows + b.rows));
  const std::uint32_t rows = add_responses({a.dofs, a.rows}, a.Y, {b.dofs, b.rows}, b.Y, dofs, Y);
  trees.side[0] = {rows, dofs, Y, a.u};
  trees.count = 1;
}

const TreeSides* find_links(const Sweep& s, const Manifold& m, const Vec3& p_WC, const Mat3& e) noexcept {
  const BodyKinematics &ka = s.tick.kinematics.bodies[m.body_a], &kb = s.tick.kinematics.bodies[m.body_b];
  if (ka.robot == nullptr && kb.robot == nullptr) return nullptr;
  auto* trees = s.tick.arena.take<TreeSides>(1);
  *trees = TreeSides{};
  if (++*s.link_contacts > s.tick.limits.robot_contacts) return trees;  // the links stand like fixed bodies; reported
  if (ka.robot != nullptr) add_link(s, ka, 1, p_WC, e, *trees);
  if (kb.robot != nullptr) add_link(s, kb, -1, p_WC, e, *trees);
  if (trees->count == 2 && trees->side[0].u == trees->side[1].u) merge(s, *trees);
  return trees;
}

// The plane of a contact goes through the middle of its points, whatever their order.
Vec3 middle(const PenaltyContact& from) noexcept {
  Vec3 offset = Vec3::Zero();
  for (std::uint32_t k = 1; k < from.count; ++k) offset += from.points[from.chosen[k]].p_WC - from.p_ref;
  return from.p_ref + offset / from.count;
}

// How long after the start of the tick its levers and normals are right in the mean.
double lead(const Sweep& s) noexcept {
  return implicit_lead(s.tick.h, s.tick.model.substeps);
}

// Where a contact's place moves against a mass centre (a plank that rocks on a log; not a sphere, not a box at rest),
// its levers change in the tick. Two ticks' places tell how; a place that jumps, because other points touch, tells
// nothing.
void lead_levers(const Sweep& s, const PenaltyMemory& memory, const Vec3& p_ref, ImplicitContact& c) noexcept {
  c.moves = false;
  const bool known = !vec3(memory.force).isZero(0);
  if (!known || c.trees != nullptr || lead(s) == 0) return;
  const Vec3 moved = p_ref - vec3(memory.place);
  const bool held_a = s.bodies[c.a].inv_mass == 0, held_b = s.bodies[c.b].inv_mass == 0;
  const Vec3 by_a = held_a ? Vec3::Zero() : Vec3(moved - s.tick.h * s.state.v_WBcm(c.a));
  const Vec3 by_b = held_b ? Vec3::Zero() : Vec3(moved - s.tick.h * s.state.v_WBcm(c.b));
  const double most = kMostMoved * kMostMoved;
  if (by_a.squaredNorm() > most * c.r_a.squaredNorm() || by_b.squaredNorm() > most * c.r_b.squaredNorm()) return;
  c.moves = true;
  const double part = lead(s) / s.tick.h;
  c.r_a += part * by_a, c.r_b += part * by_b;
}

void prepare(const Sweep& s, std::uint32_t i) noexcept {
  ImplicitContact& c = s.contacts[i];
  const Tick& tick = s.tick;
  const PenaltyContact& from = s.chosen[i];
  const Manifold& m = tick.contacts.manifolds[from.manifold];
  TACTUS_DCHECK(from.count > 0 && m.body_a != m.body_b && m.pair < s.state.pairs.size());
  const PairRecord& record = s.state.pairs[m.pair];
  const PenaltyMemory memory = load_block<PenaltyMemory>(record);
  c.a = m.body_a, c.b = m.body_b;
  const BodyKinematics &ka = tick.kinematics.bodies[c.a], &kb = tick.kinematics.bodies[c.b];
  c.e.col(0) = m.nhat_BA_W;
  Vec3 t1, t2;
  tangent_basis(m.nhat_BA_W, t1, t2);
  c.e.col(1) = t1, c.e.col(2) = t2;
  c.count = from.count;
  c.points = tick.arena.take<ImplicitPoint>(c.count);
  const Vec3 p_ref = c.p_ref = middle(from);
  c.r_a = p_ref - ka.X_WBcm.p, c.r_b = p_ref - kb.X_WBcm.p;
  c.trees = s.tick.model.robots.empty() ? nullptr : find_links(s, m, p_ref, c.e);
  lead_levers(s, memory, p_ref, c);
  for (std::uint32_t k = 0; k < c.count; ++k) {
    const ContactPoint& point = from.points[from.chosen[k]];
    const Vec3 d = point.p_WC - p_ref;
    c.points[k] = {t1.dot(d), t2.dot(d), point.depth, 0.0};
  }
  // Overlap that came up within one tick (an impact between ticks, a corner that strikes while another rests, a bad
  // start) is worked off gently (penalty_memory.h): the spring's reach follows the depth at a quiet speed, or with the
  // relaxation time.
  c.reach = record.phase == ContactPhase::apart ? kQuietSpeed * tick.h : memory.reach;
  // A spring that feels d pushes bodies apart with alpha / (alpha + beta) d a substep: deep overlaps leave at the speed
  // that the scene allows.
  const Gains& gains = tick.parameters.gains;
  c.reach = std::min(c.reach, tick.parameters.overlap_relax_speed * s.h * (1 + gains.beta / gains.alpha));
  const SurfacePair& surface =
      tick.model.surface(tick.model.shapes[m.shape_a].material, tick.model.shapes[m.shape_b].material);
  c.rolling = surface.friction.rolling;
  c.curve = m.gap_curve;
  c.turning = 0;
  find_mobility(s.bodies[c.a], s.bodies[c.b], c);
  set_gains(s, surface, vec3(memory.force).dot(m.nhat_BA_W), c);
  recall(s, memory, c);
}

// Robots of this tick. A robot that cannot be solved for stands still, with its links as fixed bodies. Gives their
// number.
std::uint32_t load_robots(const Sweep& s) noexcept {
  const Tick& tick = s.tick;
  const Parameters& parameters = tick.parameters;
  const StopLaw stop{parameters.gains.alpha, parameters.gains.beta, parameters.overlap_relax_speed};
  std::uint32_t failed = 0;
  for (std::size_t i = 0; i < tick.kinematics.robots.size(); ++i) {
    Tree& tree = *tick.kinematics.robots[i];
    s.robots[i].tree = nullptr;
    if (robot_frozen(tick.model, s.state, tree.robot())) continue;
    tree.refresh_velocities(s.state);
    tree.prepare_factor();
    if (start_sweep(tick.model, s.state, tree, parameters.gravity_W, tick.drives + tree.robot().first_v, tick.applied,
                    s.h, stop, tick.arena, s.robots[i], tick.model.substeps)) {
      continue;
    }
    s.robots[i].tree = nullptr;
    ++failed;
  }
  return failed;
}

template <typename Do>
void for_robots(const Sweep& s, const Do& action) noexcept {
  for (std::uint32_t i = 0; i < s.robot_count; ++i) {
    if (s.robots[i].tree != nullptr) action(s.robots[i]);
  }
}

void load_bodies(const Sweep& s) noexcept {
  for (BodyIndex b = 0; b < s.state.body_count(); ++b) {
    const BodyKinematics& k = s.tick.kinematics.bodies[b];
    const Vec3 v = s.state.v_WBcm(b), w = s.state.w_WB(b);
    s.bodies[b] = k.robot != nullptr
                      ? SweepBody{Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), Mat3::Zero(), 0}
                      : SweepBody{v, w, v, w, k.inv_I_W, k.inv_mass};
    if (s.tick.model.planar) s.bodies[b].inv_I = Vec3(0, 0, k.inv_I_W(2, 2)).asDiagonal();
    s.mean[b] = {Vec3::Zero(), Vec3::Zero()};
    s.end[b] = {s.bodies[b].w, s.bodies[b].v};
    s.late_moment[b].setZero();
  }
}

// Constant in the tick.
void find_drift(const Sweep& s) noexcept {
  const Tick& tick = s.tick;
  for (const BodyIndex b : s.moving) {
    const SweepBody& body = s.bodies[b];
    const Vec3 a =
        tick.model.bodies[b].gravity_scale * tick.parameters.gravity_W + body.inv_mass * tick.applied[b].force;
    s.drift[b] = {s.h * a, s.h * (body.inv_I * tick.applied[b].torque)};
  }
}

// Velocities at the end of a substep with the contact impulses of the last one (the warm start).
void begin_substep(const Sweep& s) noexcept {
  for (const BodyIndex b : s.moving) {
    SweepBody& body = s.bodies[b];
    const Vec3 dv = body.v - body.v_free, dw = body.w - body.w_free;
    body.v_free = body.v + s.drift[b].v;
    body.w_free = body.w + s.drift[b].w;
    body.v = body.v_free + dv;
    body.w = body.w_free + dw;
  }
  for_robots(s, [](RobotSweep& robot) { predict(robot); });
}

// Between bodies of very different masses one sweep brings only a small part of the load from contact to contact. Those
// that carry much for the lighter body's mass are visited again, the more the more they carry, so that the cost stays
// where the trouble is.
void visit_again(const Sweep& s, std::uint32_t count) noexcept {
  for (int round = 1; round <= kExtraSweeps && count > 0; ++round) {
    std::uint32_t kept = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      ImplicitContact& c = s.contacts[s.again[k]];
      visit(c, s.bodies[c.a], s.bodies[c.b]);
      if (c.P[0] * c.inv_mass > round * kStress) s.again[kept++] = s.again[k];
    }
    count = kept;
  }
}

// The levers are those of one moment of the tick: its start, or lead() later. Where both bodies move they part within
// the tick, and the impulse would act at two places: the place between them, nearer to the lighter body's (which a
// rolling contact follows), keeps the world's angular momentum.
void keep_angular_momentum(const Sweep& s, const ImplicitContact& c) noexcept {
  const double inv_a = s.bodies[c.a].inv_mass, inv_b = s.bodies[c.b].inv_mass;
  if (inv_a == 0 || inv_b == 0) return;
  Vec3 parted = s.h * (s.before[c.a].v - s.before[c.b].v);
  if (c.moves) parted -= lead(s) * (s.state.v_WBcm(c.a) - s.state.v_WBcm(c.b));
  const Vec3 moment = parted.cross(c.e * Vec3(c.P[0], c.Q[0], c.Q[1])) / (inv_a + inv_b);
  s.late_moment[c.a] -= inv_b * moment;
  s.late_moment[c.b] -= inv_a * moment;
}

// What the last substep did to a contact, found only when the contact is met again: a large world's contacts are more
// than the inner caches hold, and each way through them is paid for. over: substeps that are over.
void catch_up(const Sweep& s, ImplicitContact& c, std::uint32_t over) noexcept {
  if (over == 0) return;
  if (c.trees == nullptr) follow(c, s.end[c.a], s.end[c.b], s.h);
  if (over > 1 || c.moves) keep_angular_momentum(s, c);
}

void visit_robots(const Sweep& s) noexcept {
  for_robots(s, [](RobotSweep& robot) {
    if (robot.row_count > 0) visit_rows(robot);
  });
}

void substep(const Sweep& s, std::uint32_t over, std::uint32_t link_count) noexcept {
  visit_robots(s);
  std::uint32_t stressed = 0;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    ImplicitContact& c = s.contacts[i];
    catch_up(s, c, over);
    c.turning = c.curve * (over * s.h - lead(s));
    visit(c, s.bodies[c.a], s.bodies[c.b]);
    if (c.P[0] * c.inv_mass > kStress) s.again[stressed++] = i;
  }
  TACTUS_DCHECK(stressed <= s.count && link_count <= s.count);
  visit_again(s, stressed);
  visit_robots(s);
  for (const BodyIndex b : s.moving) {
    const SweepBody& body = s.bodies[b];
    s.before[b] = s.mean[b];
    s.end[b] = {body.w, body.v};
    s.mean[b].v += body.v;
    s.mean[b].w += body.w;
  }
  // Velocities of links are the robots' of this moment.
  for (std::uint32_t k = 0; k < link_count; ++k) {
    ImplicitContact& c = s.contacts[s.on_links[k]];
    follow(c, s.end[c.a], s.end[c.b], s.h);
  }
  for_robots(s, [](RobotSweep& robot) { end_substep(robot); });
}

// Each point's share of the mean force, for those who look.
void publish(const Sweep& s, const ImplicitContact& c, const PenaltyContact& from, const Vec3& force) noexcept {
  SpatialForce* out = s.tick.contact_force + (from.points - s.tick.contacts.points);
  const double per = c.P[0] > 0 ? 1 / c.P[0] : 0.0;
  for (std::uint32_t k = 0; k < c.count; ++k) {
    out[from.chosen[k]].force = (per * c.points[k].impulse) * force;
  }
}

void remember(const Sweep& s, std::uint32_t i, State& state) noexcept {
  const Tick& tick = s.tick;
  const ImplicitContact& c = s.contacts[i];
  const Manifold& m = tick.contacts.manifolds[s.chosen[i].manifold];
  PairRecord& record = state.pairs[m.pair];
  PenaltyMemory memory{};
  memory.reach = next_reach(tick.parameters, tick.h, std::max(0.0, m.depth_max), c.reach);
  // The last substep's force starts the next tick.
  const double per = 1 / s.h;
  const Vec3 force = per * (c.e * Vec3(c.P[0], c.Q[0], c.Q[1]));
  const Vec3 moment = per * (c.e * Vec3(c.Q[2], c.P[1] + c.M1, c.P[2] + c.M2));
  keep(force, memory.force);
  keep(c.r_a.cross(force) + moment, memory.torque);
  keep(c.p_ref, memory.place);
  keep(c.stretch1 * c.e.col(1) + c.stretch2 * c.e.col(2), memory.stretch);
  keep(c.roll1 * c.e.col(1) + c.roll2 * c.e.col(2), memory.roll);
  memory.twist = c.twist;
  memory.slipping = c.slipped ? 1 : 0;
  store_memory(record, memory);
  record.phase = ContactPhase::resting;
}

// Mean contact force over the tick on both bodies: equal and opposite at one point.
Vec3 add_mean_force(const Sweep& s, const ImplicitContact& c, SpatialForce* F) noexcept {
  const double per = 1 / s.tick.h;
  const Vec3 force = per * (c.e * c.f_sum), moment = per * (c.e * c.m_sum);
  F[c.a].force += force;
  F[c.a].torque += c.r_a.cross(force) + moment;
  F[c.b].force -= force;
  F[c.b].torque -= c.r_b.cross(force) + moment;
  return force;
}

// Applied and mean contact forces on all bodies; of links the latter apart, too. And what pairs remember.
void end_contacts(const Sweep& s, std::uint32_t substeps, SpatialForce* F, State& state) noexcept {
  const Tick& tick = s.tick;
  SpatialForce* contact = tick.contact_wrench != nullptr ? tick.contact_wrench : F;
  if (contact == F) std::copy_n(tick.applied, s.state.body_count(), F);
  for (std::uint32_t i = 0; i < s.count; ++i) {
    ImplicitContact& c = s.contacts[i];
    catch_up(s, c, substeps);
    publish(s, c, s.chosen[i], add_mean_force(s, c, contact));
    remember(s, i, state);
  }
  for (BodyIndex b = 0; contact != F && b < s.state.body_count(); ++b) {
    F[b] = {tick.applied[b].torque + contact[b].torque, tick.applied[b].force + contact[b].force};
  }
}

}  // namespace

void implicit_step(const Tick& tick, const PenaltyContact* chosen, std::uint32_t count, State& state,
                   StepReport& report) noexcept {
  TACTUS_ASSERT(tick.model.substeps > 0 && count == tick.contacts.manifold_count);
  const std::uint32_t substeps = tick.model.substeps, bodies = state.body_count();
  std::uint32_t link_contacts = 0, moving = 0;
  auto* who_moves = tick.arena.take<BodyIndex>(bodies);
  for (BodyIndex b = 0; b < bodies; ++b) {
    if (tick.kinematics.bodies[b].inv_mass > 0) who_moves[moving++] = b;
  }
  const Sweep s{tick,
                state,
                tick.h / substeps,
                chosen,
                count,
                tick.arena.take<ImplicitContact>(count),
                tick.arena.take<SweepBody>(bodies),
                {who_moves, moving},
                tick.arena.take<MeanVelocity>(bodies),
                tick.arena.take<MeanVelocity>(bodies),
                tick.arena.take<SpatialVelocity>(bodies),
                tick.arena.take<MeanVelocity>(bodies),
                tick.arena.take<Vec3>(bodies),
                tick.arena.take<std::uint32_t>(count),
                tick.arena.take<std::uint32_t>(count),
                tick.arena.take<RobotSweep>(tick.kinematics.robots.size()),
                static_cast<std::uint32_t>(tick.kinematics.robots.size()),
                &link_contacts};
  prescribe_velocities(tick.model, state.time, tick.h, state);
  load_bodies(s);
  report.solver_failures += load_robots(s);
  find_drift(s);
  begin_substep(s);
  std::uint32_t on_links = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    prepare(s, i);
    const ImplicitContact& c = s.contacts[i];
    if (c.trees != nullptr) s.on_links[on_links++] = i;
    add_impulse(c, Vec3(c.P[0], c.Q[0], c.Q[1]), Vec3(c.Q[2], c.P[1], c.P[2]), s.bodies[c.a], s.bodies[c.b]);
  }
  report.robot_contacts_dropped = link_contacts - std::min(link_contacts, tick.limits.robot_contacts);
  for (std::uint32_t k = 0; k < substeps; ++k) {
    if (k > 0) begin_substep(s);
    substep(s, k, on_links);
  }
  auto* F = tick.arena.take<SpatialForce>(bodies);
  end_contacts(s, substeps, F, state);
  for (const BodyIndex b : s.moving) {
    F[b].torque += s.late_moment[b] / tick.h;
    s.mean[b].v /= substeps, s.mean[b].w /= substeps;
  }
  semi_implicit_euler(tick.model, tick.parameters, tick.kinematics, state.time, tick.h, F, s.mean, state);
  for_robots(s, [&](RobotSweep& robot) {
    end_sweep(robot, substeps, state, tick.joint_effort + robot.first_v, tick.stops_of(robot.first_v));
  });
  update_links(tick.model, tick.kinematics, state);
}

}  // namespace tactus
