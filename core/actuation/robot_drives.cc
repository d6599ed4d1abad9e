#include "core/actuation/robot_drives.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Puts s into the ring and takes out what went in delay_ticks ago.
Setpoint delayed(const DrivenJoint& joint, const Setpoint& s, State& state) noexcept {
  if (joint.drive.delay_ticks == 0) return s;
  const std::size_t slot = state.tick % joint.drive.delay_ticks;
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

RobotDrives::RobotDrives(const Model& model, double h) : channels_(model) {
  for (const DrivenJoint& joint : channels_.joints()) {
    lag_share_.push_back(joint.drive.lag > 0 ? -std::expm1(-h / joint.drive.lag) : 1.0);
  }
  const std::size_t n = channels_.joints().size();
  expired_.reserve(n);
  missed_.reserve(n);
  faults_.reserve(model.robots.size());
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

void RobotDrives::write(State& state, DofDrive* drives) noexcept {
  expired_.clear();
  missed_.clear();
  faults_.clear();
  const std::span<const DrivenJoint> joints = channels_.joints();
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const DrivenJoint& joint = joints[i];
    const JointChannels::Output wanted = channels_.evaluate(i, state);
    note(i, wanted);
    if (!wanted.active && !joint.in_scene) continue;
    const Setpoint now = wanted.active ? wanted.setpoint : scene_setpoint(joint.drive, state.time);
    const double q = state.joint_q[joint.q], v = state.joint_v[joint.v];
    const DofDrive law = drive_law(joint, delayed(joint, now, state), q, v);
    bits_[i] |= limits_of(joint, law, q, v);
    if (joint.drive.lag == 0) {
      drives[joint.v] = law;
      continue;
    }
    double& effort = state.actuators[lag_at(joint)];
    effort += lag_share_[i] * (effort_of(law, q, v) - effort);
    drives[joint.v] = limited_effort(effort, joint.drive.effort_limit, joint.velocity_limit, v);
  }
  for (const std::uint32_t robot : faults_) channels_.latch_fault(robot, state);
}

}  // namespace tactus
