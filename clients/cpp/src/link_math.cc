#include "clients/cpp/src/link_math.h"

#include <algorithm>

namespace tactus::client {
namespace {

// UDP one way. Pongs come every 100 ms, states mostly every millisecond; over TCP something comes every 700 ms.
constexpr std::int64_t kSilentNs = 250'000'000;
constexpr std::int64_t kGraceNs = 20'000'000;  // both are read in one turn of the io thread: after a suspension, too
constexpr std::uint64_t kUnheardStates = 10;   // the first states of a server that was suspended echo nothing new

}  // namespace

bool ReplayWindow::accept(std::uint64_t sequence) {
  if (sequence == 0) return false;
  if (newest_ == 0 || sequence > newest_) {
    const std::uint64_t shift = newest_ == 0 ? 64 : sequence - newest_;
    seen_ = shift >= 64 ? 1 : (seen_ << shift) | 1;
    if (newest_ == 0) first_ = sequence;
    newest_ = sequence;
    ++accepted_;
    return true;
  }
  const std::uint64_t back = newest_ - sequence;
  if (back >= 64 || (seen_ >> back) & 1) return false;
  seen_ |= std::uint64_t{1} << back;
  first_ = std::min(first_, sequence);
  ++accepted_;
  return true;
}

ClockFilter::Sample ClockFilter::add(std::int64_t t0, std::int64_t server_recv, std::int64_t server_send,
                                     std::int64_t t3) {
  const Sample sample{(t3 - t0) - (server_send - server_recv), ((server_recv - t0) + (server_send - t3)) / 2};
  if (t3 < t0 || server_send < server_recv || sample.round_trip_ns < 0) return sample;
  samples_[clock_.samples % samples_.size()] = sample;
  ++clock_.samples;
  const auto end =
      samples_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(clock_.samples, samples_.size()));
  const auto best = std::min_element(
      samples_.begin(), end, [](const Sample& a, const Sample& b) { return a.round_trip_ns < b.round_trip_ns; });
  clock_.valid = true;
  clock_.offset_ns = best->offset_ns;
  clock_.round_trip_ns = best->round_trip_ns;
  clock_.round_trip_last_ns = sample.round_trip_ns;
  return sample;
}

void VerdictTracker::sent(std::uint64_t sequence, std::int64_t now) {
  Entry& entry = slot(sequence);
  if (entry.pending) --pending_;  // 2,048 datagrams without an answer; expire() should have come first
  entry = {sequence, now, true};
  newest_ = std::max(newest_, sequence);
  ++pending_;
}

void VerdictTracker::unsent(std::uint64_t sequence) {
  Entry& entry = slot(sequence);
  if (entry.sequence != sequence || !entry.pending) return;
  entry.pending = false;
  --pending_;
}

void VerdictTracker::receive(const v1::StatePacket& p, std::int64_t now, std::vector<Verdict>& out) {
  const int n = p.verdict_sequence_size();
  if (p.verdict_code_size() != n || p.verdict_tick_size() != n || p.verdict_age_us_size() != n) return;
  take(p.verdict_number(), p.verdict_sequence(), p.verdict_code(), p.verdict_tick(), p.verdict_age_us(),
       p.verdict_item(), now, out);
  heard(p.echo_sequence(), now);
}

void VerdictTracker::receive(const v1::VerdictPacket& p, std::int64_t now, std::vector<Verdict>& out) {
  const int n = p.sequence_size();
  if (p.code_size() != n || p.tick_size() != n || p.age_us_size() != n) return;
  drop(p.dropped());
  take(p.number(), p.sequence(), p.code(), p.tick(), p.age_us(), p.item(), now, out);
}

