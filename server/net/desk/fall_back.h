// What a client set falls back when he leaves: lockstep, pause, joint options, faults on others' links.
#pragma once

#include <asio/io_context.hpp>

#include <string>

#include "server/net/control/events.h"
#include "server/net/desk/joint_desk.h"
#include "server/net/desk/link_desk.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/owned_modes.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"

namespace tactus::net {

class FallBack {
 public:
  struct Uses {
    asio::io_context& io;
    SessionTable& sessions;
    WorldStatus& status;
    OwnedModes& modes;
    TickPort& tick;
    Events& events;
    LockstepDesk& lockstep;
    JointDesk& joints;
    LinkDesk& links;
  };
  explicit FallBack(const Uses& uses) : uses_(uses) {}

  // A client has left: what was his, but for what he asked to keep. Acts later, when no tick is under way.
  void left(ClientSlot client);
  // The server is stopping: nothing falls back any more.
  void stop() { stopping_ = true; }

 private:
  void go_on(const std::string& whose);

  const Uses uses_;
  bool stopping_ = false;
};

}  // namespace tactus::net
