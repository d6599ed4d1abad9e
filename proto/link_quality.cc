#include "proto/link_quality.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace tactus {
namespace {

constexpr double kWell = 0.98;  // share of good cycles from which on nothing is the matter
constexpr std::int64_t kMinimumNs = 10'000'000'000;

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(all));
}

std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;  // losses shrink when a datagram comes late
}

// Beyond the shortest: what moves commands from one tick into another.
double width(const Spread& s) {
  return s.count == 0 ? 0 : s.p99 - s.min;
}

struct Blame {
  LinkCause cause;
  double share;
};

LinkCause widest(const LinkFigures& f) {
  const double link = width(f.down_us) + width(f.up_us), client = width(f.compute_us),
               server = width(f.wake_late_us) + width(f.work_us);
  if (link >= client && link >= server) return LinkCause::jittery_link;
  return client >= server ? LinkCause::slow_client : LinkCause::slow_server;
}

// A client answers the newest of the states that have come: of those that it leaves out some came while it was busy
// (a time beyond the period costs so many periods' states), the others together with a newer one: they were bunched.
double left_out_busy(const LinkFigures& f) {
  const double usual = std::min(f.compute_us.p50, f.period_us), beyond = std::max(0.0, f.compute_us.mean - usual);
  return std::min(f.unanswered, (1 - f.unanswered) * beyond / f.period_us);
}

LinkCause largest_blame(const LinkFigures& f) {
  const double busy = left_out_busy(f), bunched = f.bunched + f.unanswered - busy;
  std::array<Blame, 5> blame{{{LinkCause::lossy_link, f.lost_down + f.lost_up},
                              {LinkCause::slow_client, busy},
                              {LinkCause::slow_server, f.skipped},
                              {LinkCause::refused, f.refused},
                              {LinkCause::jittery_link, 0}}};
  const LinkCause rest = widest(f);
  for (Blame& b : blame) b.share += b.cause == rest ? bunched : 0;
  return std::max_element(blame.begin(), blame.end(), [](const Blame& a, const Blame& b) { return a.share < b.share; })
      ->cause;
}

template <class... Values>
std::string text(const char* format, Values... values) {
  char out[400];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

std::string reason(const LinkFigures& f) {
  switch (f.cause) {
    case LinkCause::lossy_link:
      return text("the link loses datagrams: %.1f %% of those to the client, %.1f %% of those to the server never came",
                  100 * f.lost_down, 100 * f.lost_up);
    case LinkCause::slow_client:
      return text(
          "the client is slow: it answered %.0f %% of the states that reached it, %.0f us (p50; p99 %.0f) after their "
          "arrival, with a period of %.0f us",
          100 * (1 - f.unanswered), f.compute_us.p50, f.compute_us.p99, f.period_us);
    case LinkCause::jittery_link:
      return text(
          "the link is jittery: beyond the shortest time, datagrams took up to %.0f us more (p99) to the client, %.0f "
          "us to the server, with a period of %.0f us",
          width(f.down_us), width(f.up_us), f.period_us);
    case LinkCause::slow_server:
      return text(
          "the server is slow: it skipped %.1f %% of its ticks; they began %.0f us late (p99) and took %.0f us "
          "(p99) of a period of %.0f us",
          100 * f.skipped, f.wake_late_us.p99, f.work_us.p99, f.period_us);
    default:
      return text("the server refused commands in %.0f %% of them: the verdicts say why", 100 * f.refused);
  }
}

}  // namespace

const char* to_string(LinkCause cause) noexcept {
  constexpr std::array<const char*, 7> kNames{"unknown",      "none",        "slow_client", "lossy_link",
                                              "jittery_link", "slow_server", "refused"};
  return kNames[static_cast<std::size_t>(cause)];
}

void diagnose(LinkFigures& f) {
  const unsigned long long n = std::min<std::uint64_t>(f.cycles, 1000);
  if (f.cycles < 100) {
    f.cause = LinkCause::unknown;
    f.explanation = text("Too few cycles to judge: %llu, at least 100 are needed.", n);
    return;
  }
  if (f.success_rate_window >= kWell) {
    f.cause = LinkCause::none;
    f.explanation =
        text("All is well: %.1f %% of the last %llu cycles got a command in time.", 100 * f.success_rate_window, n);
    return;
  }
  f.cause = largest_blame(f);
  f.explanation = text("%.1f %% of the last %llu cycles got no command in time (up to %u in a row): ",
                       100 * (1 - f.success_rate_window), n, f.lost_in_a_row_max) +
                  reason(f) + ".";
}

