// Where each client's datagrams go: to the address of its control connection, at any port, or to one that has answered
// a challenge. So nobody can point a stream at somebody else with a datagram whose sender's address is not its own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proto/cpp/seal.h"
#include "server/net/udp/realtime_socket.h"

namespace tactus::net {

class ClientRoutes {
 public:
  static constexpr std::uint64_t kChallengePauseNs = 100'000'000;    // between two challenges of one client
  static constexpr std::uint64_t kChallengeLifeNs = 60'000'000'000;  // they change so often; the one before counts, too

  explicit ClientRoutes(std::size_t clients);

  // client: index of its slot. control: the address of its control connection.
  void welcome(std::size_t client, const asio::ip::address& control);
  [[nodiscard]] bool is_welcome(std::size_t client) const { return clients_[client].is_welcome; }
  void forget(std::size_t client) { clients_[client] = {}; }
  [[nodiscard]] const Route& route(std::size_t client) const { return clients_[client].route; }

  // The newest datagram of this client came from there. False: that address has not shown that it is the client's.
  bool take(std::size_t client, const Route& from);
  // It sent this number: if it is that of a challenge to this very address, the client's datagrams go there from now
  // on.
  bool answer(std::size_t client, const Route& from, std::uint64_t challenge, std::uint64_t now_ns);
  // The number to ask such an address for; 0: it was asked a moment ago.
  [[nodiscard]] std::uint64_t challenge(std::size_t client, const Route& from, std::uint64_t now_ns);

 private:
  struct Client {
    asio::ip::address control;
    Route route;
    std::uint64_t challenged_ns = 0;
    bool is_welcome = false;
  };
  // Nothing is kept of addresses that were asked: the number is a mac over the address that no client can make.
  [[nodiscard]] std::uint64_t number(std::size_t client, const Route& from, std::uint64_t period) const;

  mutable wire::Sealer sealer_;  // of a secret of this server
  std::vector<Client> clients_;
};

}  // namespace tactus::net
