#include "server/net/control/conversation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/cpp/utf8.h"
#include "server/net/control/ids.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {
constexpr auto kHandshakeTime = std::chrono::seconds(5);
}  // namespace

Conversation::Conversation(const Reception& reception, std::string address, std::string source)
    : reception_(reception),
      watchdog_(reception.io),
      address_(std::move(address)),
      source_(std::move(source)),
      hold_(reception.io) {}

void Conversation::arm_watchdog() {
  ticket_ = reception_.door.lobby.enter(source_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->make_room();
  });
  watchdog_.expires_after(kHandshakeTime);
  watchdog_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::open) return;
    self->reception_.refusals.add("control_handshake_timeout");
    self->give_up(0, v1::ERROR_TIMEOUT, "the handshake was not finished within 5 s");
  });
}

void Conversation::end_silent() {
  reception_.refusals.add("control_silent");
  give_up(
      0, v1::ERROR_TIMEOUT,
      "nothing came from this client for 15 s, neither a request nor a datagram: send a heartbeat (proto/README.md)");
}

// Others want to come in, and this one has not said who it is.
void Conversation::make_room() {
  ticket_ = 0;
  reception_.refusals.add("control_handshakes_full");
  give_up(0, v1::ERROR_FULL,
          "this server waits for " + std::to_string(reception_.door.lobby.limit()) + " handshakes at a time, " +
              std::to_string(reception_.door.lobby.share()) +
              " of them from one address, and yours was the oldest: come again (limits.handshakes)");
}

bool Conversation::check_mac(std::span<const std::uint8_t>& frame) {
  if (frame.size() < wire::kMacBytes) return false;
  const std::span<const std::uint8_t> payload = frame.first(frame.size() - wire::kMacBytes);
  const wire::Mac mac = sealer_->control_mac('C', counter_in_++, payload);
  if (!wire::equal(mac, frame.last(wire::kMacBytes))) return false;
  frame = payload;
  return true;
}

template <typename Work>
bool Conversation::guard(Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    spdlog::error("{} ({}): {}", name_, address_, e.what());
    close("a request failed inside the server");
    return false;
  }
}

bool Conversation::serve_frame(std::span<const std::uint8_t> frame) {
  return guard([&] { return handle_frame(frame); });
}

bool Conversation::handle_frame(std::span<const std::uint8_t> frame) {
  if (sealer_ && !check_mac(frame)) {
    reception_.refusals.add("control_mac");
    sealer_.reset();
    return give_up(0, v1::ERROR_WRONG_KEY, "the frame's mac is wrong; shake hands anew");
  }
  v1::Request request;
  if (!request.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
    reception_.refusals.add("control_malformed");
    return give_up(0, v1::ERROR_MALFORMED, "the frame is not a tactus.v1 Request");
  }
  if (phase_ != Phase::open) return handshake(request);
  if (session() == nullptr) return false;
  session()->heard(now_ns());
  session()->saw_request(now_ns());
  reception_.house.serve(shared_from_this(), request);
  return !closing_ && !closed_;
}

bool Conversation::handshake(const v1::Request& request) {
  if (phase_ == Phase::hello && request.has_hello()) return on_hello(request.id(), request.hello());
  if (phase_ == Phase::authenticate && request.has_authenticate())
    return on_authenticate(request.id(), request.authenticate());
  send_error(request.id(), v1::ERROR_NOT_AUTHENTICATED,
             phase_ == Phase::hello  ? "expected Hello first"
             : phase_ == Phase::held ? "expected nothing before the answer to Authenticate"
                                     : "expected Authenticate: this server needs a token");
  return true;
}

bool Conversation::on_hello(std::uint32_t request, const v1::Hello& hello) {
  reception_.door.lobby.spoke(ticket_);
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
  if (reception_.sessions.is_full()) return refuse_full(request);  // with a token too: later it would need a mac
  std::memcpy(nonce_client_.data(), hello.nonce().data(), nonce_client_.size());
  wire::random_bytes(nonce_server_);
  session_id_ = random_u32();
  while (reception_.sessions.find_id(session_id_) != nullptr) session_id_ = random_u32();

  v1::Reply reply;
  reply.set_id(request);
  fill_hello(*reply.mutable_hello());
  if (!reception_.options.needs_token()) return admit_without_token(request, reply);
  phase_ = Phase::authenticate;
  send(reply);
  return true;
}

