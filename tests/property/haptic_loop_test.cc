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

// But `deepest` at 100 Hz, whose explicit springs ring there: clients/haptic/README.md, "What falls short".
TEST_CASE(
    "slow press in every contact model, at the tick and at 100 Hz beside it: the motor's force is the contact's") {
  for (const ContactModelKind kind :
       {ContactModelKind::penalty, ContactModelKind::deepest, ContactModelKind::lcp, ContactModelKind::st,
        ContactModelKind::ap, ContactModelKind::lnc, ContactModelKind::peg}) {
    for (const std::uint32_t slow_ticks : {0u, 10u}) {
      if (slow_ticks > 0 && kind == ContactModelKind::deepest) continue;
      for (const haptic::Mode mode : {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(std::string(haptic::mode_name(mode)));
        CAPTURE(slow_ticks);
        const test::SlowPress press = test::slow_press(mode, kind, slow_ticks);
        CHECK(press.engaged);
        CHECK(press.contact > 0.2);
        CHECK_WITHIN(press.motor / press.contact - 1, 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace tactus
