// A recording's states in the place of the world's steps: the next one of the player's ring becomes what is shown, one
// a beat. Without a player the world is live, and this does nothing.
#pragma once

#include <cstdint>

#include "server/realtime/messages.h"
#include "server/realtime/play_feed.h"
#include "server/realtime/run_control.h"

namespace tactus {

class PlayShow {
 public:
  // Null: the world is live. bodies, contacts: of the largest state that may come.
  PlayShow(PlayFeed* feed, std::uint32_t bodies, std::uint32_t contacts);

  [[nodiscard]] bool active() const noexcept { return feed_ != nullptr; }
  // One beat. In a pause what is shown moves only by steps, and to the first state of a new wish.
  struct Turn {
    bool moved = false;       // what is shown is another state
    bool ended_step = false;  // a Step has its last one
  };
  [[nodiscard]] Turn show_next(RunControl& run) noexcept;

  // What is shown: its tick, how far the recording went to it from the state before [s], and its columns.
  [[nodiscard]] std::uint64_t tick() const noexcept { return shown_.frame.tick; }
  [[nodiscard]] double simulated_s() const noexcept { return simulated_s_; }
  void copy_to(StateSlot& slot) const noexcept;

 private:
  void take(const StateSlot& next) noexcept;

  PlayFeed* const feed_;
  StateSlot shown_;  // without columns where the world is live
  double simulated_s_ = 0;
  std::uint32_t beats_ = 0;  // for which it has been shown, but the first
};

}  // namespace tactus
