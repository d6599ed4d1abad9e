// Keeps the beat: sleeps to the points of the grid, counts those that were missed, and knows how fast simulated time
// runs. Its only system call is the sleep.
#pragma once

#include <cstdint>

#include "server/realtime/beat.h"
#include "server/realtime/pace.h"

namespace tactus {

class Pacer {
 public:
  void start(std::uint64_t now_ns) noexcept;
  // Of the scene: where it is another one than before, the grid begins anew with the next sleep.
  void set_period(std::uint64_t period_ns) noexcept;
  // The grid begins anew with the next sleep, whatever its period: another thread has kept the beat.
  void begin_anew() noexcept { anew_ = true; }

  // Until spin_ns before the next grid point; then wake() waits for the point itself, and fills in when it came.
  void sleep(std::uint64_t spin_ns) noexcept;
  void wake(Beat& beat) const noexcept;
  // To the first grid point after now. Gives how many were skipped; the second counts them as missed.
  std::uint64_t skip(std::uint64_t now_ns) noexcept { return grid_.advance(now_ns); }
  std::uint64_t end_beat(std::uint64_t now_ns) noexcept;

  // After the work of a beat, from its wake-up: simulated_s is how far the world went.
  void note_work(std::uint64_t work_ns, double simulated_s, std::uint64_t now_ns) noexcept;

  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return grid_.deadline_ns(); }
  [[nodiscard]] std::uint64_t started_ns() const noexcept { return started_ns_; }
  [[nodiscard]] std::uint64_t missed() const noexcept { return missed_; }
  [[nodiscard]] std::uint64_t last_work_ns() const noexcept { return last_work_ns_; }
  [[nodiscard]] float factor() const noexcept { return factor_now_; }

 private:
  Grid grid_;
  RealTimeFactor factor_;
  bool anew_ = true;
  std::uint64_t period_ns_ = 0, started_ns_ = 0, missed_ = 0, last_work_ns_ = 0;
  float factor_now_ = 1;
};

}  // namespace tactus
