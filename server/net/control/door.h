// Who may come in, and who waits at the door: what all conversations share before they have a session.
#pragma once

#include <cstddef>

#include "server/net/control/access.h"
#include "server/net/control/lobby.h"
#include "server/net/control/peer_owner.h"
#include "server/net/options.h"

namespace tactus::net {

// As many of these connections as wanted, or this part of the descriptors that the process may have: most must be left
// for those who are let in.
std::size_t connections_at_once(std::size_t wanted, std::size_t part);

struct Door {
  explicit Door(const NetOptions& options)
      : access(options.access), lobby(connections_at_once(options.handshakes, 8)) {}

  Access access;
  PeerOwner peer_owner;
  Lobby lobby;
  WrongTokens wrong_tokens;
  TurnedAway turned_away;
};

}  // namespace tactus::net
