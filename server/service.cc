#include "server/service.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tactus {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Service::Service() : address_(variable("NOTIFY_SOCKET")) {
  if (address_.empty() || address_.size() >= sizeof(sockaddr_un{}.sun_path)) return;
  if (address_.front() == '@') address_.front() = '\0';  // a socket without a file
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const std::string process = variable("WATCHDOG_PID");
  if (!process.empty() && process != std::to_string(getpid())) return;
  watchdog_ = std::chrono::microseconds(std::strtoull(variable("WATCHDOG_USEC").c_str(), nullptr, 10));
}

Service::~Service() {
  if (socket_ >= 0) close(socket_);
}

bool Service::tell(const std::string& state) const {
  if (socket_ < 0) return false;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  return sendto(socket_, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size) >= 0;
}

ServiceWatchdog::ServiceWatchdog(asio::io_context& io, const Service& service, std::function<bool()> lives)
    : service_(service), lives_(std::move(lives)), timer_(io) {}

void ServiceWatchdog::start() {
  if (service_.watchdog().count() == 0) return;
  if (lives_()) service_.tell("WATCHDOG=1");
  timer_.expires_after(service_.watchdog() / 2);
  timer_.async_wait([this](asio::error_code error) {
    if (!error) start();
  });
}

}  // namespace tactus
