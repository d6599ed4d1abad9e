// The ways to the clients: which address a client's datagrams go to, and what leaves for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/net/control/client_lines.h"
#include "server/net/control/refusals.h"
#include "server/net/udp/client_routes.h"
#include "server/net/udp/datagram.h"
#include "server/net/udp/realtime_socket.h"

namespace tactus::net {

class ClientWays {
 public:
  ClientWays(RealtimeSocket& socket, const ClientLines& lines, Refusals& refusals, std::size_t clients)
      : socket_(socket), lines_(lines), refusals_(refusals), routes_(clients) {}

  // The newest datagram of a client came from there: its own go there, or it is asked to show that it is there.
  void note(Session& session, const Route& from, const wire::DatagramHeader& header,
            std::span<const std::uint8_t> payload, std::uint64_t now);
  [[nodiscard]] bool is_open(const Session& session) const;
  // A sealed datagram leaves now, or is dropped: both are counted.
  void transmit(Session& session, std::span<const std::uint8_t> datagram);
  void forget(ClientSlot client);
  // For people; empty: none is known.
  [[nodiscard]] std::string address(ClientSlot client) const;

 private:
  void send_challenge(Session& session, const Route& to, std::uint64_t challenge);

  RealtimeSocket& socket_;
  const ClientLines& lines_;
  Refusals& refusals_;
  ClientRoutes routes_;
  DatagramDecoder decoder_;
};

}  // namespace tactus::net
