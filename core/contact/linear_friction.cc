#include "core/contact/linear_friction.h"

#include <algorithm>
#include <cmath>

namespace tactus {

struct FrictionRow {
  PenaltyContact* contact;
  Vec3 t1, t2;           // with the normal a right-handed basis
  Vec3 r_a, r_b;         // pressure centre from the mass centres, in W
  double radius, limit;  // R [m], mu N of sticking [N]
  double sliding;        // mu N of sliding [N]
  bool solved;           // an unknown of this round; else x stands
  Vec3 x;                // F1, F2, M / R [N]
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

LinearFriction::LinearFriction(const Tick& tick, PenaltyContact* contacts, std::uint32_t count) noexcept
    : tick_(tick), contacts_(contacts), contact_count_(count) {
  std::uint32_t chosen = 0;
  for (std::uint32_t i = 0; i < count; ++i) chosen += contacts[i].linear_friction ? 1 : 0;
  if (chosen == 0) return;
  rows_ = tick.arena.take<FrictionRow>(chosen);
  free_ = tick.arena.take<SpatialVelocity>(tick.model.bodies.size());
  trial_ = tick.arena.take<SpatialVelocity>(tick.model.bodies.size());
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
    FrictionRow& row = rows_[count_++];
    row.contact = &c;
    tangent_basis(c.nhat_BA_W, row.t1, row.t2);
    row.r_a = c.p_ref + c.centre - stage[c.a].x;
    row.r_b = c.p_ref + c.centre - stage[c.b].x;
    row.radius = std::sqrt(c.radius2);
    row.solved = true;
    row.x.setZero();
  }
}

void LinearFriction::accelerate(const FrictionRow& row, const Vec3& x, SpatialVelocity* bodies) const noexcept {
  const PenaltyContact& c = *row.contact;
  const BodyKinematics &a = tick_.kinematics.bodies[c.a], &b = tick_.kinematics.bodies[c.b];
  const Vec3 force = force_of(row, x), turn = (row.radius * x[2]) * c.nhat_BA_W;
  bodies[c.a].v += a.inv_mass * force;
  bodies[c.a].w += a.inv_I_W * (row.r_a.cross(force) + turn);
  bodies[c.b].v -= b.inv_mass * force;
  bodies[c.b].w -= b.inv_I_W * (row.r_b.cross(force) + turn);
}

Vec3 LinearFriction::slip(const FrictionRow& row, const SpatialVelocity* bodies) const noexcept {
  const PenaltyContact& c = *row.contact;
  const SpatialVelocity &a = bodies[c.a], &b = bodies[c.b];
  const Vec3 v = a.v + a.w.cross(row.r_a) - b.v - b.w.cross(row.r_b);
  return {row.t1.dot(v), row.t2.dot(v), row.radius * c.nhat_BA_W.dot(a.w - b.w)};
}

void LinearFriction::clear(SpatialVelocity* bodies) const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const PenaltyContact& c = *rows_[i].contact;
    bodies[c.a] = bodies[c.b] = SpatialVelocity{};
  }
}

// b, and the limits of each contact, which may depend on how fast it slips.
void LinearFriction::load(const StageBody* stage, double h, const SpatialForce* F) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    for (const BodyIndex body : {rows_[i].contact->a, rows_[i].contact->b}) {
      const BodyKinematics& k = tick_.kinematics.bodies[body];
      SpatialVelocity& out = free_[body];
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
  if (rows_ == nullptr) return;
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
    if (points == nullptr) continue;
    for (std::uint32_t k = 0; k < c.count; ++k) {
      Vec3& f = points[(c.points - tick_.contacts.points) + c.chosen[k]].force;
      f += (c.nhat_BA_W.dot(f) / c.normal_force) * force;
    }
  }
}

}  // namespace tactus
