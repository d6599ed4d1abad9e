// What haptic devices are granted at most; config [haptic].
#pragma once

namespace tactus::net {

// Limits on what clients may ask for; config [haptic].
struct HapticOptions {
  double stiffness_max = 20000;  // at the handle [N/m]
  double force_max = 40;         // [N]
  double torque_max = 4;         // [N m]
  double watchdog_s = 0.020, ramp_s = 0.045;
  double reach_m = 0.05;
  // While devices hold tools, tick and net are awake so long before each beat [us]; -1: kSpinUs where they have a
  // processor each.
  static constexpr int kSpinUs = 60;
  int spin_us = -1;
};

}  // namespace tactus::net
