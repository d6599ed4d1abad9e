// What net last heard of the running world, and what is being shown. Belongs to the net thread.
#pragma once

#include <string>

#include "server/realtime/messages.h"

namespace tactus::net {

struct WorldStatus {
  StateFrame newest;  // of the last state seen
  bool paused = false;
  std::string playing;  // why nothing can be driven: a recording is shown. Empty: the world is live

  [[nodiscard]] bool is_playback() const { return !playing.empty(); }
};

}  // namespace tactus::net
