#include "core/contact/exact/exact_forces.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr int kProjections = 4;
constexpr double kLongestShare = 2;  // of the last trial's length: longer ones are not guessed from it
constexpr double kDrift = 1e-6;      // gaps and overlaps up to this are drift, taken off at once [m]
constexpr double kApproach = 1e-11;  // normal velocity that is none [m/s]
constexpr double kRuns = 0.05;       // conditioning below which a smooth surface's place runs away as bodies roll
constexpr double kTurn = 0.1;        // slip more than about a right angle from where it went has turned round

Mat3 point_mobility(const BodyKinematics& k, const Vec3& p_W) noexcept {
  if (k.inv_mass == 0) return Mat3::Zero();
  const Mat3 r = skew(p_W - k.X_WBcm.p);
  return k.inv_mass * Mat3::Identity() - r * k.inv_I_W * r;
}

// The greatest share s <= 1 of a motion with the energy square s^2 + along s that leaves it `less` less than it has, or
// as little as it can.
double share_left(double square, double along, double less) noexcept {
  if (!(square > 0)) return 1;
  const double middle = -0.5 * along / square, root2 = middle * middle + (square + along - less) / square;
  return std::clamp(root2 > 0 ? middle + std::sqrt(root2) : middle, 0.0, 1.0);
}

}  // namespace

ExactForces::ExactForces(const Model& model, const Limits& limits)
    : model_(model),
      problem_(model, limits),
      solver_(model, limits),
      contacts_(std::min<std::size_t>(limits.problem_contacts, std::size_t{limits.pairs} * limits.points_per_pair)),
      bodies_(model.bodies.size()),
      motions_(model.bodies.size()),
      X_WS_(model.shapes.size()),
      p_(limits.problem_contacts),
      u_(6 * model.bodies.size()),
      row_of_(contacts_.size()),
      moved_(model.bodies.size()),
      changed_(model.bodies.size()),
      group_(model.bodies.size()),
      start_force_(contacts_.size()),
      stage_force_(kStages * contacts_.size()) {}

void ExactForces::start(const Tick& tick, const State& state) noexcept {
  TACTUS_ASSERT(state.body_count() == bodies_.size() && state.q.size() == 7 * bodies_.size());
  solver_.share_work();
  tick_ = &tick;
  state_ = &state;
  report_ = {};
}

// Frames of all bodies and shapes, and how free bodies move without contact forces.
void ExactForces::place(const double* q, const double* v) noexcept {
  TACTUS_DCHECK(tick_ != nullptr && state_ != nullptr);  // after start()
  for (BodyIndex b = 0; b < bodies_.size(); ++b) {
    const Body& body = model_.bodies[b];
    const double *x = q + std::size_t{7} * b, *y = v + std::size_t{6} * b;
    BodyKinematics& k = bodies_[b];
    k.X_WBcm.R = Quat(x[3], x[4], x[5], x[6]).toRotationMatrix();
    k.X_WBcm.p = Vec3(x[0], x[1], x[2]);
    RigidMotion& m = motions_[b];
    m = {k.X_WBcm.p, Vec3(y[0], y[1], y[2]), Vec3(y[3], y[4], y[5]), Vec3::Zero(), Vec3::Zero()};
    k.inv_mass = 0;
    k.inv_I_W.setZero();
    if (body.mode != BodyMode::free || state_->frozen[b]) continue;
    const Mat3& R = k.X_WBcm.R;
    const SpatialForce& F = tick_->applied[b];
    k.inv_mass = body.inv_mass;
    k.inv_I_W = R * body.inv_I_BBcm * R.transpose();
    const Vec3 w_B = R.transpose() * m.w_W;
    m.a_W = body.gravity_scale * tick_->parameters.gravity_W + k.inv_mass * F.force;
    m.alpha_W = R * (body.inv_I_BBcm * (R.transpose() * F.torque - w_B.cross(body.I_BBcm * w_B)));
    if (!model_.planar) continue;
    m.a_W.z() = m.alpha_W.x() = m.alpha_W.y() = 0;
    k.inv_I_W = Vec3(0, 0, k.inv_I_W(2, 2)).asDiagonal();
  }
  for (std::size_t s = 0; s < X_WS_.size(); ++s) {
    const ShapeInstance& shape = model_.shapes[s];
    const Frame& X_WB = bodies_[shape.body].X_WBcm;
    X_WS_[s] = X_WB;
    if (shape.shape_at_centre) continue;
    X_WS_[s].R = X_WB.R * shape.X_BcmS.q.toRotationMatrix();
    X_WS_[s].p = X_WB * shape.X_BcmS.p;
  }
}

