#include "server/net/control/peer_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tactus::net {
namespace {

constexpr std::uint8_t kListening = 10;  // of the kernel's enum in net/tcp_states.h

struct Query {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

bool is_mapped(const in6_addr& address) {
  return IN6_IS_ADDR_V4MAPPED(&address) != 0;
}

// One end of the connection, as inet_diag writes it: address and port in network order. The family; 0: no TCP/IP.
std::uint8_t fill_end(const sockaddr_storage& from, std::uint32_t (&address)[4], std::uint16_t& port) {
  std::memset(&address, 0, sizeof address);
  if (from.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    address[0] = v4.sin_addr.s_addr;
    port = v4.sin_port;
    return AF_INET;
  }
  if (from.ss_family != AF_INET6) return 0;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &from, sizeof v6);
  port = v6.sin6_port;
  if (is_mapped(v6.sin6_addr)) {  // ::ffff:127.0.0.1 is 127.0.0.1 to the kernel's tables
    std::memcpy(&address[0], &v6.sin6_addr.s6_addr[12], 4);
    return AF_INET;
  }
  std::memcpy(&address, &v6.sin6_addr, sizeof address);
  return AF_INET6;
}

// What the kernel is asked: the socket whose own end is our peer.
bool fill_query(int fd, Query& query) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return false;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return false;
  inet_diag_sockid& id = query.body.id;
  const std::uint8_t family = fill_end(peer, id.idiag_src, id.idiag_sport);
  if (family == 0 || fill_end(own, id.idiag_dst, id.idiag_dport) != family) return false;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  query.body.sdiag_family = family;
  query.body.sdiag_protocol = IPPROTO_TCP;
  query.body.idiag_states = ~0u;
  query.head.nlmsg_len = sizeof query;
  query.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.head.nlmsg_flags = NLM_F_REQUEST;
  return true;
}

PeerUser unknown(int error) {
  return {false, 0, error};
}

// The answer to one question, its head checked. Without such a connection the kernel names who listens on the peer's
// port, and to it whoever has closed his socket is root.
PeerUser read_answer(const nlmsghdr& head, const std::uint8_t* body, std::size_t size, const inet_diag_sockid& asked) {
  if (head.nlmsg_type == NLMSG_ERROR) {
    int error = 0;
    if (size < sizeof error) return unknown(EBADMSG);
    std::memcpy(&error, body, sizeof error);  // nlmsgerr begins with it
    return unknown(-error);
  }
  inet_diag_msg found{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < sizeof found) return unknown(EBADMSG);
  std::memcpy(&found, body, sizeof found);
  const bool is_peer = found.id.idiag_sport == asked.idiag_sport && found.id.idiag_dport == asked.idiag_dport;
  if (found.idiag_state == kListening || !is_peer) return unknown(ENOENT);
  if (found.idiag_inode == 0) return unknown(ENOTCONN);
  return {true, found.idiag_uid, 0};
}

}  // namespace

PeerOwner::PeerOwner() : netlink_(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG)) {
  if (netlink_ < 0) error_ = errno;
}

PeerOwner::~PeerOwner() {
  if (netlink_ >= 0) close(netlink_);
}

PeerUser PeerOwner::find(int fd) {
  if (netlink_ < 0) return unknown(error_);
  Query query{};
  if (!fill_query(fd, query)) return unknown(ENOTCONN);
  query.head.nlmsg_seq = ++sequence_;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(netlink_, &query, sizeof query, 0, reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) < 0)
    return unknown(errno);
  alignas(nlmsghdr) std::array<std::uint8_t, 4096> answer{};
  for (;;) {  // the kernel has answered by now; what is left of an earlier question is passed over
    const ssize_t size = recv(netlink_, answer.data(), answer.size(), 0);
    if (size < 0) return unknown(errno);
    if (static_cast<std::size_t>(size) < NLMSG_HDRLEN) return unknown(EBADMSG);
    nlmsghdr head{};
    std::memcpy(&head, answer.data(), sizeof head);
    if (head.nlmsg_seq == sequence_)
      return read_answer(head, answer.data() + NLMSG_HDRLEN, static_cast<std::size_t>(size) - NLMSG_HDRLEN,
                         query.body.id);
  }
}

std::string why_unknown(const PeerUser& user) {
  switch (user.error) {
    case ENOTCONN:
      return "the connection had ended already";
    case ENOENT:
      return "the kernel knows no such connection here: the client is in another network namespace or container, or "
             "the "
             "kernel was built without inet_diag";
    case EAFNOSUPPORT:
    case EACCES:
    case EPERM:
      return "the server may not ask the kernel: AF_NETLINK is missing in RestrictAddressFamilies of its systemd unit, "
             "or a seccomp filter forbids it";
    default:
      return std::string("the kernel did not say: ") + std::strerror(user.error);
  }
}

}  // namespace tactus::net
