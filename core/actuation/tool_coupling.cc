#include "core/actuation/tool_coupling.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

// sin(angle) times the axis of the turn from a to b, in W: gradient of the torsion spring's potential 1 - cos(angle).
Vec3 turn(const Quat& a, const Quat& b) noexcept {
  const Quat d = b * a.conjugate();
  return 2 * d.w() * d.vec();
}
double turn_energy(const Quat& a, const Quat& b) noexcept {
  return 2 * (b * a.conjugate()).vec().squaredNorm();
}
Vec3 small_turn(const Quat& a, const Quat& b) noexcept {
  const Quat d = b * a.conjugate();
  return (d.w() < 0 ? -2.0 : 2.0) * d.vec();
}

}  // namespace

ToolMass tool_mass(const Model& model, BodyIndex body, const Pose& X_BT) noexcept {
  const Body& b = model.bodies[body];
  // The least moment of inertia is at least det / (trace / 2)^2: no eigenvalues needed.
  const double half_trace = 0.5 * b.I_BBcm.trace();
  const double inertia = half_trace > 0 ? b.I_BBcm.determinant() / (half_trace * half_trace) : 0.0;
  const double arm2 = (X_BT.p - b.p_BBcm).squaredNorm();
  return {inertia > 0 && b.mass > 0 ? 1 / (1 / b.mass + arm2 / inertia) : b.mass, inertia};
}

// The largest eigenvalue of each block: both springs at once then use at most twice what one may.
ToolMass tool_mass(const Eigen::Matrix<double, 6, 6>& mobility) noexcept {
  constexpr double kImmovable = 1e12;
  Eigen::SelfAdjointEigenSolver<Mat3> solver;
  const auto least = [&solver](const Mat3& block) {
    const double most = solver.computeDirect(block, Eigen::EigenvaluesOnly).eigenvalues()[2];
    return most * kImmovable > 1 ? 1 / most : kImmovable;
  };
  return {least(mobility.topLeftCorner<3, 3>()), least(mobility.bottomRightCorner<3, 3>())};
}

ToolGains bearable_gains(const ToolMass& m, const ToolGains& wanted, double h, bool& limited) noexcept {
  ToolGains out;
  out.stiffness = std::min(wanted.stiffness, 0.25 * m.mass / (h * h));
  out.damping = std::min(wanted.damping, m.mass / (3 * h));
  out.turn_stiffness = std::min(wanted.turn_stiffness, 0.25 * m.inertia / (h * h));
  out.turn_damping = std::min(wanted.turn_damping, m.inertia / (3 * h));
  limited = out.stiffness < wanted.stiffness || out.damping < wanted.damping ||
            out.turn_stiffness < wanted.turn_stiffness || out.turn_damping < wanted.turn_damping;
  return out;
}

namespace {

// The stiffest that a tool bears, whatever is wanted.
ToolGains most_gains(const ToolMass& mass, double h) noexcept {
  constexpr double kEnough = 1e12;
  bool limited = false;
  return bearable_gains(mass, {kEnough, kEnough, kEnough, kEnough}, h, limited);
}

}  // namespace

void ToolCoupling::engage(const ToolSettings& settings, const ToolMass& mass, const Model& model,
                          const State& state) noexcept {
  TACTUS_ASSERT(settings.body < model.bodies.size());
  TACTUS_ASSERT(settings.gains.stiffness >= 0 && settings.gains.damping >= 0);
  settings_ = settings;
  asked_ = settings.gains;
  bool limited = false;
  mass_ = mass;
  settings_.gains = bearable_gains(mass, settings.gains, model.step, limited);
  if (settings.mode == ToolMode::local) damp(model.step);
  X_WR_ = body_pose(model, state, settings.body) * settings.X_BT;
  V_WR_ = {};
  input_ = {};
  input_.X_WR = X_WR_;
  bits_ = kToolEngaged | kToolRampIn | (limited ? kToolGainsLimited : 0u);
  silent_ticks_ = 0;
  ramp_in_left_ = settings_.ramp_in_ticks;
  ramp_left_ = settings_.ramp_ticks;
  share_ = 1;
  X_WT_last_ = X_WR_;
  forgiven_ = 0;
  port_out_ = port_heard_ = 0;
  quiet_ticks_ = 0;
  report_ = {};
}

