#include "server/net/scene/tick_port.h"

#include <unistd.h>
#include <asio/post.hpp>

#include <chrono>
#include <thread>
#include <utility>

#include "core/check.h"
#include "server/realtime/clock.h"

namespace tactus::net {

namespace {

constexpr std::chrono::microseconds kGiveWay(30);  // about what a thread needs to wake on a shared processor

}  // namespace

TickPort::TickPort(asio::io_context& io, TickLink& link, TickLoop& loop)
    : io_(io), link_(link), loop_(loop), wake_(io, dup(link.wake_fd)), beat_timer_(io), sample_timer_(io) {}

void TickPort::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  wait();
}

int TickPort::cpu() const {
  const Rights* granted = loop_.rights();
  return granted == nullptr ? -1 : granted->cpu;
}

void TickPort::stop() {
  asio::error_code ignored;
  wake_.close(ignored);
  beat_timer_.cancel();
  sample_timer_.cancel();
}

void TickPort::wait() {
  wake_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (error) return;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(wake_.native_handle(), &count, sizeof count);
    flush_backlog();
    drain();
    wait();
  });
}

bool TickPort::push_wrench(std::span<const Command> rows) {
  if (link_.commands.push(rows)) return true;
  link_.commands_dropped.add();
  return false;
}

void TickPort::post(Command command, Completion then, std::string about) {
  command.ticket = next_ticket_++;
  if (then) waiting_.emplace(command.ticket, Waiting{std::move(then), std::move(about)});
  backlog_.push_back(command);
  flush_backlog();
  if (lockstep_) schedule_serve();
}

void TickPort::schedule_serve() {
  if (serving_) return;
  serving_ = true;
  asio::post(io_, [this] {
    serving_ = false;
    if (lockstep_) serve();
  });
}

void TickPort::flush_backlog() {
  while (!backlog_.empty() && link_.commands.push(backlog_.front())) backlog_.pop_front();
}

// Devices wait for their answers, so these go first. True: there was one.
bool TickPort::drain_tools() {
  bool any = false;
  while (const ToolFrame* frame = link_.tools.begin_read()) {
    handlers_.tools(*frame);
    next_beat_ns_ = frame->next_beat_ns;
    any = true;
    link_.tools.release();
  }
  return any;
}

void TickPort::await_beat() {
  const std::uint64_t beat_ns = std::exchange(next_beat_ns_, 0);
  if (beat_ns == 0 || spin_ns_ == 0) return;
  beat_timer_.expires_at(asio::steady_timer::time_point(std::chrono::nanoseconds(beat_ns - spin_ns_)));
  beat_timer_.async_wait([this, beat_ns](asio::error_code error) {
    if (!error) stay_awake(beat_ns);
  });
}

// Net that is awake when the answer comes is not woken for it: a sample wakes net and its device, as an echo does. A
// tick that is later than this is told by its eventfd, as ever. With the answer out net gives its processor away for a
// moment: the device's thread may be waiting for it, and states and notices are in no hurry.
void TickPort::stay_awake(std::uint64_t beat_ns) {
  handlers_.rehearse();
  while (now_ns() < beat_ns + spin_ns_) {
    if (drain_tools()) return std::this_thread::sleep_for(kGiveWay);
    handlers_.datagrams();
  }
}

void TickPort::expect_sample(std::uint32_t tool, std::uint64_t due_ns) {
  sample_came_ = true;
  if (spin_ns_ == 0 || lockstep_) return;
  sample_due_ns_[tool] = due_ns;
  await_sample();
}

void TickPort::await_sample() {
  std::uint64_t next_ns = 0;
  const std::uint64_t earliest_ns = now_ns() + spin_ns_ / 2;
  for (const std::uint64_t due_ns : sample_due_ns_) {
    if (due_ns > earliest_ns && (next_ns == 0 || due_ns < next_ns)) next_ns = due_ns;
  }
  if (next_ns == 0) return;
  sample_timer_.expires_at(asio::steady_timer::time_point(std::chrono::nanoseconds(next_ns - spin_ns_ / 2)));
  sample_timer_.async_wait([this, next_ns](asio::error_code error) {
    if (!error) look_for_sample(next_ns);
  });
}

// Net that is awake when a sample comes is not woken for it.
void TickPort::look_for_sample(std::uint64_t due_ns) {
  sample_came_ = false;
  while (!sample_came_ && now_ns() < due_ns + spin_ns_ / 2) {
    if (drain_tools()) std::this_thread::sleep_for(kGiveWay);
    handlers_.datagrams();
  }
  await_sample();
}

void TickPort::drain() {
  drain_tools();
  Notice notice;
  while (link_.notices.pop(notice)) dispatch(notice);
  while (const StateSlot* slot = link_.states.begin_read()) {
    handlers_.state(*slot);
    link_.states.release();
  }
  await_beat();
}

void TickPort::dispatch(const Notice& notice) {
  if (notice.kind == Notice::Kind::verdict) return handlers_.verdict(notice);
  if (notice.kind != Notice::Kind::done) return handlers_.event(notice);
  const auto it = waiting_.find(notice.ticket);
  if (it == waiting_.end()) return;
  const Waiting waiting = std::move(it->second);
  waiting_.erase(it);
  if (handlers_.done) handlers_.done(notice, waiting.about);
  waiting.then(notice);
}

void TickPort::take_world() {
  TACTUS_ASSERT(!lockstep_);
  loop_.wait_for_world();
  lockstep_ = true;
  schedule_serve();  // what the tick thread left in the ring
}

void TickPort::give_world_back() {
  TACTUS_ASSERT(lockstep_);
  lockstep_ = false;
  loop_.return_world();
}

void TickPort::run_tick() {
  TACTUS_ASSERT(lockstep_);
  flush_backlog();
  loop_.grant_tick();
  drain();
}

void TickPort::serve() {
  TACTUS_ASSERT(lockstep_);
  // The tick takes one costly command at a time.
  do {
    flush_backlog();
    loop_.serve();
    drain();
  } while (lockstep_ && (!backlog_.empty() || link_.commands.size() > 0));
}

}  // namespace tactus::net
