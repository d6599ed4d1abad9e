#include "proto/cpp/link_quality.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace tactus {
namespace {

constexpr double kWell = 0.98;  // share of good cycles from which on nothing is the matter
constexpr double kFew = 10;     // missed cycles: fewer are nothing, of however few that is
constexpr std::int64_t kMinimumNs = 10'000'000'000;
constexpr std::uint64_t kIdleNs = 1'000'000'000;       // without a command: cycles are not counted any more
constexpr std::uint64_t kForgottenNs = 5'000'000'000;  // the loop is over, whatever it says
constexpr std::uint32_t kLoopCommands = 10;            // fewer in a row are no control loop
constexpr double kBusy = 0.8;     // share of its time from which on a controller is slow because it cannot be faster
constexpr double kLiving = 1.25;  // periods of its own that a command may be short of living to the next, by jitter

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

// Of a client that does not say which states it could have answered. It answers the newest of those that have come: of
// the ones that it leaves out some came while it was busy (a time beyond the period costs so many periods' states), the
// others together with a newer one: they were bunched.
double left_out_busy(const LinkFigures& f) {
  const double usual = std::min(f.compute_us.p50, f.period_us), beyond = std::max(0.0, f.compute_us.mean - usual);
  return std::min(f.unanswered, (1 - f.unanswered) * beyond / f.period_us);
}

LinkCause largest_blame(const LinkFigures& f) {
  if (f.deaf_client || f.mute_client) return LinkCause::lossy_link;
  const double own = std::max(f.unheard, f.tells_due ? f.left_out : left_out_busy(f)),
               overtaken = f.tells_due ? f.overtaken : f.unanswered - own, lost = f.lost_down + f.lost_up;
  const double rest = std::max(0.0, 1 - f.success_rate_window - lost - own - overtaken - f.skipped - f.refused);
  std::array<Blame, 5> blame{{{LinkCause::lossy_link, lost},
                              {LinkCause::slow_client, own},
                              {LinkCause::slow_server, f.skipped},
                              {LinkCause::refused, f.refused},
                              {LinkCause::jittery_link, f.tells_due ? overtaken : 0}}};
  const LinkCause whose = widest(f);
  for (Blame& b : blame) b.share += b.cause == whose ? rest + (f.tells_due ? 0 : overtaken) : 0;
  return std::max_element(blame.begin(), blame.end(), [](const Blame& a, const Blame& b) { return a.share < b.share; })
      ->cause;
}

template <class... Values>
std::string text(const char* format, Values... values) {
  char out[400];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

std::string lost_by_link(const LinkFigures& f) {
  if (f.deaf_client || f.mute_client)
    return text("the link passes datagrams one way only: nothing of the %s arrives at the %s, though TCP does",
                f.deaf_client ? "server" : "client", f.deaf_client ? "client" : "server");
  return text("the link loses datagrams: %.1f %% of those to the client, %.1f %% of those to the server never came",
              100 * f.lost_down, 100 * f.lost_up);
}

std::string slow_client(const LinkFigures& f) {
  if (f.unheard > 2 * f.left_out)  // it has not told what it had meanwhile
    return text("the client stood still: in %.1f %% of the cycles nothing came from it, by whatever way",
                100 * f.unheard);
  if (!f.tells_due)
    return text(
        "the client is slow: it answered %.0f %% of the states that reached it, %.0f us (p50; p99 %.0f) after their "
        "arrival, with a period of %.0f us",
        100 * (1 - f.unanswered), f.compute_us.p50, f.compute_us.p99, f.period_us);
  return text(
      "the client is slow: it left out commands of %.1f %% of the cycles, though it had their states; it answered %.0f "
      "us (p50; longest %.0f) after a state's arrival, with a period of %.0f us",
      100 * f.left_out, f.compute_us.p50, f.compute_us.max, f.period_us);
}

std::string reason(const LinkFigures& f) {
  switch (f.cause) {
    case LinkCause::lossy_link:
      return lost_by_link(f);
    case LinkCause::slow_client:
      return slow_client(f);
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
  const unsigned long long n = f.window_cycles;
  if (n < 100) {
    f.cause = LinkCause::unknown;
    f.explanation = text("Too few cycles to judge: %llu, at least 100 are needed.", n);
    return;
  }
  const double missed = (1 - f.success_rate_window) * static_cast<double>(n);
  if (f.success_rate_window >= kWell || missed < kFew - 0.5) {
    f.cause = LinkCause::none;
    f.explanation =
        text("All is well: %.1f %% of the last %llu cycles got a command in time", 100 * f.success_rate_window, n);
    f.explanation += f.own_period > 1 ? text("; the client means to send one in %.1f cycles.", f.own_period) : ".";
    return;
  }
  f.cause = largest_blame(f);
  f.explanation = text("%.1f %% of the last %llu cycles got no command in time (up to %u in a row): ",
                       100 * (1 - f.success_rate_window), n, f.lost_in_a_row_window) +
                  reason(f) + ".";
}

void DueStates::arrived(std::int64_t ns) noexcept {
  if (waiting_) {
    const std::int64_t begins = std::max(arrived_ns_, free_ns_);
    if (begins <= ns) {
      ++count_;
      free_ns_ = begins + usual_ns_;
    }
  }
  waiting_ = true;
  arrived_ns_ = ns;
}

// The median, followed in small steps: what is rare moves it little, however long it is.
void DueStates::answered(std::int64_t after_ns, std::int64_t period_ns) noexcept {
  const std::int64_t step = period_ns / 64;
  usual_ns_ = std::clamp<std::int64_t>(usual_ns_ + (after_ns > usual_ns_ ? step : -step), 0, period_ns / 2);
}

void OwnPeriod::command(const CommandNote& note) noexcept {
  const bool follows = last_.sequence != 0 && note.sequence > last_.sequence && note.states_due >= last_.states_due &&
                       note.send_ns > last_.send_ns && last_.states_due != 0;
  if (follows) {
    const std::uint64_t numbers = note.sequence - last_.sequence, others = note.others - last_.others;
    const auto commands = static_cast<double>(numbers > others ? numbers - others : 1);  // those that were lost, too
    const std::size_t at = count_++ % kKept;
    due_[at] = static_cast<double>(note.states_due - last_.states_due) / commands;
    interval_ns_[at] = static_cast<double>(note.send_ns - last_.send_ns) / commands;
    const double worked = note.recv_ns == 0 ? 0 : static_cast<double>(note.send_ns - note.recv_ns);
    busy_[at] = worked / interval_ns_[at];
  }
  if (note.sequence > last_.sequence) last_ = note;
  if (follows && (count_ % kJudgeEvery == 0 || (count_ >= kFewest && count_ < kJudgeEvery))) judge();
}

void OwnPeriod::judge() noexcept {
  const auto n = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, kKept));
  const auto median = [n](std::array<double, kKept> values) {
    std::nth_element(values.begin(), values.begin() + n / 2, values.begin() + n);
    return values[static_cast<std::size_t>(n / 2)];
  };
  const double due = median(due_), interval_us = 1e-3 * median(interval_ns_);
  const bool lives = interval_us <= kLiving * static_cast<double>(last_.deadline_us);
  cycles_ = due >= 1.5 && lives && median(busy_) < kBusy ? due : 1;
}

bool ControlSpan::command(std::uint64_t now_ns, bool ends) noexcept {
  const bool follows = now_ns <= last_ns_ + kIdleNs;
  last_ns_ = now_ns;
  if (ends) {
    end(now_ns);
    return false;
  }
  streak_ = follows ? streak_ + 1 : 1;
  const bool runs = running_ && over_ns_ == kNever;
  if (!runs && streak_ >= kLoopCommands) {
    running_ = true;
    begun_ = false;
    over_ns_ = kNever;
  }
  return !runs && streak_ == 1;
}

void ControlSpan::end(std::uint64_t now_ns) noexcept {
  over_ns_ = std::min(over_ns_, now_ns);
  streak_ = 0;
}

ControlSpan::Phase ControlSpan::cycle(std::uint64_t now_ns) noexcept {
  if (now_ns > over_ns_ || now_ns > last_ns_ + kForgottenNs) running_ = begun_ = false;
  if (!running_) return Phase::off;
  if (now_ns > last_ns_ + kIdleNs) return Phase::silent;
  return std::exchange(begun_, true) ? Phase::on : Phase::begins;
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
  const auto skip = [&](std::uint64_t Totals::*field) { before_.*field += totals.*field - totals_.*field; };
  for (const auto field : {&Totals::states_received, &Totals::down_lost, &Totals::commands_sent, &Totals::up_received,
                           &Totals::up_lost, &Totals::skipped, &Totals::refused, &Totals::states_due, &Totals::unheard})
    skip(field);
  totals_ = totals;
  since_applied_ = 0;
}

void LinkMeter::cycle(bool applied, const Totals& totals) noexcept {
  if (cycles_ % kMarkEvery == 0) {
    Mark& mark = marks_[cycles_ / kMarkEvery % marks_.size()];
    mark = {cycles_, good_, totals_, before_};
  }
  totals_ = totals;
  since_applied_ = applied ? 0 : since_applied_ + 1;
  const double own = own_period_.cycles();
  const bool good = static_cast<double>(since_applied_) < (own > 1 ? std::max(1.5 * own, own + 2) : 1);
  recent_[cycles_ % recent_.size()] = good;
  ++cycles_;
  good_ += good ? 1 : 0;
  lost_in_a_row_ = good ? 0 : lost_in_a_row_ + 1;
  lost_in_a_row_max_ = std::max(lost_in_a_row_max_, lost_in_a_row_);
}

std::uint32_t LinkMeter::longest_row(std::uint64_t cycles) const noexcept {
  std::uint32_t row = 0, longest = 0;
  for (std::uint64_t i = cycles_ - std::min<std::uint64_t>(cycles, kRecent); i < cycles_; ++i) {
    row = recent_[i % kRecent] ? 0 : row + 1;
    longest = std::max(longest, row);
  }
  return longest;
}

void LinkMeter::shares(LinkFigures& f) const {
  // The oldest mark that is kept: 1,000 to 1,100 cycles ago.
  const std::uint64_t newest = cycles_ == 0 ? 0 : (cycles_ - 1) / kMarkEvery;
  const Mark& from = marks_[(newest < marks_.size() ? 0 : newest + 1) % marks_.size()];
  const auto during = [&](std::uint64_t Totals::*field) {
    const std::uint64_t aside = before_.*field - from.before.*field;
    return grown(totals_.*field - aside, from.totals.*field);
  };
  const std::uint64_t cycles = cycles_ - from.cycles, received = during(&Totals::states_received),
                      down_lost = during(&Totals::down_lost), up_lost = during(&Totals::up_lost),
                      sent = during(&Totals::commands_sent), due = during(&Totals::states_due);
  f.window_cycles = cycles;
  f.lost_in_a_row_window = longest_row(cycles);
  f.own_period = own_period_.cycles();
  f.tells_due = totals_.states_due > 0;
  f.deaf_client = totals_.deaf_client;
  f.mute_client = totals_.mute_client;
  f.success_rate_window = cycles == 0 ? 1 : share(good_ - from.good, cycles);
  f.lost_down = share(down_lost, down_lost + received);
  f.lost_up = share(up_lost, up_lost + during(&Totals::up_received));
  f.unanswered = received <= sent ? 0 : share(received - sent, received);
  // What is told after a long silence may be of more cycles than were counted in it.
  const double missed = 1 - f.success_rate_window;
  const double owed = static_cast<double>(due) / f.own_period - static_cast<double>(sent);
  f.left_out = cycles == 0 ? 0 : std::clamp(owed / static_cast<double>(cycles), 0.0, missed);
  f.overtaken = received <= due || !f.tells_due ? 0 : share(received - due, cycles);
  f.skipped = share(during(&Totals::skipped), cycles);
  f.refused = share(during(&Totals::refused), cycles);
  f.unheard = std::min(missed, share(during(&Totals::unheard), cycles));
  const double answered_for = std::max(f.unheard, f.tells_due ? f.left_out : f.unanswered);
  f.bunched = std::max(0.0, missed - f.lost_down - f.lost_up - answered_for - f.skipped - f.refused);
}

LinkFigures LinkMeter::figures() const {
  LinkFigures f;
  f.cycles = cycles_;
  f.period_us = period_us_;
  const std::uint64_t n = std::min<std::uint64_t>(cycles_, 100);
  std::uint64_t good = 0;
  for (std::uint64_t i = cycles_ - n; i < cycles_; ++i) good += recent_[i % kRecent] ? 1 : 0;
  if (n > 0) f.success_rate = share(good, n);
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
