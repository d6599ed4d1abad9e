// The device's loop, one call a cycle, without clock or socket: reading in, wrench out, messages to and from the
// server. Reading -> checks -> ledger -> workspace -> law of the mode -> ramp, limits, slew -> gate -> device.
//
// States: idle (no force; waits for engage()), engaged, ramping out (link lost, device at fault, let go), then idle.
// Nothing is resumed by itself: engage() again.
#pragma once

#include <string>

#include "proto/cpp/playout.h"
#include "tactus/haptic/device.h"
#include "tactus/haptic/local_model.h"
#include "tactus/haptic/messages.h"
#include "tactus/haptic/passivity.h"

namespace tactus::haptic {

// Bits of DeviceMessage::bits; proto DeviceBit.
enum DeviceBit : std::uint32_t {
  kEngaged = 1,
  kRampIn = 2,
  kRampOut = 4,
  kLinkLost = 8,       // no TOOL for the watchdog's time
  kDeviceFault = 16,   // a reading that is not finite, or a jump
  kForceLimited = 32,  // cut to what device and settings allow
  kSlewLimited = 64,
  kGateActed = 128,  // the passivity gate cut
  kClutched = 256,   // the device moves freely
  kStalled = 512,    // the loop itself stood still for longer than the watchdog
  kAnchored = 1024,  // X_WR is meant: the handle has its place at the tool
};

struct LoopOptions {
  Mode mode = Mode::local;
  double period = 1e-3;          // T [s]
  Gains gains;                   // felt at the tool, before scaling
  double position_scale = 1;     // of the tool's motion to the handle's; forces are scaled so that energy is kept
  Quat q_WD = Quat::Identity();  // the device's frame in the world
  double force_limit = 10, torque_limit = 1;  // at the handle [N], [N m]
  double slew = 2000;                         // of the force [N/s]
  double turn_slew = 200;                     // of the torque [N m/s]
  double ramp_in_s = 0.2, ramp_out_s = 0.045;
  double watchdog_s = 0.005;     // without TOOL [s]
  double speed_max = 5;          // of the handle; faster is a fault [m/s]
  double turn_speed_max = 60;    // [rad/s]
  double mass = 0, inertia = 0;  // of the handle, for the gate
  double damping = 0;            // of the device: gains by age
  double local_damping = 5;      // direct and wave mode [N s/m]
  double turn_local_damping = 5e-3;
  double controller_max = 30;  // of time-domain passivity's damper: 0.3 m/T at 0.1 kg [N s/m]
  double wave_impedance = 14, turn_impedance = 0.014;
  bool passivity = false;             // direct mode: time-domain passivity instead of gains by age
  double passivity_round_trip = 1e9;  // beyond it gains by age, until engaged anew [s]
  double deadband = 0;                // share of the received wrench's deadband: hold by the passive rule; 0: none
  bool gate = true;                   // off: for measurements only
  bool active_scene = false;          // the server's declared input may be given out
};
// Stiffness that is passive with a device of damping b, a delay from reading to force, period T: 2b/T of Colgate &
// Schenkel 1997, b / (T/2 + delay) with delay. At the handle; share: how much of it is used.
double passive_stiffness(double damping, double period, double delay, double share = 1);
// Gains for a device, at the handle: share of what is passive, damping 0.9 b, low-passed; never more than its
// capabilities say.
Gains choose_gains(const Capabilities& device, double share = 0.72);

class Loop {
 public:
  static constexpr double kWaveBank = 0.2e-3, kTurnWaveBank = 0.05e-3;  // what ends of the wave lines may keep [J]
  explicit Loop(const LoopOptions& options);

  // From the next cycle on: the present pose of the handle is where the tool is now. Ramps in.
  void engage();
  void let_go();  // ramps out
  // The device is lost, or at fault by its own word: ramps out, and reason() is `why` (static text).
  void fail(const char* why) { stop(kDeviceFault, why); }
  bool engaged() const { return (bits_ & kEngaged) != 0; }
  bool idle() const { return (bits_ & (kEngaged | kRampOut)) == 0; }
  // Why it is not engaged any more; empty: it never was, or was let go.
  const std::string& reason() const { return reason_; }

  // A message of the server, at the cycle in which it arrived; in any order.
  void receive(const ToolMessage& tool);
  // One cycle. Ended: cycles that should have been since the last call (1: in time).
  Wrench step(const Reading& reading, int cycles = 1);
  const DeviceMessage& message() const { return out_; }

  std::uint32_t bits() const { return bits_; }
  std::uint64_t sample() const { return out_.sample; }
  const Ledger& ledger() const { return ledger_; }
  const Gate& gate() const { return gate_; }
  const LocalModel& local() const { return local_; }
  const ToolMessage& tool() const { return tool_; }
  double round_trip() const { return round_trip_; }            // newest, from the echoed sample [s]
  double round_trip_peak() const { return round_trip_peak_; }  // held in contact
  const LoopOptions& options() const { return options_; }

 protected:  // AdmittanceLoop has the same states, checks and messages
  bool check(const Reading& reading, double dt);
  void watch(int cycles);
  void stop(std::uint32_t bit, const char* why);
  std::uint64_t held_back(const ToolMessage& tool) const;
  void map();
  void anchor(const Reading& reading);
  Wrench law(int cycles);
  Wrench wave_law(int cycles);
  Wrench direct_law(int cycles);
  void answer_wave(int cycles);
  Wrench staged(const Wrench& F_W);
  Wrench rest_law() const;
  void fill_message(const Reading& reading);
  double share_by_age() const;

  LoopOptions options_;
  Ledger ledger_;
  Gate gate_;
  LocalModel local_;
  wire::Playout<6> playout_;
  WaveEnd line_{kWaveBank}, turn_line_{kTurnWaveBank};
  NetworkPort port_;
  std::uint32_t bits_ = 0, grip_ = 0;
  std::string reason_;
  Pose X_DH_, X_anchor_D_, X_anchor_W_, X_WR_;
  Twist V_DH_, V_WR_, V_slow_;  // V_slow_: low-passed
  bool seen_ = false, anchored_ = false, has_tool_ = false;
  ToolMessage tool_;
  DeviceMessage out_;
  Pose X_WRest_;            // of the spring that is left when the link is lost
  Wrench held_, last_law_;  // held_: acting on the hand in D
  Wrench damped_;           // of it, by the local dampers beside the line or network, in W
  double controller_ = 0;   // of these, the passivity controller's [N s/m]
  double ramp_ = 0;         // 0..1
  double silent_s_ = 0, round_trip_ = 0, round_trip_peak_ = 0, declared_seen_ = 0;
  std::uint64_t tick_cycle_ = 0;
};

}  // namespace tactus::haptic