void ExactForces::find_jet(FollowedContact& c) const noexcept {
  find_jet(c, X_WS_, motions_);
}

void ExactForces::find_jet(FollowedContact& c, std::span<const Frame> X_WS,
                           std::span<const RigidMotion> motions) const noexcept {
  const RigidMotion &A = motions[c.body_a], &B = motions[c.body_b];
  const Frame &X_WA = X_WS[c.shape_a], &X_WB = X_WS[c.shape_b];
  if (c.smooth) {
    c.jet = extremal_jet(model_.shapes[c.shape_a].shape, X_WA, A, model_.shapes[c.shape_b].shape, X_WB, B,
                         c.one_of_several, c.side_a, c.side_b);
    c.runs = c.runs || !c.jet.known || c.jet.conditioning < kRuns;
  } else {
    c.jet = contact_jet(c.features, X_WA, A, X_WB, B);
  }
  TACTUS_DCHECK(!c.jet.known || is_unit(c.jet.nhat_BA));
  c.e = ContactProblem::frame(c.jet.nhat_BA, model_.planar);
}

void ExactForces::look(const double* q, const double* v) noexcept {
  place(q, v);
  for (FollowedContact& c : contacts()) find_jet(c);
}

// One contact as a row of the problem: chi'' and, across it, the rate of the slip, without forces.
void ExactForces::load(FollowedContact& c) noexcept {
  const RigidMotion &A = motions_[c.body_a], &B = motions_[c.body_b];
  const Vec3 slip = material_velocity(A, c.jet.pa) - material_velocity(B, c.jet.pb);
  c.free = c.e.transpose() *
           (material_acceleration(A, c.jet.pa, c.jet.pa_dot) - material_acceleration(B, c.jet.pb, c.jet.pb_dot));
  c.free[0] += c.jet.nhat_dot.dot(slip);
  ProblemContact* row = problem_.add(bodies_.data(), c.body_a, c.body_b, c.p_W(), c.e, c.free);
  if (row == nullptr) return;
  c.mobility = row->mobility;
  const Eigen::Vector2d t = (c.e.transpose() * slip).tail<2>();
  row->stops = false;
  row->mu = c.slides ? c.mu_dynamic : c.mu_static;
  if (!c.slides || row->mu == 0) return;
  row->law = ContactLaw::sliding;
  // Past the moment where slip ends, within a trial, friction goes on as it was: that moment is looked for.
  const Vec3 along = c.e.col(1) * t[0] + c.e.col(2) * t[1];
  if (along.dot(c.slip_W) > kTurn * along.norm()) c.slip_W = along.normalized();
  const Eigen::Vector2d s = (c.e.transpose() * c.slip_W).tail<2>();
  if (s.norm() > 0) row->slip = s.normalized();
  TACTUS_DCHECK(is_unit(row->slip) && not_below(row->mu, 0));
}

void ExactForces::give(const FollowedContact& c, SpatialForce* F) const noexcept {
  const Vec3 f = c.e * c.force, p = c.p_W();
  F[c.body_a].force += f, F[c.body_a].torque += (p - motions_[c.body_a].c_W).cross(f);
  F[c.body_b].force -= f, F[c.body_b].torque -= (p - motions_[c.body_b].c_W).cross(f);
}

void ExactForces::begin_trial(double dt) noexcept {
  TACTUS_DCHECK(not_below(dt, 0) && count_ <= start_force_.size());
  stage_ = 0;
  trial_share_ = trial_dt_ > 0 ? std::min(dt / trial_dt_, kLongestShare) : 0;
  trial_dt_ = dt;
  for (std::uint32_t i = 0; i < count_; ++i) start_force_[i] = contacts_[i].force;
}

Vec3 ExactForces::guess(std::uint32_t i) const noexcept {
  TACTUS_DCHECK(i < count_ && stage_ <= kStages);
  if (stage_ == kStages || trial_share_ == 0) return contacts_[i].force;
  return start_force_[i] + trial_share_ * (stage_force_[kStages * i + stage_] - start_force_[i]);
}

