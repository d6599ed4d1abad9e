#include "server/net/udp/realtime_socket.h"

#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tactus::net {
namespace {

asio::ip::udp::socket bind_realtime(asio::io_context& io, const asio::ip::udp::endpoint& endpoint) {
  try {
    return {io, endpoint};
  } catch (const asio::system_error& e) {
    throw asio::system_error(
        e.code(), fmt::format("real-time port (UDP) {} on {}", endpoint.port(), endpoint.address().to_string()));
  }
}

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// What the kernel says of the way: the address that the sender wrote to.
void read_own(msghdr& message, Route& from) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      std::copy(kMapped.begin(), kMapped.end(), from.own.s6_addr);
      std::memcpy(from.own.s6_addr + kMapped.size(), &info.ipi_spec_dst, sizeof info.ipi_spec_dst);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      from.own = info.ipi6_addr;
      from.card = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? static_cast<std::uint32_t>(info.ipi6_ifindex) : 0;
    }
  }
}

template <typename Info>
void write_control(msghdr& message, int level, int type, const Info& info) {
  message.msg_controllen = CMSG_SPACE(sizeof info);
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = level;
  c->cmsg_type = type;
  c->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(c), &info, sizeof info);
}

}  // namespace

RealtimeSocket::RealtimeSocket(asio::io_context& io, const asio::ip::udp::endpoint& endpoint, std::size_t buffer_bytes)
    : socket_(bind_realtime(io, endpoint)),
      port_(socket_.local_endpoint().port()),
      is_v6_(endpoint.address().is_v6()),
      has_many_(endpoint.address().is_unspecified()) {
  socket_.non_blocking(true);
  asio::error_code ignored;  // the kernel's cap holds where it is lower
  const int bytes = static_cast<int>(buffer_bytes), on = 1;
  socket_.set_option(asio::socket_base::receive_buffer_size(bytes), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(bytes), ignored);
  if (!has_many_) return;
  const int fd = socket_.native_handle();
  if (is_v6_) setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  if (!is_v6_) setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
}

RealtimeSocket::Got RealtimeSocket::receive(std::span<std::uint8_t> into, std::size_t& length, Route& from) {
  alignas(cmsghdr) std::array<std::uint8_t, 128> control;
  iovec bytes{into.data(), into.size()};
  msghdr message{};
  message.msg_name = from.peer.data();
  message.msg_namelen = static_cast<socklen_t>(from.peer.capacity());
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = has_many_ ? control.data() : nullptr;
  message.msg_controllen = has_many_ ? control.size() : 0;
  const ssize_t n = recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EBADF ? Got::nothing : Got::again;
  from.peer.resize(message.msg_namelen);
  from.own = {};
  from.card = 0;
  if (has_many_) read_own(message, from);
  length = static_cast<std::size_t>(n);
  return Got::datagram;
}

bool RealtimeSocket::send(std::span<const std::uint8_t> datagram, const Route& to) {
  alignas(cmsghdr) std::array<std::uint8_t, 128> control{};
  iovec bytes{const_cast<std::uint8_t*>(datagram.data()), datagram.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.peer.data());
  message.msg_namelen = static_cast<socklen_t>(to.peer.size());
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (has_many_ && !IN6_IS_ADDR_UNSPECIFIED(&to.own)) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (is_v6_) {
      in6_pktinfo info{};
      info.ipi6_addr = to.own;
      info.ipi6_ifindex = to.card;
      write_control(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
    } else {
      in_pktinfo info{};
      std::memcpy(&info.ipi_spec_dst, to.own.s6_addr + kMapped.size(), sizeof info.ipi_spec_dst);
      write_control(message, IPPROTO_IP, IP_PKTINFO, info);
    }
  }
  return sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

void RealtimeSocket::close() {
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace tactus::net
