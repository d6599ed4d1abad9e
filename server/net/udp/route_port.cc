// The ways to the clients: which address a client's datagrams go to, and whether it sees what is sent there.
#include <algorithm>
#include <asio/ip/address.hpp>

#include "core/check.h"
#include "server/net/control/conversation.h"
#include "server/net/udp/realtime_port.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr std::size_t kChallengeBytes = wire::kHeaderBytes + 9 + wire::kMacBytes;

std::size_t index_of_slot(ClientSlot client) {
  return client & 0xffu;
}

// Of "ADDRESS:PORT".
asio::ip::address without_port(const std::string& text) {
  asio::error_code error;
  return asio::ip::make_address(text.substr(0, text.rfind(':')), error);
}

}  // namespace

void RealtimePort::note_route(Session& session, const wire::DatagramHeader& header,
                              std::span<const std::uint8_t> payload, std::uint64_t now) {
  const std::size_t client = index_of_slot(session.slot());
  if (!routes_.is_welcome(client)) {
    const auto connection = hub_.connection(session.slot());
    if (!connection) return;
    routes_.welcome(client, without_port(connection->address()));
  }
  if (routes_.take(client, from_)) return;
  const bool is_command = header.type == wire::DatagramType::command;
  if (is_command && routes_.answer(client, from_, decoder_.challenge(payload), now)) return;
  // Never more bytes than came: nobody gains by letting a server send to a third.
  if (wire::kHeaderBytes + payload.size() + wire::kMacBytes < kChallengeBytes) return;
  if (const std::uint64_t number = routes_.challenge(client, from_, now)) send_challenge(session, number);
}

void RealtimePort::send_challenge(Session& session, std::uint64_t challenge) {
  v1::ChallengePacket packet;
  packet.set_challenge(challenge);
  const std::size_t payload = packet.ByteSizeLong();
  packet.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  wire::write_header(out_.data(), {wire::DatagramType::challenge, session.id(), session.next_sequence()});
  const std::size_t length = session.sealer.seal_datagram(out_.data(), wire::kHeaderBytes + payload);
  TACTUS_ASSERT(length == kChallengeBytes);
  hub_.refuse("datagram_address");
  socket_.send({out_.data(), length}, from_);
}

// In lockstep the world waits for the client; over a WebSocket states come by the way of the commands.
Refusal RealtimePort::check_sight(const Session& session, std::uint64_t now) const {
  if (session.framed || session.subscriptions.empty() || hub_.tick.lockstep()) return {};
  std::uint32_t decimation = ~0u;
  for (const auto& s : session.subscriptions) decimation = std::min(decimation, s->spec().decimation);
  const double period_ns = 1e9 * hub_.scene.model().step * decimation;
  const bool is_blind =
      session.sight.is_blind(now, std::uint64_t{1000} * command_.deadline_us, static_cast<std::uint64_t>(period_ns));
  return {is_blind ? v1::VERDICT_REFUSED_BLIND : v1::VERDICT_NONE, 0};
}

void RealtimePort::transmit(Session& session, std::span<const std::uint8_t> datagram) {
  const Route& route = routes_.route(index_of_slot(session.slot()));
  if (route.is_set() && socket_.send(datagram, route)) {
    ++session.counters.packets_sent;
  } else {
    ++session.counters.packets_dropped;
  }
}

void RealtimePort::forget(ClientSlot client) {
  std::erase_if(answers_, [client](const Answer& a) { return a.client == client; });
  routes_.forget(index_of_slot(client));
}

std::string RealtimePort::address(ClientSlot client) const {
  const Route& route = routes_.route(index_of_slot(client));
  return route.is_set() ? route.peer.address().to_string() + ":" + std::to_string(route.peer.port()) : std::string();
}

}  // namespace tactus::net