void ExactForces::evaluate(const double* q, const double* v, SpatialForce* F_Bcm_W) noexcept {
  look(q, v);
  std::copy_n(tick_->applied, bodies_.size(), F_Bcm_W);
  if (count_ == 0) return;
  problem_.clear();
  for (std::uint32_t i = 0; i < count_; ++i) {
    FollowedContact& c = contacts_[i];
    const std::uint32_t row = problem_.count();
    load(c);
    row_of_[i] = problem_.count() > row ? row : kNone;
    if (row_of_[i] != kNone) p_[row] = guess(i);
  }
  const LcpReport solved = solver_.solve(problem_, tick_->parameters.lcp_method, p_.data(), u_.data());
  report_.failures += solved.failures, report_.fallbacks += solved.fallbacks;
  report_.iterations += solved.iterations, report_.inconsistent += solved.inconsistent;
  report_.indeterminate += solved.indeterminate;
  report_.residual = std::max(report_.residual, solved.residual);
  for (std::uint32_t i = 0; i < count_; ++i) {
    FollowedContact& c = contacts_[i];
    c.force = row_of_[i] == kNone ? Vec3(0, 0, 0) : p_[row_of_[i]];
    if (stage_ < kStages) stage_force_[kStages * i + stage_] = c.force;
    c.opening = c.free[0];
    if (row_of_[i] == kNone) continue;
    c.opening += velocity(problem_, problem_.contact(row_of_[i]), u_.data())[0];
    give(c, F_Bcm_W);
  }
  for (std::uint32_t k = 0; k < problem_.block_count(); ++k) {
    const ProblemBlock& block = problem_.block(k);
    const Eigen::Map<const Vec3> a(u_.data() + block.start), alpha(u_.data() + block.start + 3);
    TACTUS_DCHECK(block.size == 6 && free(block.body));  // robots do not come here
    motions_[block.body].a_W += block.root_inv_mass * a;
    motions_[block.body].alpha_W += block.C * alpha;
  }
  if (stage_ < kStages) ++stage_;
}

bool ExactForces::stop_approach(State& state) noexcept {
  look(state.q.data(), state.v.data());
  problem_.clear();
  double worst = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    FollowedContact& c = contacts_[i];
    const Vec3 slip = c.e.transpose() * (material_velocity(motions_[c.body_a], c.jet.pa) -
                                         material_velocity(motions_[c.body_b], c.jet.pb));
    const std::uint32_t row = problem_.count();
    ProblemContact* contact = problem_.add(bodies_.data(), c.body_a, c.body_b, c.p_W(), c.e, slip);
    if (contact == nullptr) continue;
    worst = std::max(worst, -slip[0]);
    contact->mu = c.mu_dynamic;
    p_[row].setZero();
  }
  if (worst <= kApproach) return false;
  const LcpReport solved = solver_.solve(problem_, ForceMethod::automatic, p_.data(), u_.data());
  report_.failures += solved.failures, report_.fallbacks += solved.fallbacks;
  for (std::uint32_t k = 0; k < problem_.block_count(); ++k) {
    const ProblemBlock& block = problem_.block(k);
    const Eigen::Map<const Vec3> v(u_.data() + block.start), w(u_.data() + block.start + 3);
    state.set_velocity(block.body, state.v_WBcm(block.body) + block.root_inv_mass * v,
                       state.w_WB(block.body) + block.C * w);
  }
  return true;
}

double ExactForces::kinetic_energy(BodyIndex b, const double* q, const double* v) const noexcept {
  const Body& body = model_.bodies[b];
  const double *x = q + std::size_t{7} * b, *y = v + std::size_t{6} * b;
  const Vec3 w_B = Quat(x[3], x[4], x[5], x[6]).conjugate() * Vec3(y[3], y[4], y[5]);
  return 0.5 * (body.mass * Vec3(y[0], y[1], y[2]).squaredNorm() + w_B.dot(body.I_BBcm * w_B));
}

BodyIndex ExactForces::group_of(BodyIndex b) const noexcept {
  while (group_[b].towards != b) b = group_[b].towards;
  return b;
}

