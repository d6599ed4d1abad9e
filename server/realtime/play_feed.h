// What the tick shows when the server plays a recording: a ring of states, filled by a player in the order in which
// they are to be shown, one a beat. The world is not stepped then; all that comes after the step is as in a live run.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/metrics/counter.h"
#include "server/realtime/state_ring.h"

namespace tactus {

struct PlayFeed {
  static constexpr std::size_t kStates = 64;  // beats that the player may be away

  PlayFeed(std::uint32_t bodies, std::uint32_t contacts) : states(bodies, contacts, kStates) {}

  StateRing states;  // player -> tick
  // Written by net: states of earlier wishes are passed over, and the first one of this wish is shown even in a pause.
  std::atomic<std::uint32_t> wanted{0};
  Counter waited;  // written by the tick: beats in which the player had nothing ready
};

}  // namespace tactus
