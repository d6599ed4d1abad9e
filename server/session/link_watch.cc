#include "server/session/link_watch.h"

#include <algorithm>
#include <utility>

namespace tactus {
namespace {

constexpr std::uint64_t kSkippedMax = 1000;  // grid points counted at once
// One way: heartbeats come every 250 ms, requests (renewals of leases) every 700 ms.
constexpr std::uint64_t kLookNs = 200'000'000, kLookMaxNs = 500'000'000;
constexpr std::uint64_t kSilentNs = 300'000'000, kGraceNs = 50'000'000;

std::int64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::int64_t>(a - b);  // clocks of two machines: wraps where it must
}

}  // namespace

void LinkWatch::command(const CommandStamps& s, std::uint64_t now_ns) noexcept {
  ++commands_;
  const bool begins = span_.command(now_ns, s.ends);
  count_states(s, now_ns);
  meter_.command({.sequence = s.sequence,
                  .states_due = s.states_due,
                  .send_ns = static_cast<std::int64_t>(s.client_send_ns),
                  .recv_ns = static_cast<std::int64_t>(s.client_recv_ns),
                  .deadline_us = s.deadline_us,
                  .others = datagrams_ - commands_},
                 begins);
  if (s.client_send_ns != 0) meter_.up(difference(now_ns, s.client_send_ns), now_ns);
  if (s.client_recv_ns == 0 || s.client_send_ns < s.client_recv_ns) return;
  meter_.compute(difference(s.client_send_ns, s.client_recv_ns));
  const Sent& sent = sent_[s.expected_tick % sent_.size()];
  if (sent.tick == s.expected_tick && sent.ns != 0) meter_.down(difference(s.client_recv_ns, sent.ns), now_ns);
}

void LinkWatch::heartbeat(const CommandStamps& s, std::uint64_t now_ns) noexcept {
  if (s.ends) span_.end(now_ns);
  if (s.states_received != 0) count_states(s, now_ns);
}

void LinkWatch::request(std::uint64_t now_ns) noexcept {
  last_request_ns_ = now_ns;
  heard_tick_ = tick_;
  quiet_cycles_ = 0;
}

void LinkWatch::datagram(std::uint64_t now_ns) noexcept {
  heard_tick_ = tick_;
  quiet_cycles_ = 0;
  ++datagrams_;
  last_datagram_ns_ = now_ns;
  totals_.mute_client = false;
}

void LinkWatch::applied(std::uint32_t age_us) noexcept {
  applied_ = true;
  meter_.wait(std::int64_t{1000} * age_us);
}

// A client that was suspended speaks first when it wakes, and reads then: only at the third look, with looks as regular
// as heartbeats, it is deaf.
void LinkWatch::count_states(const CommandStamps& s, std::uint64_t now_ns) noexcept {
  if (s.states_received != 0) totals_.states_received = s.states_received;
  totals_.down_lost = s.states_lost;
  totals_.states_due = s.states_due;
  const std::uint64_t since = now_ns - looked_ns_;
  if (since < kLookNs) return;
  const bool same = s.states_received == received_before_ && states_sent_ > sent_before_ && since < kLookMaxNs;
  same_ = same ? same_ + 1 : 0;
  totals_.deaf_client = same_ >= 2;
  looked_ns_ = now_ns;
  received_before_ = s.states_received;
  sent_before_ = states_sent_;
}

// Requests come over TCP, and for a while after them no datagram: UDP does not pass.
void LinkWatch::look_for_mute_client(std::uint64_t now_ns) noexcept {
  if (last_datagram_ns_ != 0 && last_request_ns_ > last_datagram_ns_ + kSilentNs &&
      now_ns > last_request_ns_ + kGraceNs)
    totals_.mute_client = true;
}

// A client tells of itself four times a second, whatever its loop does: one that does not stands still. Counted in
// ticks: while the server stands still it hears nobody.
void LinkWatch::count_unheard(const TickStamps& s) noexcept {
  ++quiet_cycles_;
  const auto ticks = static_cast<double>(s.tick - std::min(s.tick, heard_tick_));
  if (1000 * s.period_us * ticks < static_cast<double>(kSilentNs)) return;
  totals_.unheard += std::exchange(quiet_cycles_, 0);
}

void LinkWatch::tick(const TickStamps& s, std::uint64_t up_received, std::uint64_t up_lost,
                     std::uint64_t refused) noexcept {
  tick_ = s.tick;
  sent_[s.tick % sent_.size()] = {s.tick, s.send_ns};
  ++states_sent_;
  const std::uint64_t skipped = s.ticks_missed > ticks_missed_ ? s.ticks_missed - ticks_missed_ : 0;
  ticks_missed_ = s.ticks_missed;
  const bool applied = std::exchange(applied_, false);
  const ControlSpan::Phase phase = span_.cycle(s.send_ns);
  if (phase == ControlSpan::Phase::off) return;
  look_for_mute_client(s.send_ns);
  totals_.up_received = up_received;
  totals_.up_lost = up_lost;
  totals_.refused = refused;
  totals_.commands_sent = commands_ + up_lost;
  if (phase == ControlSpan::Phase::silent) return meter_.revise(totals_);
  if (phase == ControlSpan::Phase::begins) return meter_.begin(totals_);
  count_unheard(s);
  meter_.set_period_us(s.period_us);
  meter_.server(static_cast<std::int64_t>(1000 * s.wake_late_us), static_cast<std::int64_t>(1000 * s.work_us));
  totals_.skipped += skipped;
  for (std::uint64_t i = 0; i < std::min(skipped, kSkippedMax); ++i) meter_.cycle(false, totals_);
  meter_.cycle(applied, totals_);
}

}  // namespace tactus
