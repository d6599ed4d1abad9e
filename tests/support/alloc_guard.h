// Counts allocations of the calling thread while a guard lives: malloc, calloc, realloc, aligned_alloc, memalign,
// posix_memalign, and through them operator new. Works in release builds; under sanitizers, which own malloc,
// available() is false.
#pragma once

#include <cstdint>

namespace tactus::test {

class AllocGuard {
 public:
  AllocGuard() noexcept;
  ~AllocGuard();
  AllocGuard(const AllocGuard&) = delete;
  AllocGuard& operator=(const AllocGuard&) = delete;

  // Since the guard was made.
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] static bool available() noexcept;

 private:
  std::uint64_t start_;
};

}  // namespace tactus::test
