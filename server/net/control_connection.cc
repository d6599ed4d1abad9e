#include "server/net/control_connection.h"

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

#include "server/net/realtime_port.h"
#include "server/net/requests.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr auto kHandshakeTime = std::chrono::seconds(5), kFlushTime = std::chrono::seconds(2);

std::string to_text(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const auto remote = socket.remote_endpoint(error);
  return error ? std::string("?") : remote.address().to_string() + ":" + std::to_string(remote.port());
}

}  // namespace

ControlConnection::ControlConnection(Hub& hub, asio::ip::tcp::socket socket)
    : hub_(hub),
      socket_(std::move(socket)),
      watchdog_(hub.io),
      pause_(hub.io),
      address_(to_text(socket_)),
      cap_(hub.options.requests_per_s, std::max(50.0, hub.options.requests_per_s / 5)) {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  // A peer that vanished without a word (cable, power) gives its slot back after 5 + 3 * 2 s.
  const int fd = socket_.native_handle(), idle_s = 5, interval_s = 2, probes = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void ControlConnection::start() {
  arm_watchdog();
  asio::co_spawn(hub_.io, converse(shared_from_this()), asio::detached);
}

void ControlConnection::arm_watchdog() {
  watchdog_.expires_after(kHandshakeTime);
  watchdog_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::open) return;
    self->hub_.refuse("control_handshake_timeout");
    self->send_error(0, v1::ERROR_TIMEOUT, "the handshake was not finished within 5 s");
    self->close_after_flush("handshake not finished within 5 s");
  });
}

