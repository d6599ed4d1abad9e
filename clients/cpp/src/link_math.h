// The arithmetic of the link, without sockets or threads: replay window, clock estimate, verdicts, quality.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "proto/cpp/link_quality.h"
#include "realtime.pb.h"
#include "tactus/types.h"

namespace tactus::client {

// Accepts each sequence number once, within 64 behind the newest.
class ReplayWindow {
 public:
  bool accept(std::uint64_t sequence);
  // Numbers that never came, as far as is known now; falls when a late one arrives.
  std::uint64_t lost() const { return newest_ == 0 ? 0 : newest_ - first_ + 1 - accepted_; }

 private:
  std::uint64_t newest_ = 0, first_ = 0, accepted_ = 0, seen_ = 0;
};

// Offset of the server's clock from ours: of the last 64 pings the one with the shortest round trip.
class ClockFilter {
 public:
  struct Sample {
    std::int64_t round_trip_ns, offset_ns;
  };
  // Times of one ping: sent and received by us, received and answered by the server. Impossible ones are ignored.
  Sample add(std::int64_t t0, std::int64_t server_recv, std::int64_t server_send, std::int64_t t3);
  Clock clock() const { return clock_; }

 private:
  std::array<Sample, 64> samples_{};
  Clock clock_;
};

// Each command's verdict once, whatever is repeated, lost or replayed. A command is lost (code 0) when it has no
// verdict after 250 ms. Where the server numbers its verdicts, it must also have seen a later datagram for 200 ms, and
// all verdicts that it gave must have arrived.
class VerdictTracker {
 public:
  static constexpr std::int64_t kUnansweredNs = 250'000'000, kSettledNs = 200'000'000;

  void sent(std::uint64_t sequence, std::int64_t now);
  // The socket did not take it: no verdict is owed.
  void unsent(std::uint64_t sequence);
  // Appends the verdicts of the packet that are new, oldest first.
  void receive(const v1::StatePacket& packet, std::int64_t now, std::vector<Verdict>& out);
  void receive(const v1::VerdictPacket& packet, std::int64_t now, std::vector<Verdict>& out);
  // Appends code 0 for commands that were not answered in time.
  void expire(std::int64_t now, std::vector<Verdict>& out);
  std::size_t pending() const { return pending_; }
  // Every verdict up to this number has arrived, or is counted lost.
  std::uint64_t received() const { return received_; }
  // Verdicts that the server gave and no longer keeps, and that never arrived.
  std::uint64_t numbers_lost() const { return numbers_lost_; }

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    std::int64_t sent_ns = 0;
    bool pending = false;
  };
  Entry& slot(std::uint64_t sequence) { return entries_[sequence % entries_.size()]; }
  // number: of the first row, 0: not numbered. The columns are as long as each other.
  template <class Sequences, class Codes, class Ticks, class Ages, class Items>
  void take(std::uint64_t number, const Sequences& sequences, const Codes& codes, const Ticks& ticks, const Ages& ages,
            const Items& items, std::int64_t now, std::vector<Verdict>& out);
  void note(std::uint64_t number);
  void drop(std::uint64_t dropped);
  void heard(std::uint64_t echo_sequence, std::int64_t now);

  static constexpr std::size_t kNumbers = 8192;  // behind a gap: twice what the server keeps
  std::array<Entry, 2048> entries_{};
  std::uint64_t oldest_ = 1, newest_ = 0;  // sequences that may be pending
  std::size_t pending_ = 0;
  std::bitset<kNumbers> ahead_;  // number n stands at n % kNumbers
  std::uint64_t received_ = 0, highest_ = 0, numbers_lost_ = 0;
  std::uint64_t settled_ = 0, echo_ = 0;  // the server has seen later datagrams than these
  std::int64_t echo_ns_ = 0;
};

// Of the server's datagrams, since the link began.
struct Datagrams {
  std::uint64_t lost = 0;        // on their way
  std::uint64_t overflowed = 0;  // at this machine: nobody read, and the socket was full
  std::int64_t arrived_ns =
      0;  // when the newest reached this machine, which may be long before it was read; 0: not known
};

