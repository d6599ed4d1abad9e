#include "tactus/haptic/loop.h"

#include <algorithm>

#include "tactus/haptic/deadband.h"

namespace tactus::haptic {
namespace {

constexpr std::uint32_t kToolLost = 8, kToolSlow = 1024;  // proto ToolBit
constexpr double kSlowAge = 0.015;     // of what bodies do beside a slow model: 1.5 steps at 100 Hz, the slowest [s]
constexpr double kDampingShare = 0.9;  // of the device's own: above K T/2 at 0.72 of 2b/T (local_model.h)

Vec3 cut(const Vec3& x, double limit, bool& acted) {
  const double length = x.norm();
  if (!(length > limit)) return x;
  acted = true;
  return x * (limit / length);
}
Vec3 follow(const Vec3& from, const Vec3& to, double most, bool& acted) {
  const Vec3 step = to - from;
  const double length = step.norm();
  if (!(length > most)) return to;
  acted = true;
  return from + step * (most / length);
}
Gate::Options gate_options(const LoopOptions& o) {
  Gate::Options out;
  out.period = o.period;
  out.mass = o.mass;
  out.inertia = o.inertia;
  return out;
}

}  // namespace

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::local:
      return "local";
    case Mode::direct:
      return "direct";
    case Mode::wave:
      return "wave";
  }
  return "?";
}

double passive_stiffness(double damping, double period, double delay, double share) {
  return share * damping / (0.5 * period + delay);
}

Gains choose_gains(const Capabilities& c, double share) {
  const double T = 1 / c.rate_hz;
  Gains g;
  g.stiffness = c.damping > 0 ? passive_stiffness(c.damping, T, c.delay_s, share) : c.stiffness_max;
  if (c.stiffness_max > 0) g.stiffness = std::min(g.stiffness, c.stiffness_max);
  g.damping = kDampingShare * c.damping;
  if (c.damping_max > 0) g.damping = std::min(g.damping, c.damping_max);
  if (c.axes_actuated == 6) {
    g.turn_stiffness =
        c.turn_damping > 0 ? passive_stiffness(c.turn_damping, T, c.delay_s, share) : c.turn_stiffness_max;
    if (c.turn_stiffness_max > 0) g.turn_stiffness = std::min(g.turn_stiffness, c.turn_stiffness_max);
    g.turn_damping = kDampingShare * c.turn_damping;
  }
  return g;
}

Loop::Loop(const LoopOptions& options) : options_(options), gate_(gate_options(options)) {}

void Loop::engage() {
  bits_ = kEngaged | kRampIn;
  ++grip_;
  ramp_ = 0;
  anchored_ = has_tool_ = false;
  silent_s_ = 0;
  reason_.clear();
  playout_.clear();
  out_.wave.fill(0);
  out_.port_in = 0;
  line_.restart();
  turn_line_.restart();
  port_.restart();
  controller_ = 0;
  last_law_ = damped_ = {};
  round_trip_peak_ = 0;
}

void Loop::let_go() {
  if (engaged()) stop(0, "");
}

void Loop::stop(std::uint32_t bit, const char* why) {
  if (!engaged()) return;
  bits_ = (bits_ & ~(kEngaged | kRampIn)) | kRampOut | bit;
  reason_ = why;
  // What is left is a spring of its own, without a step: from where the last force comes.
  const Gains& g = options_.gains;
  X_WRest_ = X_WR_;
  if (g.stiffness > 0) X_WRest_.p += last_law_.force / g.stiffness;
  if (g.turn_stiffness > 0) X_WRest_.q = rotated(last_law_.torque / g.turn_stiffness, X_WR_.q);
}

// Samples that the deadband did not send since the one that is echoed: what they say is known.
std::uint64_t Loop::held_back(const ToolMessage& tool) const {
  return options_.deadband > 0 ? std::min(tool.age, out_.sample - tool.sample_echo) : 0;
}

