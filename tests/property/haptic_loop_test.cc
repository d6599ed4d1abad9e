// The haptic loop with a virtual device, a hand, a link and a world, in simulated time.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/support/haptic_rig.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::BallOnFloor;
using test::HapticRig;
using test::RigOptions;

// Goes down by `depth` within `seconds`, then stays.
std::function<haptic::Pose(double)> press(double depth, double seconds, double start = 0.3) {
  return [=](double t) {
    const double s = std::clamp((t - start) / seconds, 0.0, 1.0);
    return test::down_by(depth * s);
  };
}

TEST_CASE("slow press: the motor's force is the contact's force, and the hand feels the stiffness asked for") {
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    BallOnFloor ball;
    World world = ball.scene.world();
    RigOptions o = test::rig_options(ball.ball, 1.0, mode);
    o.hand.wants = press(0.02, 0.5);
    HapticRig rig(world, o);
    rig.run(1400);
    REQUIRE(rig.loop.engaged());
    double contact = 0;
    for (std::uint32_t i = 0; i < world.contacts().point_count; ++i) contact += world.contact_force(i).norm();
    const double motor = rig.device.acting().force.z();
    const double depth = 0.005 - (-rig.device.pose().p.z());
    MESSAGE(std::string(haptic::mode_name(mode)) << ": motor " << motor << " N, contact " << contact << " N, stiffness "
                                                 << motor / -depth << " N/m, tool z " << rig.report().X_WT.p.z());
    CHECK(contact > 1);
    CHECK_WITHIN(motor / contact - 1, 1e-3);
  }
}

}  // namespace
}  // namespace tactus