template <class Sequences, class Codes, class Ticks, class Ages, class Items>
void VerdictTracker::take(std::uint64_t number, const Sequences& sequences, const Codes& codes, const Ticks& ticks,
                          const Ages& ages, const Items& items, std::int64_t now, std::vector<Verdict>& out) {
  for (int i = sequences.size() - 1; i >= 0; --i) {
    if (number > static_cast<std::uint64_t>(i)) note(number - static_cast<std::uint64_t>(i));
    Entry& entry = slot(sequences.Get(i));
    if (!entry.pending || entry.sequence != sequences.Get(i)) continue;
    entry.pending = false;
    --pending_;
    Verdict verdict;
    verdict.sequence = entry.sequence;
    verdict.code = static_cast<int>(codes.Get(i));
    verdict.tick = ticks.Get(i);
    verdict.age_us = ages.Get(i);
    verdict.item = items.size() == sequences.size() ? items.Get(i) : 0;
    verdict.sent_ns = entry.sent_ns;
    verdict.received_ns = now;
    out.push_back(verdict);
  }
}

void VerdictTracker::note(std::uint64_t number) {
  if (number <= received_ || number > received_ + kNumbers) return;
  highest_ = std::max(highest_, number);
  ahead_.set(number % kNumbers);
  while (ahead_.test((received_ + 1) % kNumbers)) {
    ++received_;
    ahead_.reset(received_ % kNumbers);
  }
}

void VerdictTracker::drop(std::uint64_t dropped) {
  while (received_ < dropped) {
    if (!ahead_.test((received_ + 1) % kNumbers)) ++numbers_lost_;
    ++received_;
    ahead_.reset(received_ % kNumbers);
  }
  highest_ = std::max(highest_, received_);
}

void VerdictTracker::heard(std::uint64_t echo_sequence, std::int64_t now) {
  if (echo_ns_ != 0 && now - echo_ns_ < kSettledNs) return;
  settled_ = echo_;
  echo_ = echo_sequence;
  echo_ns_ = now;
}

void VerdictTracker::expire(std::int64_t now, std::vector<Verdict>& out) {
  if (newest_ >= entries_.size()) oldest_ = std::max(oldest_, newest_ - entries_.size() + 1);
  for (; oldest_ <= newest_; ++oldest_) {
    Entry& entry = slot(oldest_);
    if (entry.sequence != oldest_ || !entry.pending) continue;
    if (now - entry.sent_ns < kUnansweredNs) return;
    if (highest_ > 0 && (received_ < highest_ || oldest_ >= settled_)) return;  // its verdict may still come
    entry.pending = false;
    --pending_;
    Verdict verdict;
    verdict.sequence = entry.sequence;
    verdict.sent_ns = entry.sent_ns;
    verdict.received_ns = now;
    out.push_back(verdict);
  }
}

void Quality::Window::push(bool ok) {
  good[at] = ok;
  at = (at + 1) % kWindow;
  filled = std::min(filled + 1, kWindow);
}

void Quality::on_state(const State& state, std::uint32_t decimation, const Datagrams& datagrams) {
  const std::uint64_t packets_lost = datagrams.lost + datagrams.overflowed;
  const std::uint64_t step = std::max<std::uint32_t>(decimation, 1);
  std::uint64_t lost = 0;
  if (states_ > 0 && state.scene_epoch == epoch_ && state.tick > tick_ + step) lost = (state.tick - tick_) / step - 1;
  // A jump of the tick without a gap in the sequence is a restore, a grant or a pause, not a loss.
  const std::uint64_t gap = packets_lost > packets_lost_ ? packets_lost - packets_lost_ : 0;
  lost = std::min(lost, gap);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(lost, kWindow); ++i) received_.push(false);
  received_.push(true);
  const std::uint64_t from_tick = states_ > 0 && state.scene_epoch == epoch_ ? tick_ : state.tick;
  lost_in_a_row_ = static_cast<std::uint32_t>(lost);
  lost_in_a_row_max_ = std::max(lost_in_a_row_max_, lost_in_a_row_);
  states_lost_ += lost;
  ++states_;
  epoch_ = state.scene_epoch;
  tick_ = state.tick;
  packets_lost_ = packets_lost;
  const std::int64_t arrived_ns = datagrams.arrived_ns != 0 ? datagrams.arrived_ns : state.receive_ns;
  received_at_[state.tick % received_at_.size()] = {state.tick, arrived_ns};
  if (datagrams.overflowed > overflowed_) {
    const std::uint64_t unread =
        std::min(lost, datagrams.overflowed - overflowed_);  // a state may be several datagrams
    due_.overflowed(unread);
    states_unread_ += unread;
  }
  overflowed_ = datagrams.overflowed;
  due_.arrived(arrived_ns);
  From from{from_tick, arrived_ns_};
  arrived_ns_ = arrived_ns;
  step_ = step;
  look_for_muteness(state, arrived_ns);
  totals_.down_lost = datagrams.lost;
  count_times(state, arrived_ns);
  // Far, and no datagrams missing in between: a restore or a pause, no cycles.
  if (state.tick > from.tick + kFarTicks && lost == 0) from.tick = state.tick;
  count_cycles(state, step, from, arrived_ns);
}

