// One beat of the tick: when it was due, when it began, and what came of it.
#pragma once

#include <cstdint>

namespace tactus {

struct Beat {
  std::uint64_t number = 0;                                  // publications since start: goes on while paused
  std::uint64_t deadline_ns = 0, start_ns = 0, next_ns = 0;  // its grid point, its wake-up, the next grid point
  bool granted = false;                                      // called by net: no sleep, no lateness, no grid points (0)
  bool late = false;                                         // began after the next grid point
  bool advanced = false;                                     // the world was stepped in it, or what is shown moved on
  std::uint64_t step_start_ns = 0, step_ns = 0;              // of the step

  [[nodiscard]] std::uint64_t late_ns() const noexcept { return granted ? 0 : start_ns - deadline_ns; }
};

}  // namespace tactus
