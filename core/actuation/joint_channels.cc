#include "core/actuation/joint_channels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/actuation/wrench_channels.h"
#include "core/check.h"

namespace tactus {

const char* to_string(JointVerdict verdict) noexcept {
  static constexpr std::array<const char*, 8> kNames{"applied",      "clamped",      "no_joint",    "no_gains",
                                                     "not_a_number", "out_of_range", "wrong_count", "fault"};
  return kNames[static_cast<std::size_t>(verdict)];
}

namespace {

// Of any value: filters and gains multiply it, and nothing overflows.
constexpr double kMostCommanded = 1e12;  // [N m, N, rad/s, m/s, rad or m]

DriveKind kind_of(const ChannelMemory& c) noexcept {
  return static_cast<DriveKind>(static_cast<int>(c.kind));
}

ChannelMemory load(const DrivenJoint& joint, const State& state) noexcept {
  return load_numbers<ChannelMemory>(state.actuators.data() + joint.memory);
}
void save(const DrivenJoint& joint, const ChannelMemory& channel, State& state) noexcept {
  store_numbers(channel, state.actuators.data() + joint.memory);
}

void release_channel(const DrivenJoint& joint, State& state) noexcept {
  ChannelMemory channel = load(joint, state);
  channel.watched = 0;
  if (channel.phase == ChannelMemory::commanded) {
    channel.phase = ChannelMemory::released;
    channel.expires = std::min(channel.expires, static_cast<double>(state.tick));
  }
  save(joint, channel, state);
}

// share: of the ramp that has passed, 0..1.
Setpoint ramped(const ChannelMemory& c, double share) noexcept {
  const double left = 1 - share;
  switch (kind_of(c)) {
    case DriveKind::torque:
      return {c.kind, left * c.given, 0, share};
    case DriveKind::velocity:
      return {c.kind, left * c.given, 0, 0};
    case DriveKind::position:
      break;
  }
  return {c.kind, left * c.given + share * c.hold, left * c.rate, 0};
}

bool ends_early(MissedPolicy policy) noexcept {
  return policy == MissedPolicy::ramp || policy == MissedPolicy::brake;
}

}  // namespace

JointChannels::JointChannels(const Model& model) : joints_(driven_joints(model)), h_(model.step) {
  for (std::uint32_t r = 0; r <= model.robots.size(); ++r) {
    const auto later = [r](const DrivenJoint& joint) { return joint.robot >= r; };
    first_.push_back(static_cast<std::uint32_t>(std::find_if(joints_.begin(), joints_.end(), later) - joints_.begin()));
  }
  for (const DrivenJoint& joint : joints_) options_.push_back(joint.drive.channel);
}

std::span<const DrivenJoint> JointChannels::joints(std::uint32_t robot) const noexcept {
  if (robot + std::size_t{1} >= first_.size()) return {};
  return std::span(joints_).subspan(first_[robot], first_[robot + 1] - first_[robot]);
}

std::size_t JointChannels::find(JointIndex joint) const noexcept {
  const auto before = [](const DrivenJoint& x, JointIndex j) { return x.drive.joint < j; };
  const auto at = std::lower_bound(joints_.begin(), joints_.end(), joint, before);
  const bool found = at != joints_.end() && at->drive.joint == joint;
  return found ? static_cast<std::size_t>(at - joints_.begin()) : joints_.size();
}

void JointChannels::set_options(JointIndex joint, const ChannelOptions& options) noexcept {
  const std::size_t i = find(joint);
  TACTUS_ASSERT(i < joints_.size() && fault_in(options) == nullptr);
  options_[i] = options;
}

// Efforts and rates are cut to the joint's limits, positions to its ends.
double JointChannels::limit_of(std::size_t i, DriveKind kind, double value) const noexcept {
  const DrivenJoint& joint = joints_[i];
  if (kind == DriveKind::position) return std::clamp(value, joint.lower, joint.upper);
  const ChannelOptions& o = options_[i];
  const double limit = kind == DriveKind::torque ? std::min(joint.drive.effort_limit, o.effort_limit)
                                                 : std::min(joint.velocity_limit, o.velocity_limit);
  return std::clamp(value, -limit, limit);
}

JointVerdict JointChannels::judge(std::size_t i, const JointCommand& command, ChannelMemory& fresh) const noexcept {
  if (!std::isfinite(command.value) || !std::isfinite(command.rate)) return JointVerdict::not_a_number;
  if (std::abs(command.value) > kMostCommanded || std::abs(command.rate) > kMostCommanded)
    return JointVerdict::out_of_range;
  const DrivenJoint& joint = joints_[i];
  if (command.kind == DriveKind::velocity && !(joint.drive.kd > 0)) return JointVerdict::no_gains;
  if (command.kind == DriveKind::position && !(joint.drive.kp > 0)) return JointVerdict::no_gains;
  fresh.kind = static_cast<double>(command.kind);
  fresh.value = limit_of(i, command.kind, command.value);
  fresh.rate = 0;
  bool cut = fresh.value != command.value;
  if (command.kind == DriveKind::position) {
    if (cut) return JointVerdict::out_of_range;
    fresh.rate = limit_of(i, DriveKind::velocity, command.rate);
    cut = fresh.rate != command.rate;
  }
  if (cut) fresh.limits = command.kind == DriveKind::torque ? kJointEffortLimited : kJointVelocityLimited;
  return cut ? JointVerdict::clamped : JointVerdict::applied;
}

JointVerdict JointChannels::check(const JointCommand& command) const noexcept {
  const std::size_t i = find(command.joint);
  ChannelMemory fresh{};
  return i == joints_.size() ? JointVerdict::no_joint : judge(i, command, fresh);
}

// The newest command of a channel. The filter goes on from the command before; after another kind, or none, it starts
// from where the joint is, or from no effort.
void JointChannels::store(std::size_t i, const ChannelMemory& fresh, std::uint64_t ticks, State& state) const noexcept {
  TACTUS_ASSERT(ticks >= 1);
  const DrivenJoint& joint = joints_[i];
  ChannelMemory c = load(joint, state);
  const auto now = static_cast<double>(state.tick);
  const bool goes_on = c.phase != ChannelMemory::idle && c.kind == fresh.kind;
  const bool live = goes_on && c.phase == ChannelMemory::commanded && now <= c.expires;
  if (!goes_on) {
    const bool position = kind_of(fresh) == DriveKind::position;
    c.given = position ? state.joint_q[joint.q] : 0.0;
    if (kind_of(fresh) == DriveKind::velocity) c.given = state.joint_v[joint.v];
  }
  if (goes_on && c.phase == ChannelMemory::ended) c.given = safe(i, c, now - 1).value;  // of the tick before
  if (!live) c.filtered = c.given;
  if (now > c.born || !live) c.slope = live ? (fresh.value - c.value) / (now - c.born) : 0.0;
  c.phase = ChannelMemory::commanded;
  c.kind = fresh.kind, c.value = fresh.value, c.rate = fresh.rate, c.limits = fresh.limits;
  c.born = now;
  c.expires = static_cast<double>(state.tick + ticks);
  c.missed = 0, c.watched = 1, c.braked = 0;
  save(joint, c, state);
}

JointVerdict JointChannels::command(const JointCommand& command, std::uint64_t ticks, State& state) const noexcept {
  const std::size_t i = find(command.joint);
  if (i == joints_.size()) return JointVerdict::no_joint;
  ChannelMemory fresh{};
  const JointVerdict verdict = judge(i, command, fresh);
  if (!accepted(verdict)) return verdict;
  if (load(joints_[i], state).fault != 0) return JointVerdict::fault;
  store(i, fresh, ticks, state);
  return verdict;
}

JointVerdict JointChannels::command_robot(std::uint32_t robot, DriveKind kind, std::span<const double> values,
                                          std::uint64_t ticks, State& state) const noexcept {
  const std::span<const DrivenJoint> all = joints(robot);
  if (all.empty()) return JointVerdict::no_joint;
  if (values.size() != all.size()) return JointVerdict::wrong_count;
  JointVerdict worst = JointVerdict::applied;
  for (std::size_t k = 0; k < all.size(); ++k) {
    ChannelMemory fresh{};
    const JointVerdict verdict = judge(first_[robot] + k, {all[k].drive.joint, kind, values[k], 0}, fresh);
    if (!accepted(verdict)) return verdict;
    worst = std::max(worst, verdict);
  }
  if (has_fault(robot, state)) return JointVerdict::fault;
  for (std::size_t k = 0; k < all.size(); ++k) {
    ChannelMemory fresh{};
    judge(first_[robot] + k, {all[k].drive.joint, kind, values[k], 0}, fresh);
    store(first_[robot] + k, fresh, ticks, state);
  }
  return worst;
}

void JointChannels::release(JointIndex joint, State& state) const noexcept {
  const std::size_t i = find(joint);
  if (i < joints_.size()) release_channel(joints_[i], state);
}

void JointChannels::release_robot(std::uint32_t robot, State& state) const noexcept {
  for (const DrivenJoint& joint : joints(robot)) release_channel(joint, state);
}

void JointChannels::pass_time(std::uint64_t ticks, State& state) const noexcept {
  for (const DrivenJoint& joint : joints_) {
    ChannelMemory c = load(joint, state);
    if (c.phase == ChannelMemory::idle) continue;
    c.expires -= static_cast<double>(ticks);
    if (c.expires < 0) c.expires = 0, c.braked = 1;  // before the first tick: long over
    c.born = std::max(0.0, c.born - static_cast<double>(ticks));
    save(joint, c, state);
  }
}

// All channels of a robot latch together.
bool JointChannels::has_fault(std::uint32_t robot, const State& state) const noexcept {
  const std::span<const DrivenJoint> all = joints(robot);
  return !all.empty() && load(all.front(), state).fault != 0;
}

void JointChannels::latch_fault(std::uint32_t robot, State& state) const noexcept {
  release_robot(robot, state);
  for (const DrivenJoint& joint : joints(robot)) {
    ChannelMemory c = load(joint, state);
    c.fault = 1;
    save(joint, c, state);
  }
}

void JointChannels::recover(std::uint32_t robot, State& state) const noexcept {
  for (const DrivenJoint& joint : joints(robot)) {
    ChannelMemory c = load(joint, state);
    c.fault = c.missed = 0;
    save(joint, c, state);
  }
}

// Ticks without a fresh command are counted until the next one or a release, also beyond the deadline.
void JointChannels::watch(const ChannelOptions& o, double now, ChannelMemory& c, Output& out) const noexcept {
  if (c.watched == 0 || o.tolerance_ticks == 0 || now - c.born < o.tolerance_ticks) return;
  out.missed = true;
  out.missed_now = c.missed == 0;
  ++c.missed;
  out.fault_now = c.fault == 0 && o.fault_ticks > 0 && c.missed >= o.fault_ticks;
  if (!ends_early(o.missed) || c.phase != ChannelMemory::commanded || now >= c.expires) return;
  c.expires = now;
  c.braked = o.missed == MissedPolicy::brake ? 1 : 0;
}

// A command within its deadline: missed ticks, filter, limit of the rate.
Setpoint JointChannels::live(std::size_t i, ChannelMemory& c, double age, Output& out) const noexcept {
  const ChannelOptions& o = options_[i];
  double value = c.value, rate = c.rate;
  out.bits |= kJointCommanded | static_cast<std::uint32_t>(c.limits);
  if (out.missed && o.missed == MissedPolicy::extrapolate) {
    const double drawn_on = value + c.slope * (age - o.tolerance_ticks + 1);
    value = limit_of(i, kind_of(c), drawn_on);
    out.bits |= kJointExtrapolated;
    if (value != drawn_on) out.bits |= kind_of(c) == DriveKind::torque ? kJointEffortLimited : kJointVelocityLimited;
  } else if (out.missed) {
    out.bits |= kJointHeld;
  }
  if (o.cutoff > 0) {
    const double a = 2 * std::numbers::pi * o.cutoff * h_;
    c.filtered += a / (1 + a) * (value - c.filtered);  // y' = 2 pi f (u - y), backward Euler
    if (c.filtered != value) out.bits |= kJointFiltered;
    value = c.filtered;
  } else {
    c.filtered = value;
  }
  if (kind_of(c) == DriveKind::torque) {
    const double most = o.effort_rate_limit * h_;
    const double slow = std::clamp(value, c.given - most, c.given + most);
    if (slow != value) out.bits |= kJointRateLimited;
    value = slow;
  }
  c.given = value;
  return {c.kind, value, rate, 0};
}

// The way to the safe state. Whole ticks, whatever a quotient rounds to: the last one of the ramp is there.
Setpoint JointChannels::safe(std::size_t i, const ChannelMemory& c, double now) const noexcept {
  const double passed = (now - c.expires + 1) * h_, ramp = std::max(options_[i].ramp, h_);
  const bool over = c.braked != 0 || passed > ramp - 1e-6 * h_;
  return ramped(c, over ? 1.0 : passed / ramp);
}

void JointChannels::copy_channels(const State& from, State& to) const noexcept {
  for (const DrivenJoint& joint : joints_) {
    std::copy_n(from.actuators.data() + joint.memory, kChannelNumbers, to.actuators.data() + joint.memory);
  }
}

JointChannels::Output JointChannels::evaluate(std::size_t i, std::uint64_t tick, State& state) const noexcept {
  const DrivenJoint& joint = joints_[i];
  ChannelMemory c = load(joint, state);
  Output out;
  if (c.fault != 0) out.bits |= kJointFault;
  if (c.phase == ChannelMemory::idle) return out;
  out.active = true;
  const auto now = static_cast<double>(tick);
  watch(options_[i], now, c, out);
  if (now < c.expires) {
    out.setpoint = live(i, c, now - c.born, out);
    save(joint, c, state);
    return out;
  }
  out.bits |= kJointSafe;
  if (c.phase != ChannelMemory::ended) {
    out.expired_now = c.phase == ChannelMemory::commanded;
    c.phase = ChannelMemory::ended;
    c.hold = std::clamp(state.joint_q[joint.q], joint.lower, joint.upper);
  }
  save(joint, c, state);
  out.setpoint = safe(i, c, now);
  return out;
}

}  // namespace tactus
