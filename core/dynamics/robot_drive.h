// What drives a joint: data only, read from the scene; actuation/ turns it into joint forces. Here, below actuation/,
// because Model holds it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "core/dynamics/robot.h"

namespace tactus {

enum class DriveKind : std::uint8_t {
  torque,    // tau = target
  velocity,  // tau = kd (target - v)
  position   // tau = kp (target - q) + kd (d target/dt - v)
};
const char* to_string(DriveKind kind) noexcept;

// offset + amplitude sin(2 pi frequency t + phase), in the drive's unit: N m or N, rad/s or m/s, rad or m. A constant
// has amplitude 0. What a client commands takes the place of it.
struct DriveTarget {
  double offset = 0, amplitude = 0;
  double frequency = 0;  // [Hz]
  double phase = 0;      // [rad]

  [[nodiscard]] double value(double t) const noexcept {
    return amplitude == 0 ? offset : offset + amplitude * std::sin(2 * std::numbers::pi * frequency * t + phase);
  }
  [[nodiscard]] double rate(double t) const noexcept {
    const double w = 2 * std::numbers::pi * frequency;
    return amplitude == 0 ? 0 : amplitude * w * std::cos(w * t + phase);
  }
};

inline constexpr std::uint32_t kDelayTicksMax = 1000;

// What acts in a tick for which no fresh command came, while the command before still lives.
enum class MissedPolicy : std::uint8_t {
  hold,         // the last command
  extrapolate,  // it moves on as fast as the last two did, within the limits
  ramp,         // the channel's safe state, reached within the ramp's time
  brake         // the safe state at once
};
const char* to_string(MissedPolicy policy) noexcept;

// How a channel takes commands: of the scene, or set while the world runs. Not part of State, as parameters are not.
struct ChannelOptions {
  MissedPolicy missed = MissedPolicy::hold;
  std::uint32_t tolerance_ticks = 2;  // a tick misses its command when the newest is so many ticks old; 0: not watched
  std::uint32_t fault_ticks = 0;      // missed in a row: the robot's channels latch a fault; 0: never
  double ramp = 0.010;                // to the safe state, after the deadline [s]
  double cutoff = 0;                  // of the low-pass filter on commands [Hz]; 0: none
  double effort_limit = std::numeric_limits<double>::infinity();       // over the drive's own [N m or N]
  double effort_rate_limit = std::numeric_limits<double>::infinity();  // of commanded efforts [N m/s or N/s]
  double velocity_limit = std::numeric_limits<double>::infinity();     // over the joint's own [rad/s or m/s]
};
// Finite or, for limits, infinite; nothing negative; a ramp of at most a second. Names what is wrong, or null.
const char* fault_in(const ChannelOptions& options) noexcept;

// At most one a joint. From command to joint: delay, lag, gains, saturation.
struct JointDrive {
  JointIndex joint = kNone;  // one coordinate, not a mimic
  DriveKind kind = DriveKind::torque;
  DriveTarget target;
  double kp = 0;  // position [N m/rad or N/m]
  double kd = 0;  // position, velocity [N m s/rad or N s/m]
  double effort_limit =
      std::numeric_limits<double>::infinity();  // |tau|; the joint's own unless the scene says [N m or N]
  double lag = 0;                               // time constant of the actuator's first-order lag on tau [s]; 0: none
  std::uint32_t delay_ticks = 0;                // from target to actuator
  ChannelOptions channel;                       // of commands
  bool has_channel = false;                     // the scene says something of it; otherwise a server's defaults hold
};

}  // namespace tactus
