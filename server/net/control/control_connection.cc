#include "server/net/control/control_connection.h"

#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <cstring>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr auto kFlushTime = std::chrono::seconds(2);

std::string to_text(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const auto remote = socket.remote_endpoint(error);
  return error ? std::string("?") : remote.address().to_string() + ":" + std::to_string(remote.port());
}

std::string source_of_peer(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const auto remote = socket.remote_endpoint(error);
  return error ? std::string("?") : source_of(remote.address().to_string());
}

}  // namespace

ControlConnection::ControlConnection(const Reception& reception, asio::ip::tcp::socket socket)
    : Conversation(reception, to_text(socket), source_of_peer(socket)),
      socket_(std::move(socket)),
      pause_(reception.io),
      cap_(reception.options.requests_per_s, std::max(50.0, reception.options.requests_per_s / 5)) {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  // A peer that vanished without a word (cable, power) gives its slot back after 5 + 3 * 2 s; after 15 s where
  // something was on its way to it: then the system asks nothing.
  const int fd = socket_.native_handle(), idle_s = 5, interval_s = 2, probes = 3, unanswered_ms = 15'000;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

PeerUser ControlConnection::peer() {
  return reception_.door.peer_owner.find(socket_.native_handle());
}

void ControlConnection::start() {
  arm_watchdog();
  asio::co_spawn(reception_.io, converse(std::static_pointer_cast<ControlConnection>(shared_from_this())),
                 asio::detached);
}

// A static function with the connection as its argument: g++ 12 -O3 miscompiles a lambda that is itself a coroutine in
// co_spawn, and some co_await inside conditions.
asio::awaitable<void> ControlConnection::converse(std::shared_ptr<ControlConnection> self) {
  bool going = true;
  while (going) {
    going = co_await self->read_frame();
    if (going) going = self->serve_frame(self->in_);
    const bool too_fast = going && self->is_open() && !self->reception_.tick.lockstep() && !self->cap_.take(now_ns());
    if (too_fast) co_await self->slow_down();
    if (self->closed_ || self->closing_) going = false;
  }
  if (!self->closing_) self->close("left");
}

// Too many requests: the next one is read later. TCP makes the client wait; nothing is refused.
asio::awaitable<void> ControlConnection::slow_down() {
  pause_.expires_after(std::chrono::nanoseconds(cap_.wait_ns()));
  asio::error_code error;
  co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  cap_.take(now_ns());
}

asio::awaitable<bool> ControlConnection::read_frame() {
  asio::error_code error;
  std::uint32_t length = 0;
  co_await asio::async_read(socket_, asio::buffer(&length, sizeof length),
                            asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return false;
  const std::size_t limit = inbound_max();
  if (length > limit || (sealer_ && length < wire::kMacBytes)) {
    reception_.refusals.add("control_frame_length");
    give_up(0, v1::ERROR_MALFORMED,
            "frame length " + std::to_string(length) + " is illegal; expected at most " + std::to_string(limit));
    co_return false;
  }
  in_.resize(length);
  co_await asio::async_read(socket_, asio::buffer(in_), asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

void ControlConnection::deliver(const v1::Reply& reply, std::size_t payload) {
  const std::size_t mac_bytes = sealer_ ? wire::kMacBytes : 0;
  std::vector<std::uint8_t> frame(4 + payload + mac_bytes);
  const auto length = static_cast<std::uint32_t>(payload + mac_bytes);
  std::memcpy(frame.data(), &length, 4);
  reply.SerializeWithCachedSizesToArray(frame.data() + 4);
  if (sealer_) {
    const wire::Mac mac = sealer_->control_mac('S', counter_out_++, {frame.data() + 4, payload});
    std::memcpy(frame.data() + 4 + payload, mac.data(), mac.size());
  }
  queued_bytes_ += frame.size();
  queue_.push_back(std::move(frame));
  if (queued_bytes_ > reception_.options.send_queue_bytes) {
    reception_.refusals.add("control_does_not_read");
    return close("does not read: " + std::to_string(queued_bytes_) + " bytes are waiting (limits.send_queue_bytes)");
  }
  if (!writing_) write_next();
}

void ControlConnection::write_next() {
  if (closed_) return;
  writing_ = !queue_.empty();
  if (!writing_) {
    if (closing_) close("");
    return;
  }
  asio::async_write(
      socket_, asio::buffer(queue_.front()),
      [self = std::static_pointer_cast<ControlConnection>(shared_from_this())](asio::error_code error, std::size_t) {
        if (self->closed_) return;
        if (error) return self->close("the connection broke");
        self->queued_bytes_ -= self->queue_.front().size();
        self->queue_.pop_front();
        self->write_next();
      });
}

void ControlConnection::close_after_flush(const std::string& why) {
  if (closed_ || closing_) return;
  if (!why.empty() && slot_) spdlog::info("{} ({}): closing: {}", name_, address_, why);
  closing_ = true;
  watchdog_.expires_after(kFlushTime);  // for one that does not read
  watchdog_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->close("did not read the last words");
  });
  if (!writing_) write_next();
}

void ControlConnection::close(const std::string& why) {
  if (closed_) return;
  closed_ = true;
  if (!why.empty() && slot_) spdlog::info("{} ({}): {}", name_, address_, why);
  pause_.cancel();
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  leave();
}

}  // namespace tactus::net
