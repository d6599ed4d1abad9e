#include "server/realtime/fault.h"

#include <ctime>
#include <utility>

#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {
namespace {

thread_local TickLoop* t_loop = nullptr;

// Of the tick thread: a stack of its own, because it may be the stack that has run out.
alignas(64) std::array<char, 1u << 16> g_signal_stack;

// Once: what fails while failing goes straight to the end.
void say_it() noexcept {
  if (TickLoop* loop = std::exchange(t_loop, nullptr)) loop->publish_fault();
}

void on_assert(const char*, const char*, int) noexcept {
  say_it();
}

// SA_RESETHAND has put the default action back: raising it again writes the core file.
void on_signal(int signal) noexcept {
  say_it();
  raise(signal);
}

}  // namespace

FaultScope::FaultScope(TickLoop& loop) noexcept : previous_(set_assert_handler(&on_assert)) {
  t_loop = &loop;
  stack_t stack{};
  stack.ss_sp = g_signal_stack.data();
  stack.ss_size = g_signal_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous_actions_[i]);
}

FaultScope::~FaultScope() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_actions_[i], nullptr);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  t_loop = nullptr;
  set_assert_handler(previous_);
}

// The black box is written by another thread, which has all the time that a disk needs, within reason.
void TickLoop::wait_for_record() noexcept {
  link_.record->failed.store(true, std::memory_order_release);
  const std::uint64_t give_up = now_ns() + 5'000'000'000u;
  const timespec moment{0, 5'000'000};
  while (!link_.record->saved.load(std::memory_order_acquire) && now_ns() < give_up) nanosleep(&moment, nullptr);
}

void TickLoop::publish_fault() noexcept {
  fault_ = true;
  output_count_ = 0;  // zero force in the wrench columns
  const Wake wake{grid_.deadline_ns(), now_ns(), true, false};
  StateSlot* slot = link_.states.begin_write();
  if (slot != nullptr) fill(*slot, wake);
  record_state(slot, wake);
  if (slot != nullptr) link_.states.commit();
  Notice notice;
  notice.kind = Notice::Kind::fault;
  notice.ok = false;
  notice.tick = world_->state().tick;
  link_.notices.push(notice);
  record_notice(notice);
  signal_net();
  const timespec grace{0, 30'000'000};
  nanosleep(&grace, nullptr);
  if (link_.record != nullptr) wait_for_record();
}

}  // namespace tactus
