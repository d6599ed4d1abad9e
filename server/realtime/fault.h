// What happens when one of our own assertions fails: the clients hear FAULT and zero force before the process aborts.
// Best effort.
#pragma once

#include "core/check.h"

namespace tactus {

class TickLoop;

// While it lives (on the tick thread), a failed assertion on this thread publishes through the loop. A failure on
// another thread does not wait for anything.
class FaultScope {
 public:
  explicit FaultScope(TickLoop& loop) noexcept;
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;

 private:
  AssertHandler previous_;
};

}  // namespace tactus
