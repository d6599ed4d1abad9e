// The loop of an admittance device: the hand's force comes in, motion goes out. A virtual mass M with damping B is
// moved by the measured force, and the planes around the tool hold it as they hold a stiff wall (time stepping of
// Moreau: the proxy of LocalModel in the metric M / T^2 is where the mass is at the cycle's end, and what holds it is
// the contact's force). The server's tool follows it as in mode `local`, pressed on by that force.
//
//   hand's force -> checks -> ledger -> virtual mass -> acceleration and speed limits -> planes -> gate -> device
//
// Engaged, let go and lost are the loop's; without engagement the device stands. Lost: the mass goes on under the
// hand's force, ever slower, and stands after the ramp's time.
#pragma once

#include "tactus/haptic/loop.h"

namespace tactus::haptic {

struct AdmittanceOptions {
  double mass = 2, damping = 2;                // felt at the handle [kg], [N s/m]
  double inertia = 5e-3, turn_damping = 5e-3;  // [kg m^2], [N m s/rad]
  bool turns = true;                           // the device is driven in 6 axes
  double speed_max = 0.5, turn_speed_max = 5;  // of what is sent [m/s], [rad/s]
  double acceleration_max = 30;                // [m/s^2]; a wall may stop it faster
  double follow_max = 0.02;                    // the handle is never farther from where it was sent [m]
};
// What is wished for (0: the device's least), no less than the device says; never faster than it follows.
AdmittanceOptions choose_admittance(const Capabilities& device, double mass_wished);

class AdmittanceLoop : public Loop {
 public:
  struct Command {
    Pose X_DH;   // at the end of this cycle
    Twist V_DH;  // until then
  };
  AdmittanceLoop(const LoopOptions& options, const AdmittanceOptions& admittance);
  // One cycle, instead of Loop::step().
  Command move(const Reading& reading, int cycles = 1);
  const AdmittanceOptions& admittance() const { return admittance_; }
  const Pose& virtual_tool() const { return X_WT_; }
  double bank() const { return bank_; }  // of the hand's port [J]

 private:
  Wrench sensed(const Reading& reading);
  void account(const Wrench& F_H, const Motion& went, double dt);
  void brake();
  void set_anchor();
  Twist pushed(const Wrench& F, double dt);
  void integrate(const Wrench& F_H, double dt);
  Wrench contact() const;
  void tell(const Reading& reading);

  AdmittanceOptions admittance_;
  Pose X_DC_;  // commanded
  Twist V_DC_;
  Pose X_WT_;  // of the virtual tool
  Twist V_WT_;
  Wrench F_last_;   // of the hand on the handle, in D
  Wrench held_by_;  // what the planes held, low-passed, on the tool in W
  double bank_ = 0, quiet_s_ = 0;
  double speed_at_stop_ = 0, turn_at_stop_ = 0, ramp_at_stop_ = 0;
  bool was_engaged_ = false, placed_ = false;
};

}  // namespace tactus::haptic