// Nobody feels this spring: it is damped as a tool on it should be, or the tool rocks on edges for ever.
void ToolCoupling::damp(double h) noexcept {
  const ToolGains most = most_gains(mass_, h);
  ToolGains& g = settings_.gains;
  // Critical: B = 2 sqrt(K m), and K = m / (4 h^2), B = m / (3 h) are what it bears.
  g.damping = std::max(g.damping, std::min(most.damping, 4 * h * std::sqrt(g.stiffness * most.stiffness)));
  g.turn_damping =
      std::max(g.turn_damping, std::min(most.turn_damping, 4 * h * std::sqrt(g.turn_stiffness * most.turn_stiffness)));
}

void ToolCoupling::bear(const ToolMass& mass, double h) noexcept {
  if (idle()) return;
  mass_ = mass;
  lower(most_gains(mass, h));
}

// Only down within an engagement: a spring that grows stiffer gives energy.
void ToolCoupling::lower(const ToolGains& most) noexcept {
  const auto cap = [this](double& gain, double limit) {
    if (gain <= limit) return;
    gain = limit;
    bits_ |= kToolGainsLimited;
  };
  ToolGains& g = settings_.gains;
  cap(g.stiffness, most.stiffness);
  cap(g.damping, most.damping);
  cap(g.turn_stiffness, most.turn_stiffness);
  cap(g.turn_damping, most.turn_damping);
}

void ToolCoupling::let_go() noexcept {
  if (!engaged()) return;
  bits_ = (bits_ & ~(kToolEngaged | kToolRampIn)) | kToolRampOut;
  ramp_left_ = settings_.ramp_ticks;
}

void ToolCoupling::watch(bool fresh) noexcept {
  silent_ticks_ = fresh ? 0 : silent_ticks_ + 1;
  if (engaged() && silent_ticks_ > settings_.watchdog_ticks) {
    let_go();
    bits_ |= kToolLost;
  }
  if (engaged()) {
    if (ramp_in_left_ > 0) --ramp_in_left_;
    if (ramp_in_left_ == 0) bits_ &= ~kToolRampIn;
  } else if ((bits_ & kToolRampOut) != 0) {
    if (ramp_left_ > 0) --ramp_left_;
    if (ramp_left_ == 0) bits_ &= ~kToolRampOut;
  }
}

// The reference goes where the device's side says, but no faster than it may; when silent, it stands, but for the
// ticks in which a deadband's sender counts on its going on.
void ToolCoupling::move_reference(double h) noexcept {
  const bool goes_on = silent_ticks_ > 0 && silent_ticks_ <= settings_.predict_ticks;
  if (goes_on) {
    input_.X_WR.p += h * input_.V_WR.v;
    input_.X_WR.q = rotate_by(h * input_.V_WR.w, input_.X_WR.q);
  }
  Vec3 step = input_.X_WR.p - X_WR_.p, turned = small_turn(X_WR_.q, input_.X_WR.q);
  if (settings_.passivity) pass(step, turned);
  const bool slow = cut_length(step, settings_.speed_limit * h),
             lazy = cut_length(turned, settings_.turn_speed_limit * h);
  if (slow || lazy) bits_ |= kToolSpeedLimited;
  X_WR_.p += step;
  X_WR_.q = lazy || settings_.passivity ? rotate_by(turned, X_WR_.q) : input_.X_WR.q;
  V_WR_ = input_.V_WR;
  if (silent_ticks_ > 0 && !goes_on) V_WR_ = {};
  if (cut_length(V_WR_.v, settings_.speed_limit) || cut_length(V_WR_.w, settings_.turn_speed_limit))
    bits_ |= kToolSpeedLimited;
}

