// Puts the packets of one tick together into a State.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "realtime.pb.h"
#include "tactus/types.h"

namespace tactus::client {

class Assembler {
 public:
  static constexpr std::uint32_t kPartsMax = 4096;

  // Adds one packet. Returns the state it completes, when that is newer than the last one returned; else null.
  std::shared_ptr<State> add(const v1::StatePacket& packet, std::uint64_t sequence, std::int64_t receive_ns);

  std::uint64_t incomplete() const { return incomplete_; }  // ticks given up because a part was missing
  std::uint64_t malformed() const { return malformed_; }    // packets whose columns do not match
  std::uint64_t late() const { return late_; }              // complete, but older than what was already returned

 private:
  struct Slot {
    std::shared_ptr<State> state;  // null: free
    std::uint32_t parts = 0, received = 0;
    std::uint64_t touched = 0;
    std::vector<bool> have;
    bool matches(const v1::StatePacket& packet) const;
  };
  Slot& slot_for(const v1::StatePacket& packet);

  std::array<Slot, 4> slots_;
  std::uint64_t last_sequence_ = 0, clock_ = 0;
  std::uint64_t incomplete_ = 0, malformed_ = 0, late_ = 0;
};

}  // namespace tactus::client
