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

}  // namespace tactus