// Time-domain passivity at this end of the network (Ryu, Artigas & Preusche 2010): the reference goes towards where the
// device wants it only as far as the device's port has put in energy for; the rest of the way is made up later.
void ToolCoupling::pass(Vec3& step, Vec3& turned) const noexcept {
  constexpr double kAllowance = 0.1e-3;  // [J]
  const ToolGains g = gains_now();
  const double bank = std::max(0.0, port_heard_ + kAllowance - port_out_);
  const double a = report_.F_T_W.force.dot(step) + report_.F_T_W.torque.dot(turned);
  const double b = g.stiffness * step.squaredNorm() + g.turn_stiffness * turned.squaredNorm();
  if (!(a + b > bank)) return;
  const double root = std::sqrt(a * a + 4 * b * bank);
  const double scale = std::clamp(a > 0 ? 2 * bank / (a + root) : (root - a) / (2 * b), 0.0, 1.0);
  step *= scale;
  turned *= scale;
}

// b r + F = sqrt(2 b) u with F = K e + B (r - v) at the end of the tick: the reference velocity that the wave asks for.
void ToolCoupling::play_wave(const ToolGains& gains, double h) noexcept {
  const Pose& X_WT = report_.X_WT;
  const double b = settings_.wave_impedance, bt = settings_.turn_impedance;
  const Vec3 r =
      (std::sqrt(2 * b) * input_.wave_v - gains.stiffness * (X_WR_.p - X_WT.p) + gains.damping * report_.V_WT.v) /
      (b + gains.damping + gains.stiffness * h);
  const Vec3 s = (std::sqrt(2 * bt) * input_.wave_w - gains.turn_stiffness * turn(X_WT.q, X_WR_.q) +
                  gains.turn_damping * report_.V_WT.w) /
                 (bt + gains.turn_damping + gains.turn_stiffness * h);
  V_WR_ = {s, r};
  // Whatever the wave asks for; what is cut of it is lost to its sender, so energy is only taken.
  if (cut_length(V_WR_.v, settings_.speed_limit) || cut_length(V_WR_.w, settings_.turn_speed_limit))
    bits_ |= kToolSpeedLimited;
  X_WR_.p += h * V_WR_.v;
  X_WR_.q = rotate_by(h * V_WR_.w, X_WR_.q);
}

ToolGains ToolCoupling::gains_now() const noexcept {
  double scale = 1;
  if (ramp_in_left_ > 0) scale = 1.0 - static_cast<double>(ramp_in_left_) / settings_.ramp_in_ticks;
  if (!engaged()) scale *= static_cast<double>(ramp_left_) / std::max(1u, settings_.ramp_ticks);
  const ToolGains& g = settings_.gains;
  const double k = scale * share_;
  return {k * g.stiffness, scale * g.damping, k * g.turn_stiffness, scale * g.turn_damping};
}

// A force late by t bears K = 0.1 m / t^2, B = 0.4 m / t.
ToolGains ToolCoupling::slow_gains(double delay) const noexcept {
  const double k = 0.1 / (delay * delay), b = 0.4 / delay;
  return {k * mass_.mass, b * mass_.mass, k * mass_.inertia, b * mass_.inertia};
}

