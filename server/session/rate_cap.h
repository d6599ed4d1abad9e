// Token bucket: what one client may send, so that a flooder takes nothing from the others.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tactus {

class RateCap {
 public:
  // per_second events on average, at most burst at once. per_second 0: no cap.
  RateCap(double per_second, double burst) noexcept : per_ns_(1e-9 * per_second), burst_(burst), tokens_(burst) {}

  bool take(std::uint64_t now_ns) noexcept {
    if (per_ns_ <= 0) return true;
    if (now_ns > last_ns_) {
      if (last_ns_ != 0) tokens_ = std::min(burst_, tokens_ + per_ns_ * static_cast<double>(now_ns - last_ns_));
      last_ns_ = now_ns;
    }
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // Time until the next take() succeeds [ns].
  [[nodiscard]] std::uint64_t wait_ns() const noexcept {
    return tokens_ >= 1 || per_ns_ <= 0 ? 0 : static_cast<std::uint64_t>((1 - tokens_) / per_ns_) + 1;
  }

 private:
  double per_ns_, burst_, tokens_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace tactus