void Quality::on_sent(const Sent& sent) {
  ++counts_.sent;
  if (newest_sent_ <= echoed_) unheard_ns_ = sent.ns;
  newest_sent_ = sent.sequence;
  const bool begins = span_.command(static_cast<std::uint64_t>(sent.ns), sent.ends);
  const std::int64_t received = receive_ns(sent.expected_tick);
  meter_.command({.sequence = sent.sequence,
                  .states_due = due_.count(),
                  .send_ns = sent.ns,
                  .recv_ns = received,
                  .deadline_us = sent.deadline_us,
                  .others = sent.sequence - counts_.sent},
                 begins);
  if (received == 0) return;
  meter_.compute(sent.ns - received);
  due_.answered(sent.ns - received, static_cast<std::int64_t>(period_ns_));
}

std::int64_t Quality::receive_ns(std::uint64_t tick) const {
  const Received& r = received_at_[tick % received_at_.size()];
  return tick != 0 && r.tick == tick ? r.ns : 0;
}

bool Quality::applied_within(std::uint64_t after, std::uint64_t until) const {
  for (std::uint64_t t = after + 1; t <= until; ++t) {
    if (applied_[t % applied_.size()] == t) return true;
  }
  return false;
}

// States that go on to echo nothing new of the commands that leave: the server hears none of them.
void Quality::look_for_muteness(const State& state, std::int64_t arrived_ns) {
  if (state.echo_sequence > echoed_ || newest_sent_ <= echoed_) {
    states_unheard_ = 0;
    unheard_ns_ = std::max(unheard_ns_, arrived_ns);
    totals_.mute_client = false;
    return;
  }
  ++states_unheard_;
  totals_.mute_client = states_unheard_ >= kUnheardStates && arrived_ns - unheard_ns_ > kSilentNs;
}

void Quality::look_for_deafness(std::int64_t now_ns, std::int64_t datagram_ns, std::int64_t tcp_ns) {
  const bool silent = datagram_ns != 0 && tcp_ns - datagram_ns > kSilentNs;
  totals_.deaf_client = silent && (totals_.deaf_client || now_ns - tcp_ns > kGraceNs);
}

void Quality::count_silence(LinkMeter& meter, std::int64_t now_ns) const {
  if (!totals_.deaf_client) return;
  meter.revise(totals_);
  ControlSpan span = span_;
  const double every_ns = static_cast<double>(step_) * period_ns_;
  for (std::uint64_t i = 1; i <= kFarTicks; ++i) {
    const std::int64_t at = arrived_ns_ + static_cast<std::int64_t>(static_cast<double>(i) * every_ns);
    if (at > now_ns || span.cycle(static_cast<std::uint64_t>(at)) != ControlSpan::Phase::on) return;
    meter.cycle(false, totals_);
  }
}

void Quality::count_times(const State& state, std::int64_t arrived_ns) {
  const auto arrived = static_cast<std::uint64_t>(arrived_ns);
  if (state.echo_sequence > echoed_ && state.echo_client_send_ns != 0) {
    echoed_ = state.echo_sequence;
    meter_.up(state.echo_server_recv_ns - state.echo_client_send_ns, arrived);
  }
  meter_.down(arrived_ns - state.send_ns, arrived);
}

