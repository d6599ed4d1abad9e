// The sampled wall of Colgate & Schenkel 1997 on the virtual device: passive up to K = b / (T/2 + delay) and no
// further; with the passivity gate, well beyond. The energies are the simulation's own, not the loop's ledger.
#include <doctest/doctest.h>

#include "tests/support/haptic_wall.h"
#include "tests/support/tolerance.h"

namespace tactus::test {
namespace {

TEST_CASE("passive wall under imposed motion: at least 98 % of b / (T/2 + delay), and no more") {
  for (const double b : {0.1, 0.5, 2.0}) {
    for (const double delay : {0.0, 0.5e-3, 1e-3, 2.5e-3}) {
      const double bound = haptic::passive_stiffness(b, kWallPeriod, delay);
      const double found = limit_under_imposed_motion(b, delay);
      CAPTURE(b);
      CAPTURE(delay);
      CHECK(found / bound >= 0.98);
      CHECK(found / bound <= 1.01);
    }
  }
}

TEST_CASE("passive wall with hands: 90 % of 2b/T, an undamped hand included; 15 % above it an undamped hand rings") {
  for (const double b : {0.1, 1.0, 2.0}) {
    for (const double c : {0.0, 1.0, 5.0}) {
      for (const double k : {20.0, 200.0, 1000.0}) {
        Wall wall;
        wall.damping = b;
        wall.hand = springs(k, c);
        wall.stiffness = 0.9 * 2 * b / kWallPeriod;
        const WallOutcome out = push_into(wall);
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
  wall.stiffness = 1.15 * 2 / kWallPeriod;
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
        wall.stiffness = times * 2 * b / kWallPeriod;
        const WallOutcome out = push_into(wall);
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
}  // namespace tactus::test
