// Real-time rights of the tick thread: each is asked for, and what was granted is kept as text. Runs without any of
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tactus {

struct RightsWanted {
  bool enabled = true;  // false: ask for nothing but the timer slack
  int priority = 80;    // SCHED_FIFO 1..99; 0 = do not ask
  int cpu = -1;         // pin to this one; -1 = the last one allowed when there are at least two; -2 = do not pin
  bool lock_memory = true;
};

struct Right {
  std::array<char, 200> text{};  // "asked ... got ...", and when refused what to do to grant it
  bool granted = false;
};

struct Rights {
  std::array<Right, 6> list{};
  std::size_t count = 0;
  bool all_granted = true;
  int cpu = -1;        // where the thread is pinned; -1 = nowhere
  bool apart = false;  // of a helper: it is kept off the tick's processor
};

// For the calling thread. Also locks the process's memory and touches the stack that ticks will use.
Rights ask_for_rights(const RightsWanted& wanted) noexcept;

// For a helper thread (net): SCHED_FIFO at a priority below the tick's, and off the tick's processor. Best effort,
// reported the same way.
Rights ask_for_helper_rights(int priority, int avoid_cpu) noexcept;
// Before other programs of normal priority, where the system allows it: for threads with little work that must not wait
// for seconds on a busy machine.
void ask_for_a_larger_share() noexcept;
// Back to SCHED_OTHER (long lockstep runs must not starve the machine), or FIFO again.
bool set_helper_priority(int priority) noexcept;

}  // namespace tactus
