#include "core/contact/penalty/linear_friction.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/dynamics/robot_sweep.h"
#include "core/math/checks.h"

namespace tactus {

// A side that is a link: slip = Y^T u of its robot's half velocities, 3 columns a row; none for other bodies.
struct LinkRows {
  std::uint32_t count = 0;
  const DofIndex* dofs = nullptr;
  const double* Y = nullptr;
  std::uint32_t first_v = 0;
};

struct FrictionRow {
  PenaltyContact* contact;
  Vec3 t1, t2;           // with the normal a right-handed basis
  Vec3 r_a, r_b;         // pressure centre from the mass centres, in W
  double radius, limit;  // R [m], mu N of sticking [N]
  double sliding;        // mu N of sliding [N]
  LinkRows link_a, link_b;
  bool solved;  // an unknown of this round; else x stands
  Vec3 x;       // F1, F2, M / R [N]
  Vec3 residual, direction, image;
};

namespace {

constexpr double kConverged2 = 1e-26;  // of the squared norm of b
// Of the largest curvature seen. Less is the null space that contacts of one body share, where only rounding is left:
// going on there sets the contacts against each other with forces without bound.
constexpr double kNoCurvature = 1e-10;

Vec3 force_of(const FrictionRow& row, const Vec3& x) noexcept {
  return x[0] * row.t1 + x[1] * row.t2;
}

}  // namespace

LinearFriction::LinearFriction(const Tick& tick, const State& state, PenaltyContact* contacts,
                               std::uint32_t count) noexcept
    : tick_(tick), state_(state), contacts_(contacts), contact_count_(count) {
  std::uint32_t chosen = 0;
  for (std::uint32_t i = 0; i < count; ++i) chosen += contacts[i].linear_friction ? 1 : 0;
  if (chosen == 0) return;
  rows_ = tick.arena.take<FrictionRow>(chosen);
  for (Motion* motion : {&free_, &trial_}) {
    motion->bodies = tick.arena.take<SpatialVelocity>(tick.model.bodies.size());
    motion->half = tick.arena.take<double>(tick.model.joint_v0.size());
  }
  solvable_ = tick.arena.take<bool>(tick.model.robots.size());
}

// The contacts that push, with their bases; relaxed springs, in case the contact is not chosen in the next tick.
void LinearFriction::collect(const StageBody* stage) noexcept {
  count_ = 0;
  for (std::uint32_t i = 0; i < contact_count_; ++i) {
    PenaltyContact& c = contacts_[i];
    if (!c.linear_friction) continue;
    c.slipped = false;
    c.stretch.setZero();
    c.twist = 0;
    if (c.active == 0 || c.mu_static <= 0) continue;
    TACTUS_DCHECK(not_below(c.radius2, 0) && not_below(c.normal_force, 0));
    FrictionRow& row = rows_[count_++];
    row.contact = &c;
    tangent_basis(c.nhat_BA_W, row.t1, row.t2);
    row.r_a = c.p_ref + c.centre - stage[c.a].x;
    row.r_b = c.p_ref + c.centre - stage[c.b].x;
    row.radius = std::sqrt(c.radius2);
    row.solved = true;
    row.x.setZero();
    const Vec3 p_WC = c.p_ref + c.centre;
    row.link_a = link_rows(c.a, row, p_WC, 1);
    row.link_b = link_rows(c.b, row, p_WC, -1);
  }
}

void LinearFriction::accelerate(const FrictionRow& row, const Vec3& x, const Motion& motion) const noexcept {
  TACTUS_DCHECK(motion.bodies != nullptr && motion.half != nullptr);
  for (const LinkRows* link : {&row.link_a, &row.link_b}) {
    for (std::uint32_t i = 0; i < link->count; ++i) {
      motion.half[link->first_v + link->dofs[i]] += x.dot(Eigen::Map<const Vec3>(link->Y + 3 * i));
    }
  }
  SpatialVelocity* bodies = motion.bodies;
  const PenaltyContact& c = *row.contact;
  const BodyKinematics &a = tick_.kinematics.bodies[c.a], &b = tick_.kinematics.bodies[c.b];
  const Vec3 force = force_of(row, x), turn = (row.radius * x[2]) * c.nhat_BA_W;
  bodies[c.a].v += a.inv_mass * force;
  bodies[c.a].w += a.inv_I_W * (row.r_a.cross(force) + turn);
  bodies[c.b].v -= b.inv_mass * force;
  bodies[c.b].w -= b.inv_I_W * (row.r_b.cross(force) + turn);
}

Vec3 LinearFriction::slip(const FrictionRow& row, const Motion& motion) const noexcept {
  const PenaltyContact& c = *row.contact;
  const SpatialVelocity &a = motion.bodies[c.a], &b = motion.bodies[c.b];
  const Vec3 v = a.v + a.w.cross(row.r_a) - b.v - b.w.cross(row.r_b);
  Vec3 out(row.t1.dot(v), row.t2.dot(v), row.radius * c.nhat_BA_W.dot(a.w - b.w));
  for (const LinkRows* link : {&row.link_a, &row.link_b}) {
    for (std::uint32_t i = 0; i < link->count; ++i) {
      out += motion.half[link->first_v + link->dofs[i]] * Eigen::Map<const Vec3>(link->Y + 3 * i);
    }
  }
  return out;
}

void LinearFriction::clear(const Motion& motion) const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const PenaltyContact& c = *rows_[i].contact;
    motion.bodies[c.a] = motion.bodies[c.b] = SpatialVelocity{};
  }
  std::fill_n(motion.half, tick_.model.joint_v0.size(), 0.0);
}

