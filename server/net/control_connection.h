// One TCP control session: framing, handshake, a bounded queue of replies. One coroutine reads; writes follow one
// another.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/net/hub.h"

namespace tactus::net {

class ControlConnection : public std::enable_shared_from_this<ControlConnection> {
 public:
  ControlConnection(Hub& hub, asio::ip::tcp::socket socket);
  // Runs until the client leaves or is sent away; holds itself alive.
  void start();
  // Queues a reply. A client that leaves more than options.send_queue_bytes unread is cut off.
  void send(const v1::Reply& reply);
  void send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text);
  // Sends what is queued, then closes.
  void close_after_flush(const std::string& why);
  void close(const std::string& why);
  // Null until the handshake is done, and after the end.
  [[nodiscard]] Session* session() { return closed_ || !slot_ ? nullptr : hub_.sessions.find(*slot_); }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  enum class Phase { hello, authenticate, open };

  // Static: the frame's shared_ptr keeps the connection alive.
  static asio::awaitable<void> converse(std::shared_ptr<ControlConnection> self);
  asio::awaitable<bool> read_frame();
  asio::awaitable<void> slow_down();
  void arm_watchdog();
  bool serve_frame();  // false: the conversation is over
  bool handle_frame();
  bool check_mac();
  bool handshake(const v1::Request& request);
  bool on_hello(std::uint32_t request, const v1::Hello& hello);
  bool on_authenticate(std::uint32_t request, const v1::Authenticate& authenticate);
  bool open_session(bool by_token);
  void fill_hello(v1::HelloReply& reply) const;
  bool give_up(std::uint32_t request, v1::ErrorCode code, const std::string& text);
  void write_next();

  Hub& hub_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer watchdog_, pause_;
  std::string address_, name_;
  Phase phase_ = Phase::hello;
  wire::Nonce nonce_client_{}, nonce_server_{};
  wire::Key key_{};
  std::uint32_t session_id_ = 0;
  std::optional<ClientSlot> slot_;
  std::optional<wire::Sealer> sealer_;  // set: frames carry a mac
  std::uint64_t counter_in_ = 0, counter_out_ = 0;
  RateCap cap_;
  std::vector<std::uint8_t> in_;
  std::deque<std::vector<std::uint8_t>> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false, closing_ = false, closed_ = false;
};

}  // namespace tactus::net
