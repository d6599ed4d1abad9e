// Two virtual devices, each with a pad as its tool, squeeze a box between them, lift it and hold it: each hand feels
// its side, nothing slips, nothing rings, and neither motor gives energy.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "tests/support/haptic_runs.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::HapticRig;
using test::RigOptions;

constexpr double kMass = 0.1, kHalf = 0.02, kLift = 0.05, kPad = 0.01;

struct GraspScene {
  GraspScene() : scene(0.8) {
    scene.add_floor();
    box = scene.add(make_box(Vec3::Constant(kHalf)), kMass, test::at(0, 0, kHalf));
    for (const int i : {0, 1}) {
      const double x = (i == 0 ? -1 : 1) * (kHalf + kPad + 0.003);
      pads[i] = scene.add(make_box(Vec3::Constant(kPad)), 0.05, test::at(x, 0, kHalf));
    }
  }
  test::Scene scene;
  BodyIndex box = 0, pads[2] = {};
};

// In, and after a while up; stays 2.5 s there.
std::function<haptic::Pose(double)> squeeze_and_lift(double side, double squeeze) {
  return [=](double t) {
    haptic::Pose X;
    X.p.x() = -side * (0.003 + squeeze) * std::clamp(2 * (t - 0.4), 0.0, 1.0);
    const double s = std::clamp(t - 1.2, 0.0, 1.0);
    X.p.z() = kLift * s * s * (3 - 2 * s);
    return X;
  };
}

struct Held {
  double motor_out[2] = {}, hand_out[2] = {}, force[2] = {};
  bool rings[2] = {}, engaged = true;
  double slip = 0, height = 0, turned = 0;  // of the box against the pads while held; of the box
};

struct GraspOptions {
  haptic::Mode mode = haptic::Mode::local;
  ContactModelKind kind = ContactModelKind::penalty;
  std::uint32_t slow_ticks = 0;  // of the model's step beside the tick; 0: at the tick
  int delay = 0;                 // [ticks], each way
  double squeeze = 0.006;        // of each hand, beyond the box's side [m]
};

