// A haptic device in five calls: open, capabilities, read, write, close; and a deadline. Portable C++: vendors' SDKs
// often live elsewhere than on Linux. One thread calls it, once a cycle: read, then write.
#pragma once

#include <string>

#include "tactus/haptic/types.h"

namespace tactus::haptic {

// What the device is and can bear. All at its own rate, at the handle H, in the device's frame D.
struct Capabilities {
  std::string name = "device";
  int axes_sensed = 3;       // 3: position; 6: and orientation
  int axes_actuated = 3;     // 0: none (mouse, keyboard); 3: force; 6: and torque
  bool admittance = false;   // reads forces, takes poses: mass, damping and inertia are then the least it may be given
  double force_max = 0;      // [N]
  double torque_max = 0;     // [N m]
  double mass = 0;           // felt at H, at least [kg]
  double damping = 0;        // its own viscous damping, at least [N s/m]: bounds the stiffness that is passive, 2b/T
  double stiffness_max = 0;  // closed loop [N/m]; 0: 2b/T decides alone
  double damping_max = 0;    // closed loop [N s/m]; 0: not known
  double inertia = 0;        // [kg m^2]
  double turn_damping = 0;   // [N m s/rad]
  double turn_stiffness_max = 0;  // [N m/rad]; 0: as stiffness_max
  double workspace_radius = 0;    // [m]
  double rate_hz = 1000;          // cycles a second
  double delay_s = 0;             // from a reading to the force that answers it, measured
  // Of admittance devices, what their position control follows.
  double speed_max = 0;         // [m/s]
  double turn_speed_max = 0;    // [rad/s]
  double acceleration_max = 0;  // [m/s^2]; of turns as much more as turn_speed_max is than speed_max
};

// Empty: fine. Otherwise what contradicts what, and what is expected.
std::string fault_in(const Capabilities& capabilities);

struct Reading {
  Pose X_DH;   // handle in the device's frame
  Twist V_DH;  // as the device says; not used when `has_velocity` is false
  bool has_velocity = false;
  std::uint32_t buttons = 0;  // bit 0: the clutch
  Wrench F_H;                 // admittance devices: the hand's force on the handle
};

enum class Status { ok, not_ready, lost };

class Device {
 public:
  virtual ~Device() = default;
  // Connects. Empty: open; otherwise what is wrong and what to do next.
  virtual std::string open() = 0;
  virtual Capabilities capabilities() const = 0;
  // The newest reading. not_ready: none since the last one; lost: it does not answer any more.
  virtual Status read(Reading& out) = 0;
  // Force and torque on the hand, held until the next call (of the others). In D.
  virtual Status write(const Wrench& F_H_D) = 0;
  // Admittance devices: where the handle is to be when this cycle ends, and how fast it goes there. When nothing more
  // comes, it stays there.
  virtual Status write_pose(const Pose&, const Twist&) { return Status::lost; }
  // Zero force, then let go. May be called twice.
  virtual void close() = 0;
};

// Lateness of a loop against its grid, measured as the server measures its tick. Readings of a clock are passed in.
class Deadline {
 public:
  explicit Deadline(std::int64_t period_ns) : period_ns_(period_ns) {}
  // A cycle began at `start_ns`, its grid point was `due_ns`. Returns the next grid point ahead: no bursts.
  std::int64_t next(std::int64_t due_ns, std::int64_t start_ns, std::int64_t end_ns);
  std::uint64_t cycles() const { return cycles_; }
  std::uint64_t missed() const { return missed_; }  // grid points that had no cycle
  double late_us_mean() const {
    return cycles_ == 0 ? 0 : 1e-3 * static_cast<double>(late_sum_ns_) / static_cast<double>(cycles_);
  }
  double late_us_max() const { return 1e-3 * static_cast<double>(late_max_ns_); }
  double late_us(double share) const;  // percentile, to 6 %

 private:
  std::int64_t period_ns_;
  std::uint64_t cycles_ = 0, missed_ = 0;
  std::int64_t late_sum_ns_ = 0, late_max_ns_ = 0;
  std::uint64_t buckets_[256] = {};  // 8 an octave
};

}  // namespace tactus::haptic
