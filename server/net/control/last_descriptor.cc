#include "server/net/control/last_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace tactus::net {
namespace {

constexpr int kAtOnce = 64;

int open_spare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace

LastDescriptor::LastDescriptor() : spare_(open_spare()) {}

LastDescriptor::~LastDescriptor() {
  if (spare_ >= 0) close(spare_);
}

void LastDescriptor::turn_away(int listener, std::span<const std::uint8_t> word) {
  if (spare_ >= 0) close(std::exchange(spare_, -1));
  for (int i = 0; i < kAtOnce; ++i) {
    const int guest = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (guest < 0) break;
    [[maybe_unused]] const ssize_t sent = send(guest, word.data(), word.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    // What he has sent is read, or closing would take the word back.
    std::uint8_t unread[4096];
    while (recv(guest, unread, sizeof unread, MSG_DONTWAIT) > 0) {
    }
    shutdown(guest, SHUT_WR);
    close(guest);
  }
  spare_ = open_spare();
}

}  // namespace tactus::net
