// A control conversation over TCP: framing, a bounded queue of replies. One coroutine reads; writes follow one another.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/net/control/conversation.h"

namespace tactus::net {

class ControlConnection final : public Conversation {
 public:
  ControlConnection(const Reception& reception, asio::ip::tcp::socket socket);
  // Runs until the client leaves or is sent away; holds itself alive.
  void start();
  void close_after_flush(const std::string& why) override;
  void close(const std::string& why) override;

 protected:
  [[nodiscard]] PeerUser peer() override;

 private:
  // Static: the frame's shared_ptr keeps the connection alive.
  static asio::awaitable<void> converse(std::shared_ptr<ControlConnection> self);
  asio::awaitable<bool> read_frame();
  asio::awaitable<void> slow_down();
  // Queues a reply. A client that leaves more than options.send_queue_bytes unread is cut off.
  void deliver(const v1::Reply& reply, std::size_t payload) override;
  void write_next();

  asio::ip::tcp::socket socket_;
  asio::steady_timer pause_;
  std::uint64_t counter_out_ = 0;
  RateCap cap_;
  std::vector<std::uint8_t> in_;
  std::deque<std::vector<std::uint8_t>> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false;
};

}  // namespace tactus::net
