// How well a control loop over a link keeps up, and whose fault it is when it does not: LinkQuality of control.proto.
// One rule for the server and the C++ client. Pure: times are passed in; nothing is allocated but by figures() and
// diagnose().
//
// Clocks: down-times are differences (client's arrival - server's sending), up-times (server's arrival - client's
// sending), each with the unknown offset of the clocks, in opposite directions. Of both, the shortest in the last 10 to
// 20 s is taken away, so that what is beyond it is right for each direction; the sum of the two shortest is the
// shortest round trip, which is right, too. How it splits nobody can tell from time stamps: half each is a guess, wrong
// by at most the half itself (Mills, RFC 5905, minimum filter).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>

namespace tactus {

// Of the last 1,024 samples [us]; count: since the beginning.
struct Spread {
  double p50 = 0, p99 = 0, p999 = 0, max = 0, mean = 0, min = 0;
  std::uint64_t count = 0;
};

// As proto's LinkCause.
enum class LinkCause : std::uint8_t { unknown, none, slow_client, lossy_link, jittery_link, slow_server, refused };
const char* to_string(LinkCause cause) noexcept;

// As proto's LinkQuality; shares 0..1 over the last 1,000 to 1,100 cycles.
struct LinkFigures {
  std::uint64_t cycles = 0;  // since the beginning
  double success_rate = 1;   // of the last 100
  double success_rate_window = 1;
  std::uint32_t lost_in_a_row = 0, lost_in_a_row_max = 0;
  Spread compute_us, down_us, up_us, wake_late_us, work_us, wait_us;
  double round_trip_min_us = 0, period_us = 1000;
  double lost_down = 0, lost_up = 0, unanswered = 0, skipped = 0, refused = 0, bunched = 0;
  LinkCause cause = LinkCause::unknown;
  std::string explanation;
};

// The rule: cycles without a new command are put down to what was lost, not answered, skipped or refused; the rest, in
// which two commands or none came, to whatever has the widest spread of times. The largest share is the cause. Sets
// cause and explanation.
void diagnose(LinkFigures& figures);

// The last values of a time, in nanoseconds.
class TimeSamples {
 public:
  void add(std::int64_t ns) noexcept { last_[count_++ % last_.size()] = ns; }
  // Of (value - minus).
  [[nodiscard]] Spread spread(std::int64_t minus = 0) const;

 private:
  std::array<std::int64_t, 1024> last_{};
  std::uint64_t count_ = 0;
};

// The least value of the last 10 to 20 s; ~ the largest number while there is none.
class RecentMinimum {
 public:
  void add(std::int64_t value, std::uint64_t now_ns) noexcept;
  [[nodiscard]] std::int64_t value() const noexcept { return now_ < before_ ? now_ : before_; }
  [[nodiscard]] bool known() const noexcept { return value() != kNone; }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;
  std::int64_t now_ = kNone, before_ = kNone;
  std::uint64_t since_ns_ = 0;
};

class LinkMeter {
 public:
  // What has been counted since the session began; who measures fills in what it knows.
  struct Totals {
    std::uint64_t states_received = 0, down_lost = 0;  // complete states; datagrams that never came
    std::uint64_t commands_sent = 0, up_received = 0, up_lost = 0;
    std::uint64_t skipped = 0, refused = 0;  // grid points without a tick; commands
  };

  void set_period_us(double us) noexcept { period_us_ = us; }
  // A control loop begins, or goes on after a pause: what was counted in between belongs to no cycle.
  void begin(const Totals& totals) noexcept;
  // One cycle has ended. good: a command was applied for the first time in it.
  void cycle(bool good, const Totals& totals) noexcept;
  void compute(std::int64_t ns) noexcept { compute_.add(ns); }
  void down(std::int64_t difference_ns, std::uint64_t now_ns) noexcept;
  void up(std::int64_t difference_ns, std::uint64_t now_ns) noexcept;
  void server(std::int64_t wake_late_ns, std::int64_t work_ns) noexcept;
  void wait(std::int64_t ns) noexcept { wait_.add(ns); }

  [[nodiscard]] std::uint64_t cycles() const noexcept { return cycles_; }
  // Percentiles cost about 0.2 ms.
  [[nodiscard]] LinkFigures figures() const;

 private:
  struct Mark {  // every 100 cycles
    std::uint64_t cycles = 0, good = 0;
    Totals totals;
  };
  static constexpr std::uint64_t kMarkEvery = 100;
  void shares(LinkFigures& out) const;

  std::uint64_t cycles_ = 0, good_ = 0;
  std::bitset<100> recent_;
  std::uint32_t lost_in_a_row_ = 0, lost_in_a_row_max_ = 0;
  Totals totals_;
  std::array<Mark, 11> marks_{};
  TimeSamples compute_, down_, up_, wake_late_, work_, wait_;
  RecentMinimum down_min_, up_min_;
  double period_us_ = 1000;
};

}  // namespace tactus