// The cycles between two states: those whose states were lost, and those that the server skipped, too. What was counted
// meanwhile becomes known with the last of them.
void Quality::count_cycles(const State& state, std::uint64_t step, From from, std::int64_t arrived_ns) {
  const LinkMeter::Totals before = totals_;
  totals_.states_received = states();
  totals_.states_due = states_due();
  totals_.commands_sent = counts_.sent;
  totals_.up_received = state.echo_sequence > state.up_lost ? state.echo_sequence - state.up_lost : 0;
  totals_.up_lost = state.up_lost;
  totals_.refused = counts_.refused;
  const std::uint64_t missed = state.ticks_missed > ticks_missed_ ? state.ticks_missed - ticks_missed_ : 0;
  ticks_missed_ = state.ticks_missed;
  const bool lockstep = (state.status_bits & v1::STATUS_LOCKSTEP) != 0;
  const std::uint64_t ticks = state.tick > from.tick ? state.tick - from.tick : 0,
                      width = lockstep && ticks > 0 ? ticks : step, n = ticks / width;
  const double every_ns =
      static_cast<double>(arrived_ns - from.arrived_ns) / static_cast<double>(std::max<std::uint64_t>(n, 1));
  bool counted = false;
  for (std::uint64_t i = 1; i < n; ++i) {
    const std::uint64_t t = from.tick + i * width;
    const auto ago_ns = static_cast<std::int64_t>(static_cast<double>(n - i) * every_ns);
    if (!is_cycle(arrived_ns - ago_ns)) continue;
    meter_.cycle(applied_within(t - width, t), before);
    counted = true;
  }
  const bool is_last = is_cycle(arrived_ns);
  if (n == 0 || !is_last) {
    if (counted || is_last) meter_.revise(totals_);
    return;
  }
  totals_.skipped += missed;
  meter_.server(static_cast<std::int64_t>(1000 * state.wake_late_us), static_cast<std::int64_t>(1000 * state.work_us));
  for (std::uint64_t i = 0; i < std::min(missed, kFarTicks); ++i) meter_.cycle(false, totals_);
  meter_.cycle(applied_within(state.tick - width, state.tick), totals_);
}

bool Quality::is_cycle(std::int64_t at_ns) {
  switch (span_.cycle(static_cast<std::uint64_t>(at_ns))) {
    case ControlSpan::Phase::off:
      return false;
    case ControlSpan::Phase::begins:
      meter_.begin(totals_);
      return false;
    case ControlSpan::Phase::silent:
      meter_.revise(totals_);
      return false;
    case ControlSpan::Phase::on:
      break;
  }
  return true;
}

void Quality::on_verdict(const Verdict& verdict) {
  if (verdict.in_time()) {
    applied_[verdict.tick % applied_.size()] = verdict.tick;
    meter_.wait(std::int64_t{1000} * verdict.age_us);
  }
  success_.push(verdict.in_time());
  if (verdict.code == v1::VERDICT_APPLIED) ++counts_.applied;
  if (verdict.code == v1::VERDICT_CLAMPED) ++counts_.clamped;
  if (verdict.code == v1::VERDICT_LATE) ++counts_.late;
  if (verdict.code == v1::VERDICT_SUPERSEDED) ++counts_.superseded;
  if (verdict.code == v1::VERDICT_EXPIRED) ++counts_.expired;
  if (verdict.code == v1::VERDICT_NONE) ++counts_.unanswered;
  if (verdict.refused()) ++counts_.refused;
}

void Quality::report(Link& link) const {
  link.success_rate = success_.rate();
  link.received_rate = received_.rate();
  link.lost_in_a_row = lost_in_a_row_;
  link.lost_in_a_row_max = lost_in_a_row_max_;
  link.states = states_;
  link.states_lost = states_lost_;
  link.verdicts = counts_;
}

}  // namespace tactus::client
