#include "server/net/conversation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/net/realtime_port.h"
#include "server/net/requests.h"

namespace tactus::net {
namespace {
constexpr auto kHandshakeTime = std::chrono::seconds(5);
}  // namespace

Conversation::Conversation(Hub& hub, std::string address)
    : hub_(hub), watchdog_(hub.io), address_(std::move(address)) {}

void Conversation::arm_watchdog() {
  watchdog_.expires_after(kHandshakeTime);
  watchdog_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::open) return;
    self->hub_.refuse("control_handshake_timeout");
    self->send_error(0, v1::ERROR_TIMEOUT, "the handshake was not finished within 5 s");
    self->close_after_flush("handshake not finished within 5 s");
  });
}

bool Conversation::check_mac(std::span<const std::uint8_t>& frame) {
  if (frame.size() < wire::kMacBytes) return false;
  const std::span<const std::uint8_t> payload = frame.first(frame.size() - wire::kMacBytes);
  const wire::Mac mac = sealer_->control_mac('C', counter_in_++, payload);
  if (!wire::equal(mac, frame.last(wire::kMacBytes))) return false;
  frame = payload;
  return true;
}

bool Conversation::serve_frame(std::span<const std::uint8_t> frame) {
  try {
    return handle_frame(frame);
  } catch (const std::exception& e) {
    spdlog::error("{} ({}): {}", name_, address_, e.what());
    close("a request failed inside the server");
    return false;
  }
}

bool Conversation::handle_frame(std::span<const std::uint8_t> frame) {
  if (sealer_ && !check_mac(frame)) {
    hub_.refuse("control_mac");
    sealer_.reset();
    return give_up(0, v1::ERROR_WRONG_KEY, "the frame's mac is wrong; shake hands anew");
  }
  v1::Request request;
  if (!request.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
    hub_.refuse("control_malformed");
    return give_up(0, v1::ERROR_MALFORMED, "the frame is not a tactus.v1 Request");
  }
  if (phase_ != Phase::open) return handshake(request);
  if (session() == nullptr) return false;
  handle_request(hub_, *this, request);
  return !closing_ && !closed_;
}

bool Conversation::handshake(const v1::Request& request) {
  if (phase_ == Phase::hello && request.has_hello()) return on_hello(request.id(), request.hello());
  if (phase_ == Phase::authenticate && request.has_authenticate())
    return on_authenticate(request.id(), request.authenticate());
  send_error(request.id(), v1::ERROR_NOT_AUTHENTICATED,
             phase_ == Phase::hello ? "expected Hello first" : "expected Authenticate: this server needs a token");
  return true;
}

bool Conversation::on_hello(std::uint32_t request, const v1::Hello& hello) {
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
  seal();
  return true;
}

void Conversation::fill_hello(v1::HelloReply& reply) const {
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

bool Conversation::on_authenticate(std::uint32_t request, const v1::Authenticate& authenticate) {
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
  seal();
  v1::Reply reply;
  reply.set_id(request);
  const wire::Proof proof = wire::handshake_proof(token, "server", nonce_client_, nonce_server_);
  reply.mutable_authenticate()->set_proof(proof.data(), proof.size());
  reply.mutable_authenticate()->set_role("control");
  send(reply);
  return true;
}

bool Conversation::open_session(bool by_token) {
  slot_ = hub_.sessions.reserve();
  if (!slot_) return false;
  const RateCap cap(hub_.options.commands_per_s, hub_.options.command_burst);
  Session& session = hub_.sessions.put(std::make_unique<Session>(*slot_, session_id_, name_, key_, by_token, cap));
  session.framed = is_framed();
  hub_.begin_faults(session);
  phase_ = Phase::open;
  watchdog_.cancel();
  spdlog::info("{} joined from {}", name_, address_);
  return true;
}

void Conversation::send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  v1::Reply reply;
  reply.set_id(request);
  reply.mutable_error()->set_code(code);
  reply.mutable_error()->set_text(text);
  send(reply);
}

bool Conversation::give_up(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  send_error(request, code, text);
  close_after_flush(text);
  return false;
}

void Conversation::send(const v1::Reply& reply) {
  if (closed_ || closing_) return;
  const std::size_t payload = reply.ByteSizeLong(), mac_bytes = sealer_ ? wire::kMacBytes : 0;
  if (payload + mac_bytes > wire::kControlFrameMax) {
    return send_error(reply.id(), v1::ERROR_FULL,
                      "the reply would have " + std::to_string(payload) + " bytes, more than a frame may have");
  }
  deliver(reply, payload);
}

void Conversation::seal() {
  sealer_.emplace(key_);
  on_key(key_);
}

void Conversation::leave() {
  watchdog_.cancel();
  if (!slot_) return;
  hub_.realtime->forget(*slot_);
  hub_.client_left(*slot_);
  slot_.reset();
}

}  // namespace tactus::net
