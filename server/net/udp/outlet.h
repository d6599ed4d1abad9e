// Datagrams to clients: written into one buffer, sealed, and sent by the client's link.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "proto/cpp/wire.h"
#include "server/net/udp/client_ways.h"
#include "server/net/udp/link_port.h"

namespace tactus::net {

class Outlet {
 public:
  Outlet(ClientWays& ways, LinkPort& links) : ways_(ways), links_(links) {}

  // Where the payload of the next datagram is written.
  [[nodiscard]] std::uint8_t* payload() { return out_.data() + wire::kHeaderBytes; }
  void send(Session& session, wire::DatagramType type, std::size_t payload_length);
  // The payload is sealed and not sent: code and key are then where the processor has them at hand.
  void rehearse(Session& session, std::size_t payload_length);

  // While one lives, what is sent is no part of the stream and meets no fault: the answer to a refused grant.
  class AroundFaults {
   public:
    explicit AroundFaults(Outlet& outlet) : outlet_(outlet) { outlet_.around_faults_ = true; }
    ~AroundFaults() { outlet_.around_faults_ = false; }
    AroundFaults(const AroundFaults&) = delete;
    AroundFaults& operator=(const AroundFaults&) = delete;

   private:
    Outlet& outlet_;
  };
  [[nodiscard]] bool is_around_faults() const { return around_faults_; }

 private:
  ClientWays& ways_;
  LinkPort& links_;
  std::array<std::uint8_t, wire::kDatagramMax> out_{};
  bool around_faults_ = false;
};

}  // namespace tactus::net
