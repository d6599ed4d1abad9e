// Carries out the commands that are no rows of channels: who moves the world, the world itself, tools, options. One
// case a kind; each answers as messages.h says.
#pragma once

#include "server/realtime/tick_parts.h"

namespace tactus {

class Dispatch {
 public:
  explicit Dispatch(TickParts& parts) noexcept : parts_(parts) {}

  // Takes what has arrived, in its order.
  void drain(const Beat& beat) noexcept;
  // One command of another kind than wrench and joint.
  void carry_out(const Command& command, const Beat& beat) noexcept;

 private:
  void jump(const State& state, const Command& command, Notice& out) noexcept;
  void snapshot(const Command& command, Notice& out) noexcept;
  void swap_world(const Command& command, Notice& out) noexcept;
  void answer(Notice out) noexcept;
  void answer_with_hash(Notice out) noexcept;

  TickParts& parts_;
};

}  // namespace tactus
