#include "core/dynamics/driven_joint.h"

#include <cmath>

#include "core/check.h"

namespace tactus {

static_assert(sizeof(Setpoint) % sizeof(double) == 0 && sizeof(ChannelMemory) % sizeof(double) == 0);

std::vector<DrivenJoint> driven_joints(const Model& model) {
  std::vector<DrivenJoint> out;
  std::size_t memory = 0;
  for (JointIndex i = 0; i < model.joints.size(); ++i) {
    const Joint& joint = model.joints[i];
    if (position_count(joint.kind) != 1 || joint.mimic != kNone) continue;
    DrivenJoint driven;
    driven.drive.joint = i;
    driven.drive.effort_limit = joint.effort_limit;
    for (const JointDrive& drive : model.drives) {
      if (drive.joint != i) continue;
      TACTUS_ASSERT(!driven.in_scene);  // scene/ has checked: one a joint
      driven.drive = drive;
      driven.in_scene = true;
    }
    driven.robot = joint.robot;
    driven.q = joint.first_q, driven.v = joint.first_v;
    driven.lower = joint.lower, driven.upper = joint.upper;
    driven.velocity_limit = joint.velocity_limit;
    driven.memory = memory;
    memory = memory_end(driven);
    out.push_back(driven);
  }
  return out;
}

std::vector<double> initial_actuators(const Model& model) {
  const std::vector<DrivenJoint> joints = driven_joints(model);
  std::vector<double> out(joints.empty() ? 0 : memory_end(joints.back()), 0.0);
  for (const DrivenJoint& joint : joints) {
    const double at = joint.drive.kind == DriveKind::position ? model.joint_q0[joint.q] : 0.0;
    const Setpoint rest{static_cast<double>(joint.drive.kind), at, 0, 0};
    for (std::uint32_t k = 0; k < joint.drive.delay_ticks; ++k) {
      store_numbers(rest, out.data() + ring_at(joint) + k * kSetpointNumbers);
    }
  }
  return out;
}

namespace {

// One of 0, 1, ..., most.
bool is_choice(double x, double most) noexcept {
  return x >= 0 && x <= most && x == std::floor(x);
}

}  // namespace

bool valid_actuators(std::span<const DrivenJoint> joints, std::span<const double> numbers) noexcept {
  if (numbers.size() != (joints.empty() ? 0 : memory_end(joints.back()))) return false;
  constexpr double kMostTicks = 0x1p53;  // whole numbers up to here are exact; no other number may be larger, either
  for (const double x : numbers) {
    if (!(std::abs(x) <= kMostTicks)) return false;
  }
  constexpr auto kKinds = static_cast<double>(DriveKind::position);
  for (const DrivenJoint& joint : joints) {
    const auto channel = load_numbers<ChannelMemory>(numbers.data() + joint.memory);
    if (!is_choice(channel.phase, ChannelMemory::ended) || !is_choice(channel.kind, kKinds)) return false;
    for (const double ticks : {channel.expires, channel.born, channel.missed})
      if (ticks < 0 || ticks > kMostTicks) return false;
    for (const double flag : {channel.watched, channel.braked, channel.fault})
      if (!is_choice(flag, 1)) return false;
    if (!is_choice(channel.limits, 0xffff)) return false;
    for (std::uint32_t k = 0; k < joint.drive.delay_ticks; ++k) {
      const auto s = load_numbers<Setpoint>(numbers.data() + ring_at(joint) + k * kSetpointNumbers);
      if (!is_choice(s.kind, kKinds) || s.brake < 0 || s.brake > 1) return false;
    }
  }
  return true;
}

}  // namespace tactus
