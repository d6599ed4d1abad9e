// A link with faults, on purpose: delay, jitter, burst loss, duplication and reordering of one client's datagrams in
// one direction. Pure: time is passed in, as nanoseconds or, in lockstep, as ticks. Nothing is allocated after
// construction.
//
// The n-th datagram's fate is a function of the settings, the seed and n alone. Losses follow Gilbert (1960) and
// Elliott (1963) with a bad state that loses everything: mean length of a burst b = 1 / P(leave), share lost
// P(enter) / (P(enter) + P(leave)).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/cpp/ranges.h"
#include "proto/cpp/wire.h"
#include "server/metrics/histogram.h"

namespace tactus {

// As proto's LinkDirection; ranges in kLinkFaultKeys.
struct LinkFaultSettings {
  std::uint32_t delay_us = 0, jitter_us = 0;
  double loss = 0, loss_burst = 0, duplicate = 0, reorder = 0;
  std::uint32_t reorder_us = 0;
  bool keep_order = false;

  [[nodiscard]] bool any() const noexcept {
    return delay_us > 0 || jitter_us > 0 || loss > 0 || duplicate > 0 || reorder > 0;
  }
};

// The settings by name, as config keys and flags write them; flags (keep_order) as 0 and 1.
struct LinkFaultKey {
  const char* name;
  double high;  // low is 0
  bool whole;
};
inline constexpr std::array<LinkFaultKey, 8> kLinkFaultKeys{
    {{"delay_us", wire::range_of("LinkDirection.delay_us").high, true},
     {"jitter_us", wire::range_of("LinkDirection.jitter_us").high, true},
     {"loss", wire::range_of("LinkDirection.loss").high, false},
     {"loss_burst", wire::range_of("LinkDirection.loss_burst").high, false},
     {"duplicate", wire::range_of("LinkDirection.duplicate").high, false},
     {"reorder", wire::range_of("LinkDirection.reorder").high, false},
     {"reorder_us", wire::range_of("LinkDirection.reorder_us").high, true},
     {"keep_order", 1, true}}};
// Sets one by its name. What is wrong, with key, value and range; empty: nothing.
std::string set_link_fault(LinkFaultSettings& settings, std::string_view key, double value);
// "delay_us=2000,loss=0.01" over what is set already. As above; nothing is set when something is wrong.
std::string parse_link_faults(std::string_view text, LinkFaultSettings& settings);
// What is wrong with ranges or between the keys; empty: nothing.
std::string problem_of(const LinkFaultSettings& settings);

// The same text for settings: only what is not 0; "sound" when nothing is set.
std::string text_of(const LinkFaultSettings& settings);

// What befalls one datagram.
struct LinkFate {
  bool lost = false, duplicated = false, reordered = false;
  std::uint64_t delay_ns = 0, copy_delay_ns = 0;
};

// Draws one fate after another.
class LinkFates {
 public:
  LinkFates(const LinkFaultSettings& settings, std::uint64_t seed) noexcept;
  void restart() noexcept { *this = LinkFates(settings_, seed_); }
  LinkFate next() noexcept;

 private:
  double draw() noexcept;  // uniform in [0, 1)

  LinkFaultSettings settings_;
  std::uint64_t seed_, state_;
  double enter_ = 0, leave_ = 1;
  bool bad_ = false;
};

struct LinkFaultCounters {
  std::uint64_t datagrams = 0, lost = 0, bursts = 0, duplicated = 0, reordered = 0, delivered = 0, queue_full = 0,
                flushed = 0;
  std::uint64_t sequence_hash = 0;  // over all fates
  HistogramData delay_ns;           // as drawn, of all but the lost
};

inline constexpr std::size_t kFatesKept = 1024;

class FaultyLink {
 public:
  // capacity: datagrams that may be under way at one time. The settings must be without a problem.
  FaultyLink(const LinkFaultSettings& settings, std::uint64_t seed, std::size_t capacity);

  // One datagram of at most wire::kDatagramMax bytes. now: in units of unit_ns (1: nanoseconds; a tick's length: ticks,
  // to which delays are rounded down: what is sent right after a tick and takes less than a period is there for the
  // next).
  void submit(std::span<const std::uint8_t> datagram, std::uint64_t now, std::uint64_t unit_ns) noexcept;
  // The next datagram that is due at `now`, in order of arrival; empty: none. Valid until the next submit().
  [[nodiscard]] std::span<const std::uint8_t> take_due(std::uint64_t now) noexcept;
  [[nodiscard]] std::uint64_t next_due() const noexcept;  // ~0: nothing is under way
  // The sequence of fates begins anew, and counting with it; what is under way is gone (counted as flushed).
  void restart() noexcept;
  // As take_due(), due or not.
  [[nodiscard]] std::span<const std::uint8_t> flush_one() noexcept;

  [[nodiscard]] const LinkFaultSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] const LinkFaultCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return heap_.size(); }
  // Of the datagram submitted last, as fates() has it.
  [[nodiscard]] std::uint32_t last_fate() const noexcept { return kept_[(counters_.datagrams - 1) % kFatesKept]; }
  // The last fates, oldest first: delay_us * 8 + (1 lost | 2 duplicated | 4 reordered).
  [[nodiscard]] std::vector<std::uint32_t> fates() const;

 private:
  struct Waiting {
    std::uint64_t due, order;  // order: of submission, breaks ties
    std::uint32_t slot, length;
  };
  void note(const LinkFate& fate) noexcept;
  void enqueue(std::span<const std::uint8_t> datagram, std::uint64_t due) noexcept;
  std::span<const std::uint8_t> pop() noexcept;

  LinkFaultSettings settings_;
  LinkFates fates_;
  LinkFaultCounters counters_;
  std::vector<std::uint8_t> bytes_;  // capacity slots
  std::vector<std::uint32_t> free_;
  std::vector<Waiting> heap_;  // the earliest first
  std::array<std::uint32_t, kFatesKept> kept_{};
  std::uint64_t order_ = 0, newest_due_ = 0;
  bool was_lost_ = false;
};

// Both directions of one client's link.
struct FaultyLinks {
  // A direction without faults costs nothing: null.
  FaultyLinks(std::uint64_t link_seed, const LinkFaultSettings& up_settings, const LinkFaultSettings& down_settings,
              std::size_t capacity);
  std::uint64_t seed;
  std::unique_ptr<FaultyLink> up, down;
  bool of_scene = false;                // goes with the scene
  std::optional<std::uint16_t> set_by;  // another client, with whom they go
};

// A client's seed where many clients share one setting: differs between names, not between runs.
std::uint64_t link_seed(std::uint64_t seed, std::string_view client) noexcept;

}  // namespace tactus
