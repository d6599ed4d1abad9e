// Net's side of the web server: a Conversation for each WebSocket client, fed by the rings of web_link.h.
#pragma once

#include <asio/posix/stream_descriptor.hpp>

#include <deque>
#include <memory>
#include <unordered_map>

#include "server/net/control/client_lines.h"
#include "server/net/control/conversation.h"
#include "server/net/web/scrape.h"
#include "server/net/web/web_thread.h"

namespace tactus::net {

class WebConnection;

class WebPort {
 public:
  // Binds. Throws asio::system_error naming the port.
  WebPort(const Reception& reception, ClientLines& lines, const Scrape& scrape);
  ~WebPort();
  void start();
  void stop();
  [[nodiscard]] std::uint16_t port() const { return thread_.port(); }

  // Hands a message over, in order. States are dropped (false) while the ring is more than half full.
  bool post(const WebOutbound& message);
  // What the web thread refused without asking net, by name, for the statistics.
  void count(v1::Statistics& out) const;

 private:
  void wait();
  void serve();
  void handle(const WebInbound& message);
  void flush_backlog();

  const Reception& reception_;
  ClientLines& lines_;
  WebLink link_;
  WebThread thread_;
  asio::posix::stream_descriptor wake_;
  std::deque<WebOutbound> backlog_;
  std::unordered_map<std::uint32_t, std::shared_ptr<WebConnection>> clients_;
};

}  // namespace tactus::net
