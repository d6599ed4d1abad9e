// The UDP socket: datagrams in and out, each with the address of this machine that it came to and must leave from. A
// machine has several (cards, VPN, 127.0.0.2), and a client takes an answer only from the one that it asked. Nothing is
// allocated per datagram.
#pragma once

#include <netinet/in.h>

#include <asio/ip/udp.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace tactus::net {

// The other end of a way, and this one.
struct Route {
  asio::ip::udp::endpoint peer;
  in6_addr own{};          // IPv4: mapped; all zero: the system chooses
  std::uint32_t card = 0;  // the interface of a link-local `own`

  [[nodiscard]] bool is_set() const { return peer.port() != 0; }
};

class RealtimeSocket {
 public:
  // Throws asio::system_error when the port cannot be bound.
  RealtimeSocket(asio::io_context& io, const asio::ip::udp::endpoint& endpoint, std::size_t buffer_bytes);

  enum class Got { datagram, nothing, again };
  // Never blocks. again: an error of an earlier send, for example of a client that has gone.
  Got receive(std::span<std::uint8_t> into, std::size_t& length, Route& from);
  // Never blocks. False: there was no room, or no way.
  bool send(std::span<const std::uint8_t> datagram, const Route& to);

  template <typename Handler>
  void wait(Handler handler) {
    socket_.async_wait(asio::ip::udp::socket::wait_read, std::move(handler));
  }
  void close();
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  asio::ip::udp::socket socket_;
  std::uint16_t port_;
  bool is_v6_, has_many_;  // many: bound to every address of the machine
};

}  // namespace tactus::net
