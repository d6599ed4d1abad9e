#include "server/realtime/fault.h"

#include <utility>

namespace tactus {
namespace {

thread_local FaultSpeaker t_speaker;

// Of the tick thread: a stack of its own, because it may be the stack that has run out.
alignas(64) std::array<char, 1u << 16> g_signal_stack;

// Once: what fails while failing goes straight to the end.
void say_it() noexcept {
  const FaultSpeaker speaker = std::exchange(t_speaker, {});
  if (speaker.say != nullptr) speaker.say(speaker.who);
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

FaultScope::FaultScope(const FaultSpeaker& speaker) noexcept : previous_(set_assert_handler(&on_assert)) {
  t_speaker = speaker;
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
  t_speaker = {};
  set_assert_handler(previous_);
}

}  // namespace tactus
