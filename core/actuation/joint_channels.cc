#include "core/actuation/joint_channels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/actuation/wrench_channels.h"
#include "core/check.h"

namespace tactus {

const char* to_string(JointVerdict verdict) noexcept {
  static constexpr std::array<const char*, 7> kNames{"applied",      "clamped",      "no_joint",   "no_gains",
                                                     "not_a_number", "out_of_range", "wrong_count"};
  return kNames[static_cast<std::size_t>(verdict)];
}

namespace {

void store_command(const DrivenJoint& joint, DriveKind kind, double value, double rate, std::uint64_t ticks,
                   State& state) noexcept {
  TACTUS_ASSERT(ticks >= 1);
  const auto expires = static_cast<double>(state.tick + ticks);
  store_numbers(ChannelMemory{ChannelMemory::commanded, static_cast<double>(kind), value, rate, expires, 0},
                state.actuators.data() + joint.memory);
}

void release_channel(const DrivenJoint& joint, State& state) noexcept {
  double* at = state.actuators.data() + joint.memory;
  auto channel = load_numbers<ChannelMemory>(at);
  if (channel.phase != ChannelMemory::commanded) return;
  channel.phase = ChannelMemory::released;
  channel.expires = std::min(channel.expires, static_cast<double>(state.tick));
  store_numbers(channel, at);
}

// share: of the ramp that has passed, 0..1.
Setpoint ramped(const ChannelMemory& c, double share) noexcept {
  const double left = 1 - share;
  switch (static_cast<DriveKind>(static_cast<int>(c.kind))) {
    case DriveKind::torque:
      return {c.kind, left * c.value, 0, share};
    case DriveKind::velocity:
      return {c.kind, left * c.value, 0, 0};
    case DriveKind::position:
      break;
  }
  return {c.kind, left * c.value + share * c.hold, left * c.rate, 0};
}

}  // namespace

JointChannels::JointChannels(const Model& model)
    : joints_(driven_joints(model)),
      ramp_ticks_(static_cast<double>(deadline_ticks(static_cast<std::uint32_t>(1e6 * kRampSeconds), model.step))) {
  for (std::uint32_t r = 0; r <= model.robots.size(); ++r) {
    const auto later = [r](const DrivenJoint& joint) { return joint.robot >= r; };
    first_.push_back(static_cast<std::uint32_t>(std::find_if(joints_.begin(), joints_.end(), later) - joints_.begin()));
  }
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

JointVerdict JointChannels::check(const DrivenJoint& joint, DriveKind kind, double& value,
                                  double& rate) const noexcept {
  if (!std::isfinite(value) || !std::isfinite(rate)) return JointVerdict::not_a_number;
  const double asked = value, asked_rate = rate;
  switch (kind) {
    case DriveKind::torque:
      rate = 0;
      value = std::clamp(value, -joint.drive.effort_limit, joint.drive.effort_limit);
      return value == asked ? JointVerdict::applied : JointVerdict::clamped;
    case DriveKind::velocity:
      if (!(joint.drive.kd > 0)) return JointVerdict::no_gains;
      rate = 0;
      value = std::clamp(value, -joint.velocity_limit, joint.velocity_limit);
      return value == asked ? JointVerdict::applied : JointVerdict::clamped;
    case DriveKind::position:
      break;
  }
  if (!(joint.drive.kp > 0)) return JointVerdict::no_gains;
  if (value < joint.lower || value > joint.upper) return JointVerdict::out_of_range;
  rate = std::clamp(rate, -joint.velocity_limit, joint.velocity_limit);
  return rate == asked_rate ? JointVerdict::applied : JointVerdict::clamped;
}

JointVerdict JointChannels::command(const JointCommand& command, std::uint64_t ticks, State& state) const noexcept {
  const std::size_t i = find(command.joint);
  if (i == joints_.size()) return JointVerdict::no_joint;
  double value = command.value, rate = command.rate;
  const JointVerdict verdict = check(joints_[i], command.kind, value, rate);
  if (accepted(verdict)) store_command(joints_[i], command.kind, value, rate, ticks, state);
  return verdict;
}

JointVerdict JointChannels::command_robot(std::uint32_t robot, DriveKind kind, std::span<const double> values,
                                          std::uint64_t ticks, State& state) const noexcept {
  const std::span<const DrivenJoint> all = joints(robot);
  if (all.empty()) return JointVerdict::no_joint;
  if (values.size() != all.size()) return JointVerdict::wrong_count;
  JointVerdict worst = JointVerdict::applied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double value = values[i], rate = 0;
    const JointVerdict verdict = check(all[i], kind, value, rate);
    if (!accepted(verdict)) return verdict;
    worst = std::max(worst, verdict);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    double value = values[i], rate = 0;
    check(all[i], kind, value, rate);
    store_command(all[i], kind, value, rate, ticks, state);
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

void JointChannels::copy_channels(const State& from, State& to) const noexcept {
  for (const DrivenJoint& joint : joints_) {
    std::copy_n(from.actuators.data() + joint.memory, kChannelNumbers, to.actuators.data() + joint.memory);
  }
}

JointChannels::Output JointChannels::evaluate(std::size_t i, std::uint64_t tick, State& state) const noexcept {
  const DrivenJoint& joint = joints_[i];
  double* at = state.actuators.data() + joint.memory;
  auto channel = load_numbers<ChannelMemory>(at);
  Output out;
  if (channel.phase == ChannelMemory::idle) return out;
  out.active = true;
  const auto now = static_cast<double>(tick);
  if (now < channel.expires) {
    out.setpoint = {channel.kind, channel.value, channel.rate, 0};
    return out;
  }
  if (channel.phase != ChannelMemory::ended) {
    out.expired_now = channel.phase == ChannelMemory::commanded;
    channel.phase = ChannelMemory::ended;
    channel.hold = std::clamp(state.joint_q[joint.q], joint.lower, joint.upper);
    store_numbers(channel, at);
  }
  out.setpoint = ramped(channel, std::min(1.0, (now - channel.expires + 1) / ramp_ticks_));
  return out;
}

}  // namespace tactus
