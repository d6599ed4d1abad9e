// The haptic loop with a virtual device, a hand, a link and a world, in simulated time.
#include <doctest/doctest.h>

#include "tests/support/haptic_cases.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

TEST_CASE("slow press: the motor's force is the contact's force, and the hand feels the stiffness asked for") {
  for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
    CAPTURE(std::string(haptic::mode_name(mode)));
    const test::SlowPress press = test::slow_press(mode);
    MESSAGE(std::string(haptic::mode_name(mode)) << ": motor " << press.motor << " N, contact " << press.contact
                                                 << " N, stiffness " << press.stiffness << " N/m");
    REQUIRE(press.engaged);
    CHECK(press.contact > 1);
    CHECK_WITHIN(press.motor / press.contact - 1, 1e-3);
  }
}

}  // namespace
}  // namespace tactus
