// A block of 0.1 kg on a spring under a haptic tool: felt at full stiffness though the world is solved at 100 Hz, and
// what the gate of the server's port is there for.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/haptic_cases.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::RigOptions;

TEST_CASE("haptic_spring: a world at 100 Hz, lcp and st: 0.9 of 2b/T on a wall and on a 0.1 kg block on a spring") {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st}) {
    for (const double spring : {test::kWall, 2000.0, 500.0}) {
      for (const double hand_damping : {0.0, 5.0}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(spring);
        CAPTURE(hand_damping);
        const test::SlowWorld felt = test::slow_world(kind, spring, hand_damping);
        MESSAGE(std::string(to_string(kind))
                << ", spring " << spring << ", hand's damping " << hand_damping << ": felt beyond the block "
                << felt.stiffness << " N/m, the spring " << felt.spring << " N/m, force " << felt.force << " N, out "
                << 1e3 * felt.result.motor_out << " mJ, to the hand " << 1e3 * felt.result.hand_out << " mJ");
        CHECK(felt.result.engaged);
        CHECK(felt.force > 1);
        CHECK(felt.stiffness > 0.99 * test::kFelt);
        if (spring < test::kWall) CHECK_WITHIN(felt.spring / spring - 1, 0.02);
        CHECK(felt.result.motor_out < 1e-3);
        CHECK(felt.result.hand_out < 1e-3);
        CHECK_FALSE(felt.result.oscillates);
      }
    }
  }
}

// The hand's side stands 10 mm deep, soft; then it says that its link is good again, and the spring grows stiff under
// load. What the tool has been given at the most, and the reference did not put in [J].
double drawn_by_a_growing_gain(bool gate, bool& acted) {
  test::SpringBlock block(500);
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
