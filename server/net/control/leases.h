// Who may drive what, and the clock by which leases age.
#pragma once

#include <cstdint>

#include "server/realtime/clock.h"
#include "server/session/authority.h"
#include "server/session/ownership.h"

namespace tactus::net {

struct Leases {
  Authority authority;
  LeaseClock clock;

  // In the authority's time.
  [[nodiscard]] std::uint64_t now() const { return clock.read(now_ns()); }
};

}  // namespace tactus::net
