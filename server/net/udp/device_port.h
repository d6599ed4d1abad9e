// DEVICE datagrams in, TOOL datagrams out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "haptic.pb.h"
#include "realtime.pb.h"
#include "server/net/control/client_lines.h"
#include "server/net/control/leases.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/tools.h"
#include "server/net/udp/outlet.h"
#include "server/net/udp/verdict_port.h"

namespace tactus::net {

class DevicePort {
 public:
  struct Uses {
    SessionTable& sessions;
    const ClientLines& lines;
    const SceneView& scene;
    const Leases& leases;
    ToolTable& tools;
    TickPort& tick;
    VerdictPort& verdicts;
    Outlet& outlet;
  };
  explicit DevicePort(const Uses& uses) : uses_(uses) {}

  // A sample of a device.
  void take(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload, std::uint64_t now);
  // Answers the devices of one tick: before its state is there.
  void answer(const ToolFrame& frame);
  // What an answer takes, once without sending: code and keys are then where the processor has them at hand.
  void rehearse();
  // All tools, to a subscription.
  void publish(Session& session, std::uint32_t subscription, const StateSlot& slot);

 private:
  [[nodiscard]] v1::VerdictCode check_rights(const Session& session, std::uint64_t now);
  void send_tool(Session& session, std::uint32_t subscription, const ToolRow& row);
  void begin_tool(std::uint32_t epoch, std::uint64_t tick);

  const Uses uses_;
  v1::DevicePacket device_;
  v1::ToolPacket tool_;
  std::vector<std::uint8_t> framed_;  // one payload for a WebSocket client
};

}  // namespace tactus::net