void Loop::receive(const ToolMessage& tool) {
  if (tool.grip != grip_ || !engaged()) return;  // of an earlier engagement
  if (options_.mode == Mode::wave) playout_.push(tool.tick, out_.sample, tool.wave);
  if (has_tool_ && tool.tick <= tool_.tick) return;
  const double interval =
      has_tool_ ? options_.period * static_cast<double>(std::max<std::uint64_t>(1, out_.sample - tick_cycle_)) : 0;
  tool_ = tool;
  has_tool_ = true;
  tick_cycle_ = out_.sample;
  silent_s_ = 0;
  if ((tool.bits & kToolLost) != 0)
    stop(kLinkLost, "the server let go: it had no word from here, or its world jumped or froze");
  if (tool.sample_echo > 0 && tool.sample_echo <= out_.sample)
    round_trip_ = options_.period * static_cast<double>(out_.sample - tool.sample_echo - held_back(tool));
  const bool contact = local_.in_contact() || !last_law_.force.isZero(0);
  round_trip_peak_ = contact ? std::max(round_trip_peak_, round_trip_)
                             : std::max(round_trip_, round_trip_peak_ - 0.1 * options_.period);
  gate_.set_round_trip(round_trip_peak_);
  if (options_.active_scene && tool.declared > declared_seen_) gate_.declare(tool.declared - declared_seen_);
  declared_seen_ = std::max(declared_seen_, tool.declared);
  port_.hear(tool.port_in);
  if (options_.mode == Mode::local)
    local_.receive(tool, round_trip_peak_ + ((tool.bits & kToolSlow) != 0 ? kSlowAge : 0.0), interval);
}

// False: no reading to go on with.
bool Loop::check(const Reading& r, double dt) {
  const bool finite = is_finite(r.X_DH.p) && is_finite(r.X_DH.q) && (!r.has_velocity || is_finite(r.V_DH.v)) &&
                      (!r.has_velocity || is_finite(r.V_DH.w));
  if (!finite) {
    stop(kDeviceFault, "the device's reading is not finite");
    return false;
  }
  const double norm = r.X_DH.q.norm();
  if (!(norm > 0.9 && norm < 1.1)) {
    stop(kDeviceFault, "the device's orientation is no unit quaternion");
    return false;
  }
  if (!seen_) return true;
  const Motion went = motion(X_DH_, r.X_DH);
  if (went.p.norm() > options_.speed_max * dt || went.phi.norm() > options_.turn_speed_max * dt ||
      (r.has_velocity && (r.V_DH.v.norm() > options_.speed_max || r.V_DH.w.norm() > options_.turn_speed_max)))
    stop(kDeviceFault, "the device's pose jumped: faster than speed_max");
  return true;
}

void Loop::watch(int cycles) {
  silent_s_ += options_.period * cycles;
  if (engaged() && silent_s_ > options_.watchdog_s + (has_tool_ ? 0 : 0.5)) stop(kLinkLost, "no word from the server");
  if (engaged() && options_.period * cycles > std::max(options_.watchdog_s, 3 * options_.period))
    stop(kStalled, "the device's own loop stood still");
  if (engaged() && has_tool_) {
    ramp_ = std::min(1.0, ramp_ + options_.period / options_.ramp_in_s);
    if (ramp_ >= 1) bits_ &= ~kRampIn;
  } else if ((bits_ & kRampOut) != 0) {
    ramp_ = std::max(0.0, ramp_ - options_.period * cycles / options_.ramp_out_s);
    if (ramp_ <= 0) bits_ &= ~kRampOut;
  }
}

void Loop::anchor(const Reading& reading) {
  X_anchor_D_ = reading.X_DH;
  X_anchor_W_ = options_.mode == Mode::local && anchored_ ? local_.proxy() : tool_.X_WT;
  if (options_.mode == Mode::local) local_.place(X_anchor_W_);
  if (options_.mode == Mode::local) local_.receive(tool_, round_trip_, 0);
  line_.restart();
  turn_line_.restart();
  anchored_ = true;
}

// The handle's pose and rate as the tool's: turned into the world, scaled, from the anchor on.
void Loop::map() {
  const Quat& q = options_.q_WD;
  X_WR_.p = X_anchor_W_.p + options_.position_scale * (q * (X_DH_.p - X_anchor_D_.p));
  X_WR_.q = (q * (X_DH_.q * X_anchor_D_.q.conjugate()) * q.conjugate()) * X_anchor_W_.q;
  X_WR_.q.normalize();
  V_WR_ = {options_.position_scale * (q * V_DH_.v), q * V_DH_.w};
  const double share = damping_share(options_.period);
  V_slow_.v += share * (V_WR_.v - V_slow_.v);
  V_slow_.w += share * (V_WR_.w - V_slow_.w);
}

