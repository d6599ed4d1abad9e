#include "server/net/udp/outlet.h"

namespace tactus::net {

void Outlet::send(Session& session, wire::DatagramType type, std::size_t payload_length) {
  wire::write_header(out_.data(), {type, session.id(), session.next_sequence()});
  const std::size_t length = session.sealer.seal_datagram(out_.data(), wire::kHeaderBytes + payload_length);
  const std::span<const std::uint8_t> datagram(out_.data(), length);
  if (!around_faults_ && session.faults && session.faults->down && links_.takes_part(type, {}))
    return links_.submit(session, true, datagram);
  ways_.transmit(session, datagram);
}

void Outlet::rehearse(Session& session, std::size_t payload_length) {
  session.sealer.seal_datagram(out_.data(), wire::kHeaderBytes + payload_length);
}

}  // namespace tactus::net
