#include "server/net/udp/client_routes.h"

#include <algorithm>
#include <asio/ip/address.hpp>
#include <cstring>

namespace tactus::net {
namespace {

// IPv4 and IPv4 in IPv6 are one.
asio::ip::address plain(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

wire::Key fresh_key() {
  wire::Key key{};
  wire::random_bytes(key);
  return key;
}

}  // namespace

ClientRoutes::ClientRoutes(std::size_t clients) : sealer_(fresh_key()), clients_(clients) {}

void ClientRoutes::welcome(std::size_t client, const asio::ip::address& control) {
  clients_[client] = {};
  clients_[client].control = plain(control);
  clients_[client].is_welcome = true;
}

bool ClientRoutes::take(std::size_t client, const Route& from) {
  Client& c = clients_[client];
  if (from.peer != c.route.peer && plain(from.peer.address()) != c.control) return false;
  c.route = from;
  return true;
}

std::uint64_t ClientRoutes::number(std::size_t client, const Route& from, std::uint64_t period) const {
  std::array<std::uint8_t, 40> text{};
  std::memcpy(text.data(), from.peer.data(), std::min<std::size_t>(from.peer.size(), 28));
  const std::uint64_t index = client;
  std::memcpy(text.data() + 32, &index, sizeof index);
  const wire::Mac mac = sealer_.control_mac('R', period, text);
  std::uint64_t out = 0;
  std::memcpy(&out, mac.data(), sizeof out);
  return out | 1;  // 0 is none
}

std::uint64_t ClientRoutes::challenge(std::size_t client, const Route& from, std::uint64_t now) {
  Client& c = clients_[client];
  if (c.challenged_ns != 0 && now < c.challenged_ns + kChallengePauseNs) return 0;
  c.challenged_ns = now;
  return number(client, from, now / kChallengeLifeNs);
}

bool ClientRoutes::answer(std::size_t client, const Route& from, std::uint64_t challenge, std::uint64_t now) {
  const std::uint64_t period = now / kChallengeLifeNs;
  if (challenge == 0) return false;
  if (challenge != number(client, from, period) && (period == 0 || challenge != number(client, from, period - 1)))
    return false;
  clients_[client].route = from;
  return true;
}

}  // namespace tactus::net
