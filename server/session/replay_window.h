// Accepts each sequence number once, within 64 behind the newest (proto/README.md).
#pragma once

#include <cstdint>

#include "proto/cpp/wire.h"

namespace tactus {

class ReplayWindow {
 public:
  // True: new, now remembered. False: seen before, older than the window, or 0.
  bool accept(std::uint64_t sequence) noexcept {
    const bool fresh = is_new(sequence);
    accepted_ += fresh ? 1 : 0;
    return fresh;
  }
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  // Numbers below the newest that never came (so far).
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  bool is_new(std::uint64_t sequence) noexcept {
    if (sequence == 0) return false;
    if (sequence > newest_) {
      const std::uint64_t ahead = sequence - newest_;
      if (newest_ != 0) gaps_ += ahead - 1;  // what comes late is taken off again
      seen_ = ahead >= wire::kReplayWindow ? 1 : (seen_ << ahead) | 1;
      newest_ = sequence;
      return true;
    }
    const std::uint64_t behind = newest_ - sequence;
    if (behind >= wire::kReplayWindow) return false;
    const std::uint64_t bit = std::uint64_t{1} << behind;
    if ((seen_ & bit) != 0) return false;
    seen_ |= bit;
    if (gaps_ > 0) --gaps_;
    return true;
  }

  static_assert(wire::kReplayWindow == 64, "the window is one word");
  std::uint64_t newest_ = 0, seen_ = 0, gaps_ = 0, accepted_ = 0;
};

}  // namespace tactus
