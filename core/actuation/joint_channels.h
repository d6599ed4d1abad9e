// What joint commands become: one channel a joint that can be driven, held until a deadline counted in ticks, then
// ramped to the channel's safe state, where it stays until the next command or a reset:
//   torque    effort to zero and the drive's kd (if it has one) against the velocity: brakes
//   velocity  target to rest
//   position  target to where the joint was when the command ended; a loaded joint gives by its load over kp
// A command takes the place of the scene's target; gains, limits, delay and lag of the drive stay. What channels hold
// is part of State, so that a restored run goes on as it did. Time is State::tick.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dynamics/driven_joint.h"
#include "core/dynamics/state.h"

namespace tactus {

struct JointCommand {
  JointIndex joint = kNone;
  DriveKind kind = DriveKind::torque;
  double value = 0;  // N m or N | rad/s or m/s | rad or m
  double rate = 0;   // position: of the target, for the damping; the target itself stands still [rad/s or m/s]
};

enum class JointVerdict : std::uint8_t {
  applied,
  clamped,       // applied; a torque or rate was cut to the joint's limit
  no_joint,      // no such joint or robot, or one that cannot be driven: a mimic, or not of one coordinate
  no_gains,      // velocity without kd or position without kp: the scene gives the joint no such drive
  not_a_number,  // a value or rate is not finite
  out_of_range,  // a position beyond the ends of the joint
  wrong_count    // of values for a robot
};
const char* to_string(JointVerdict verdict) noexcept;
[[nodiscard]] inline bool accepted(JointVerdict verdict) noexcept {
  return verdict <= JointVerdict::clamped;
}

class JointChannels {
 public:
  static constexpr double kRampSeconds = 0.010;

  explicit JointChannels(const Model& model);

  // All joints that can be driven, in order of Model::joints; those of a robot stand together.
  [[nodiscard]] std::span<const DrivenJoint> joints() const noexcept { return joints_; }
  [[nodiscard]] std::span<const DrivenJoint> joints(std::uint32_t robot) const noexcept;

  // Acts in ticks state.tick .. state.tick + ticks - 1; ticks >= 1. When not accepted, nothing changes. O(1).
  JointVerdict command(const JointCommand& command, std::uint64_t ticks, State& state) const noexcept;
  // One value for each of joints(robot), all or nothing. O(joints).
  JointVerdict command_robot(std::uint32_t robot, DriveKind kind, std::span<const double> values, std::uint64_t ticks,
                             State& state) const noexcept;
  // Ramps to the safe state from state.tick on (lease lost, client gone); not announced as expired.
  void release(JointIndex joint, State& state) const noexcept;
  void release_robot(std::uint32_t robot, State& state) const noexcept;

  struct Output {
    bool active = false;       // false: no command since the start, the scene's target acts
    bool expired_now = false;  // the deadline of a command has just passed: said once
    Setpoint setpoint{};
  };
  // What acts in tick `tick` >= state.tick on joints()[i]; once a tick, ascending.
  Output evaluate(std::size_t i, std::uint64_t tick, State& state) const noexcept;
  // Copies what the channels hold, and nothing else of State::actuators.
  void copy_channels(const State& from, State& to) const noexcept;

 private:
  [[nodiscard]] std::size_t find(JointIndex joint) const noexcept;
  JointVerdict check(const DrivenJoint& joint, DriveKind kind, double& value, double& rate) const noexcept;

  std::vector<DrivenJoint> joints_;
  std::vector<std::uint32_t> first_;  // of each robot, and the end
  double ramp_ticks_;
};

}  // namespace tactus
