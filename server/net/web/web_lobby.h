// HTTP connections that are no WebSockets: who asks for a file, for /healthz or /metrics, and who says nothing. They
// have places of their own, half as many as viewers, half of these for one address. The web thread's.
#pragma once

#include <libwebsockets.h>

#include <cstdint>
#include <unordered_map>

#include "server/net/control/lobby.h"

namespace tactus::net {

class WebLobby {
 public:
  explicit WebLobby(std::uint32_t viewers) : lobby_(viewers / 2 + 1) {}

  // A connection was accepted. Where there is no place left the oldest silent one is closed, and counted.
  void enter(lws* wsi);
  // It has asked for something.
  void spoke(lws* wsi);
  // It is a WebSocket now, or gone.
  void leave(lws* wsi);
  [[nodiscard]] std::size_t places() const { return lobby_.limit(); }
  [[nodiscard]] std::uint64_t sent_away() const { return sent_away_; }

 private:
  void hear();

  Lobby lobby_;
  std::unordered_map<lws*, Lobby::Ticket> tickets_;
  std::uint64_t sent_away_ = 0;
};

}  // namespace tactus::net
