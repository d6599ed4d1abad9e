// Ring of preallocated slots, one producer (the tick) and one consumer (net; the recorder has a ring of its own).
// Filled and read in place. When the consumer has fallen behind by all slots, the newest is dropped and counted by the
// producer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/realtime/messages.h"

namespace tactus {

template <class Slot>
class SlotRing {
 public:
  static constexpr std::size_t kSlots = 8;

  SlotRing() : slots_(kSlots) {}
  // Of slots whose size is that of a scene.
  SlotRing(std::uint32_t bodies, std::uint32_t contacts, std::size_t slots = kSlots) : slots_(slots) {
    for (Slot& slot : slots_) slot.resize(bodies, contacts);
  }

  // Producer: the slot to fill, or null when all are taken. commit() hands it over.
  Slot* begin_write() noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == slots_.size()) return nullptr;
    return &slots_[head % slots_.size()];
  }
  // Producer: has the memory of the next slot brought to its processor; the consumer's had it last.
  void fetch() const noexcept {
    const auto* bytes = reinterpret_cast<const char*>(&slots_[head_.load(std::memory_order_relaxed) % slots_.size()]);
    for (std::size_t i = 0; i < sizeof(Slot); i += 64) __builtin_prefetch(bytes + i, 1);
  }
  void commit() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // Producer: slots that the consumer has not given back.
  [[nodiscard]] std::size_t size() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  }

  // Consumer: the oldest unread slot, or null. release() gives it back.
  const Slot* begin_read() noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return nullptr;
    return &slots_[tail % slots_.size()];
  }
  void release() noexcept { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::vector<Slot> slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

using StateRing = SlotRing<StateSlot>;
using ToolRing = SlotRing<ToolFrame>;

}  // namespace tactus