Held grasp(const GraspOptions& options) {
  const auto [mode, kind, slow_ticks, delay, squeeze] = options;
  GraspScene grasp;
  World world = grasp.scene.world();
  std::unique_ptr<SlowTicker> slow;
  std::unique_ptr<SlowSolver> solver;
  if (slow_ticks > 0) {
    slow = std::make_unique<SlowTicker>(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
    solver = std::make_unique<SlowSolver>(make_solver_world(world.shared_model(), world.limits(), kind, slow_ticks),
                                          kind, 64);
    world.yield_to(kind);
    slow->exchange(solver.get(), world);
  } else {
    REQUIRE(world.prepare_model(kind));
    REQUIRE(world.set_model(kind));
  }
  ToolDesk desk;
  std::unique_ptr<HapticRig> hands[2];
  for (const std::uint32_t i : {0u, 1u}) {
    RigOptions o = test::rig_options(grasp.pads[i], 1.0, mode);
    o.hand.turn_stiffness = 2;
    o.hand.turn_damping = 0.01;
    o.hand.wants = squeeze_and_lift(i == 0 ? -1 : 1, squeeze);
    o.up.delay = o.down.delay = delay;
    o.seed = 3 + i;
    hands[i] = std::make_unique<HapticRig>(world, o, &desk, i);
  }
  Held out;
  test::Meter meters[2];
  std::vector<double> forces[2];
  Vec3 between = Vec3::Zero();
  constexpr int kEnd = 4700, kHeld = 2500;  // 2 s and more, held
  for (int k = 0; k < kEnd; ++k) {
    for (const auto& hand : hands) hand->send();
    desk.apply(world, slow_ticks);
    for (const auto& hand : hands) hand->receive();
    if (slow != nullptr) {
      slow->step(world, Meet::wait, Meet::wait, true);
    } else {
      world.step();
    }
    for (const auto& hand : hands) hand->step_device();
    const Vec3 middle = 0.5 * (world.state().p_WBcm(grasp.pads[0]) + world.state().p_WBcm(grasp.pads[1]));
    const Vec3 apart = world.state().p_WBcm(grasp.box) - middle;
    if (k == kHeld) between = apart;
    if (k >= kHeld) out.slip = std::max(out.slip, (apart - between).norm());
    for (const int i : {0, 1}) {
      meters[i].look(*hands[i], hands[i]->loop.round_trip_peak());
      forces[i].push_back(hands[i]->device.acting().force.norm());
      out.engaged = out.engaged && hands[i]->loop.engaged();
    }
  }
  for (const int i : {0, 1}) {
    out.motor_out[i] = meters[i].out.motor_out, out.hand_out[i] = meters[i].out.hand_out;
    out.force[i] = forces[i].back(), out.rings[i] = test::sustained(forces[i]);
  }
  out.height = world.state().p_WBcm(grasp.box).z() - kHalf;
  out.turned = world.state().q_WB(grasp.box).angularDistance(Quat::Identity());
  return out;
}

void check(const Held& h, double height) {
  MESSAGE("height " << 1e3 * h.height << " mm, slip " << 1e6 * h.slip << " um, turned " << h.turned << ", forces "
                    << h.force[0] << " and " << h.force[1] << " N, out " << 1e3 * h.motor_out[0] << " and "
                    << 1e3 * h.motor_out[1] << " mJ, to the hands " << 1e3 * h.hand_out[0] << " and "
                    << 1e3 * h.hand_out[1] << " mJ");
  CHECK(h.engaged);
  CHECK(h.height > height);
  CHECK(h.slip < 2e-4);
  CHECK(h.turned < 0.02);
  for (const int i : {0, 1}) {
    CAPTURE(i);
    CHECK(h.force[i] > kMass * 9.81 / 2 / 0.8);  // each side carries half of the weight by friction
    CHECK_FALSE(h.rings[i]);
    CHECK(h.motor_out[i] < 1e-3);
    CHECK(h.hand_out[i] < 1e-3);
  }
  CHECK_WITHIN(h.force[0] / h.force[1] - 1, 0.05);  // action and reaction, through the box
}

TEST_CASE("haptic_grasp: two devices lift a box of 0.1 kg and hold it 2 s, with penalty and lcp at the tick") {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::lcp}) {
    for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
      for (const int delay : {0, 2, 5, 20}) {
        if (mode != haptic::Mode::wave && delay != 0 && delay != 5) continue;
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(std::string(haptic::mode_name(mode)));
        CAPTURE(delay);
        check(grasp({mode, kind, 0, delay}), 0.95 * kLift);
      }
    }
  }
}

// The coupling is then as soft as two steps of delay bear, and the box's weight lowers it: a deeper squeeze, a lower
// lift.
TEST_CASE("haptic_grasp: the same with lcp solved at 500, 250 and 100 Hz beside the tick") {
  for (const haptic::Mode mode : {haptic::Mode::direct, haptic::Mode::wave}) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    check(grasp({mode, ContactModelKind::lcp, 2, 0}), 0.95 * kLift);
    check(grasp({mode, ContactModelKind::lcp, 4, 0, 0.03}), 0.85 * kLift);
    check(grasp({mode, ContactModelKind::lcp, 10, 0, 0.03}), 0.4 * kLift);
  }
}

// The box's friction comes too late for a local model: it slips. The hands get nothing for it.
TEST_CASE("haptic_grasp: in local mode beside a slow model nothing is held, and nothing is given out") {
  for (const std::uint32_t slow_ticks : {2u, 4u, 10u}) {
    for (const double squeeze : {0.006, 0.03}) {
      CAPTURE(slow_ticks);
      CAPTURE(squeeze);
      const Held h = grasp({haptic::Mode::local, ContactModelKind::lcp, slow_ticks, 0, squeeze});
      for (const int i : {0, 1}) {
        CHECK(h.motor_out[i] < 1e-3);
        CHECK(h.hand_out[i] < 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace tactus
