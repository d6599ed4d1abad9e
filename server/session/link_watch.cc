#include "server/session/link_watch.h"

#include <algorithm>

namespace tactus {
namespace {

constexpr std::uint64_t kIdleNs = 1'000'000'000;  // without a command: no control loop any more
constexpr std::uint64_t kSkippedMax = 1000;       // grid points counted at once

std::int64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::int64_t>(a - b);  // clocks of two machines: wraps where it must
}

}  // namespace

void LinkWatch::command(const CommandStamps& s, std::uint64_t now_ns) noexcept {
  last_command_ns_ = now_ns;
  ++commands_;
  if (s.states_received != 0) totals_.states_received = s.states_received;
  totals_.down_lost = s.states_lost;
  if (s.client_send_ns != 0) meter_.up(difference(now_ns, s.client_send_ns), now_ns);
  if (s.client_recv_ns == 0 || s.client_send_ns < s.client_recv_ns) return;
  meter_.compute(difference(s.client_send_ns, s.client_recv_ns));
  const Sent& sent = sent_[s.expected_tick % sent_.size()];
  if (sent.tick == s.expected_tick && sent.ns != 0) meter_.down(difference(s.client_recv_ns, sent.ns), now_ns);
}

void LinkWatch::applied(std::uint32_t age_us) noexcept {
  applied_ = true;
  meter_.wait(std::int64_t{1000} * age_us);
}

void LinkWatch::tick(const TickStamps& s, std::uint64_t up_received, std::uint64_t up_lost,
                     std::uint64_t refused) noexcept {
  sent_[s.tick % sent_.size()] = {s.tick, s.send_ns};
  if (!has_commanded() || s.send_ns > last_command_ns_ + kIdleNs) {
    active_ = false;
    return;
  }
  totals_.up_received = up_received;
  totals_.up_lost = up_lost;
  totals_.refused = refused;
  totals_.commands_sent = commands_ + up_lost;
  if (!active_) {
    active_ = true;
    ticks_missed_ = s.ticks_missed;
    meter_.begin(totals_);
  }
  meter_.set_period_us(s.period_us);
  meter_.server(static_cast<std::int64_t>(1000 * s.wake_late_us), static_cast<std::int64_t>(1000 * s.work_us));
  const std::uint64_t skipped = s.ticks_missed > ticks_missed_ ? s.ticks_missed - ticks_missed_ : 0;
  ticks_missed_ = s.ticks_missed;
  totals_.skipped += skipped;
  for (std::uint64_t i = 0; i < std::min(skipped, kSkippedMax); ++i) meter_.cycle(false, totals_);
  meter_.cycle(applied_, totals_);
  applied_ = false;
}

}  // namespace tactus
