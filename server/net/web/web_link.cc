#include "server/net/web/web_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <stdexcept>

namespace tactus::net {

WebLink::WebLink() : net_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (net_fd < 0) throw std::runtime_error("no file descriptor is left for the web server");
}

// Both threads have ended: what is still under way belongs to nobody else.
WebLink::~WebLink() {
  WebInbound in;
  while (inbound.pop(in)) {
    delete in.bytes;
    delete in.gauge;
  }
  WebOutbound out;
  while (outbound.pop(out)) delete out.bytes;
  close(net_fd);
}

void WebLink::wake_net() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(net_fd, &one, sizeof one);
}

}  // namespace tactus::net
