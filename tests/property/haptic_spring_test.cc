// A block of 0.1 kg on a spring under a haptic tool: felt at full stiffness though the world is solved at 100 Hz, and
// what the gate of the server's port is there for.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/haptic_runs.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::HapticRig;
using test::RigOptions;

// A slider along z whose drive is a spring, its top at z = 0; a ball of 50 g rests on it, without gravity.
struct SpringBlock {
  explicit SpringBlock(double stiffness) {
    scene.set_gravity(Vec3::Zero());
    Model& model = *scene.model;
    test::add_robot(model, "block");
    const BodyIndex block = test::add_link(model, 0.1, 1e-4 * Mat3::Identity());
    ShapeInstance box;
    box.shape = make_box(Vec3(0.05, 0.05, 0.02));
    box.body = block;
    model.bodies[block].shape_count = 1;
    model.shapes.push_back(box);
    JointDrive drive;
    drive.joint = test::add_joint(model, JointKind::prismatic, kNone, block, test::at(0, 0, -0.02));
    drive.kind = DriveKind::position;
    drive.kp = stiffness;
    drive.kd = 1;
    model.drives.push_back(drive);
    ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 0.01));
  }
  test::Scene scene;
  BodyIndex ball = 0;
};

// A wall is a spring so stiff that nothing of it is felt.
constexpr double kWall = 1e7;

TEST_CASE("haptic_spring: a world at 100 Hz, lcp and st: 0.9 of 2b/T on a wall and on a 0.1 kg block on a spring") {
  constexpr double kFelt = 0.9 * 2 * 1.0 / 1e-3;  // of 2b/T at b = 1 N s/m, T = 1 ms
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st}) {
    for (const double spring : {kWall, 2000.0, 500.0}) {
      for (const double hand_damping : {0.0, 5.0}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(spring);
        CAPTURE(hand_damping);
        SpringBlock block(spring);
        World world = block.scene.world();
        SlowTicker slow(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
        SlowSolver solver(make_solver_world(world.shared_model(), world.limits(), kind, 10), kind, 64);
        world.yield_to(kind);
        slow.exchange(&solver, world);
        RigOptions o = test::rig_options(block.ball, 1.0);
        o.loop.gains.stiffness = o.tool.gains.stiffness = kFelt;
        o.hand.damping = hand_damping;
        o.hand.stiffness = 300;
        o.hand.wants = [](double t) { return test::down_by(std::clamp(0.05 * (t - 0.5), 0.0, 0.02)); };
        HapticRig rig(world, o);
        rig.slow = &slow;
        test::Meter meter;
        std::vector<double> forces;
        double force = 0, pressed = 0, sunk = 0;
        for (int k = 0; k < 4000; ++k) {
          rig.tick();
          meter.look(rig, 0.01);
          forces.push_back(rig.device.acting().force.z());
          if (k < 3700) continue;
          force += rig.device.acting().force.z() / 300;
          pressed += (0.01 - rig.loop.message().X_WR.p.z()) / 300;
          sunk -= (world.state().p_WBcm(0).z() + 0.02) / 300;
        }
        MESSAGE(std::string(to_string(kind))
                << ", spring " << spring << ", hand's damping " << hand_damping << ": felt beyond the block "
                << force / (pressed - sunk) << " N/m, the spring " << force / sunk << " N/m, force " << force
                << " N, out " << 1e3 * meter.out.motor_out << " mJ, to the hand " << 1e3 * meter.out.hand_out << " mJ");
        CHECK(rig.loop.engaged());
        CHECK(force > 1);
        CHECK(force / (pressed - sunk) > 0.99 * kFelt);
        if (spring < kWall) CHECK_WITHIN(force / sunk / spring - 1, 0.02);
        CHECK(meter.out.motor_out < 1e-3);
        CHECK(meter.out.hand_out < 1e-3);
        CHECK_FALSE(test::sustained(forces));
      }
    }
  }
}

// The hand's side stands 10 mm deep, soft; then it says that its link is good again, and the spring grows stiff under
// load. What the tool has been given at the most, and the reference did not put in [J].
double drawn_by_a_growing_gain(bool gate, bool& acted) {
  SpringBlock block(500);
  World world = block.scene.world();
  const double h = world.model().step;
  ToolDesk desk;
  RigOptions o = test::rig_options(block.ball, 1.0, haptic::Mode::direct);
  o.tool.gate = gate;
  desk.attach(0, o.tool, 0.05);
  double most = 0;
  acted = false;
  for (int k = 0; k < 6000; ++k) {
    DeviceRow row;
    row.grip = 1;
    row.sample = static_cast<std::uint64_t>(k) + 1;
    row.bits = kDeviceAnchored;
    const bool moves = k > 1000 && k <= 2000;
    row.pose = {0, 0, 0.01 - 1e-5 * std::clamp(k - 1000, 0, 1000), 1, 0, 0, 0};
    row.velocity = {0, 0, moves ? -0.01 : 0.0, 0, 0, 0};
    row.stiffness_share = k < 3000 ? 0.1 : 1.0;
    CHECK(desk.take(row, world.state().tick, h));
    desk.apply(world, 0);
    world.step();
    const ToolReport& r = desk.rows()[0].report;
    most = std::max(most, r.tool_work - r.reference_work);
    acted = acted || (r.bits & kToolGateActed) != 0;
  }
  return most;
}

TEST_CASE("haptic_spring: the server port's gate: a gain that grows in contact gives energy without it, none with it") {
  bool acted = false;
  const double without = drawn_by_a_growing_gain(false, acted);
  CHECK_FALSE(acted);
  CHECK(without > 5e-3);
  const double with = drawn_by_a_growing_gain(true, acted);
  MESSAGE("drawn " << 1e3 * without << " mJ without the gate, " << 1e3 * with << " mJ with it");
  CHECK(acted);
  CHECK(with < 1e-3);
}

}  // namespace
}  // namespace tactus