// At rest the soft spring is slack, and the hand's force is the contact's.
SpatialForce ToolCoupling::slow_force(double delay) const noexcept {
  const ToolGains now = gains_now();
  const double scale = settings_.gains.damping > 0 ? now.damping / settings_.gains.damping : 0.0;  // of the ramps
  const ToolGains soft = slow_gains(delay);
  const Vec3 pushed = input_.F_H_W.force / settings_.position_scale, twisted = input_.F_H_W.torque;
  Vec3 p_WP = X_WR_.p;
  Quat q_WP = X_WR_.q;
  if (asked_.stiffness > 0) p_WP += pushed / asked_.stiffness;
  if (asked_.turn_stiffness > 0) q_WP = rotate_by(twisted / asked_.turn_stiffness, q_WP);
  SpatialForce F;
  F.force = scale * (soft.stiffness * (p_WP - report_.X_WT.p) - soft.damping * report_.V_WT.v - pushed);
  F.torque = scale * (soft.turn_stiffness * turn(report_.X_WT.q, q_WP) - soft.turn_damping * report_.V_WT.w - twisted);
  return F;
}

SpatialForce ToolCoupling::tick(const ToolInput* input, const Model& model, const State& state, const Vec3& gravity_W,
                                double h, std::uint32_t slow_ticks) noexcept {
  const Body& body = model.bodies[settings_.body];
  const Pose X_WB = body_pose(model, state, settings_.body);
  const SpatialVelocity V_WB = body_velocity(model, state, settings_.body);
  report_.X_WT = X_WB * settings_.X_BT;
  report_.V_WT = {V_WB.w, V_WB.v + V_WB.w.cross(X_WB.q * settings_.X_BT.p)};
  bits_ &= ~(kToolForceLimited | kToolSpeedLimited | kToolGateActed | kToolSlow);
  if (slow_ticks > 0) bits_ |= kToolSlow;
  settle();
  if (input != nullptr && engaged()) input_ = *input;
  watch(input != nullptr);
  if (idle()) return rest();
  // Lower gains fast (1 % a tick), raise them slowly (0.05 %): a gain that grows in contact gives energy.
  const double wanted = std::clamp(input_.stiffness_share, 0.0, 1.0);
  share_ = wanted < share_ ? std::max(wanted, share_ - 0.01) : std::min(wanted, share_ + 0.0005);
  if (slow_ticks > 0 && settings_.mode != ToolMode::local) lower(slow_gains(1.5 * slow_ticks * h));
  const ToolGains g = gains_now();
  const Pose before = X_WR_;
  if (settings_.mode == ToolMode::wave && engaged()) {
    play_wave(g, h);
  } else {
    move_reference(h);
  }
  SpatialForce F;
  F.force = g.stiffness * (X_WR_.p - report_.X_WT.p) + g.damping * (V_WR_.v - report_.V_WT.v);
  F.torque = g.turn_stiffness * turn(report_.X_WT.q, X_WR_.q) + g.turn_damping * (V_WR_.w - report_.V_WT.w);
  if (slow_ticks > 0 && settings_.mode == ToolMode::local) F = slow_force(1.5 * slow_ticks * h);
  const bool limited = cut_length(F.force, settings_.force_limit);
  if (cut_length(F.torque, settings_.torque_limit) || limited) bits_ |= kToolForceLimited;
  report_.scale = settings_.gains.stiffness > 0 ? g.stiffness / settings_.gains.stiffness : 0.0;
  report_.stored = 0.5 * g.stiffness * (X_WR_.p - report_.X_WT.p).squaredNorm() +
                   g.turn_stiffness * turn_energy(report_.X_WT.q, X_WR_.q);
  account(before, F);
  if (settings_.gate && slow_ticks == 0 && settings_.mode != ToolMode::wave) gate(F, h);
  send_wave(F);
  SpatialForce out = F;
  out.torque += (report_.X_WT.p - X_WB * body.p_BBcm).cross(F.force);
  if (settings_.carry_weight && body.mode == BodyMode::free) out.force -= body.mass * body.gravity_scale * gravity_W;
  return out;
}

// Nothing acts; the report still says where the tool is.
SpatialForce ToolCoupling::rest() noexcept {
  report_.F_T_W = {};
  X_WT_last_ = report_.X_WT;
  report_.wave_v = report_.wave_w = Vec3::Zero();
  report_.bits = bits_;
  report_.scale = report_.stored = 0;
  report_.input_age_ticks = silent_ticks_;
  return {};
}

