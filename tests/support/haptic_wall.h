// A hand at a sampled wall, by the virtual device alone: the energies are the simulation's own, not the loop's ledger.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tactus/haptic/loop.h"
#include "tactus/haptic/passivity.h"
#include "tactus/haptic/virtual_device.h"

namespace tactus::test {

constexpr double kWallPeriod = 1e-3;

inline haptic::Pose at_x(double x) {
  haptic::Pose X;
  X.p.x() = x;
  return X;
}

// What a hand that carries the handle to and fro inside a wall gets out of it in a period, less what it puts in [J].
inline double gained_under_imposed_motion(double stiffness, double damping, double delay) {
  haptic::Mechanism m;
  m.damping = damping;
  m.amplifier_delay = delay;
  m.encoder_step = 0;
  const double amplitude = 5e-3, centre = 0.05;
  const int cycle = 400;
  m.force_max = 1e9;
  haptic::VirtualDevice device(m, {}, at_x(centre));
  double before = 0;
  for (int k = 0; k < 3 * cycle; ++k) {
    if (k == 2 * cycle) before = device.hand_work();
    haptic::Reading r;
    device.read(r);
    device.write({haptic::Vec3(-stiffness * r.X_DH.p.x(), 0, 0), haptic::Vec3::Zero()});
    device.carry(at_x(centre + amplitude * std::sin(2 * M_PI * (k + 1) / cycle)));
  }
  return before - device.hand_work();
}

inline double limit_under_imposed_motion(double damping, double delay) {
  double low = 0, high = 10 * damping / (0.5 * kWallPeriod + delay);
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (gained_under_imposed_motion(middle, damping, delay) > 0 ? high : low) = middle;
  }
  return low;
}

struct Wall {
  double stiffness = 0, damping = 1;
  bool gate = false;
  haptic::Hand hand;
  double speed = 0.1, start = -0.01;
  double seconds = 3;
};
struct WallOutcome {
  double draw_up = 0;    // of what hand, spring and motion hold together, above what it was before [J]
  double motor_out = 0;  // most that the motor has given out and not taken in before [J]
  int crossings = 0;     // of the mean by the force in the last second, larger than 10 mN
};

inline WallOutcome push_into(const Wall& wall) {
  haptic::Mechanism m;
  m.damping = wall.damping;
  haptic::Hand hand = wall.hand;
  const double from = wall.start, v = wall.speed;
  hand.wants = [=](double t) { return at_x(std::min(from + v * t, 5e-3)); };
  haptic::VirtualDevice device(m, hand, at_x(from));
  haptic::Gate::Options options;
  options.period = kWallPeriod;
  options.mass = m.mass;
  haptic::Gate gate(options);
  WallOutcome out;
  haptic::Pose last = at_x(from);
  haptic::Wrench held;
  double low = 1e300;
  std::vector<double> forces;
  for (int k = 0; k < static_cast<int>(wall.seconds / kWallPeriod); ++k) {
    haptic::Reading r;
    device.read(r);
    const haptic::Motion went = haptic::motion(last, r.X_DH);
    gate.add(held, went);
    const double pen = std::max(0.0, r.X_DH.p.x());
    held = {haptic::Vec3(-wall.stiffness * pen, 0, 0), haptic::Vec3::Zero()};
    if (wall.gate) held = gate.limit(held, {went.p / kWallPeriod, haptic::Vec3::Zero()});
    device.write(held);
    last = r.X_DH;
    const double true_pen = std::max(0.0, device.pose().p.x());
    const double sum = device.motor_work() - device.losses() + 0.5 * wall.stiffness * true_pen * true_pen;
    low = std::min(low, sum);
    out.draw_up = std::max(out.draw_up, wall.gate ? device.given_to_hand() : sum - low);
    out.motor_out = std::max(out.motor_out, device.motor_work());
    if (k * kWallPeriod > wall.seconds - 1) forces.push_back(held.force.x());
    device.step();
  }
  double mean = 0;
  for (const double f : forces) mean += f / static_cast<double>(forces.size());
  int side = 0;
  for (const double f : forces) {
    const int now = f > mean + 0.01 ? 1 : f < mean - 0.01 ? -1 : 0;
    if (now == 0 || now == side) continue;
    if (side != 0) ++out.crossings;
    side = now;
  }
  return out;
}

inline haptic::Hand springs(double stiffness, double damping) {
  haptic::Hand hand;
  hand.stiffness = stiffness;
  hand.damping = damping;
  return hand;
}

}  // namespace tactus::test
