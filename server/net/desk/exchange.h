// One request being served, and the ways to answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "control.pb.h"
#include "server/net/control/client_lines.h"
#include "server/net/control/leases.h"
#include "server/net/scene/scene_view.h"
#include "server/realtime/messages.h"

namespace tactus::net {

// Copies live on in completions; a client that has left by then gets nothing.
class Exchange {
 public:
  // The line's handshake is done.
  Exchange(SessionTable& sessions, const std::shared_ptr<ClientLine>& line, std::uint32_t id);

  void error(v1::ErrorCode code, const std::string& text) const;
  void done() const;
  void reply(v1::Reply&& body) const;
  // The client holds the lease "world"; otherwise says so.
  [[nodiscard]] bool needs_world(const Leases& leases) const;
  // Null: the client has left.
  [[nodiscard]] Session* session() const { return sessions_.find(client_); }
  [[nodiscard]] ClientSlot client() const { return client_; }
  // For people: the client's name, and that of another.
  [[nodiscard]] std::string name() const { return client_name(sessions_, client_); }
  [[nodiscard]] std::string name_of(ClientSlot other) const { return client_name(sessions_, other); }

 private:
  SessionTable& sessions_;
  std::weak_ptr<ClientLine> line_;
  std::uint32_t id_;
  ClientSlot client_;
};

// For the tick, from this client.
[[nodiscard]] Command command_of(const Exchange& x, Command::Kind kind);
// The running scene's description.
void reply_scene(const Exchange& x, const SceneView& scene);

}  // namespace tactus::net
