// Events: to every client, or to one. Each is recorded.
#pragma once

#include <cstdint>
#include <string>

#include "control.pb.h"
#include "server/net/control/client_lines.h"
#include "server/net/control/journal.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/world_status.h"

namespace tactus::net {

class Events {
 public:
  Events(ClientLines& lines, const SceneView& scene, const WorldStatus& status, Journal& journal)
      : lines_(lines), scene_(scene), status_(status), journal_(journal) {}

  // To every client that has finished its handshake.
  void broadcast(v1::Event::Kind kind, const std::string& text, std::uint32_t count = 0);
  void send(ClientSlot client, v1::Event::Kind kind, const std::string& text);

 private:
  [[nodiscard]] v1::Reply reply_of(v1::Event::Kind kind, const std::string& text) const;

  ClientLines& lines_;
  const SceneView& scene_;
  const WorldStatus& status_;
  Journal& journal_;
};

}  // namespace tactus::net
