// Streams: one state to every subscription that is due, in datagrams or in frames of a WebSocket.
#pragma once

#include <cstdint>
#include <vector>

#include "realtime.pb.h"
#include "server/net/control/client_lines.h"
#include "server/net/scene/end_effectors.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/client_ways.h"
#include "server/net/udp/command_port.h"
#include "server/net/udp/device_port.h"
#include "server/net/udp/grant_answers.h"
#include "server/net/udp/link_port.h"
#include "server/net/udp/outlet.h"
#include "server/net/udp/state_encoder.h"
#include "server/net/udp/verdict_port.h"

namespace tactus::net {

class StatePort {
 public:
  struct Uses {
    SessionTable& sessions;
    const ClientLines& lines;
    const SceneView& scene;
    const WorldStatus& status;
    const TickPort& tick;
    const ClientWays& ways;
    LinkPort& links;
    Outlet& outlet;
    const GrantAnswers& answers;
    VerdictPort& verdicts;
    CommandPort& commands;
    DevicePort& devices;
  };
  explicit StatePort(const Uses& uses) : uses_(uses) {}

  void publish(const StateSlot& slot);

 private:
  void publish_to(Session& session, Subscriber& subscriber, const StateSlot& slot);
  void publish_framed(Session& session, PacketSource source);
  void publish_shadow(Session& session, const SubscriptionSpec& spec, const StateSlot& slot);

  const Uses uses_;
  std::vector<std::uint32_t> contact_rows_;
  EndEffectors end_effectors_;
  std::vector<PacketRange> plan_;
  std::vector<std::uint8_t> framed_;  // one payload for a WebSocket client
  v1::ShadowPacket shadow_;
  std::uint64_t last_send_ns_ = 0;
};

}  // namespace tactus::net
