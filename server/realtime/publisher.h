// The tick's last act: a state into the next slot of net's ring, and a copy of it for the recorder. The slots were
// allocated at start; where net is as many states behind as there are slots, the newest is dropped.
#pragma once

#include <cstdint>

#include "server/metrics/counter.h"
#include "server/realtime/beat.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/state_ring.h"
#include "server/realtime/tick_parts.h"

namespace tactus {

class Publisher {
 public:
  // commands_dropped: counted by net.
  Publisher(StateRing& states, const Counter& commands_dropped, RecordTap& record) noexcept
      : states_(states), commands_dropped_(commands_dropped), record_(record) {}

  // The parts as they stand after the step of this beat. False: net had no slot left, and only the recorder got the
  // state.
  [[nodiscard]] bool publish(const TickParts& parts, const Beat& beat) noexcept;
  // The same of a tick that has failed; each state says so from here on.
  void publish_fault(const TickParts& parts, const Beat& beat) noexcept;

 private:
  void fill(StateSlot& slot, const TickParts& parts, const Beat& beat) const noexcept;
  void fill_played(StateSlot& slot, const TickParts& parts, const Beat& beat) const noexcept;
  [[nodiscard]] std::uint32_t status_bits(const TickParts& parts, const Beat& beat) const noexcept;
  void record(const StateSlot* published, const TickParts& parts, const Beat& beat) noexcept;

  StateRing& states_;
  const Counter& commands_dropped_;
  RecordTap& record_;
  std::uint64_t commands_dropped_seen_ = 0, record_lost_seen_ = 0;  // told to net
  bool fault_ = false;
};

}  // namespace tactus