// Success rate and losses over the last 100 cycles.
class Quality {
 public:
  // A complete state of a stream with this decimation; gaps in the tick number are losses, but never more than
  // `packets_lost`.
  void on_state(const State& state, std::uint32_t decimation, const Datagrams& datagrams);
  struct Sent {
    std::uint64_t sequence = 0, expected_tick = 0;  // 0: it answers no state
    std::int64_t ns = 0;
    std::uint32_t deadline_us = 20'000;
    bool ends = false;  // the control loop, on purpose
  };
  void on_sent(const Sent& sent);
  // When the state of a tick had arrived, for the command that answers it; 0: not known (any more).
  std::int64_t receive_ns(std::uint64_t tick) const;
  // Complete states, and those that this machine had and this program did not read in time.
  std::uint64_t states() const { return states_ + states_unread_; }
  std::uint64_t states_due() const { return due_.count(); }
  void set_period_s(double period) {
    period_ns_ = 1e9 * period;
    meter_.set_period_us(1e6 * period);
  }
  const LinkMeter& meter() const { return meter_; }
  // UDP that passes one way, now and then while TCP goes on: when a datagram, and when anything over TCP, was read.
  void look_for_deafness(std::int64_t now_ns, std::int64_t datagram_ns, std::int64_t tcp_ns);
  // Into a copy of meter(): the cycles since the last state that came, where no more come though TCP does.
  void count_silence(LinkMeter& meter, std::int64_t now_ns) const;
  void on_unsent() { --counts_.sent; }
  void on_verdict(const Verdict& verdict);
  // Fills the figures it knows.
  void report(Link& link) const;

 private:
  void count_times(const State& state, std::int64_t arrived_ns);
  // From a state's tick and arrival, 0: the first.
  struct From {
    std::uint64_t tick = 0;
    std::int64_t arrived_ns = 0;
  };
  void count_cycles(const State& state, std::uint64_t step, From from, std::int64_t arrived_ns);
  bool is_cycle(std::int64_t at_ns);  // one of a control loop, which runs
  bool applied_within(std::uint64_t after, std::uint64_t until) const;
  void look_for_muteness(const State& state, std::int64_t arrived_ns);

  static constexpr std::uint64_t kFarTicks = 1000;
  static constexpr std::size_t kWindow = 100;
  struct Window {
    std::bitset<kWindow> good;
    std::size_t at = 0, filled = 0;
    void push(bool ok);
    double rate() const { return filled == 0 ? 1.0 : static_cast<double>(good.count()) / static_cast<double>(filled); }
  };
  Window received_, success_;
  VerdictCounts counts_;
  std::uint64_t states_ = 0, states_lost_ = 0, tick_ = 0, packets_lost_ = 0;
  std::uint32_t epoch_ = 0, lost_in_a_row_ = 0, lost_in_a_row_max_ = 0;

  struct Received {
    std::uint64_t tick = 0;
    std::int64_t ns = 0;
  };
  std::array<Received, 8192> received_at_{};   // as long as the longest hang
  std::array<std::uint64_t, 1024> applied_{};  // tick t stands in applied_[t % 1024] when a command was applied in it
  LinkMeter meter_;
  LinkMeter::Totals totals_;
  DueStates due_;
  ControlSpan span_;
  double period_ns_ = 1e6;
  std::uint64_t echoed_ = 0, ticks_missed_ = 0;
  std::uint64_t overflowed_ = 0, states_unread_ = 0;  // datagrams that found the socket full; states that were lost so
  std::int64_t arrived_ns_ = 0;                       // of the newest state
  std::uint64_t step_ = 1;                            // ticks from one to the next
  // Commands that no state has echoed so far: since when, and over how many states.
  std::uint64_t newest_sent_ = 0, states_unheard_ = 0;
  std::int64_t unheard_ns_ = 0;
};

}  // namespace tactus::client
