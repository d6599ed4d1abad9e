// Whether a client sees the states that it drives by.
#include <doctest/doctest.h>

#include "server/session/sight.h"

using namespace tactus;

namespace {
constexpr std::uint64_t kMs = 1'000'000;
}

TEST_CASE("server_sight: blind is who acknowledges nothing for the longer of the deadline and three periods") {
  Sight sight;
  std::uint64_t now = 1000 * kMs;
  for (std::uint32_t n = 1; n <= 10; ++n, now += kMs) {
    sight.sent(now);
    sight.told(n, n);
  }
  const std::uint64_t silent = now;
  for (; now < silent + 200 * kMs; now += kMs) {
    sight.sent(now);
    sight.told(10, 10);  // nothing new
    CHECK(sight.is_blind(now, 20 * kMs, kMs) == (now > silent + 20 * kMs));
    CHECK(sight.is_blind(now, 20 * kMs, 50 * kMs) == (now > silent + 150 * kMs));
  }
  sight.told(0, 11);  // the number alone will do
  CHECK_FALSE(sight.is_blind(now, 20 * kMs, kMs));
}

TEST_CASE("server_sight: where no state goes out nobody is blind, and the first acknowledgement has its time") {
  Sight sight;
  CHECK_FALSE(sight.is_blind(3'600'000 * kMs, kMs, kMs));
  sight.sent(kMs);
  CHECK_FALSE(sight.is_blind(300 * kMs, 20 * kMs, kMs));
  CHECK(sight.is_blind(kMs + Sight::kGraceNs + 1, 20 * kMs, kMs));
  sight.begin();  // other subscriptions
  sight.sent(2000 * kMs);
  CHECK_FALSE(sight.is_blind(2300 * kMs, 20 * kMs, kMs));
}
