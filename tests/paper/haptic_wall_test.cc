// The sampled wall of Colgate & Schenkel 1997 on the virtual device: passive up to K = b / (T/2 + delay) and no
// further; with the passivity gate, well beyond. The energies are the simulation's own, not the loop's ledger.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tactus/haptic/loop.h"
#include "tactus/haptic/passivity.h"
#include "tactus/haptic/virtual_device.h"
#include "tests/support/tolerance.h"

namespace tactus::haptic {
namespace {

constexpr double kT = 1e-3;

Pose at_x(double x) {
  Pose X;
  X.p.x() = x;
  return X;
}

// What a hand that carries the handle to and fro inside a wall gets out of it in a period, less what it puts in [J].
double gained_under_imposed_motion(double stiffness, double damping, double delay) {
  Mechanism m;
  m.damping = damping;
  m.amplifier_delay = delay;
  m.encoder_step = 0;
  const double amplitude = 5e-3, centre = 0.05;
  const int cycle = 400;
  m.force_max = 1e9;
  VirtualDevice device(m, {}, at_x(centre));
  double before = 0;
  for (int k = 0; k < 3 * cycle; ++k) {
    if (k == 2 * cycle) before = device.hand_work();
    Reading r;
    device.read(r);
    device.write({Vec3(-stiffness * r.X_DH.p.x(), 0, 0), Vec3::Zero()});
    device.carry(at_x(centre + amplitude * std::sin(2 * M_PI * (k + 1) / cycle)));
  }
  return before - device.hand_work();
}

double limit_under_imposed_motion(double damping, double delay) {
  double low = 0, high = 10 * damping / (0.5 * kT + delay);
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (gained_under_imposed_motion(middle, damping, delay) > 0 ? high : low) = middle;
  }
  return low;
}

TEST_CASE("passive wall under imposed motion: at least 98 % of b / (T/2 + delay), and no more") {
  for (const double b : {0.1, 0.5, 2.0}) {
    for (const double delay : {0.0, 0.5e-3, 1e-3, 2.5e-3}) {
      const double bound = passive_stiffness(b, kT, delay);
      const double found = limit_under_imposed_motion(b, delay);
      CAPTURE(b);
      CAPTURE(delay);
      CHECK(found / bound >= 0.98);
      CHECK(found / bound <= 1.01);
    }
  }
}

struct Wall {
  double stiffness = 0, damping = 1;
  bool gate = false;
  Hand hand;
  double speed = 0.1, start = -0.01;
  double seconds = 3;
};
struct Outcome {
  double draw_up = 0;    // of what hand, spring and motion hold together, above what it was before [J]
  double motor_out = 0;  // most that the motor has given out and not taken in before [J]
  int crossings = 0;     // of the mean by the force in the last second, larger than 10 mN
};

Outcome push_into(const Wall& wall) {
  Mechanism m;
  m.damping = wall.damping;
  Hand hand = wall.hand;
  const double from = wall.start, v = wall.speed;
  hand.wants = [=](double t) { return at_x(std::min(from + v * t, 5e-3)); };
  VirtualDevice device(m, hand, at_x(from));
  Gate::Options options;
  options.period = kT;
  options.mass = m.mass;
  Gate gate(options);
  Outcome out;
  Pose last = at_x(from);
  Wrench held;
  double low = 1e300;
  std::vector<double> forces;
  for (int k = 0; k < static_cast<int>(wall.seconds / kT); ++k) {
    Reading r;
    device.read(r);
    const Motion went = motion(last, r.X_DH);
    gate.add(held, went);
    const double pen = std::max(0.0, r.X_DH.p.x());
    held = {Vec3(-wall.stiffness * pen, 0, 0), Vec3::Zero()};
    if (wall.gate) held = gate.limit(held, {went.p / kT, Vec3::Zero()});
    device.write(held);
    last = r.X_DH;
    const double true_pen = std::max(0.0, device.pose().p.x());
    const double sum = device.motor_work() - device.losses() + 0.5 * wall.stiffness * true_pen * true_pen;
    low = std::min(low, sum);
    out.draw_up = std::max(out.draw_up, wall.gate ? device.given_to_hand() : sum - low);
    out.motor_out = std::max(out.motor_out, device.motor_work());
    if (k * kT > wall.seconds - 1) forces.push_back(held.force.x());
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

Hand springs(double stiffness, double damping) {
  Hand hand;
  hand.stiffness = stiffness;
  hand.damping = damping;
  return hand;
}

TEST_CASE("passive wall with hands: 90 % of 2b/T, an undamped hand included; 15 % above it an undamped hand rings") {
  for (const double b : {0.1, 1.0, 2.0}) {
    for (const double c : {0.0, 1.0, 5.0}) {
      for (const double k : {20.0, 200.0, 1000.0}) {
        Wall wall;
        wall.damping = b;
        wall.hand = springs(k, c);
        wall.stiffness = 0.9 * 2 * b / kT;
        const Outcome out = push_into(wall);
        CAPTURE(b);
        CAPTURE(c);
        CAPTURE(k);
        CAPTURE(out.crossings);
        CHECK(out.draw_up < 1e-3);
      }
    }
  }
  Wall wall;
  wall.hand = springs(20, 0);
  wall.stiffness = 1.15 * 2 / kT;
  CHECK(push_into(wall).draw_up > 0);
}

TEST_CASE("with the passivity gate: 1.5 times 2b/T and more, never 1 mJ out that was not put in") {
  for (const double b : {0.1, 0.5, 1.0, 2.0}) {
    for (const double c : {0.0, 1.0}) {
      for (const double times : {1.5, 2.0}) {
        Wall wall;
        wall.damping = b;
        wall.hand = springs(200, c);
        wall.gate = true;
        wall.stiffness = times * 2 * b / kT;
        const Outcome out = push_into(wall);
        CAPTURE(b);
        CAPTURE(c);
        CAPTURE(times);
        MESSAGE("draw-up " << 1e3 * out.draw_up << " mJ, motor " << 1e3 * out.motor_out << " mJ, crossings "
                           << out.crossings);
        CHECK(out.draw_up < 1e-3);
        CHECK(out.motor_out < 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace tactus::haptic
