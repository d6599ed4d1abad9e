// The UDP port: datagrams in through the checks of proto/README.md, states out. Callbacks that re-arm themselves;
// nothing is allocated per datagram. A full socket drops and counts, it never blocks. Conducts the parts of this room:
// each has its own data.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "server/net/control/leases.h"
#include "server/net/control/refusals.h"
#include "server/net/options.h"
#include "server/net/udp/client_ways.h"
#include "server/net/udp/command_port.h"
#include "server/net/udp/datagram.h"
#include "server/net/udp/device_port.h"
#include "server/net/udp/grant_answers.h"
#include "server/net/udp/link_port.h"
#include "server/net/udp/outlet.h"
#include "server/net/udp/realtime_socket.h"
#include "server/net/udp/state_port.h"
#include "server/net/udp/verdict_port.h"

namespace tactus::net {

class RealtimePort final : private DatagramTaker {
 public:
  struct Uses {
    asio::io_context& io;
    const NetOptions& options;
    SessionTable& sessions;
    const ClientLines& lines;
    const SceneView& scene;
    const WorldStatus& status;
    const Leases& leases;
    ToolTable& tools;
    TickPort& tick;
    Journal& journal;
    Refusals& refusals;
  };
  // Throws asio::system_error when the port cannot be bound.
  RealtimePort(const Uses& uses, const asio::ip::udp::endpoint& endpoint);
  void start(Granter& granter);
  void stop();
  [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

  // Datagrams that have come, up to a batch.
  void receive_batch();
  void forget(ClientSlot client);
  // A CommandPacket that came in a frame of the control conversation: the same checks and verdicts, without a datagram.
  void take_command(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload);

  [[nodiscard]] const ClientWays& ways() const { return ways_; }
  [[nodiscard]] LinkPort& links() { return links_; }
  [[nodiscard]] GrantAnswers& answers() { return answers_; }
  [[nodiscard]] VerdictPort& verdicts() { return verdicts_; }
  [[nodiscard]] DevicePort& devices() { return devices_; }
  [[nodiscard]] StatePort& states() { return states_; }

 private:
  void receive();
  void look_again();
  void handle(std::size_t length, std::uint64_t now);
  void take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
            std::uint64_t now) override;
  void handle_ping(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                   std::uint64_t now);
  void handle_grant(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                    std::uint64_t now);
  void refuse_grant(Session& session, std::uint64_t sequence, v1::VerdictCode problem);
  void refuse(const char* reason);

  const Uses uses_;
  RealtimeSocket socket_;
  Route from_;
  std::array<std::uint8_t, 2048> in_{};
  DatagramDecoder decoder_;
  ClientWays ways_;
  LinkPort links_;
  Outlet outlet_;
  GrantAnswers answers_;
  VerdictPort verdicts_;
  CommandPort commands_;
  DevicePort devices_;
  StatePort states_;
  Granter* granter_ = nullptr;  // from start() on
};

}  // namespace tactus::net
