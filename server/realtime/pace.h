// The time grid of the tick, and how well it is kept. Pure: the clock's readings are passed in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/check.h"

namespace tactus {

// Grid points start + k * period. A late tick makes no burst: the next deadline is the first grid point ahead of now.
class Grid {
 public:
  void start(std::uint64_t now_ns, std::uint64_t period_ns) noexcept {
    TACTUS_ASSERT(period_ns > 0);
    period_ns_ = period_ns;
    deadline_ns_ = now_ns + period_ns;
  }
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }
  [[nodiscard]] std::uint64_t period_ns() const noexcept { return period_ns_; }
  // After the work of the present deadline: goes to the first grid point after now. Returns how many were skipped.
  std::uint64_t advance(std::uint64_t now_ns) noexcept {
    const std::uint64_t late = now_ns > deadline_ns_ ? now_ns - deadline_ns_ : 0;
    const std::uint64_t skipped = late / period_ns_;
    deadline_ns_ += (skipped + 1) * period_ns_;
    TACTUS_ASSERT(deadline_ns_ > now_ns);
    return skipped;
  }

 private:
  std::uint64_t deadline_ns_ = 0, period_ns_ = 1'000'000;
};

// Simulated over real time in the last second, from samples every 1/16 s. Before the first full second: since start.
class RealTimeFactor {
 public:
  void start(std::uint64_t now_ns) noexcept {
    samples_.fill({now_ns, simulated_});
    next_ = 0;
  }
  void add(double simulated_s) noexcept { simulated_ += simulated_s; }
  float update(std::uint64_t now_ns) noexcept {
    const Sample& newest = samples_[(next_ + kSamples - 1) % kSamples];
    if (now_ns - newest.at_ns >= kSpacingNs) {
      samples_[next_] = {now_ns, simulated_};
      next_ = (next_ + 1) % kSamples;
    }
    const Sample& oldest = samples_[next_];
    const double real = 1e-9 * static_cast<double>(now_ns - oldest.at_ns);
    return real > 0 ? static_cast<float>((simulated_ - oldest.simulated) / real) : 1.0f;
  }

 private:
  static constexpr std::size_t kSamples = 16;
  static constexpr std::uint64_t kSpacingNs = 62'500'000;
  struct Sample {
    std::uint64_t at_ns = 0;
    double simulated = 0;
  };
  std::array<Sample, kSamples> samples_{};
  std::size_t next_ = 0;
  double simulated_ = 0;
};

}  // namespace tactus
