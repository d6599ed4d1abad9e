// The one clock of the server: CLOCK_MONOTONIC in ns (vDSO, no syscall).
#pragma once

#include <ctime>

#include <cstdint>

namespace tactus {

inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace tactus