// The force of the tick before acted while the tool moved so: in this order, or the sign of what a sampled spring
// gives is lost.
void ToolCoupling::settle() noexcept {
  const SpatialForce& F = report_.F_T_W;
  report_.tool_work +=
      F.force.dot(report_.X_WT.p - X_WT_last_.p) + F.torque.dot(small_turn(X_WT_last_.q, report_.X_WT.q));
  report_.declared = std::max(report_.declared, -report_.tool_work);
}

// Not for waves, whose port is passive by itself, nor while the tool gets what the hand is given (slow models).
// The gate of the server's port: a force that drives the tool may give what the reference has put in, and an allowance.
// The ledger starts anew after 60 quiet ticks: what was put in long ago is no bank.
void ToolCoupling::gate(SpatialForce& F, double h) noexcept {
  constexpr double kAllowance = 0.5e-3;  // [J]
  constexpr double kQuiet = 1e-6;        // in the spring [J]
  quiet_ticks_ = report_.stored < kQuiet ? quiet_ticks_ + 1 : 0;
  if (quiet_ticks_ > 60) forgiven_ = report_.tool_work + report_.stored - report_.reference_work;
  // What this tick gives is taken from the spring, unless nothing is left to take. Of scale s of the wrench that is
  // a s + b s^2: the tool's motion now, and what the wrench itself makes of it, which can turn it round.
  const double most = std::max(0.0, kAllowance + report_.stored - report_.created);
  const double a = h * (F.force.dot(report_.V_WT.v) + F.torque.dot(report_.V_WT.w));
  const double b =
      h * h *
      (F.force.squaredNorm() / std::max(mass_.mass, 1e-9) + F.torque.squaredNorm() / std::max(mass_.inertia, 1e-12));
  if (!(a + b > most)) return;
  const double root = std::sqrt(a * a + 4 * b * most);
  const double scale = std::clamp(a > 0 ? 2 * most / (a + root) : (root - a) / (2 * b), 0.0, 1.0);
  F.force *= scale;
  F.torque *= scale;
  report_.F_T_W = F;
  bits_ |= kToolGateActed;
  report_.bits = bits_;
}

void ToolCoupling::account(const Pose& before, const SpatialForce& F) noexcept {
  report_.F_T_W = F;
  report_.X_WR = X_WR_;
  report_.bits = bits_;
  report_.input_age_ticks = silent_ticks_;
  // A jump D of the reference at extension e costs K (e + D / 2) D: the force of after it less half of what it added.
  // What the tool went along with it added nothing, or a drag would use up the bank by K D^2 / 2 each tick.
  const Vec3 step = X_WR_.p - before.p, turned = small_turn(before.q, X_WR_.q);
  const ToolGains g = gains_now();
  const double along = std::clamp(step.dot(report_.X_WT.p - X_WT_last_.p), 0.0, step.squaredNorm());
  report_.reference_work += F.force.dot(step) - 0.5 * g.stiffness * (step.squaredNorm() - along) + F.torque.dot(turned);
  const double given = F.force.dot(step) + F.torque.dot(turned);
  port_heard_ = std::max(port_heard_, input_.port_in);
  (given > 0 ? port_out_ : report_.port_in) += std::abs(given);
  X_WT_last_ = report_.X_WT;
  report_.created = report_.tool_work + report_.stored - report_.reference_work - forgiven_;
}

void ToolCoupling::send_wave(const SpatialForce& F) noexcept {
  const double b = settings_.wave_impedance, bt = settings_.turn_impedance;
  report_.wave_v = (b * V_WR_.v - F.force) / std::sqrt(2 * b);
  report_.wave_w = (bt * V_WR_.w - F.torque) / std::sqrt(2 * bt);
}

}  // namespace tactus
