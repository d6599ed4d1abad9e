// The faulty link as a program of its own: a UDP relay between any two programs, with the faults of
// session/link_faults.h each way.
#pragma once

#include <asio/ip/udp.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/session/link_faults.h"

namespace tactus::net {

struct RelayOptions {
  std::string listen = "127.0.0.1";
  std::uint16_t port = 0;      // 0: any free one
  asio::ip::udp::endpoint to;  // where clients' datagrams go
  LinkFaultSettings up, down;  // to `to`; back
  std::uint64_t seed = 1;
  std::size_t clients = 64;            // addresses at one time; the one that was silent longest makes room
  std::size_t queue_datagrams = 4096;  // under way, each direction of each client
};

struct RelayTotals {
  std::uint64_t clients = 0, up_received = 0, up_sent = 0, down_received = 0, down_sent = 0, too_long = 0,
                send_failed = 0;
  LinkFaultCounters up, down;  // of all clients; sequence_hash: of the first
};

// One socket for the clients, one to `to` for each client, so that the far side tells clients apart by their ports.
class Relay {
 public:
  // Throws asio::system_error when a port cannot be bound. Settings must be without a problem.
  Relay(asio::io_context& io, const RelayOptions& options);
  void start();
  void stop();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] RelayTotals totals() const;

 private:
  struct Client {
    Client(asio::io_context& io, const asio::ip::udp::endpoint& client, const RelayOptions& options,
           std::uint64_t number);
    asio::ip::udp::endpoint address;
    asio::ip::udp::socket socket;  // connected to `to`
    FaultyLinks links;
    std::uint64_t heard_ns = 0;
  };
  void receive_up();
  void receive_down(const std::shared_ptr<Client>& client);
  Client* find(const asio::ip::udp::endpoint& from);
  void pass(Client& client, FaultyLink* link, std::span<const std::uint8_t> datagram, bool up);
  void send(Client& client, std::span<const std::uint8_t> datagram, bool up);
  void release_due();

  asio::io_context& io_;
  const RelayOptions options_;
  asio::ip::udp::socket socket_;
  std::uint16_t port_ = 0;
  asio::ip::udp::endpoint from_;
  std::array<std::uint8_t, 65536> in_{};
  std::vector<std::shared_ptr<Client>> clients_;
  asio::steady_timer timer_;
  RelayTotals totals_;
};

}  // namespace tactus::net
