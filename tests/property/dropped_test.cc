// Bodies dropped on what is not convex: no place of contact may be missed until it is deep. The overlap is measured by
// points of the surfaces, not by what found the contacts. All pairs: tests/bench/drops.cc.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/dropped.h"

namespace tactus {
namespace {

const test::Solid& named(const std::vector<test::Solid>& solids, const std::string& name) {
  const auto it = std::find_if(solids.begin(), solids.end(), [&](const auto& solid) { return solid.name == name; });
  REQUIRE(it != solids.end());
  return *it;
}

}  // namespace

// A box and a ring overlapped by 50 mm, for ever; a ring's energy rose by 13 J.
TEST_CASE("dropped: what is not convex is found all around before it is deep, and gains no energy") {
  const std::vector<test::Solid> fixed = test::fixed_solids(), moving = test::dropped_solids();
  const std::pair<const char*, const char*> pairs[] = {{"box", "torus"},
                                                       {"box", "spline_torus"},
                                                       {"box", "revolved_ring"},
                                                       {"cylinder", "revolved_ring"},
                                                       {"rounded_cube", "torus"},
                                                       {"pear", "spline_ball"},
                                                       {"pear", "box"},
                                                       {"half_space", "spline_torus"},
                                                       {"torus", "cylinder"},
                                                       {"revolved_ring", "box"},
                                                       {"rounded_cube", "revolved_ring"},
                                                       {"torus", "revolution"},
                                                       {"revolved_ring", "sphere"},
                                                       {"spline_bowl", "rounded_cube"},
                                                       {"revolved_ring", "torus"}};
  const test::Stepping steppings[] = {{ContactModelKind::penalty},
                                      {ContactModelKind::lcp},
                                      {ContactModelKind::lcp, LcpStepper::exact},
                                      {ContactModelKind::st},
                                      {ContactModelKind::peg}};
  double deepest = 0, rise = 0;
  for (const auto& pair : pairs) {
    const std::string on = pair.first, body = pair.second;
    for (const test::Stepping& stepping : steppings) {
      for (const std::uint64_t seed : {1u, 2u}) {
        const std::string name = stepping.name();
        CAPTURE(on);
        CAPTURE(body);
        CAPTURE(name);
        CAPTURE(seed);
        const test::Dropped dropped = test::drop(named(fixed, on), named(moving, body), stepping, seed, 700);
        CHECK(dropped.touched);
        CHECK(dropped.finite);
        CHECK(dropped.failures == 0);
        CHECK(dropped.deepest < 3e-3);
        CHECK(dropped.rise < 0.05);  // of the 2 to 3 J that it fell with
        deepest = std::max(deepest, dropped.deepest), rise = std::max(rise, dropped.rise);
      }
    }
  }
  MESSAGE("deepest " << deepest << " m, energy rose by at most " << rise << " J");
}

// By its nearest place alone a cube that lands on a corner was held there, and got in by up to 16 mm with the next one;
// under ap for ever.
TEST_CASE("dropped: a sharp smooth cube lands on its next corner at 100 Hz") {
  const std::vector<test::Solid> fixed = test::fixed_solids(), moving = test::dropped_solids();
  const test::Stepping steppings[] = {{ContactModelKind::lcp},
                                      {ContactModelKind::st},
                                      {ContactModelKind::ap},
                                      {ContactModelKind::lnc},
                                      {ContactModelKind::peg}};
  double deepest = 0, late = 0, rise = 0;
  for (const std::string on : {"half_space", "box", "rounded_cube", "cylinder"}) {
    for (const test::Stepping& stepping : steppings) {
      for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
        const std::string name = stepping.name();
        CAPTURE(on);
        CAPTURE(name);
        CAPTURE(seed);
        const test::Dropped dropped =
            test::drop(named(fixed, on), named(moving, "rounded_cube"), stepping, seed, 150, 0.01);
        CHECK(dropped.touched);
        CHECK(dropped.finite);
        CHECK(dropped.failures == 0);
        CHECK(dropped.deepest < 4e-3);  // it falls by 20 to 30 mm a step
        CHECK(dropped.late < 5e-4);
        CHECK(dropped.rise < 0.05);  // of the 2 to 3 J that it fell with
        deepest = std::max(deepest, dropped.deepest), late = std::max(late, dropped.late);
        rise = std::max(rise, dropped.rise);
      }
    }
  }
  MESSAGE("deepest " << deepest << " m, at last " << late << " m, energy rose by at most " << rise << " J");
}

}  // namespace tactus
