// The web thread: HTTP and WebSocket on libwebsockets. Serves the viewer's files, moves frames between sockets and
// net's rings, keeps slow and silent clients from costing others anything. Knows nothing of what the frames say.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "server/net/options.h"
#include "server/net/web/web_link.h"
#include "server/net/web/web_policy.h"

namespace tactus::net {

struct WebDoor {
  WebOptions options;
  std::string listen;
  double requests_per_s = 500;   // of one client
  WebPages pages;                // called on the web thread
  bool is_foxglove_open = true;  // viewers of the Foxglove protocol are let in
  std::string token;             // with which they are authenticated, where the server has one
};

class WebThread {
 public:
  // Binds. Throws asio::system_error naming the port.
  WebThread(WebDoor door, WebLink& link);
  ~WebThread();
  WebThread(const WebThread&) = delete;
  WebThread& operator=(const WebThread&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Normal scheduling, off the tick's processor (-1: nowhere).
  void start(int avoid_cpu);
  // Sends what is queued, for at most 100 ms, and ends the thread.
  void stop();
  // From net: something is outbound.
  void wake() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tactus::net
