// What the tick thread is told before it starts.
#pragma once

#include <cstdint>

#include "server/realtime/rights.h"

namespace tactus {

struct TickOptions {
  RightsWanted rights;
  std::uint32_t bodies = 1024;     // the largest scene that may ever be swapped in
  std::uint32_t contacts = 2048;   // of a slow model's step that are published
  std::uint64_t spin_ns = 0;       // busy-wait at the end of each sleep: less jitter for more processor time
  std::uint64_t tool_spin_ns = 0;  // the same while a device holds a tool, if it is more
  std::uint64_t interleave_bare_ns =
      0;  // measurement: alternate blocks of this length with a bare loop that only sleeps. 0 = off
  bool interleave_steps = false;  // measurement: the bare loop steps the world too, and publishes nothing
  bool lockstep = false;          // start with the world lent to net
};

}  // namespace tactus
