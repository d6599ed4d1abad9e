// Whether the world moves: it runs, is paused, takes the ticks of a Step, or is lent to net (lockstep). Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "server/realtime/messages.h"

namespace tactus {

class RunControl {
 public:
  explicit RunControl(bool lockstep) noexcept : lockstep_(lockstep) {}

  // True: ended a Step before its last tick; step_command() is the one.
  bool pause() noexcept {
    paused_ = true;
    return std::exchange(steps_left_, 0) > 0;
  }
  [[nodiscard]] bool resume() noexcept {
    paused_ = false;
    return std::exchange(steps_left_, 0) > 0;
  }
  [[nodiscard]] bool enter_lockstep() noexcept {
    lockstep_ = true;
    return std::exchange(steps_left_, 0) > 0;
  }
  // The world runs on its own again.
  void leave_lockstep() noexcept { lockstep_ = paused_ = false; }
  // False: not paused, another Step is under way, or no tick is asked for.
  [[nodiscard]] bool begin_steps(const Command& step) noexcept {
    if (!paused_ || steps_left_ > 0 || step.value == 0) return false;
    steps_left_ = step.value;
    step_command_ = step;
    return true;
  }
  // After a tick of the world. True: it was the last one of a Step.
  [[nodiscard]] bool count_step() noexcept { return steps_left_ > 0 && --steps_left_ == 0; }
  // There is nothing left to step to: the tick under way is the last one of its Step.
  void shorten_steps() noexcept {
    if (steps_left_ > 0) steps_left_ = 1;
  }

  // In this beat. granted: net asks for a tick.
  [[nodiscard]] bool moves(bool granted) const noexcept {
    return granted || (!lockstep_ && (!paused_ || steps_left_ > 0));
  }
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  [[nodiscard]] bool lockstep() const noexcept { return lockstep_; }
  [[nodiscard]] bool stepping() const noexcept { return steps_left_ > 0; }
  [[nodiscard]] const Command& step_command() const noexcept { return step_command_; }

 private:
  bool paused_ = false, lockstep_ = false;
  std::uint64_t steps_left_ = 0;
  Command step_command_;  // answered when steps_left_ reaches 0
};

}  // namespace tactus
