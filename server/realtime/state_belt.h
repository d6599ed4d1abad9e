// States on their way to the recorder: frames and the columns that are kept, one behind the other in a ring of bytes.
// One producer (the tick), one consumer (the recorder). Nothing is allocated after construction; a state that finds no
// room is left out, and the producer counts it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "server/realtime/messages.h"

namespace tactus {

class StateBelt {
 public:
  // bytes: of states, whatever their sizes: of few bodies it holds more. At least twice the largest footprint().
  explicit StateBelt(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes / kAlign, 1) * kAlign) {}

  // What a state of so many rows takes.
  static constexpr std::size_t footprint(std::size_t bodies, std::size_t joints, std::size_t contacts) noexcept {
    const std::size_t size = kHead + sizeof(StateFrame) + 13 * sizeof(double) * bodies + sizeof(JointSample) * joints +
                             sizeof(ContactRow) * contacts;
    return (size + kAlign - 1) / kAlign * kAlign;
  }

  // Producer: the frame, and as many rows of the slot's columns as it says. False: no room, and nothing has changed.
  bool push(const StateFrame& frame, const StateSlot& columns) noexcept {
    const std::size_t n = frame.body_count;
    const std::size_t need = footprint(n, frame.joint_count, frame.contact_count);
    TACTUS_ASSERT(2 * need <= bytes_.size());
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    const std::size_t left = bytes_.size() - head % bytes_.size();
    const std::size_t skip = left < need ? left : 0;  // an entry never wraps
    if (head - tail + skip + need > bytes_.size()) return false;
    if (skip > 0) {
      put_size(head, kSkip);
      head += skip;
    }
    put_size(head, need);
    std::byte* out = &bytes_[head % bytes_.size()] + kHead;
    out = put(out, &frame, 1);
    out = put(out, columns.pose.data(), 7 * n);
    out = put(out, columns.velocity.data(), 6 * n);
    out = put(out, columns.joints.data(), frame.joint_count);
    put(out, columns.contacts.data(), frame.contact_count);
    head_.store(head + need, std::memory_order_release);
    return true;
  }

  // Consumer: the oldest state's frame and columns as push() put them; empty: there is none. Valid until pop().
  std::span<const std::byte> front() noexcept {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    if (tail == head) return {};
    if (size_at(tail) == kSkip) {
      tail += bytes_.size() - tail % bytes_.size();
      tail_.store(tail, std::memory_order_release);
    }
    StateFrame frame;
    const std::byte* begin = &bytes_[tail % bytes_.size()] + kHead;
    std::memcpy(static_cast<void*>(&frame), begin, sizeof frame);
    return {begin, sizeof frame + 13 * sizeof(double) * frame.body_count + sizeof(JointSample) * frame.joint_count +
                       sizeof(ContactRow) * frame.contact_count};
  }
  void pop() noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    tail_.store(tail + size_at(tail), std::memory_order_release);
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return bytes_.size(); }

 private:
  static constexpr std::size_t kHead = sizeof(std::uint64_t), kAlign = 16;
  static constexpr std::uint64_t kSkip = 0;  // the rest of the ring is left out
  static_assert(std::is_trivially_copyable_v<StateFrame> && std::is_trivially_copyable_v<JointSample> &&
                std::is_trivially_copyable_v<ContactRow>);

  void put_size(std::uint64_t position, std::uint64_t size) noexcept {
    std::memcpy(&bytes_[position % bytes_.size()], &size, sizeof size);
  }
  [[nodiscard]] std::uint64_t size_at(std::uint64_t position) const noexcept {
    std::uint64_t size = 0;
    std::memcpy(&size, &bytes_[position % bytes_.size()], sizeof size);
    return size;
  }
  template <typename T>
  static std::byte* put(std::byte* out, const T* rows, std::size_t count) noexcept {
    if (count > 0) std::memcpy(out, rows, count * sizeof(T));
    return out + count * sizeof(T);
  }

  std::vector<std::byte> bytes_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace tactus
