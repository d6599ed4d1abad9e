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
  double left_out = 0, own_period = 1;
  LinkCause cause = LinkCause::unknown;
  std::string explanation;
  // What the sentence rests on beside them.
  std::uint64_t window_cycles = 0;                // of the shares
  std::uint32_t lost_in_a_row_window = 0;         // the most within it
  double overtaken = 0;                           // states that the next one followed too closely, per cycle
  double unheard = 0;                             // cycles in which the client stood still, by its silence
  bool tells_due = false;                         // the client says which states it could have answered
  bool deaf_client = false, mute_client = false;  // one way of UDP: nothing of the one side arrives at the other
};

// The rule: cycles without a new command are put down to what was lost, skipped or refused, to states that came bunched
// (the link), and to commands that the client owed and did not send; the rest, in which two commands or none came, to
// whatever has the widest spread of times. The largest share is the cause. Sets cause and explanation.
void diagnose(LinkFigures& figures);

// Counts the states that a client could have answered that needs its usual time for each and takes the newest: what it
// leaves out of these is its own doing, what came too close together is not. Times: arrivals at the client's machine.
class DueStates {
 public:
  void arrived(std::int64_t ns) noexcept;
  // It was answered so long after its arrival. period: of the states.
  void answered(std::int64_t after_ns, std::int64_t period_ns) noexcept;
  // Arrived as well, and never came to be read: the socket was full.
  void overflowed(std::uint64_t states) noexcept { count_ += states; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  bool waiting_ = false;
  std::int64_t arrived_ns_ = 0, free_ns_ = INT64_MIN, usual_ns_ = 0;
  std::uint64_t count_ = 0;
};

// A command as it was sent.
struct CommandNote {
  std::uint64_t sequence = 0, states_due = 0;
  std::int64_t send_ns = 0, recv_ns = 0;  // client's clock; recv: arrival of the state that it answers, 0: not known
  std::uint32_t deadline_us = 0;
  // Datagrams of its sender that were no commands, so far: they have sequence numbers, too. Only differences count.
  std::uint64_t others = 0;
};

// The period of a controller that is slower than the states because it means to be: it leaves the same number of them
// out each time, does not work all the while, and its commands live until the next. Medians of the last 64 commands; of
// the first ones of a loop as soon as there are four, so that the period is known before its cycles are counted.
class OwnPeriod {
 public:
  void command(const CommandNote& note) noexcept;
  // In cycles; 1: it answers each state as well as it can.
  [[nodiscard]] double cycles() const noexcept { return cycles_; }

 private:
  static constexpr std::size_t kKept = 64, kJudgeEvery = 8, kFewest = 4;
  void judge() noexcept;
  std::array<double, kKept> due_{}, interval_ns_{}, busy_{};
  std::uint64_t count_ = 0;
  CommandNote last_;
  double cycles_ = 1;
};

// From where to where a control loop runs. A few commands are none; it is over when it says so, and silent, but not
// over, when commands stay away. Times: one clock; cycles may be told of after the end that they came before.
class ControlSpan {
 public:
  enum class Phase : std::uint8_t { off, begins, on, silent };
  // True: it may be the first of a loop.
  bool command(std::uint64_t now_ns, bool ends) noexcept;
  void end(std::uint64_t now_ns) noexcept;
  // Of a cycle that ends now; begins: once.
  [[nodiscard]] Phase cycle(std::uint64_t now_ns) noexcept;

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t last_ns_ = 0, over_ns_ = kNever;
  std::uint32_t streak_ = 0;
  bool running_ = false, begun_ = false;
};

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
    std::uint64_t states_due = 0;            // DueStates; 0: the client does not say
    std::uint64_t unheard = 0;               // cycles of so long a silence of the client that it must have stood still
    bool deaf_client = false, mute_client = false;
  };

  void set_period_us(double us) noexcept { period_us_ = us; }
  // A control loop begins, or goes on after a pause: what was counted in between belongs to no cycle.
  void begin(const Totals& totals) noexcept;
  // One cycle has ended. applied: a command was applied for the first time in it.
  void cycle(bool applied, const Totals& totals) noexcept;
  // What has become known since of the cycles before.
  void revise(const Totals& totals) noexcept { totals_ = totals; }
  // begins: the first of a loop, whose period may be another.
  void command(const CommandNote& note, bool begins) noexcept {
    if (begins) own_period_ = {};
    own_period_.command(note);
  }
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
    Totals totals, before;
  };
  static constexpr std::uint64_t kMarkEvery = 100;
  static constexpr std::size_t kRecent = 1100;
  void shares(LinkFigures& out) const;
  [[nodiscard]] std::uint32_t longest_row(std::uint64_t cycles) const noexcept;

  std::uint64_t cycles_ = 0, good_ = 0, since_applied_ = 0;
  std::bitset<kRecent> recent_;
  std::uint32_t lost_in_a_row_ = 0, lost_in_a_row_max_ = 0;
  OwnPeriod own_period_;
  Totals totals_, before_;  // before_: what belongs to no cycle, to be taken off
  std::array<Mark, 11> marks_{};
  TimeSamples compute_, down_, up_, wake_late_, work_, wait_;
  RecentMinimum down_min_, up_min_;
  double period_us_ = 1000;
};

}  // namespace tactus
