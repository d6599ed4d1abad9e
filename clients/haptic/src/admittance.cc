#include "tactus/haptic/admittance.h"

#include <algorithm>

namespace tactus::haptic {
namespace {

constexpr double kAllowance = 0.3e-3;  // what the hand may get and never gave [J]
constexpr double kQuietForce = 0.05;   // below it the hand does not count as there [N]
constexpr double kForget = 0.060;      // [s]

bool shorten(Vec3& x, double most) {
  const double length = x.norm();
  if (!(length > most)) return false;
  x *= most / length;
  return true;
}
// x goes to `to`, by `most` at most.
bool approach(Vec3& x, const Vec3& to, double most) {
  Vec3 step = to - x;
  const bool cut = shorten(step, most);
  x += step;
  return cut;
}
bool finite(const Wrench& F) {
  return is_finite(F.force) && is_finite(F.torque);
}

}  // namespace

AdmittanceOptions choose_admittance(const Capabilities& c, double mass_wished) {
  AdmittanceOptions o;
  o.mass = std::max(c.mass, mass_wished);
  o.damping = c.damping;
  o.turns = c.axes_actuated == 6;
  // A heavier tool is harder to turn, too.
  o.inertia = o.turns ? c.inertia * o.mass / c.mass : o.inertia;
  o.turn_damping = c.turn_damping;
  o.speed_max = c.speed_max;
  o.turn_speed_max = o.turns ? c.turn_speed_max : 0;
  o.acceleration_max = c.acceleration_max;
  return o;
}

AdmittanceLoop::AdmittanceLoop(const LoopOptions& options, const AdmittanceOptions& admittance)
    : Loop(options), admittance_(admittance), bank_(kAllowance) {}

// Of the hand on the handle; zero when it is not to be believed.
Wrench AdmittanceLoop::sensed(const Reading& reading) {
  Wrench F = reading.F_H;
  if (!finite(F)) {
    stop(kDeviceFault, "the device's force is not finite");
    return {};
  }
  bool limited = shorten(F.force, options_.force_limit);
  if (!admittance_.turns) F.torque.setZero();
  limited = (admittance_.turns && shorten(F.torque, options_.torque_limit)) || limited;
  bits_ = limited ? bits_ | kForceLimited : bits_ & ~kForceLimited;
  return F;
}

// The hand's port: what was given to the hand, by the mean of its force over the cycle that ended.
void AdmittanceLoop::account(const Wrench& F_H, const Motion& went, double dt) {
  const Wrench mean = 0.5 * (F_last_ + F_H);
  ledger_.add(-1.0 * mean, went);
  bank_ += work(mean, went);
  const bool quiet = F_H.force.norm() < kQuietForce && F_H.torque.norm() < kQuietForce * 0.1;
  quiet_s_ = quiet ? quiet_s_ + dt : 0;
  if (quiet_s_ <= kForget) return;
  const double moving =
      0.5 * admittance_.mass * V_DC_.v.squaredNorm() + 0.5 * admittance_.inertia * V_DC_.w.squaredNorm();
  bank_ = kAllowance + moving;
}

// From the speed it had when it was let go, down to rest with the ramp.
void AdmittanceLoop::brake() {
  if (was_engaged_ && !engaged()) {
    speed_at_stop_ = V_WT_.v.norm();
    turn_at_stop_ = V_WT_.w.norm();
    ramp_at_stop_ = std::max(ramp_, 1e-9);
  }
  was_engaged_ = engaged();
}

void AdmittanceLoop::set_anchor() {
  X_anchor_D_ = X_DC_;
  X_anchor_W_ = anchored_ ? local_.proxy() : tool_.X_WT;
  X_WT_ = X_anchor_W_;
  V_WT_ = {};
  held_by_ = {};
  local_.place(X_anchor_W_);
  local_.receive(tool_, round_trip_, 0);
  anchored_ = true;
}

// The velocity that the mass has at the cycle's end under force and damping alone, as fast as it may become.
Twist AdmittanceLoop::pushed(const Wrench& F, double dt) {
  const AdmittanceOptions& a = admittance_;
  const double s = options_.position_scale, turn_share = a.turn_speed_max / a.speed_max;
  Twist wanted{(V_WT_.v + s * dt / a.mass * F.force) / (1 + dt * a.damping / a.mass), Vec3::Zero()};
  if (a.turns) wanted.w = (V_WT_.w + dt / a.inertia * F.torque) / (1 + dt * a.turn_damping / a.inertia);
  Twist V = V_WT_;
  bool slewed = approach(V.v, wanted.v, s * a.acceleration_max * dt);
  slewed = approach(V.w, wanted.w, turn_share * a.acceleration_max * dt) || slewed;
  slewed = shorten(V.v, s * a.speed_max) || slewed;
  slewed = shorten(V.w, a.turn_speed_max) || slewed;
  bits_ = slewed ? bits_ | kSlewLimited : bits_ & ~kSlewLimited;
  if (!engaged()) {
    const double left = ramp_ / ramp_at_stop_;
    shorten(V.v, left * speed_at_stop_);
    shorten(V.w, left * turn_at_stop_);
  }
  return V;
}

// F_H: of the hand, in D. What the planes do may be cut again by speed and gate: towards where it was, which is free.
void AdmittanceLoop::integrate(const Wrench& F_H, double dt) {
  const AdmittanceOptions& a = admittance_;
  const double s = options_.position_scale, T = options_.period;
  // Ramping in the mass is a heavier one, which grows lighter: it takes energy. It does not grow heavier again.
  const double ramp = engaged() ? ramp_ : ramp_at_stop_;
  const Wrench F_W{options_.q_WD * F_H.force, options_.q_WD * F_H.torque};
  const Twist V = pushed(ramp * F_W, dt);
  const Pose wish{rotated(dt * V.w, X_WT_.q), X_WT_.p + dt * V.v};
  Pose next = wish;
  Wrench held;
  const bool clutched = (bits_ & kClutched) != 0;
  if (anchored_ && !clutched) {
    const double rate = 1 / (dt * dt);
    held = local_.step(wish, {}, {a.mass * rate / (s * s), 0, a.inertia * rate, 0}, T);
    next = local_.proxy();
  }
  const Motion went = motion(X_WT_, next);
  double share = std::min(1.0, s * a.speed_max * dt / std::max(went.p.norm(), 1e-300));
  if (a.turns) share = std::min(share, a.turn_speed_max * dt / std::max(went.phi.norm(), 1e-300));
  const double given = -F_W.force.dot(went.p) / s - F_W.torque.dot(went.phi);
  bits_ &= ~kGateActed;
  if (options_.gate && share * given > std::max(0.0, bank_)) {
    share = std::max(0.0, bank_) / given;
    bits_ |= kGateActed;
  }
  X_WT_.p += share * went.p;
  X_WT_.q = share < 1 ? rotated(share * went.phi, X_WT_.q) : next.q;
  if (anchored_ && !clutched && share < 1) local_.hold(X_WT_);
  V_WT_ = {share / dt * went.p, share / dt * went.phi};
  const double low_pass = damping_share(T);
  held_by_.force += low_pass * (held.force - held_by_.force);
  held_by_.torque += low_pass * (held.torque - held_by_.torque);
}

// On the hand, at the tool's scale: what the planes hold, but no more than the hand pushes with: the rest stopped the
// mass, and would kick the tool.
Wrench AdmittanceLoop::contact() const {
  Wrench out = held_by_;
  shorten(out.force, F_last_.force.norm() / options_.position_scale);
  shorten(out.torque, F_last_.torque.norm());
  return ramp_ * out;
}

void AdmittanceLoop::tell(const Reading& reading) {
  const Gains& g = tool_.gains.stiffness > 0 && options_.gains.stiffness <= 0 ? tool_.gains : options_.gains;
  if ((bits_ & kClutched) != 0) {  // the tool stays
    V_WR_ = {};
    return fill_message(reading);
  }
  const Wrench on_hand = contact();
  X_WR_ = X_WT_;
  if (g.stiffness > 0) X_WR_.p -= on_hand.force / g.stiffness;
  if (g.turn_stiffness > 0) X_WR_.q = rotated(-on_hand.torque / g.turn_stiffness, X_WR_.q);
  V_WR_ = V_WT_;
  last_law_ = on_hand;
  held_ = {options_.q_WD.conjugate() * (options_.position_scale * on_hand.force),
           options_.q_WD.conjugate() * on_hand.torque};
  fill_message(reading);
}

AdmittanceLoop::Command AdmittanceLoop::move(const Reading& reading, int cycles) {
  out_.sample += static_cast<std::uint64_t>(std::max(1, cycles));
  const double T = options_.period, dt = T * std::max(1, cycles);
  const bool usable = check(reading, dt);
  const Wrench F = usable ? sensed(reading) : Wrench{};
  if (usable) {
    if (!placed_) X_DC_ = reading.X_DH, placed_ = true;
    if (seen_) account(F, motion(X_DH_, reading.X_DH), dt);
    X_DH_ = reading.X_DH;
    seen_ = true;
    if ((X_DH_.p - X_DC_.p).norm() > admittance_.follow_max)
      stop(kDeviceFault, "the device does not follow: it is farther than follow_max from where it was sent");
  }
  F_last_ = F;
  watch(cycles);
  brake();
  const bool clutched = (reading.buttons & 1) != 0;
  if (engaged() && has_tool_ && (!anchored_ || (!clutched && (bits_ & kClutched) != 0))) {
    if (anchored_) bits_ |= kRampIn, ramp_ = 0;
    set_anchor();
  }
  bits_ = clutched ? bits_ | kClutched : bits_ & ~kClutched;
  if (idle() || !placed_ || !anchored_) {
    V_WT_ = V_DC_ = {};
    bits_ &= ~(kSlewLimited | kGateActed);
    tell(reading);
    return {X_DC_, {}};
  }
  const Pose before = X_WT_;
  integrate(F, T);  // a cycle that was missed is time in which the device stood
  const Quat back = options_.q_WD.conjugate();
  X_DC_.p += back * (X_WT_.p - before.p) / options_.position_scale;
  X_DC_.q = (back * (X_WT_.q * before.q.conjugate()) * options_.q_WD) * X_DC_.q;
  X_DC_.q.normalize();
  V_DC_ = {back * V_WT_.v / options_.position_scale, back * V_WT_.w};
  tell(reading);
  return {X_DC_, V_DC_};
}

}  // namespace tactus::haptic
