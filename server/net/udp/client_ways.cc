#include "server/net/udp/client_ways.h"

#include <array>
#include <asio/ip/address.hpp>

#include "core/check.h"

namespace tactus::net {
namespace {

constexpr std::size_t kChallengeBytes = wire::kHeaderBytes + 9 + wire::kMacBytes;

std::size_t index_of(ClientSlot client) {
  return client & 0xffu;
}

// Of "ADDRESS:PORT".
asio::ip::address without_port(const std::string& text) {
  asio::error_code error;
  return asio::ip::make_address(text.substr(0, text.rfind(':')), error);
}

}  // namespace

void ClientWays::note(Session& session, const Route& from, const wire::DatagramHeader& header,
                      std::span<const std::uint8_t> payload, std::uint64_t now) {
  const std::size_t client = index_of(session.slot());
  if (!routes_.is_welcome(client)) {
    const auto line = lines_.find(session.slot());
    if (!line) return;
    routes_.welcome(client, without_port(line->address()));
  }
  if (routes_.take(client, from)) return;
  const bool is_command = header.type == wire::DatagramType::command;
  if (is_command && routes_.answer(client, from, decoder_.challenge(payload), now)) return;
  // Never more bytes than came: nobody gains by letting a server send to a third.
  if (wire::kHeaderBytes + payload.size() + wire::kMacBytes < kChallengeBytes) return;
  if (const std::uint64_t number = routes_.challenge(client, from, now)) send_challenge(session, from, number);
}

void ClientWays::send_challenge(Session& session, const Route& to, std::uint64_t challenge) {
  std::array<std::uint8_t, wire::kDatagramMax> out{};
  v1::ChallengePacket packet;
  packet.set_challenge(challenge);
  const std::size_t payload = packet.ByteSizeLong();
  packet.SerializeWithCachedSizesToArray(out.data() + wire::kHeaderBytes);
  wire::write_header(out.data(), {wire::DatagramType::challenge, session.id(), session.next_sequence()});
  const std::size_t length = session.sealer.seal_datagram(out.data(), wire::kHeaderBytes + payload);
  TACTUS_ASSERT(length == kChallengeBytes);
  refusals_.add("datagram_address");
  socket_.send({out.data(), length}, to);
}

bool ClientWays::is_open(const Session& session) const {
  return routes_.route(index_of(session.slot())).is_set();
}

void ClientWays::transmit(Session& session, std::span<const std::uint8_t> datagram) {
  const Route& route = routes_.route(index_of(session.slot()));
  if (route.is_set() && socket_.send(datagram, route)) {
    ++session.counters.packets_sent;
  } else {
    ++session.counters.packets_dropped;
  }
}

void ClientWays::forget(ClientSlot client) {
  routes_.forget(index_of(client));
}

std::string ClientWays::address(ClientSlot client) const {
  const Route& route = routes_.route(index_of(client));
  return route.is_set() ? route.peer.address().to_string() + ":" + std::to_string(route.peer.port()) : std::string();
}

}  // namespace tactus::net