// Bodies that touch each other, by what is known of each group.
void ExactForces::find_groups() noexcept {
  for (BodyIndex b = 0; b < bodies_.size(); ++b) group_[b] = {b};
  for (const FollowedContact& c : contacts()) {
    if (free(c.body_a) && free(c.body_b)) group_[group_of(c.body_a)].towards = group_of(c.body_b);
  }
  for (const FollowedContact& c : contacts()) {
    for (const BodyIndex b : {c.body_a, c.body_b}) {
      if (!free(b)) continue;
      const BodyIndex other = b == c.body_a ? c.body_b : c.body_a;
      Group& group = group_[group_of(b)];
      if (c.fits || c.runs) group.runs = group_[b].rolls = true;
      if (free(other)) continue;
      group.moved = group.moved || !(motions_[other].v_W.isZero(0) && motions_[other].w_W.isZero(0));
      group.sticks = group.sticks || (!c.slides && c.mu_static > 0);
    }
  }
}

// What a body has more of than at (q0, v0) and by the forces applied since [J].
double ExactForces::gained(BodyIndex b, const double* q0, const double* v0, const State& state) const noexcept {
  const Body& body = model_.bodies[b];
  const double *x0 = q0 + std::size_t{7} * b, *x = state.q.data() + std::size_t{7} * b;
  const Vec3 force = tick_->applied[b].force + body.mass * body.gravity_scale * tick_->parameters.gravity_W;
  const Quat turned = Quat(x[3], x[4], x[5], x[6]) * Quat(x0[3], x0[4], x0[5], x0[6]).conjugate();
  const double work = force.dot(Vec3(x[0] - x0[0], x[1] - x0[1], x[2] - x0[2])) +
                      tick_->applied[b].torque.dot(2 * std::copysign(1.0, turned.w()) * turned.vec());
  return kinetic_energy(b, state.q.data(), state.v.data()) - kinetic_energy(b, q0, v0) - work;
}

void ExactForces::hold_energy(const double* q0, const double* v0, State& state) noexcept {
  const auto runs = [](const FollowedContact& c) { return c.fits || c.runs; };
  if (std::none_of(contacts().begin(), contacts().end(), runs)) return;
  find_groups();
  for (BodyIndex b = 0; b < bodies_.size(); ++b) {
    Group& group = group_[group_of(b)];
    if (!free(b) || !group.held()) continue;
    group.gained += gained(b, q0, v0, state);
    if (!group_[b].rolls) continue;
    group.mass += model_.bodies[b].mass;
    group.u += model_.bodies[b].mass * state.v_WBcm(b);
  }
  // How it slides along what stands still is none of it.
  for (Group& group : group_) group.u = group.sticks || group.mass == 0 ? Vec3(0, 0, 0) : Vec3(group.u / group.mass);
  for (int sweep = 0; sweep < kProjections; ++sweep) {
    for (const FollowedContact& c : contacts()) {
      if (free(c.body_a) && free(c.body_b)) continue;
      Group& group = group_[group_of(free(c.body_a) ? c.body_a : c.body_b)];
      group.u -= c.jet.nhat_BA.dot(group.u) * c.jet.nhat_BA;
    }
  }
  const auto rolls = [&](BodyIndex b) {
    const Group& group = group_[group_of(b)];
    return free(b) && group_[b].rolls && group.held() && group.gained > 0;
  };
  // Of u: v = u + x gives kinetic energy 0.5 m (u^2 + 2 u.x + x^2). A share of x is left; and of all where that has not
  // enough, but for what drift lifts in a step (what rests on a slope would never begin to slide).
  for (BodyIndex b = 0; b < bodies_.size(); ++b) {
    if (!rolls(b)) continue;
    Group& group = group_[group_of(b)];
    const Vec3 x = state.v_WBcm(b) - group.u;
    const double along = model_.bodies[b].mass * group.u.dot(x);
    group.along += along;
    group.square +=
        kinetic_energy(b, state.q.data(), state.v.data()) - 0.5 * model_.bodies[b].mass * group.u.squaredNorm() - along;
  }
  const double lift = 2 * kDrift * tick_->parameters.gravity_W.norm();
  for (Group& group : group_) {
    group.share = share_left(group.square, group.along, group.gained);
    const double left = (group.square * group.share + group.along) * group.share;
    const double rest = group.gained - (group.square + group.along - left) - group.mass * lift;
    const double kinetic = left + 0.5 * group.mass * group.u.squaredNorm();
    group.all = rest > 0 ? std::sqrt(std::max(0.0, 1 - rest / std::max(kinetic, rest))) : 1;
    TACTUS_DCHECK(not_outside(group.share, 0, 1) && not_outside(group.all, 0, 1));  // motion is taken, never given
  }
  for (BodyIndex b = 0; b < bodies_.size(); ++b) {
    if (!rolls(b)) continue;
    const Group& group = group_[group_of(b)];
    const Vec3 v = group.u + group.share * (state.v_WBcm(b) - group.u);
    state.set_velocity(b, group.all * v, group.all * group.share * state.w_WB(b));
  }
}