bool Conversation::admit_without_token(std::uint32_t request, v1::Reply& reply) {
  const Access::Answer answer = reception_.door.access.ask(peer());
  if (!answer.may && !strangers_look_on_) {
    reception_.refusals.add("control_not_let_in");
    return give_up(request, v1::ERROR_NOT_AUTHENTICATED, answer.text);
  }
  wire::random_bytes(key_);
  if (!open_session(answer.role, false)) return refuse_full(request);
  reply.mutable_hello()->set_key(key_.data(), key_.size());
  reply.mutable_hello()->set_role(to_string(session()->role));
  send(reply);  // the last frame without a mac
  seal();
  return true;
}

bool Conversation::refuse_full(std::uint32_t request) {
  reception_.refusals.add("control_full");
  return give_up(
      request, v1::ERROR_FULL,
      "this server serves " + std::to_string(reception_.options.clients) + " clients already (limits.clients)");
}

void Conversation::fill_hello(v1::HelloReply& reply) const {
  reply.set_version_major(wire::kVersionMajor);
  reply.set_version_minor(wire::kVersionMinor);
  reply.set_nonce(nonce_server_.data(), nonce_server_.size());
  reply.set_needs_token(reception_.options.needs_token());
  reply.set_session(session_id_);
  reply.set_realtime_port(reception_.realtime_port);
  reply.set_build(reception_.options.build);
  reply.set_scene_epoch(reception_.scene.epoch);
  reply.set_step_s(reception_.scene.model().step);
}

bool Conversation::on_authenticate(std::uint32_t request, const v1::Authenticate& authenticate) {
  const std::uint64_t wait = reception_.door.wrong_tokens.wait_ns(source_, now_ns());
  if (wait == 0) return check_proof(request, authenticate.proof());
  phase_ = Phase::held;
  hold_.expires_after(std::chrono::nanoseconds(wait));
  hold_.async_wait([weak = weak_from_this(), request, proof = authenticate.proof()](asio::error_code error) {
    const auto self = weak.lock();
    if (!error && self && !self->closed_ && !self->closing_)
      self->guard([&] { return self->check_proof(request, proof); });
  });
  return true;
}

bool Conversation::proves(const std::string& token, const std::string& proof) const {
  const wire::Proof expected = wire::handshake_proof(token, "client", nonce_client_, nonce_server_);
  return !token.empty() && wire::equal(expected, {reinterpret_cast<const std::uint8_t*>(proof.data()), proof.size()});
}

bool Conversation::check_proof(std::uint32_t request, const std::string& proof) {
  const bool drives = proves(reception_.options.token, proof);
  if (!drives && !proves(reception_.options.access.observe_token, proof)) {
    reception_.refusals.add("control_wrong_token");
    reception_.door.wrong_tokens.add(source_, now_ns());
    return give_up(request, v1::ERROR_WRONG_KEY, "the proof does not match: is it the server's token file?");
  }
  const std::string& token = drives ? reception_.options.token : reception_.options.access.observe_token;
  key_ = wire::derive_session_key(token, nonce_client_, nonce_server_);
  if (!open_session(drives ? Role::control : Role::observe, true)) return refuse_full(request);
  seal();
  v1::Reply reply;
  reply.set_id(request);
  const wire::Proof answer = wire::handshake_proof(token, "server", nonce_client_, nonce_server_);
  reply.mutable_authenticate()->set_proof(answer.data(), answer.size());
  reply.mutable_authenticate()->set_role(to_string(session()->role));
  send(reply);
  return true;
}

bool Conversation::open_session(Role role, bool by_token) {
  slot_ = reception_.sessions.reserve();
  if (!slot_) return false;
  const RateCap cap(reception_.options.commands_per_s, reception_.options.command_burst);
  Session& session =
      reception_.sessions.put(std::make_unique<Session>(*slot_, session_id_, name_, key_, by_token, cap));
  session.role = std::min(role, role_most_);
  session.framed = is_framed();
  session.heard(now_ns());
  reception_.house.welcome(session);
  phase_ = Phase::open;
  watchdog_.cancel();
  reception_.door.lobby.leave(std::exchange(ticket_, 0));
  spdlog::info("{} joined from {}{}", name_, address_, session.role == Role::observe ? " to look on" : "");
  return true;
}

void Conversation::send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  v1::Reply reply;
  reply.set_id(request);
  reply.mutable_error()->set_code(code);
  reply.mutable_error()->set_text(wire::as_utf8(text));  // it may quote a file
  send(reply);
}

bool Conversation::give_up(std::uint32_t request, v1::ErrorCode code, const std::string& text) {
  if (!is_open())
    reception_.door.turned_away.add(v1::ErrorCode_Name(code),
                                    (name_.empty() ? "a client" : name_) + " (" + address_ + "): " + text);
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
  hold_.cancel();
  reception_.door.lobby.leave(std::exchange(ticket_, 0));
  if (!slot_) return;
  reception_.house.leave(*slot_);
  slot_.reset();
}

}  // namespace tactus::net