double Loop::share_by_age() const {
  // K = 0.9 (0.8 b + 0.8 B_local) / (T/2 + age), against the stiffness asked for.
  const double b = 0.8 * (options_.damping + options_.local_damping);
  // A held force rings as a late one does: with a deadband of 10 % as if 12 cycles later (12 of 50 runs without).
  const double age = round_trip_peak_ + 120 * options_.deadband * options_.period;
  const double k = passive_stiffness(b, options_.period, age, 0.9);
  const double asked = options_.gains.stiffness * options_.position_scale * options_.position_scale;
  return asked > 0 ? std::min(1.0, k / asked) : 1.0;
}

// u = sqrt(2 b) x' - v with the motion of the period that ended and the wave v whose force acted in it. With the newest
// wave instead, a handle of mass m gives the line h F^2 / m that nobody put in.
void Loop::answer_wave(int cycles) {
  const double T = options_.period, dt = T * std::max(1, cycles);
  const Vec3 force = options_.q_WD * held_.force / options_.position_scale, torque = options_.q_WD * held_.torque;
  // While the force ramps in the tool follows the handle all the same.
  const double free = (bits_ & kRampIn) != 0 ? 1.0 : 0.0;
  const auto answer = [&](WaveEnd& line, double b, const Vec3& V, const Vec3& F, int first) {
    const Vec3 u = std::sqrt(2 * b) * V - line.in();
    const Vec3 sent = line.send(u, -dt * F.dot(V) + free * T * u.squaredNorm(), T);
    for (int i = 0; i < 3; ++i) out_.wave[first + i] += T * sent[i];
  };
  answer(line_, options_.wave_impedance, V_WR_.v, force - damped_.force, 0);
  answer(turn_line_, options_.turn_impedance, V_WR_.w, torque - damped_.torque, 3);
}

// F = sqrt(2 b) v - b x' on the hand. What came in while the loop stood still is played at 1 / sqrt(cycles) of it: in
// one cycle all of it would have cycles times the energy that was sent.
Wrench Loop::wave_law(int cycles) {
  answer_wave(cycles);
  std::array<double, 6> in{};
  playout_.advance(out_.sample, in);
  const double b = options_.wave_impedance, bt = options_.turn_impedance;
  const double share = 1 / (options_.period * std::sqrt(static_cast<double>(std::max(1, cycles))));
  line_.play(share * Vec3(in[0], in[1], in[2]));
  turn_line_.play(share * Vec3(in[3], in[4], in[5]));
  // The line echoes between the tool's end and the handle; an undamped hand would ring on it for seconds.
  damped_ = {-options_.local_damping * V_WR_.v, -options_.turn_local_damping * V_WR_.w};
  return damped_ +
         Wrench{std::sqrt(2 * b) * line_.in() - b * V_WR_.v, std::sqrt(2 * bt) * turn_line_.in() - bt * V_WR_.w};
}

// The server's coupling, and a damper of one's own while it touches. Under time-domain passivity the port's account
// decides how much more is damped.
Wrench Loop::direct_law(int cycles) {
  const double dt = options_.period * std::max(1, cycles), speed = V_WR_.v.norm();
  const bool counts = options_.passivity && !port_.closed();
  if (counts) {
    const Wrench held{options_.q_WD * held_.force / options_.position_scale, options_.q_WD * held_.torque};
    port_.add(dt * power(held - damped_, V_WR_), dt * controller_ * speed * speed);
    // A link slower than was granted: what the accounts cut then makes it ring.
    if (round_trip_peak_ > options_.passivity_round_trip) port_.close();
    out_.port_in = port_.in();
  }
  const Wrench net = passive_hold(-1.0 * tool_.F_T, V_WR_, options_.deadband);
  const bool touched = !tool_.F_T.force.isZero(0) || !tool_.F_T.torque.isZero(0);
  controller_ = 0;
  if (counts) controller_ = port_.damper(power(net, V_WR_), speed, options_.period, options_.controller_max);
  const double damping = (touched ? options_.local_damping : 0.0) + controller_;
  damped_ = {-damping * V_WR_.v, (touched ? -options_.turn_local_damping : 0.0) * V_WR_.w};
  return net + damped_;
}