Spread TimeSamples::spread(std::int64_t minus) const {
  Spread out;
  out.count = count_;
  const std::size_t n = std::min<std::uint64_t>(count_, last_.size());
  if (n == 0) return out;
  std::vector<double> us;
  us.reserve(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    us.push_back(1e-3 * static_cast<double>(last_[i] - minus));
    sum += us.back();
  }
  const auto [least, greatest] = std::minmax_element(us.begin(), us.end());
  out.min = *least;
  out.max = *greatest;
  auto end = us.end();
  const auto at = [&](double p) {  // from the highest down: what lies above is left out of the next search
    const auto rank = static_cast<std::ptrdiff_t>(std::ceil(p * static_cast<double>(n))) - 1;
    const auto place = us.begin() + std::max<std::ptrdiff_t>(0, rank);
    std::nth_element(us.begin(), place, end);
    end = place + 1;
    return *place;
  };
  out.p999 = at(0.999);
  out.p99 = at(0.99);
  out.p50 = at(0.5);
  out.mean = sum / static_cast<double>(n);
  return out;
}

void RecentMinimum::add(std::int64_t value, std::uint64_t now_ns) noexcept {
  if (now_ns - since_ns_ > static_cast<std::uint64_t>(kMinimumNs)) {
    before_ = now_;
    now_ = kNone;
    since_ns_ = now_ns;
  }
  now_ = std::min(now_, value);
}

void LinkMeter::down(std::int64_t difference_ns, std::uint64_t now_ns) noexcept {
  down_.add(difference_ns);
  down_min_.add(difference_ns, now_ns);
}

void LinkMeter::up(std::int64_t difference_ns, std::uint64_t now_ns) noexcept {
  up_.add(difference_ns);
  up_min_.add(difference_ns, now_ns);
}

void LinkMeter::server(std::int64_t wake_late_ns, std::int64_t work_ns) noexcept {
  wake_late_.add(wake_late_ns);
  work_.add(work_ns);
}

void LinkMeter::begin(const Totals& totals) noexcept {
  totals_ = totals;
  marks_.fill({cycles_, good_, totals});
}

void LinkMeter::cycle(bool good, const Totals& totals) noexcept {
  if (cycles_ % kMarkEvery == 0) marks_[cycles_ / kMarkEvery % marks_.size()] = {cycles_, good_, totals_};
  totals_ = totals;
  recent_[cycles_ % recent_.size()] = good;
  ++cycles_;
  good_ += good ? 1 : 0;
  lost_in_a_row_ = good ? 0 : lost_in_a_row_ + 1;
  lost_in_a_row_max_ = std::max(lost_in_a_row_max_, lost_in_a_row_);
}

void LinkMeter::shares(LinkFigures& f) const {
  // The oldest mark that is kept: 1,000 to 1,100 cycles ago.
  const std::uint64_t newest = cycles_ == 0 ? 0 : (cycles_ - 1) / kMarkEvery;
  const Mark& from = marks_[(newest < marks_.size() ? 0 : newest + 1) % marks_.size()];
  const Totals &a = from.totals, &b = totals_;
  const std::uint64_t cycles = cycles_ - from.cycles, received = grown(b.states_received, a.states_received),
                      down_lost = grown(b.down_lost, a.down_lost), up_lost = grown(b.up_lost, a.up_lost),
                      sent = grown(b.commands_sent, a.commands_sent), skipped = grown(b.skipped, a.skipped);
  f.success_rate_window = cycles == 0 ? 1 : share(good_ - from.good, cycles);
  f.lost_down = share(down_lost, down_lost + received);
  f.lost_up = share(up_lost, up_lost + grown(b.up_received, a.up_received));
  f.unanswered = received <= sent ? 0 : share(received - sent, received);
  f.skipped = share(skipped, cycles);
  f.refused = share(grown(b.refused, a.refused), cycles);
  f.bunched = std::max(0.0, 1 - f.success_rate_window - f.lost_down - f.lost_up - f.unanswered - f.skipped - f.refused);
}

LinkFigures LinkMeter::figures() const {
  LinkFigures f;
  f.cycles = cycles_;
  f.period_us = period_us_;
  const std::uint64_t n = std::min<std::uint64_t>(cycles_, recent_.size());
  if (n > 0) f.success_rate = share(recent_.count(), n);
  f.lost_in_a_row = lost_in_a_row_;
  f.lost_in_a_row_max = lost_in_a_row_max_;
  shares(f);
  f.compute_us = compute_.spread();
  f.wake_late_us = wake_late_.spread();
  f.work_us = work_.spread();
  f.wait_us = wait_.spread();
  if (down_min_.known() && up_min_.known()) {
    // Opposite offsets of the clocks cancel in the sum, which is small where its terms are not.
    const std::int64_t round_trip = std::max<std::int64_t>(0, down_min_.value() + up_min_.value());
    f.round_trip_min_us = 1e-3 * static_cast<double>(round_trip);
    f.down_us = down_.spread(down_min_.value() - round_trip / 2);
    f.up_us = up_.spread(up_min_.value() - round_trip / 2);
  }
  diagnose(f);
  return f;
}

}  // namespace tactus
