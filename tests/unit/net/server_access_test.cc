// Who may come in without a token: the kernel names the user at the other end of a connection, and config [access]
// says who of them may.
#include "server/net/control/access.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace tactus;
using namespace tactus::net;

namespace {

constexpr uid_t kStranger = 65534;

bool is_root() {
  if (geteuid() == 0) return true;
  MESSAGE("skipped: only root can be another user");
  return false;
}

// Of 127.0.0.1 or ::1, on a free port.
struct Address {
  explicit Address(int family) {
    std::memset(&storage, 0, sizeof storage);
    storage.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(&storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      size = sizeof(sockaddr_in);
    } else {
      reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr = in6addr_loopback;
      size = sizeof(sockaddr_in6);
    }
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// A connection within this machine; `client` is a child's where it was made by one.
struct Connection {
  explicit Connection(int listen_family, int connect_family, bool by_stranger = false) {
    Address own(listen_family);
    if (listen_family != connect_family) reinterpret_cast<sockaddr_in6*>(&own.storage)->sin6_addr = in6addr_any;
    listener = socket(listen_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, own.get(), own.size) != 0 || listen(listener, 1) != 0) return;
    getsockname(listener, own.get(), &own.size);
    Address to(connect_family);
    if (connect_family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(&to.storage)->sin_port =
          listen_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&own.storage)->sin_port
                                   : reinterpret_cast<sockaddr_in6*>(&own.storage)->sin6_port;
    } else {
      reinterpret_cast<sockaddr_in6*>(&to.storage)->sin6_port =
          reinterpret_cast<sockaddr_in6*>(&own.storage)->sin6_port;
    }
    if (by_stranger) {
      begin_child(to);
    } else {
      client = socket(connect_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(client, to.get(), to.size) != 0) return;
    }
    accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
  ~Connection() {
    end_child();
    for (const int fd : {client, accepted, listener, release}) {
      if (fd >= 0) close(fd);
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A child of another user connects, and holds on until `release` is closed.
  void begin_child(Address to) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return;
    child = fork();
    if (child == 0) {
      close(pipe_ends[1]);
      if (setresuid(kStranger, kStranger, kStranger) != 0) _exit(1);
      const int fd = socket(to.storage.ss_family, SOCK_STREAM, 0);
      char byte = 0;
      if (connect(fd, to.get(), to.size) == 0) [[maybe_unused]]
        const auto n = read(pipe_ends[0], &byte, 1);
      _exit(0);
    }
    close(pipe_ends[0]);
    release = pipe_ends[1];
  }
  void end_child() {
    if (release >= 0) close(std::exchange(release, -1));
    if (child > 0) waitpid(std::exchange(child, -1), nullptr, 0);
  }

  int listener = -1, client = -1, accepted = -1, release = -1;
  pid_t child = -1;
};

Access::Answer ask(const AccessOptions& options, std::uint32_t uid) {
  return Access(options).ask({true, uid, 0});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("peer owner: one's own connection is one's own, in IPv4, IPv6 and IPv4 through an IPv6 socket") {
  const int families[][2] = {{AF_INET, AF_INET}, {AF_INET6, AF_INET6}, {AF_INET6, AF_INET}};
  for (const auto& [listen_family, connect_family] : families) {
    const Connection connection(listen_family, connect_family);
    if (connection.accepted < 0 && listen_family == AF_INET6) {
      MESSAGE("skipped: no IPv6 on this machine");
      continue;
    }
    REQUIRE(connection.accepted >= 0);
    PeerOwner owner;
    for (int i = 0; i < 3; ++i) {
      const PeerUser found = owner.find(connection.accepted);
      INFO(why_unknown(found));
      CHECK(found.is_known);
      CHECK(found.uid == geteuid());
    }
  }
}

TEST_CASE("peer owner: another user's connection is his, and nobody's once he has closed it") {
  if (!is_root()) return;
  for (const int family : {AF_INET, AF_INET6}) {
    Connection connection(family, family, true);
    if (connection.accepted < 0) continue;
    PeerOwner owner;
    const PeerUser found = owner.find(connection.accepted);
    REQUIRE(found.is_known);
    CHECK(found.uid == kStranger);
    connection.end_child();
    // To the kernel a closed socket is root's.
    CHECK_FALSE(owner.find(connection.accepted).is_known);
  }
}

TEST_CASE("peer owner: what cannot be looked up is unknown and says why") {
  PeerOwner owner;
  CHECK(owner.find(-1).error == ENOTCONN);
  CHECK(contains(why_unknown({false, 0, ENOENT}), "network namespace"));
  CHECK(contains(why_unknown({false, 0, EAFNOSUPPORT}), "AF_NETLINK"));
  if (!is_root()) return;
  const Connection connection(AF_INET, AF_INET);
  REQUIRE(connection.accepted >= 0);
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0) _exit(2);
    PeerOwner elsewhere;
    const PeerUser found = elsewhere.find(connection.accepted);
    _exit(!found.is_known && found.error == ENOENT ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 2) return;
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("access: the server's user and root come in, others do not and are told what can be done") {
  const AccessOptions options;
  CHECK(ask(options, geteuid()).may);
  CHECK(ask(options, 0).may);
  CHECK(ask(options, geteuid()).role == Role::control);
  const Access::Answer refused = ask(options, 4'000'000'001);
  CHECK_FALSE(refused.may);
  for (const char* part : {"you are the user 4000000001", "[access] users", "--token-file", "--open"})
    CHECK(contains(refused.text, part));
  const Access::Answer unknown = Access(options).ask({false, 0, EAFNOSUPPORT});
  CHECK_FALSE(unknown.may);
  for (const char* part : {"AF_NETLINK", "--token-file", "--open"}) CHECK(contains(unknown.text, part));
}

TEST_CASE("access: config names more users, lets others look on, or lets everybody drive") {
  AccessOptions options;
  options.named = {4'000'000'001};
  CHECK(ask(options, 4'000'000'001).role == Role::control);
  CHECK_FALSE(ask(options, 4'000'000'002).may);
  options.others = "observe";
  CHECK(ask(options, 4'000'000'002).may);
  CHECK(ask(options, 4'000'000'002).role == Role::observe);
  CHECK(Access(options).ask({false, 0, ENOENT}).role == Role::observe);
  CHECK(ask(options, geteuid()).role == Role::control);
  options.open = true;
  CHECK(ask(options, 4'000'000'002).role == Role::control);
  CHECK(contains(Access(options).summary(), "every user"));
}

TEST_CASE("access: under sudo the caller comes in as well") {
  setenv("SUDO_UID", "4000000003", 1);
  const bool may = ask({}, 4'000'000'003).may;
  setenv("SUDO_UID", "4000000003x", 1);
  const bool malformed = ask({}, 4'000'000'003).may;
  unsetenv("SUDO_UID");
  CHECK(may);
  CHECK_FALSE(malformed);
}

TEST_CASE("access: users and groups are known to the system, by name or number; the first unknown one is named") {
  std::vector<std::uint32_t> uids;
  const passwd* own = getpwuid(geteuid());
  REQUIRE(own != nullptr);
  const std::string name = own->pw_name;
  const gid_t gid = own->pw_gid;
  CHECK(add_users(" " + name + "  4000000001 ", uids).empty());
  CHECK(uids == std::vector<std::uint32_t>{geteuid(), 4'000'000'001});
  CHECK(add_users(name + " nobody-of-that-name", uids) == "nobody-of-that-name");
  uids.clear();
  CHECK(add_groups(std::to_string(gid), uids).empty());  // his own group: it lists no members
  CHECK(std::find(uids.begin(), uids.end(), geteuid()) != uids.end());
  CHECK(add_groups("no-group-of-that-name", uids) == "no-group-of-that-name");
}