// Robots as they end the step without the unknown forces: damping and drives as step_robots() takes them. After it the
// factors are those of the step, and half responses can be asked for.
void LinearFriction::load_robots(double h, const SpatialForce* F) noexcept {
  const Parameters& parameters = tick_.parameters;
  const StopLaw stop{parameters.gains.alpha, parameters.gains.beta, parameters.overlap_relax_speed};
  for (const auto& each : tick_.kinematics.robots) {
    Tree& tree = *each;
    const Robot& robot = tree.robot();
    double* half = free_.half + robot.first_v;
    std::fill_n(half, robot.v_count, 0.0);
    solvable_[&each - tick_.kinematics.robots.data()] = false;
    if (robot_frozen(tick_.model, state_, robot)) continue;
    const std::size_t mark = tick_.arena.used();
    tree.positions(state_);
    tree.velocities(state_);
    tree.prepare_factor();
    RobotSweep sweep;
    if (start_sweep(tick_.model, state_, tree, parameters.gravity_W, tick_.drives + robot.first_v, F, h, stop,
                    tick_.arena, sweep)) {
      predict(sweep);
      for (DofIndex d = 0; d < robot.v_count; ++d) half[d] = sweep.u[d] / h;
      solvable_[&each - tick_.kinematics.robots.data()] = true;
    }
    tick_.arena.rewind(mark);
  }
}

LinkRows LinearFriction::link_rows(BodyIndex body, const FrictionRow& row, const Vec3& p_WC, double sign) noexcept {
  const BodyKinematics& k = tick_.kinematics.bodies[body];
  if (k.robot == nullptr) return {};
  const Robot& robot = k.robot->robot();
  if (!solvable_[tick_.model.joints[robot.first_joint].robot]) return {};
  const auto dofs = k.robot->reach(k.link);
  auto* Y = tick_.arena.take<double>(3 * dofs.size());
  const std::size_t mark = tick_.arena.used();
  auto* all = tick_.arena.take<double>(6 * dofs.size());
  Mat3 E;
  E << row.t1, row.t2, row.contact->nhat_BA_W;
  k.robot->half_response(k.link, p_WC, E, all);
  for (std::size_t i = 0; i < dofs.size(); ++i) {
    Y[3 * i] = sign * all[6 * i];
    Y[3 * i + 1] = sign * all[6 * i + 1];
    Y[3 * i + 2] = sign * row.radius * all[6 * i + 5];
  }
  tick_.arena.rewind(mark);
  return {static_cast<std::uint32_t>(dofs.size()), dofs.data(), Y, robot.first_v};
}

