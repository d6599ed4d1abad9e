// Seeded runs of a hand that presses, holds and releases: what it does, and what is measured of it.
#pragma once

#include <functional>
#include <vector>

#include "tests/support/haptic_rig.h"

namespace tactus::test {

struct HapticResult {
  double motor_out = 0, hand_out = 0;  // most given out that was not put in, since the last quiet moment [J]
  double stiffness = 0;                // felt in the last hold [N/m]
  bool oscillates = false, engaged = true;
};

// Down and up at a random speed, three times; the last time it stays, 1.5 s until `end` [s].
inline std::function<haptic::Pose(double)> presses(Random& random, double& end) {
  const double speed = random.uniform(0.03, 0.2), depth = random.uniform(0.012, 0.025);
  const double pause = random.uniform(0.1, 0.3);
  const double down = depth / speed, cycle = 2 * down + 2 * pause;
  end = 0.4 + 2 * cycle + down + 1.5;
  return [=](double t) {
    t -= 0.4;
    if (t <= 0) return down_by(0);
    const double s = std::fmod(t, cycle);
    if (t >= 2 * cycle) return down_by(std::min(depth, speed * (t - 2 * cycle)));
    if (s < down) return down_by(speed * s);
    if (s < down + pause) return down_by(depth);
    return down_by(std::max(0.0, depth - speed * (s - down - pause)));
  };
}

inline haptic::Hand random_hand(Random& random, std::uint64_t seed, double& end) {
  haptic::Hand hand;
  hand.stiffness = random.log_uniform(100, 1000);
  hand.damping = seed % 3 == 0 ? 0.0 : random.log_uniform(1, 10);
  hand.wants = presses(random, end);
  if (seed % 4 == 1) hand.grip = [](double t) { return 0.6 + 0.4 * std::sin(3 * t); };
  return hand;
}

class Meter {
 public:
  void look(const HapticRig& rig, double round_trip) {
    const haptic::VirtualDevice& d = rig.device;
    const bool quiet = d.acting().force.isZero(0);
    quiet_s_ = quiet ? quiet_s_ + 1e-3 : 0;
    if (quiet_s_ > 0.060 + round_trip) motor_base_ = d.motor_work(), hand_base_ = d.motor_work() - d.losses();
    out.motor_out = std::max(out.motor_out, d.motor_work() - motor_base_);
    out.hand_out = std::max(out.hand_out, d.motor_work() - d.losses() - d.kinetic() - hand_base_);
  }
  HapticResult out;

 private:
  double quiet_s_ = 0, motor_base_ = 0, hand_base_ = 0;
};

// Sustained: in each of the last three windows of 0.3 s the force crosses its mean four times by more than 3 % of it.
inline bool sustained(const std::vector<double>& forces) {
  constexpr std::size_t kWindow = 300;
  if (forces.size() < 3 * kWindow) return false;
  for (int w = 0; w < 3; ++w) {
    const double* f = forces.data() + forces.size() - (3 - w) * kWindow;
    double mean = 0;
    for (std::size_t i = 0; i < kWindow; ++i) mean += f[i] / kWindow;
    int side = 0, crossings = 0;
    for (std::size_t i = 0; i < kWindow; ++i) {
      const double band = 0.03 * std::abs(mean) + 0.02;
      const int now = f[i] > mean + band ? 1 : f[i] < mean - band ? -1 : 0;
      if (now == 0 || now == side) continue;
      crossings += side != 0 ? 1 : 0;
      side = now;
    }
    if (crossings < 4) return false;
  }
  return true;
}

}  // namespace tactus::test
