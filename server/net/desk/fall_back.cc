#include "server/net/desk/fall_back.h"

#include <spdlog/spdlog.h>
#include <asio/post.hpp>

namespace tactus::net {

// Later: this client may have left in the middle of a tick that runs on this thread.
void FallBack::left(ClientSlot client) {
  const std::string name = client_name(uses_.sessions, client);
  uses_.lockstep.forget(client);
  asio::post(uses_.io, [this, client, name] {
    if (stopping_) return;
    uses_.joints.left(client, name);
    uses_.links.left(client, name);
    if (uses_.modes.lockstep.ends_with(client)) {
      spdlog::info("{} has left: lockstep ends, the world runs freely", name);
      uses_.lockstep.end(name + " has left");
    }
    if (uses_.modes.pause.ends_with(client)) {
      spdlog::info("{} has left: the world that it paused goes on", name);
      go_on(name);
    }
  });
}

void FallBack::go_on(const std::string& whose) {
  uses_.modes.pause.end();
  Command command;
  command.kind = Command::Kind::resume;
  uses_.tick.post(command, [this, whose](const Notice&) {
    uses_.status.paused = false;
    uses_.events.broadcast(v1::Event::RESUMED, whose + " has left");
  });
}

}  // namespace tactus::net
