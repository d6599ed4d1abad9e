// Net's side of the link to the tick thread: sends commands, hands completions to whoever waits for them, and passes
// states and events on.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>

#include "server/realtime/tick_loop.h"

namespace tactus::net {

class TickPort {
 public:
  struct Handlers {
    std::function<void(const Notice&)> verdict, event;            // event: channel_expired, body_frozen, fault
    std::function<void(const Notice&, const std::string&)> done;  // and what it was about, before its completion
    std::function<void(const StateSlot&)> state;
    std::function<void(const ToolFrame&)> tools;  // of the tick whose state comes next
    std::function<void()> rehearse;               // an answer is due soon
    std::function<void()> datagrams;              // takes what has come, without waiting
  };
  using Completion = std::function<void(const Notice&)>;

  TickPort(asio::io_context& io, TickLink& link, TickLoop& loop);
  void start(Handlers handlers);
  void stop();
  // While devices hold tools this thread is awake around each beat, from so long before it [ns], and around each
  // sample, from half as long before; 0: never.
  void set_spin(std::uint64_t spin_ns) { spin_ns_ = spin_ns; }
  // A sample of this tool has come; the next is due then [ns] (0: unknown).
  void expect_sample(std::uint32_t tool, std::uint64_t due_ns);

  // Rows of one datagram. False: the ring is full (counted).
  bool push_wrench(std::span<const Command> rows);
  // Any other command; never lost: waits in a queue of its own while the ring is full. `then` gets its done notice.
  // about: for a recording, for example the name of the model.
  void post(Command command, Completion then = nullptr, std::string about = {});

  // --- Lockstep: the world is lent to this thread.
  [[nodiscard]] bool lockstep() const { return lockstep_; }
  void take_world();  // after done(lockstep_on), or at start
  void give_world_back();
  void run_tick();  // one tick, and all that came of it
  void serve();     // commands only
  [[nodiscard]] const World& world() const { return loop_.world(); }
  [[nodiscard]] const SlowTicker& slow() const { return loop_.slow(); }

  [[nodiscard]] const TickMetrics& metrics() const { return loop_.metrics(); }
  [[nodiscard]] const Rights* rights() const { return loop_.rights(); }
  // The tick's processor, which solvers and the web keep off; -1: nowhere.
  [[nodiscard]] int cpu() const;
  [[nodiscard]] std::uint64_t commands_dropped() const { return link_.commands_dropped.read(); }

 private:
  void wait();
  void flush_backlog();
  void schedule_serve();
  void drain();
  bool drain_tools();
  void await_beat();
  void stay_awake(std::uint64_t beat_ns);
  void await_sample();
  void look_for_sample(std::uint64_t due_ns);
  void dispatch(const Notice& notice);

  asio::io_context& io_;
  TickLink& link_;
  TickLoop& loop_;
  asio::posix::stream_descriptor wake_;
  asio::steady_timer beat_timer_, sample_timer_;
  std::uint64_t spin_ns_ = 0, next_beat_ns_ = 0;       // of an answer that may be due; 0: none
  std::array<std::uint64_t, kTools> sample_due_ns_{};  // per tool; 0: unknown
  bool sample_came_ = false;
  Handlers handlers_;
  std::deque<Command> backlog_;
  struct Waiting {
    Completion then;
    std::string about;
  };
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  bool lockstep_ = false, serving_ = false;
};

}  // namespace tactus::net
