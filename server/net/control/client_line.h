// The line to one client, as the other rooms see it: what goes out on its control conversation, whatever carries it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "control.pb.h"
#include "proto/cpp/wire.h"
#include "server/session/session.h"

namespace tactus::net {

class ClientLine {
 public:
  virtual ~ClientLine() = default;

  virtual void send(const v1::Reply& reply) = 0;
  virtual void send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text) = 0;
  // A STATE, SHADOW or TOOL payload, for a client that gets them in frames of its conversation; a newer one of the same
  // key takes the place of one that waits. False: this client gets datagrams.
  virtual bool send_realtime(wire::DatagramType, std::uint64_t /*key*/, std::span<const std::uint8_t>) { return false; }
  [[nodiscard]] virtual bool is_framed() const { return false; }
  // States that a newer one replaced before the client took them.
  [[nodiscard]] virtual std::uint64_t states_replaced() const { return 0; }
  // Null until the handshake is done, and after the end.
  [[nodiscard]] virtual Session* session() = 0;
  // For people.
  [[nodiscard]] virtual const std::string& address() const = 0;

  // Neither a request nor a datagram came for 15 s.
  virtual void end_silent() = 0;
  // Sends what is queued, then closes.
  virtual void close_after_flush(const std::string& why) = 0;
  virtual void close(const std::string& why) = 0;
};

}  // namespace tactus::net
