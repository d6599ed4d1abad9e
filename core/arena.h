// Bump allocator for what one tick needs and then forgets. Sized once; reset at the start of each tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/check.h"

namespace tactus {

class Arena {
 public:
  explicit Arena(std::size_t bytes) : memory_(new std::byte[bytes]), size_(bytes) {}

  // Storage for n objects of a trivial type, not initialised. Asserts when the arena is full: sizes come from Limits,
  // so running out is our own mistake. O(1).
  template <typename T>
  T* take(std::size_t n) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    std::size_t start = (used_ + alignof(T) - 1) & ~(alignof(T) - 1);
    TACTUS_ASSERT(start + n * sizeof(T) <= size_);
    used_ = start + n * sizeof(T);
    if (used_ > peak_) peak_ = used_;
    return reinterpret_cast<T*>(memory_.get() + start);
  }
  void reset() noexcept { used_ = 0; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  void rewind(std::size_t mark) noexcept { used_ = mark; }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_, used_ = 0, peak_ = 0;
};

}  // namespace tactus
