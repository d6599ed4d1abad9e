// Joints that can be driven, and what their actuators remember from tick to tick: the layout of State::actuators. Here,
// below actuation/, because State is sized by it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/dynamics/model.h"

namespace tactus {

// A joint of one coordinate that is no mimic, with its drive.
struct DrivenJoint {
  JointDrive drive;       // of the scene, or one that only waits for commanded torques
  bool in_scene = false;  // false: no target of its own, no gains; nothing acts until a command
  std::uint32_t robot = 0;
  std::uint32_t q = 0, v = 0;  // into State::joint_q, State::joint_v
  double lower = 0, upper = 0, velocity_limit = 0;
  std::size_t memory = 0;  // first number in State::actuators
};

// In order of Model::joints. At load.
std::vector<DrivenJoint> driven_joints(const Model& model);

// What an actuator is asked for in one tick. Plain numbers: kept in the ring of a delay.
struct Setpoint {
  double kind;         // a DriveKind
  double value, rate;  // N m or N | rad/s or m/s | rad or m, and its rate
  double brake;        // torque: share of the drive's kd that acts against the velocity, 0..1
};

// What a channel holds (joint_channels.h).
struct ChannelMemory {
  // idle: the scene's target acts. released: ends without being announced. ended: the deadline has passed.
  static constexpr double idle = 0, commanded = 1, released = 2, ended = 3;
  double phase;
  double kind, value, rate;
  double expires;          // first tick that the command does not cover
  double hold;             // ended: where the joint was then
  double born;             // first tick of the newest command
  double slope;            // change of the value a tick between the newest two commands
  double missed;           // ticks in a row without a fresh command
  double watched;          // 1: missing commands count (not after a release)
  double filtered, given;  // the value behind the low-pass filter; what was asked for last, behind all limits
  double limits;           // kJoint...Limited bits of the newest command
  double braked;           // 1: ended without a ramp
  double fault;            // 1: latched, no command is taken
};

inline constexpr std::size_t kChannelNumbers = sizeof(ChannelMemory) / sizeof(double);
inline constexpr std::size_t kSetpointNumbers = sizeof(Setpoint) / sizeof(double);

// Of one joint: channel, then the lagged effort (if there is a lag), then the ring of setpoints (one a tick of delay).
inline std::size_t lag_at(const DrivenJoint& j) noexcept {
  return j.memory + kChannelNumbers;
}
inline std::size_t ring_at(const DrivenJoint& j) noexcept {
  return lag_at(j) + (j.drive.lag > 0 ? 1 : 0);
}
inline std::size_t memory_end(const DrivenJoint& j) noexcept {
  return ring_at(j) + j.drive.delay_ticks * kSetpointNumbers;
}

template <typename T>
T load_numbers(const double* from) noexcept {
  T out;
  std::memcpy(&out, from, sizeof(T));
  return out;
}
template <typename T>
void store_numbers(const T& value, double* to) noexcept {
  std::memcpy(to, &value, sizeof(T));
}

// No commands, lags without effort. Until the first target has come through a delay, the actuator is asked for no
// torque, for rest, or for the initial position.
std::vector<double> initial_actuators(const Model& model);
// Whether numbers from outside can be State::actuators of these joints.
bool valid_actuators(std::span<const DrivenJoint> joints, std::span<const double> numbers) noexcept;

}  // namespace tactus
