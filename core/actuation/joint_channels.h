// What joint commands become: one channel a joint that can be driven, held until a deadline counted in ticks, then
// ramped to the channel's safe state within ChannelOptions::ramp, where it stays until the next command or a reset:
//   torque    effort to zero and the drive's kd (if it has one) against the velocity: brakes
//   velocity  target to rest
//   position  target to where the joint was when the command ended; a loaded joint gives by its load over kp
// A command takes the place of the scene's target; gains, limits, delay and lag of the drive stay. Before the deadline,
// ticks for which no fresh command came follow ChannelOptions::missed; after fault_ticks of them in a row the robot
// latches a fault: its channels go to their safe states and take no command until recover().
//
// Command -> limits of effort and velocity -> low-pass filter -> limit of the effort's rate. A safe state is reached
// without filter and rate limit: it has a time of its own. What channels hold is part of State, so that a restored run
// goes on as it did. Time is State::tick.
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
  wrong_count,   // of values for a robot
  fault          // latched: recover() first
};
const char* to_string(JointVerdict verdict) noexcept;
[[nodiscard]] inline bool accepted(JointVerdict verdict) noexcept {
  return verdict <= JointVerdict::clamped;
}

// What acts on a joint in a tick, or-ed.
inline constexpr std::uint32_t kJointCommanded = 1;       // a command within its deadline
inline constexpr std::uint32_t kJointHeld = 2;            // no fresh command; the last one acts on
inline constexpr std::uint32_t kJointExtrapolated = 4;    // no fresh command; the last two are drawn on
inline constexpr std::uint32_t kJointSafe = 8;            // a command has ended: on the way to the safe state, or in it
inline constexpr std::uint32_t kJointFault = 16;          // latched
inline constexpr std::uint32_t kJointEffortLimited = 32;  // the effort was cut
inline constexpr std::uint32_t kJointRateLimited = 64;    // the effort changes more slowly than asked for
inline constexpr std::uint32_t kJointVelocityLimited = 128;  // a rate was cut, or an effort near the velocity limit
inline constexpr std::uint32_t kJointFiltered = 256;         // the low-pass filter holds the command back

class JointChannels {
 public:
  explicit JointChannels(const Model& model);

  // All joints that can be driven, in order of Model::joints; those of a robot stand together.
  [[nodiscard]] std::span<const DrivenJoint> joints() const noexcept { return joints_; }
  [[nodiscard]] std::span<const DrivenJoint> joints(std::uint32_t robot) const noexcept;
  // Place in joints(); their number when the joint cannot be driven. O(log joints).
  [[nodiscard]] std::size_t find(JointIndex joint) const noexcept;

  // What a command would get, but for a fault. O(log joints).
  [[nodiscard]] JointVerdict check(const JointCommand& command) const noexcept;
  // Acts in ticks state.tick .. state.tick + ticks - 1; ticks >= 1. When not accepted, nothing changes.
  JointVerdict command(const JointCommand& command, std::uint64_t ticks, State& state) const noexcept;
  // One value for each of joints(robot), all or nothing. O(joints).
  JointVerdict command_robot(std::uint32_t robot, DriveKind kind, std::span<const double> values, std::uint64_t ticks,
                             State& state) const noexcept;
  // Ramps to the safe state from state.tick on (lease lost, client gone); not announced as expired.
  void release(JointIndex joint, State& state) const noexcept;
  void release_robot(std::uint32_t robot, State& state) const noexcept;
  // Time that passed without ticks (a pause): deadlines come so much nearer.
  void pass_time(std::uint64_t ticks, State& state) const noexcept;

  void set_options(JointIndex joint, const ChannelOptions& options) noexcept;  // of a joint that can be driven
  [[nodiscard]] const ChannelOptions& options(std::size_t i) const noexcept { return options_[i]; }

  // Latched until recover(); restore and reset take what their state holds.
  [[nodiscard]] bool has_fault(std::uint32_t robot, const State& state) const noexcept;
  void latch_fault(std::uint32_t robot, State& state) const noexcept;
  void recover(std::uint32_t robot, State& state) const noexcept;

  struct Output {
    bool active = false;       // false: no command since the start, the scene's target acts
    bool expired_now = false;  // the deadline of a command has just passed: said once
    bool missed = false;       // no fresh command for this tick
    bool missed_now = false;   // ... for the first time since the last one
    bool fault_now = false;    // one too many
    std::uint32_t bits = 0;    // kJoint...
    Setpoint setpoint{};
  };
  // What acts in tick `tick` >= state.tick on joints()[i]; once a tick, ascending.
  Output evaluate(std::size_t i, std::uint64_t tick, State& state) const noexcept;
  // Copies what the channels hold, and nothing else of State::actuators.
  void copy_channels(const State& from, State& to) const noexcept;

 private:
  JointVerdict judge(std::size_t i, const JointCommand& command, ChannelMemory& fresh) const noexcept;
  void store(std::size_t i, const ChannelMemory& fresh, std::uint64_t ticks, State& state) const noexcept;
  void watch(const ChannelOptions& o, double now, ChannelMemory& c, Output& out) const noexcept;
  Setpoint live(std::size_t i, ChannelMemory& c, double age, Output& out) const noexcept;
  [[nodiscard]] Setpoint safe(std::size_t i, const ChannelMemory& c, double now) const noexcept;
  [[nodiscard]] double limit_of(std::size_t i, DriveKind kind, double value) const noexcept;

  std::vector<DrivenJoint> joints_;
  std::vector<std::uint32_t> first_;  // of each robot, and the end
  std::vector<ChannelOptions> options_;
  double h_;
};

}  // namespace tactus
