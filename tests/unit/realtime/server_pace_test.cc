// The time grid: no bursts after a late tick, every skipped point counted; the real-time factor of the last second.
#include <doctest/doctest.h>

#include "server/realtime/pace.h"

using namespace tactus;

TEST_CASE("server_pace: the next deadline is the first grid point ahead, whatever the delay") {
  Grid grid;
  grid.start(5'000, 1'000);
  CHECK(grid.deadline_ns() == 6'000);
  CHECK(grid.advance(6'300) == 0);
  CHECK(grid.deadline_ns() == 7'000);
  CHECK(grid.advance(7'999) == 0);
  CHECK(grid.deadline_ns() == 8'000);
  CHECK(grid.advance(9'000) == 1);  // exactly on the next point: that point has passed
  CHECK(grid.deadline_ns() == 10'000);
  CHECK(grid.advance(25'500) == 15);
  CHECK(grid.deadline_ns() == 26'000);
}

TEST_CASE("server_pace: the factor is simulated over real time, and forgets what is more than a second old") {
  RealTimeFactor factor;
  std::uint64_t now = 1'000'000'000;
  factor.start(now);
  float value = 0;
  for (int i = 0; i < 3000; ++i) {
    factor.add(0.001);
    value = factor.update(now += 1'000'000);
  }
  CHECK(value == doctest::Approx(1).epsilon(0.01));
  for (int i = 0; i < 3000; ++i) {
    if (i % 2 == 0) factor.add(0.001);
    value = factor.update(now += 1'000'000);
  }
  CHECK(value == doctest::Approx(0.5).epsilon(0.01));
}
