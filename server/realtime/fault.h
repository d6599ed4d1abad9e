// What happens when the tick thread fails, by one of our own assertions or by a signal such as SIGSEGV: the clients
// hear FAULT and zero force before the process dies with a core file. Best effort.
#pragma once

#include <signal.h>

#include <array>

#include "core/check.h"

namespace tactus {

class TickLoop;

// While it lives (on the tick thread), a failure of this thread publishes through the loop. A failure of another thread
// ends the process at once. One at a time in a process.
class FaultScope {
 public:
  explicit FaultScope(TickLoop& loop) noexcept;
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;

  static constexpr std::array<int, 4> kSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE};

 private:
  AssertHandler previous_;
  std::array<struct sigaction, kSignals.size()> previous_actions_{};
};

}  // namespace tactus