double ExactForces::normal_mobility(const FollowedContact& c) const noexcept {
  double sum = 0;
  for (const BodyIndex b : {c.body_a, c.body_b}) {
    const BodyKinematics& k = bodies_[b];
    const Vec3 arm = (c.p_W() - k.X_WBcm.p).cross(c.jet.nhat_BA);
    sum += k.inv_mass + arm.dot(k.inv_I_W * arm);
  }
  TACTUS_DCHECK(not_below(sum, 0));
  return sum;
}

void ExactForces::shift(const FollowedContact& c, const Vec3& j, std::vector<SpatialVelocity>& by) const noexcept {
  double sign = 1;
  for (const BodyIndex b : {c.body_a, c.body_b}) {
    const BodyKinematics& k = bodies_[b];
    by[b].v += sign * k.inv_mass * j;
    by[b].w += sign * (k.inv_I_W * (c.p_W() - k.X_WBcm.p).cross(j));
    sign = -1;
  }
}

void ExactForces::project(double dt, State& state) noexcept {
  const Parameters& parameters = tick_->parameters;
  std::fill(moved_.begin(), moved_.end(), SpatialVelocity{});
  std::fill(changed_.begin(), changed_.end(), SpatialVelocity{});
  const auto at = [&](const std::vector<SpatialVelocity>& by, const FollowedContact& c) -> Vec3 {
    const Vec3 p = c.p_W();
    return by[c.body_a].v + by[c.body_a].w.cross(p - motions_[c.body_a].c_W) - by[c.body_b].v -
           by[c.body_b].w.cross(p - motions_[c.body_b].c_W);
  };
  for (int sweep = 0; sweep < kProjections; ++sweep) {
    for (const FollowedContact& c : contacts()) {
      const double mobility = normal_mobility(c);
      const bool pushes = c.force[0] > 0, deep = c.jet.d < -kDrift;
      if (mobility == 0 || (!pushes && !deep)) continue;
      const double pace =
          std::min(-c.jet.d * dt / std::max(dt, parameters.overlap_relax_time), parameters.overlap_relax_speed * dt);
      const double wanted = deep ? pace : -c.jet.d;
      shift(c, (wanted - c.jet.nhat_BA.dot(at(moved_, c))) / mobility * c.jet.nhat_BA, moved_);
      if (!pushes) continue;
      const Vec3 slip = material_velocity(motions_[c.body_a], c.jet.pa) -
                        material_velocity(motions_[c.body_b], c.jet.pb) + at(changed_, c);
      const double limit = (c.slides ? c.mu_dynamic : c.mu_static) * c.force[0];
      const bool sticks = !c.slides && c.force.tail<2>().norm() < (1 - 1e-9) * limit;
      if (sticks) {
        const Mat3 K = point_mobility(bodies_[c.body_a], c.p_W()) + point_mobility(bodies_[c.body_b], c.p_W());
        TACTUS_DCHECK(is_symmetric(K));
        shift(c, -(K.ldlt().solve(slip)), changed_);
      } else {
        shift(c, -c.jet.nhat_BA.dot(slip) / mobility * c.jet.nhat_BA, changed_);
      }
    }
  }
  for (BodyIndex b = 0; b < bodies_.size(); ++b) {
    if (bodies_[b].inv_mass == 0) continue;
    if (!moved_[b].v.isZero(0) || !moved_[b].w.isZero(0)) {
      state.set_pose(b, state.p_WBcm(b) + moved_[b].v, rotate_by(moved_[b].w, state.q_WB(b)));
    }
    state.set_velocity(b, state.v_WBcm(b) + changed_[b].v, state.w_WB(b) + changed_[b].w);
  }
}

Vec3 slip_of(const FollowedContact& c, const ExactForces& forces) noexcept {
  const Vec3 v =
      material_velocity(forces.motion(c.body_a), c.jet.pa) - material_velocity(forces.motion(c.body_b), c.jet.pb);
  return v - c.jet.nhat_BA.dot(v) * c.jet.nhat_BA;
}

}  // namespace tactus
