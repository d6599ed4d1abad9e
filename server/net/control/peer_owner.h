// Which user of this machine has the other end of a TCP connection, as the kernel says it (Linux: NETLINK_SOCK_DIAG).
#pragma once

#include <cstdint>
#include <string>

namespace tactus::net {

struct PeerUser {
  bool is_known = false;
  std::uint32_t uid = 0;  // where known
  int error = 0;          // where not: an errno
};

// What stood in the way, for people.
std::string why_unknown(const PeerUser& user);

// One object a thread: it holds its socket, so that a look-up needs no descriptor when none is left.
class PeerOwner {
 public:
  PeerOwner();
  ~PeerOwner();
  PeerOwner(const PeerOwner&) = delete;
  PeerOwner& operator=(const PeerOwner&) = delete;

  // fd: a TCP connection that this process accepted, IPv4 or IPv6. Some 10 us; waits for nothing. Only a socket that is
  // still open counts: the kernel gives those that were closed to root.
  [[nodiscard]] PeerUser find(int fd);

 private:
  int netlink_ = -1;
  int error_ = 0;  // why there is none
  std::uint32_t sequence_ = 0;
};

}  // namespace tactus::net