// A static function with the connection as its argument: g++ 12 -O3 miscompiles a lambda that is itself a coroutine in
// co_spawn, and some co_await inside conditions.
asio::awaitable<void> ControlConnection::converse(std::shared_ptr<ControlConnection> self) {
  bool going = true;
  while (going) {
    going = co_await self->read_frame();
    if (going) going = self->serve_frame();
    const bool too_fast =
        going && self->phase_ == Phase::open && !self->hub_.tick.lockstep() && !self->cap_.take(now_ns());
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
  const std::size_t limit = phase_ == Phase::open ? wire::kControlInboundMax : 4096;
  if (length > limit || (sealer_ && length < wire::kMacBytes)) {
    hub_.refuse("control_frame_length");
    give_up(0, v1::ERROR_MALFORMED,
            "frame length " + std::to_string(length) + " is illegal; expected at most " + std::to_string(limit));
    co_return false;
  }
  in_.resize(length);
  co_await asio::async_read(socket_, asio::buffer(in_), asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

bool ControlConnection::check_mac() {
  if (in_.size() < wire::kMacBytes) return false;
  const std::size_t length = in_.size() - wire::kMacBytes;
  const wire::Mac mac = sealer_->control_mac('C', counter_in_++, {in_.data(), length});
  if (!wire::equal(mac, {in_.data() + length, wire::kMacBytes})) return false;
  in_.resize(length);
  return true;
}

// What one client's frame brings about must never end the server.
bool ControlConnection::serve_frame() {
  try {
    return handle_frame();
  } catch (const std::exception& e) {
    spdlog::error("{} ({}): {}", name_, address_, e.what());
    close("a request failed inside the server");
    return false;
  }
}

bool ControlConnection::handle_frame() {
  if (sealer_ && !check_mac()) {
    hub_.refuse("control_mac");
    sealer_.reset();
    return give_up(0, v1::ERROR_WRONG_KEY, "the frame's mac is wrong; shake hands anew");
  }
  v1::Request request;
  if (!request.ParseFromArray(in_.data(), static_cast<int>(in_.size()))) {
    hub_.refuse("control_malformed");
    return give_up(0, v1::ERROR_MALFORMED, "the frame is not a tactus.v1 Request");
  }
  if (phase_ != Phase::open) return handshake(request);
  if (session() == nullptr) return false;
  handle_request(hub_, *this, request);
  return !closing_ && !closed_;
}

bool ControlConnection::handshake(const v1::Request& request) {
  if (phase_ == Phase::hello && request.has_hello()) return on_hello(request.id(), request.hello());
  if (phase_ == Phase::authenticate && request.has_authenticate())
    return on_authenticate(request.id(), request.authenticate());
  send_error(request.id(), v1::ERROR_NOT_AUTHENTICATED,
             phase_ == Phase::hello ? "expected Hello first" : "expected Authenticate: this server needs a token");
  return true;
}

bool ControlConnection::on_hello(std::uint32_t request, const v1::Hello& hello) {
  if (hello.version_major() != wire::kVersionMajor) {
    return give_up(request, v1::ERROR_VERSION,
                   "this server speaks version 1." + std::to_string(wire::kVersionMinor) + ", found major version " +
                       std::to_string(hello.version_major()));
  }
  if (hello.nonce().size() != wire::kNonceBytes) {
    return give_up(request, v1::ERROR_BAD_VALUE,
                   "nonce has " + std::to_string(hello.nonce().size()) + " bytes, expected 32");
  }
  if (!is_name(hello.client_name()))
    return give_up(request, v1::ERROR_BAD_VALUE, "client_name must match [A-Za-z0-9_.-]{1,64}");
  name_ = hello.client_name();
  std::memcpy(nonce_client_.data(), hello.nonce().data(), nonce_client_.size());
  wire::random_bytes(nonce_server_);
  session_id_ = random_u32();
  while (hub_.sessions.find_id(session_id_) != nullptr) session_id_ = random_u32();

  v1::Reply reply;
  reply.set_id(request);
  fill_hello(*reply.mutable_hello());
  if (!hub_.options.token.empty()) {
    key_ = wire::derive_session_key(hub_.options.token, nonce_client_, nonce_server_);
    phase_ = Phase::authenticate;
    send(reply);
    return true;
  }
  wire::random_bytes(key_);
  if (!open_session(false))
    return give_up(request, v1::ERROR_FULL,
                   "this server serves " + std::to_string(hub_.options.clients) + " clients already (limits.clients)");
  reply.mutable_hello()->set_key(key_.data(), key_.size());
  reply.mutable_hello()->set_role("control");
  send(reply);  // the last frame without a mac
  sealer_.emplace(key_);
  return true;
}

void ControlConnection::fill_hello(v1::HelloReply& reply) const {
  reply.set_version_major(wire::kVersionMajor);
  reply.set_version_minor(wire::kVersionMinor);
  reply.set_nonce(nonce_server_.data(), nonce_server_.size());
  reply.set_needs_token(!hub_.options.token.empty());
  reply.set_session(session_id_);
  reply.set_realtime_port(hub_.realtime_port);
  reply.set_build(hub_.options.build);
  reply.set_scene_epoch(hub_.scene.epoch);
  reply.set_step_s(hub_.scene.model().step);
}

bool ControlConnection::on_authenticate(std::uint32_t request, const v1::Authenticate& authenticate) {
  const std::string& token = hub_.options.token;
  const wire::Proof expected = wire::handshake_proof(token, "client", nonce_client_, nonce_server_);
  const auto* found = reinterpret_cast<const std::uint8_t*>(authenticate.proof().data());
  if (!wire::equal(expected, {found, authenticate.proof().size()})) {
    hub_.refuse("control_wrong_token");
    spdlog::warn("{} ({}): wrong token", address_, name_);
    return give_up(request, v1::ERROR_WRONG_KEY, "the proof does not match: is it the server's token file?");
  }
  if (!open_session(true))
    return give_up(request, v1::ERROR_FULL,
                   "this server serves " + std::to_string(hub_.options.clients) + " clients already (limits.clients)");
  sealer_.emplace(key_);
  v1::Reply reply;
  reply.set_id(request);
  const wire::Proof proof = wire::handshake_proof(token, "server", nonce_client_, nonce_server_);
  reply.mutable_authenticate()->set_proof(proof.data(), proof.size());
  reply.mutable_authenticate()->set_role("control");
  send(reply);
  return true;
}

bool ControlConnection::open_session(bool by_token) {
  slot_ = hub_.sessions.reserve();
  if (!slot_) return false;
  const RateCap cap(hub_.options.commands_per_s, hub_.options.command_burst);
  Session& session = hub_.sessions.put(std::make_unique<Session>(*slot_, session_id_, name_, key_, by_token, cap));
  hub_.set_faults(session, std::make_unique<FaultyLinks>(link_seed(hub_.options.link_seed, name_), hub_.options.link_up,
                                                         hub_.options.link_down, hub_.options.link_datagrams));
  phase_ = Phase::open;
  watchdog_.cancel();
  spdlog::info("{} joined from {}", name_, address_);
  return true;
}

void ControlConnection::send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  v1::Reply reply;
  reply.set_id(request);
  reply.mutable_error()->set_code(code);
  reply.mutable_error()->set_text(text);
  send(reply);
}

bool ControlConnection::give_up(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  send_error(request, code, text);
  close_after_flush(text);
  return false;
}

void ControlConnection::send(const v1::Reply& reply) {
  if (closed_ || closing_) return;
  const std::size_t payload = reply.ByteSizeLong(), mac_bytes = sealer_ ? wire::kMacBytes : 0;
  if (payload + mac_bytes > wire::kControlFrameMax) {
    return send_error(reply.id(), v1::ERROR_FULL,
                      "the reply would have " + std::to_string(payload) + " bytes, more than a frame may have");
  }
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
  if (queued_bytes_ > hub_.options.send_queue_bytes) {
    hub_.refuse("control_does_not_read");
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
  asio::async_write(socket_, asio::buffer(queue_.front()),
                    [self = shared_from_this()](asio::error_code error, std::size_t) {
                      if (self->closed_) return;
                      if (error) return self->close("the connection broke");
                      self->queued_bytes_ -= self->queue_.front().size();
                      self->queue_.pop_front();
                      self->write_next();
                    });
}

void ControlConnection::close_after_flush(const std::string& why) {
  if (closed_ || closing_) return;
  if (!why.empty()) spdlog::info("{} ({}): closing: {}", name_.empty() ? "a client" : name_, address_, why);
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
  watchdog_.cancel();
  pause_.cancel();
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  if (!slot_) return;
  hub_.realtime->forget(*slot_);
  hub_.client_left(*slot_);
  slot_.reset();
}

}  // namespace tactus::net
