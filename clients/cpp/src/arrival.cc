#include "clients/cpp/src/arrival.h"

#include "tactus/types.h"

#ifdef __linux__
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#endif

namespace tactus::client {

#ifdef __linux__
namespace {

constexpr std::int64_t kLagMaxNs = 60'000'000'000;  // longer: the system's clock was set in between

// The kernel stamps by the clock on the wall; how long ago it was is the same on ours.
std::int64_t arrival_of(const timespec& stamp) {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  const std::int64_t lag = (std::int64_t{wall.tv_sec} - stamp.tv_sec) * 1'000'000'000 + wall.tv_nsec - stamp.tv_nsec;
  return now_ns() - (lag > kLagMaxNs ? 0 : std::max<std::int64_t>(lag, 0));
}

}  // namespace

void tell_arrivals(asio::ip::udp::socket& socket) {
  const int on = 1;  // refused: then the time of reading stands for it
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
}

Arrival receive_arrival(asio::ip::udp::socket& socket, std::span<std::uint8_t> in, std::error_code& error) {
  iovec part{in.data(), in.size()};
  alignas(cmsghdr) std::array<char, 256> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  Arrival out;
  const ssize_t size = recvmsg(socket.native_handle(), &message, MSG_DONTWAIT);
  if (size < 0) {
    error = std::error_code(errno, asio::error::get_system_category());
    return out;
  }
  error = {};
  out.size = static_cast<std::size_t>(size);
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
      out.arrived_ns = arrival_of(stamp);
    } else if (c->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t count = 0;
      std::memcpy(&count, CMSG_DATA(c), sizeof count);
      out.overflowed = count;
    }
  }
  if (out.arrived_ns == 0) out.arrived_ns = now_ns();
  return out;
}

#else

void tell_arrivals(asio::ip::udp::socket&) {}

Arrival receive_arrival(asio::ip::udp::socket& socket, std::span<std::uint8_t> in, std::error_code& error) {
  Arrival out;
  out.size = socket.receive(asio::buffer(in.data(), in.size()), 0, error);
  out.arrived_ns = now_ns();
  return out;
}

#endif

}  // namespace tactus::client
