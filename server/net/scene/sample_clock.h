// When a device's next sample comes: devices sample by a clock of their own.
#pragma once

#include <cmath>
#include <cstdint>

namespace tactus::net {

class SampleClock {
 public:
  // One has come. The next is due then [ns]; 0: they are too irregular to say, or too few.
  std::uint64_t came(std::uint64_t now_ns) noexcept {
    const std::uint64_t before_ns = last_ns_;
    const auto interval = static_cast<double>(now_ns - before_ns);
    last_ns_ = now_ns;
    if (before_ns == 0 || interval > kLongestNs) {
      period_ns_ = 0;
    } else if (period_ns_ == 0) {
      period_ns_ = interval;
      off_ns_ = 2 * kToleratedNs;
    } else {
      const double off = interval - period_ns_;
      period_ns_ += kShare * off;
      off_ns_ += kShare * (std::abs(off) - off_ns_);
    }
    if (period_ns_ == 0 || off_ns_ > kToleratedNs) return 0;
    return now_ns + static_cast<std::uint64_t>(period_ns_);
  }

 private:
  static constexpr double kShare = 0.125, kToleratedNs = 30e3, kLongestNs = 20e6;
  std::uint64_t last_ns_ = 0;
  double period_ns_ = 0, off_ns_ = 0;  // means: of intervals, and of how far they are off
};

}  // namespace tactus::net
