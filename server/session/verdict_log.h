// The verdicts of one client, numbered from 1, kept until it acknowledges them: which of them go in a datagram of their
// own, and when. Its time is the caller's. Allocates nothing after construction; each call is O(1).
//
// States bring the newest eight. What they did not bring goes at once; what came alone waits for a state, but not for
// long. What is not acknowledged is repeated, less and less often. A client that never acknowledges (an older one) gets
// a few datagrams and then only what its states bring.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/check.h"
#include "proto/cpp/wire.h"

namespace tactus {

// One row of proto's verdict columns.
struct VerdictRecord {
  std::uint64_t sequence = 0, tick = 0;
  std::uint32_t code = 0, age_us = 0, item = 0;
};

// Verdicts first to last, and up to which number none is kept any more (0: the client has all of those).
struct VerdictBatch {
  std::uint64_t first = 0, last = 0, dropped = 0;
};

class VerdictLog {
 public:
  static constexpr std::uint64_t kStateWaitNs = 5'000'000;  // for a state that brings it
  static constexpr std::uint64_t kRepeatFirstNs = 20'000'000, kRepeatLastNs = 320'000'000;
  static constexpr std::uint32_t kTriesUnanswered = 16;  // datagrams to a client that has acknowledged nothing yet

  explicit VerdictLog(std::size_t kept = wire::kVerdictsKept) : ring_(kept) {}

  void add(const VerdictRecord& verdict) noexcept { ring_[++newest_ % ring_.size()] = verdict; }
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }  // number; 0: none yet
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  // Numbers up to this one are not kept any more.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return newest_ > ring_.size() ? newest_ - ring_.size() : 0; }
  [[nodiscard]] const VerdictRecord& at(std::uint64_t number) const noexcept {
    TACTUS_ASSERT(number > dropped() && number <= newest_);
    return ring_[number % ring_.size()];
  }

  // The client has every verdict up to this number.
  void acknowledge(std::uint64_t number, std::uint64_t now_ns) noexcept {
    number = std::min(number, newest_);
    if (number <= acknowledged_) return;
    acknowledged_ = number;
    repeat_after_ns_ = kRepeatFirstNs;
    repeat_at_ns_ = now_ns + repeat_after_ns_;
  }

  // A state with the newest eight has been sent.
  void carried(std::uint64_t now_ns) noexcept {
    if (newest_ > sent_ + wire::kVerdictsRepeated) return;
    note_sent(newest_, now_ns);
  }

  // What is to be sent now, and counts as sent. Ask again until there is nothing.
  [[nodiscard]] std::optional<VerdictBatch> take_due(std::uint64_t now_ns) noexcept {
    const std::uint64_t low = std::max(acknowledged_, dropped());
    if (newest_ == low) return std::nullopt;
    if (acknowledged_ == 0 && tries_ >= kTriesUnanswered) return std::nullopt;
    sent_ = std::max(sent_, low);
    std::uint64_t first = 0;
    if (is_fresh_due(now_ns)) {
      first = sent_ + 1;
    } else if (sent_ > low && now_ns >= repeat_at_ns_) {
      first = low + 1;
      repeat_after_ns_ = std::min(2 * repeat_after_ns_, kRepeatLastNs);
      repeat_at_ns_ = now_ns + repeat_after_ns_;
    } else {
      return std::nullopt;
    }
    const std::uint64_t end = std::min(newest_, first + wire::kVerdictRowsMax - 1);
    note_sent(end, now_ns);
    ++tries_;
    return VerdictBatch{first, end, dropped() > acknowledged_ ? dropped() : 0};
  }

 private:
  [[nodiscard]] bool is_fresh_due(std::uint64_t now_ns) noexcept {
    if (newest_ <= sent_) return false;
    if (fresh_ns_ == 0) fresh_ns_ = now_ns;
    return newest_ - sent_ > wire::kVerdictsRepeated || now_ns - fresh_ns_ >= kStateWaitNs;
  }
  void note_sent(std::uint64_t number, std::uint64_t now_ns) noexcept {
    if (sent_ <= acknowledged_ && number > sent_) repeat_at_ns_ = now_ns + repeat_after_ns_;  // nothing was under way
    sent_ = std::max(sent_, number);
    if (sent_ == newest_) fresh_ns_ = 0;
  }

  std::vector<VerdictRecord> ring_;
  std::uint64_t newest_ = 0, acknowledged_ = 0,
                sent_ = 0;      // sent_: by a state or in a datagram of their own, at least once
  std::uint64_t fresh_ns_ = 0;  // since when something waits for a state; 0: nothing does
  std::uint64_t repeat_at_ns_ = 0, repeat_after_ns_ = kRepeatFirstNs;
  std::uint32_t tries_ = 0;
};

}  // namespace tactus
