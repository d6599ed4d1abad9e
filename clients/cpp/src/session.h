// The TCP side: connect, shake hands, carry requests and replies, reconnect. Lives on the io thread; only the
// constructor may run elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "clients/cpp/src/asio.h"
#include "clients/cpp/src/control_codec.h"
#include "control.pb.h"
#include "tactus/types.h"

namespace tactus::client {

// What a request came to: a reply, or why there is none.
struct Outcome {
  std::optional<v1::Reply> reply;  // without error
  Error::Kind kind = Error::Kind::link_lost;
  int code = 0;  // ErrorCode when kind is refused
  std::string text;
};

struct Handshake {
  wire::Key key{};
  std::uint32_t session = 0, scene_epoch = 0;
  std::string role, build;
  double step_s = 0;
  asio::ip::udp::endpoint realtime;
};

class Session {
 public:
  struct Handlers {
    std::function<void(const Handshake&)> up;
    // `final`: no further attempt will be made.
    std::function<void(const Error& reason, bool final)> down;
    std::function<void(const v1::Reply&)> reply;  // before the request's own handler
    std::function<void(const v1::Event&)> event;
  };
  using Done = std::function<void(Outcome)>;

  Session(asio::io_context& io, Options options, Handlers handlers);
  void start();
  void stop();                            // no reconnect; outstanding requests fail
  void close(const std::string& reason);  // drop this connection; reconnects
  void request(v1::Request request, Done done);
  // For how long the oldest unanswered internal probe or the silence lasts: the caller decides what is too long.
  std::int64_t last_received_ns() const { return last_received_ns_; }

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> open();
  asio::awaitable<void> shake_hands(Handshake& out);
  asio::awaitable<void> prove_token(const wire::Nonce& mine, const wire::Nonce& theirs, Handshake& out);
  asio::awaitable<void> read_replies();
  asio::awaitable<v1::Reply> read_reply();
  asio::awaitable<void> write_now(v1::Request request);
  void arm_watchdog();
  void handle(v1::Reply reply);
  void fail_all(Error::Kind kind, const std::string& text);
  void write_next();
  v1::Reply parse(std::span<const std::uint8_t> frame);

  asio::io_context& io_;
  const Options options_;
  const Handlers handlers_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer watchdog_, backoff_;
  ControlCodec codec_;
  bool stopping_ = false, up_ = false, timed_out_ = false;
  std::string close_reason_, down_reason_;
  std::uint32_t next_id_ = 2;  // 1 is Hello
  std::unordered_map<std::uint32_t, Done> waiting_;
  using Outbox = std::deque<std::vector<std::uint8_t>>;
  std::shared_ptr<Outbox> outbox_;  // one per connection: a write of the last one may still be ending
  std::vector<std::uint8_t> inbox_;
  std::int64_t last_received_ns_ = 0;
};

}  // namespace tactus::client
