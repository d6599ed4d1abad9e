// When a datagram reached this machine, which is not when a program that hung or was suspended came to read it. Where
// the system does not say (not Linux), the time of reading stands for it, and nothing is known of a full socket.
#pragma once

#include <cstdint>
#include <span>
#include <system_error>

#include "clients/cpp/src/asio.h"

namespace tactus::client {

struct Arrival {
  std::size_t size = 0;
  std::int64_t arrived_ns = 0;  // of now_ns()
  std::uint64_t overflowed =
      0;  // datagrams that this socket had no room for before this one; 0: not told with this one
};

// Before the first datagram: the socket is to tell.
void tell_arrivals(asio::ip::udp::socket& socket);
// As socket.receive(), without waiting.
Arrival receive_arrival(asio::ip::udp::socket& socket, std::span<std::uint8_t> in, std::error_code& error);

}  // namespace tactus::client