// b, and the limits of each contact, which may depend on how fast it slips.
void LinearFriction::load(const StageBody* stage, double h, const SpatialForce* F) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    for (const BodyIndex body : {rows_[i].contact->a, rows_[i].contact->b}) {
      const BodyKinematics& k = tick_.kinematics.bodies[body];
      SpatialVelocity& out = free_.bodies[body];
      out = SpatialVelocity{};
      if (k.robot != nullptr) continue;
      out.v = stage[body].v / h, out.w = stage[body].w / h;
      if (k.inv_mass == 0) continue;
      out.v += k.inv_mass * F[body].force + tick_.model.bodies[body].gravity_scale * tick_.parameters.gravity_W;
      out.w += k.inv_I_W * F[body].torque;
    }
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    FrictionRow& row = rows_[i];
    PenaltyContact& c = *row.contact;
    const Vec3& nhat = c.nhat_BA_W;
    const Vec3 v = stage[c.a].v + stage[c.a].w.cross(row.r_a) - stage[c.b].v - stage[c.b].w.cross(row.r_b);
    const double v_n = nhat.dot(v), spin = row.radius * nhat.dot(stage[c.a].w - stage[c.b].w);
    const double mu = sliding_friction(c, v.squaredNorm() - v_n * v_n + spin * spin);
    row.sliding = mu * c.normal_force;
    row.limit = (c.was_slipping ? mu : c.mu_static) * c.normal_force;
    TACTUS_DCHECK(not_below(row.limit, 0) && not_below(row.sliding, 0));
  }
}

// Conjugate gradients from zero: of a singular system, as several contacts of one body make it, the solution of least
// norm.
void LinearFriction::solve() noexcept {
  double square = 0, steepest = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    FrictionRow& row = rows_[i];
    if (!row.solved) continue;
    row.x.setZero();
    row.residual = -slip(row, free_);
    row.direction = row.residual;
    square += row.residual.squaredNorm();
  }
  const double enough = kConverged2 * square;
  for (int k = 0; k < kIterations && square > enough; ++k) {
    clear(trial_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (rows_[i].solved) accelerate(rows_[i], rows_[i].direction, trial_);
    }
    double along = 0, length2 = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      FrictionRow& row = rows_[i];
      if (!row.solved) continue;
      row.image = slip(row, trial_);
      along += row.direction.dot(row.image);
      length2 += row.direction.squaredNorm();
    }
    steepest = std::max(steepest, along / length2);
    if (!(along > kNoCurvature * steepest * length2)) return;
    const double step = square / along;
    double next = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      FrictionRow& row = rows_[i];
      if (!row.solved) continue;
      row.x += step * row.direction;
      row.residual -= step * row.image;
      next += row.residual.squaredNorm();
    }
    const double turn = next / square;
    square = next;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (rows_[i].solved) rows_[i].direction = rows_[i].residual + turn * rows_[i].direction;
    }
  }
}

// Contacts over their limit slip: their force is known from now on. True when the others must be solved again.
bool LinearFriction::clip(bool last) noexcept {
  bool any = false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    FrictionRow& row = rows_[i];
    const double size2 = row.x.squaredNorm();
    if (!row.solved || size2 <= row.limit * row.limit) continue;
    row.x *= row.sliding / std::sqrt(size2);
    row.solved = false;
    row.contact->slipped = true;
    any = true;
    if (!last) accelerate(row, row.x, free_);
  }
  return any && !last;
}

void LinearFriction::add(const StageBody* stage, double h, SpatialForce* F, SpatialForce* points) noexcept {
  TACTUS_DCHECK(h > 0 && stage != nullptr && F != nullptr);
  if (rows_ == nullptr) return;
  const std::size_t mark = tick_.arena.used();
  load_robots(h, F);
  collect(stage);
  load(stage, h, F);
  for (int round = 0; round < kRounds; ++round) {
    solve();
    if (!clip(round + 1 == kRounds)) break;
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    const FrictionRow& row = rows_[i];
    const PenaltyContact& c = *row.contact;
    const Vec3 force = force_of(row, row.x), turn = (row.radius * row.x[2]) * c.nhat_BA_W;
    F[c.a].force += force;
    F[c.a].torque += row.r_a.cross(force) + turn;
    F[c.b].force -= force;
    F[c.b].torque -= row.r_b.cross(force) + turn;
    TACTUS_DCHECK(!(c.normal_force <= 0));  // collect() took no other
    if (points == nullptr) continue;
    for (std::uint32_t k = 0; k < c.count; ++k) {
      Vec3& f = points[(c.points - tick_.contacts.points) + c.chosen[k]].force;
      f += (c.nhat_BA_W.dot(f) / c.normal_force) * force;
    }
  }
  tick_.arena.rewind(mark);
}

}  // namespace tactus
