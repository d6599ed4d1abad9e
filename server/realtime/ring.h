// Bounded one-producer one-consumer ring of plain structs. No lock, no allocation after construction, no syscall.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace tactus {

template <typename T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // capacity is rounded up to a power of two.
  explicit Ring(std::size_t capacity) : slots_(round_up(capacity)), mask_(slots_.size() - 1) {}

  // Producer. All of items or none: false when they do not fit.
  bool push(std::span<const T> items) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head + items.size() - tail_seen_ > slots_.size()) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head + items.size() - tail_seen_ > slots_.size()) return false;
    }
    for (std::size_t i = 0; i < items.size(); ++i) slots_[(head + i) & mask_] = items[i];
    head_.store(head + items.size(), std::memory_order_release);
    return true;
  }
  bool push(const T& item) noexcept { return push(std::span<const T>(&item, 1)); }

  // Consumer. False when empty.
  bool pop(T& out) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_seen_) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail == head_seen_) return false;
    }
    out = slots_[tail & mask_];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // Entries waiting, as either side sees it.
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire));
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }

 private:
  static std::size_t round_up(std::size_t n) noexcept {
    std::size_t p = 1;
    while (p < n) p *= 2;
    return p;
  }
  std::vector<T> slots_;
  const std::size_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t tail_seen_ = 0;  // producer's
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t head_seen_ = 0;  // consumer's
};

}  // namespace tactus
