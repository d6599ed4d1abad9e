// Whether a client that subscribes to states still sees them. One whose way back is broken must not drive: it would act
// on a world that it does not see. Pure: times are passed in.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tactus {

class Sight {
 public:
  // Until the first state is acknowledged: commands that were on their way when the stream began are no sign.
  static constexpr std::uint64_t kGraceNs = 500'000'000;
  static constexpr std::uint64_t kPeriods = 3;

  // Its subscriptions are new or others.
  void begin() noexcept { *this = {}; }
  // A state has been handed to its link.
  void sent(std::uint64_t now_ns) noexcept {
    if (unseen_since_ns_ == 0) unseen_since_ns_ = now_ns;
  }
  // What a datagram says of the states that have come: the one that it answers, and their number. 0: not told.
  void told(std::uint64_t expected_tick, std::uint32_t states_received) noexcept {
    const bool is_new =
        (expected_tick != 0 && expected_tick != tick_) || (states_received != 0 && states_received != states_received_);
    if (!is_new) return;
    tick_ = expected_tick;
    states_received_ = states_received;
    has_seen_ = true;
    unseen_since_ns_ = 0;
  }
  // States go out, and for longer than the deadline and three of their periods none was acknowledged. Where no state
  // goes out nobody is blind.
  [[nodiscard]] bool is_blind(std::uint64_t now_ns, std::uint64_t deadline_ns, std::uint64_t period_ns) const noexcept {
    if (unseen_since_ns_ == 0) return false;
    const std::uint64_t limit = std::max({deadline_ns, kPeriods * period_ns, has_seen_ ? 0 : kGraceNs});
    return now_ns > unseen_since_ns_ + limit;
  }

 private:
  std::uint64_t unseen_since_ns_ = 0;  // the first state behind the newest acknowledgement was sent; 0: none was
  std::uint64_t tick_ = 0;
  std::uint32_t states_received_ = 0;
  bool has_seen_ = false;
};

}  // namespace tactus
