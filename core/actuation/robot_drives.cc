#include "core/actuation/robot_drives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"

namespace tactus {

namespace {

// Pure efforts fade over this last share of the velocity limit. From half of the limit on the fade is part of the law
// that integrators solve; further below it cannot come into play within a tick.
constexpr double kFade = 0.01, kFadeFrom = 0.5;

DofDrive effort_law(double effort, double limit) noexcept {
  DofDrive out;
  out.limit = limit;
  out.effort = std::clamp(effort, -limit, limit);
  return out;
}

// effort, but none that pushes on at the velocity limit.
DofDrive limited_effort(double effort, double limit, double velocity_limit, double v) noexcept {
  DofDrive out = effort_law(effort, limit);
  if (!(velocity_limit < std::numeric_limits<double>::infinity()) || out.effort == 0) return out;
  const double ahead = out.effort > 0 ? v : -v;
  if (ahead < kFadeFrom * velocity_limit) return out;
  const double size = std::abs(out.effort);
  const double end = std::copysign(velocity_limit, out.effort);
  out.effort = 0;
  if (ahead >= velocity_limit) return out;
  out.damping = size / (kFade * velocity_limit);
  out.target_rate = end;
  out.limit = size;
  return out;
}

DofDrive rate_law(double kd, double rate, double limit) noexcept {
  DofDrive out;
  out.damping = kd;
  out.target_rate = rate;
  out.limit = limit;
  return out;
}

DofDrive position_law(const DrivenJoint& joint, const Setpoint& s, double q, double v) noexcept {
  const JointDrive& drive = joint.drive;
  const double V = joint.velocity_limit, rate = std::clamp(s.rate, -V, V);
  if (drive.kd > 0) {
    const double wanted = rate + drive.kp / drive.kd * (s.value - q);
    if (std::abs(wanted) > V) return rate_law(drive.kd, std::copysign(V, wanted), drive.effort_limit);
  } else if (std::abs(v) >= kFadeFrom * V) {
    return limited_effort(drive.kp * (s.value - q), drive.effort_limit, V, v);
  }
  DofDrive out = rate_law(drive.kd, rate, drive.effort_limit);
  out.stiffness = drive.kp;
  out.target = s.value;
  return out;
}

// What a drive of the scene wants by itself.
Setpoint scene_setpoint(const JointDrive& drive, double t) noexcept {
  const bool position = drive.kind == DriveKind::position;
  return {static_cast<double>(drive.kind), drive.target.value(t), position ? drive.target.rate(t) : 0.0, 0};
}

// Puts s of a tick into the ring and takes out what went in delay_ticks ago.
Setpoint delayed(const DrivenJoint& joint, const Setpoint& s, std::uint64_t tick, State& state) noexcept {
  if (joint.drive.delay_ticks == 0) return s;
  const std::size_t slot = tick % joint.drive.delay_ticks;
  double* at = state.actuators.data() + ring_at(joint) + slot * kSetpointNumbers;
  const auto out = load_numbers<Setpoint>(at);
  store_numbers(s, at);
  return out;
}

double effort_of(const DofDrive& d, double q, double v) noexcept {
  return std::clamp(d.effort + d.stiffness * (d.target - q) + d.damping * (d.target_rate - v), -d.limit, d.limit);
}

// Efforts that the drive cuts, and those near the velocity limit.
std::uint32_t limits_of(const DrivenJoint& joint, const DofDrive& law, double q, double v) noexcept {
  const double free = law.effort + law.stiffness * (law.target - q) + law.damping * (law.target_rate - v);
  std::uint32_t bits = std::abs(free) > law.limit ? kJointEffortLimited : 0;
  if (std::abs(v) >= (1 - kFade) * joint.velocity_limit) bits |= kJointVelocityLimited;
  return bits;
}

}  // namespace

DofDrive drive_law(const DrivenJoint& joint, const Setpoint& s, double q, double v) noexcept {
  const JointDrive& drive = joint.drive;
  switch (static_cast<DriveKind>(static_cast<int>(s.kind))) {
    case DriveKind::velocity:
      return rate_law(drive.kd, std::clamp(s.value, -joint.velocity_limit, joint.velocity_limit), drive.effort_limit);
    case DriveKind::position:
      return position_law(joint, s, q, v);
    case DriveKind::torque:
      break;
  }
  if (s.brake == 0 || drive.kd == 0) return limited_effort(s.value, drive.effort_limit, joint.velocity_limit, v);
  DofDrive out = rate_law(s.brake * drive.kd, 0, drive.effort_limit);
  // The rest of an effort that ends, in the few ticks of its ramp.
  out.effort = std::abs(v) < joint.velocity_limit || s.value * v < 0 ? s.value : 0.0;
  return out;
}

RobotDrives::RobotDrives(const Model& model, std::uint32_t ticks_per_step)
    : channels_(model),
      ticks_(ticks_per_step),
      tick_s_(model.step),
      commands_(ticks_per_step * channels_.joints().size()) {
  for (const DrivenJoint& joint : channels_.joints()) {
    lag_share_.push_back(joint.drive.lag > 0 ? -std::expm1(-tick_s_ / joint.drive.lag) : 1.0);
  }
  const std::size_t n = channels_.joints().size();
  expired_.reserve(commands_.size());
  missed_.reserve(commands_.size());
  faults_.reserve(commands_.size());
  bits_.resize(n);
  missed_ticks_.resize(n);
}

void RobotDrives::note(std::size_t i, const JointChannels::Output& wanted) noexcept {
  const DrivenJoint& joint = channels_.joints()[i];
  bits_[i] = wanted.bits;
  if (wanted.expired_now) expired_.push_back(joint.drive.joint);
  if (wanted.missed) ++missed_ticks_[i];
  if (wanted.missed_now) missed_.push_back(joint.drive.joint);
  if (wanted.fault_now && (faults_.empty() || faults_.back() != joint.robot)) faults_.push_back(joint.robot);
}

void RobotDrives::evaluate(std::uint32_t ticks, State& state) noexcept {
  expired_.clear();
  missed_.clear();
  faults_.clear();
  const std::span<const DrivenJoint> joints = channels_.joints();
  sampled_ = ticks * joints.size();
  for (std::uint32_t k = 0; k < ticks; ++k) {
    for (std::size_t i = 0; i < joints.size(); ++i) {
      JointChannels::Output& out = commands_[k * joints.size() + i];
      out = channels_.evaluate(i, state.tick + k, state);
      note(i, out);
    }
  }
  for (const std::uint32_t robot : faults_) channels_.latch_fault(robot, state);
}

void RobotDrives::sample(State& state) noexcept {
  evaluate(1, state);
}

void RobotDrives::set_commands(std::span<const JointChannels::Output> commands) noexcept {
  TACTUS_ASSERT(commands.size() == commands_.size());
  std::copy(commands.begin(), commands.end(), commands_.begin());
  sampled_ = commands_.size();
  given_ = true;
}

// What acts on a joint over the step. False: nothing does.
bool RobotDrives::find_law(std::size_t i, State& state, DofDrive& out) noexcept {
  const std::size_t count = channels_.joints().size();
  const DrivenJoint& joint = channels_.joints()[i];
  const double q = state.joint_q[joint.q], v = state.joint_v[joint.v], share = 1.0 / ticks_;
  double torque = 0, brake = 0, lagged = 0;
  Setpoint s{};
  bool acts = false;
  for (std::uint32_t k = 0; k < ticks_; ++k) {
    const JointChannels::Output& wanted = commands_[k * count + i];
    if (!wanted.active && !joint.in_scene) continue;
    acts = true;
    s = delayed(joint, wanted.active ? wanted.setpoint : scene_setpoint(joint.drive, state.time + k * tick_s_),
                state.tick + k, state);
    if (s.kind == static_cast<double>(DriveKind::torque)) torque += s.value, brake += s.brake;
    if (joint.drive.lag == 0) continue;
    double& effort = state.actuators[lag_at(joint)];
    effort += lag_share_[i] * (effort_of(drive_law(joint, s, q, v), q, v) - effort);
    lagged += effort;
  }
  if (!acts) return false;
  if (joint.drive.lag > 0) {
    out = limited_effort(share * lagged, joint.drive.effort_limit, joint.velocity_limit, v);
  } else if (s.kind == static_cast<double>(DriveKind::torque)) {
    out = drive_law(joint, {s.kind, share * torque, s.rate, share * brake}, q, v);
  } else {
    out = drive_law(joint, s, q, v);
    out.effort += share * torque;
  }
  if (joint.drive.lag == 0) bits_[i] |= limits_of(joint, out, q, v);
  return true;
}

void RobotDrives::write(State& state, DofDrive* drives) noexcept {
  if (!std::exchange(given_, false)) evaluate(ticks_, state);
  const std::span<const DrivenJoint> joints = channels_.joints();
  for (std::size_t i = 0; i < joints.size(); ++i) {
    find_law(i, state, drives[joints[i].v]);
  }
}

}  // namespace tactus
