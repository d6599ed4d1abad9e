// What happens when the tick thread fails, by one of our own assertions or by a signal such as SIGSEGV: the clients
// hear FAULT and zero force before the process dies with a core file. Best effort.
#pragma once

#include <signal.h>

#include <array>

#include "core/check.h"

namespace tactus {

// Who says the last words of a thread that fails.
struct FaultSpeaker {
  void (*say)(void* who) noexcept = nullptr;
  void* who = nullptr;
};

// While it lives (on the tick thread), a failure of this thread has its last words said. A failure of another thread
// ends the process at once. One at a time in a process.
class FaultScope {
 public:
  explicit FaultScope(const FaultSpeaker& speaker) noexcept;
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;

  static constexpr std::array<int, 4> kSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE};

 private:
  AssertHandler previous_;
  std::array<struct sigaction, kSignals.size()> previous_actions_{};
};

}  // namespace tactus