// What the hand should be given, in W, at the tool's scale.
Wrench Loop::law(int cycles) {
  switch (options_.mode) {
    case Mode::local:
      return local_.step(X_WR_, V_WR_, options_.gains, options_.period);
    case Mode::direct:
      return direct_law(cycles);
    case Mode::wave:
      return wave_law(cycles);
  }
  return {};
}

Wrench Loop::rest_law() const {
  const Gains& g = options_.gains;
  const Motion away = motion(X_WR_, X_WRest_);
  return {g.stiffness * away.p - g.damping * V_slow_.v, g.turn_stiffness * away.phi - g.turn_damping * V_slow_.w};
}

// Ramp, limits, slew, gate; W -> D.
Wrench Loop::staged(const Wrench& F_W) {
  const Quat back = options_.q_WD.conjugate();
  const double s = ramp_ * options_.position_scale;
  bool limited = false, slewed = false;
  Wrench F{cut(back * (s * F_W.force), options_.force_limit, limited),
           cut(back * (ramp_ * F_W.torque), options_.torque_limit, limited)};
  F.force = follow(held_.force, F.force, options_.slew * options_.period, slewed);
  F.torque = follow(held_.torque, F.torque, options_.turn_slew * options_.period, slewed);
  bits_ &= ~(kForceLimited | kSlewLimited | kGateActed);
  if (limited) bits_ |= kForceLimited;
  if (slewed) bits_ |= kSlewLimited;
  if (options_.gate) {
    F = gate_.limit(F, V_DH_);
    if (gate_.acted()) bits_ |= kGateActed;
  }
  return F;
}

Wrench Loop::step(const Reading& reading, int cycles) {
  out_.sample += static_cast<std::uint64_t>(std::max(1, cycles));  // it counts time: waves are played out by it
  const double dt = options_.period * std::max(1, cycles);
  const bool usable = check(reading, dt);
  if (usable) {
    if (seen_) {
      const Motion went = motion(X_DH_, reading.X_DH);
      ledger_.add(held_, went);
      gate_.add(held_, went);
      V_DH_ = {went.p / dt, went.phi / dt};
    }
    X_DH_ = reading.X_DH;
    seen_ = true;
  }
  watch(cycles);
  if (!usable || (idle() && held_.force.isZero(0) && held_.torque.isZero(0))) {
    bits_ &= idle() ? ~0u : ~(kForceLimited | kSlewLimited | kGateActed);
    held_ = usable ? Wrench{} : staged({});
    if (!usable) held_ = ramp_ > 0 ? held_ : Wrench{};
    fill_message(reading);
    return held_;
  }
  const bool clutched = (reading.buttons & 1) != 0;
  if (engaged() && has_tool_ && (!anchored_ || (!clutched && (bits_ & kClutched) != 0))) {
    if (anchored_) bits_ |= kRampIn, ramp_ = 0;
    anchor(reading);
  }
  bits_ = clutched ? bits_ | kClutched : bits_ & ~kClutched;
  Wrench wanted;
  if (anchored_ && !clutched) {
    map();
    wanted = engaged() || options_.mode == Mode::local ? law(cycles) : rest_law();
    if (engaged()) last_law_ = wanted;
  } else {
    V_WR_ = {};
    std::array<double, 6> missed{};  // or all of it would be played at once when the clutch closes
    playout_.advance(out_.sample, missed);
  }
  held_ = staged(wanted);
  fill_message(reading);
  return held_;
}

void Loop::fill_message(const Reading& reading) {
  out_.tick_echo = tool_.tick;
  out_.grip = engaged() ? grip_ : 0;
  out_.X_WR = X_WR_;
  out_.V_WR = V_WR_;
  const bool full = options_.passivity && !port_.closed();
  out_.stiffness_share = options_.mode == Mode::direct && !full ? share_by_age() : 1.0;
  out_.F_H = {options_.q_WD * held_.force, options_.q_WD * held_.torque};
  out_.given = ledger_.given();
  out_.taken = ledger_.taken();
  out_.bits = bits_ | (anchored_ && engaged() ? kAnchored : 0u);
  out_.buttons = reading.buttons;
  out_.round_trip_s = round_trip_;
}

}  // namespace tactus::haptic
