// One client's control conversation, whatever carries it: handshake, macs, requests. TCP and WebSocket derive from it
// and move the frames. Belongs to the net thread.
#pragma once

#include <asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/net/hub.h"

namespace tactus::net {

class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  virtual ~Conversation() = default;

  void send(const v1::Reply& reply);
  void send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text);
  // Neither a request nor a datagram came for 15 s.
  void end_silent();
  // Sends what is queued, then closes.
  virtual void close_after_flush(const std::string& why) = 0;
  virtual void close(const std::string& why) = 0;
  // A STATE or SHADOW payload, for a client that gets them in frames of this conversation; a newer one of the same key
  // takes the place of one that waits. False: this client gets datagrams.
  virtual bool send_realtime(wire::DatagramType, std::uint64_t /*key*/, std::span<const std::uint8_t>) { return false; }
  [[nodiscard]] virtual bool is_framed() const { return false; }
  // States that a newer one replaced before the client took them.
  [[nodiscard]] virtual std::uint64_t states_replaced() const { return 0; }
  // Null until the handshake is done, and after the end.
  [[nodiscard]] Session* session() { return closed_ || !slot_ ? nullptr : hub_.sessions.find(*slot_); }
  [[nodiscard]] const std::string& address() const { return address_; }

 protected:
  // held: a proof waits for its answer, because its source has shown wrong tokens.
  enum class Phase { hello, authenticate, held, open };

  // address: for people; source: what limits are counted by (source_of).
  Conversation(Hub& hub, std::string address, std::string source);
  // The handshake must be finished within 5 s, or until room is needed for others. To be called once a shared_ptr holds
  // the conversation.
  void arm_watchdog();
  // Whose the other end is; asked where there is no token.
  [[nodiscard]] virtual PeerUser peer() = 0;
  // At most this role, whatever the token gives ...
  Role role_most_ = Role::control;
  // ... and whoever has none may look on.
  bool strangers_look_on_ = false;
  // One frame from the client, with its mac where there must be one; false: the conversation is over. What one client's
  // frame brings about must never end the server.
  bool serve_frame(std::span<const std::uint8_t> frame);
  bool give_up(std::uint32_t request, v1::ErrorCode code, const std::string& text);
  // The end of the session: leases, subscriptions, its slot.
  void leave();
  // Carries payload bytes of the reply, whose size is known (ByteSizeLong was called), with a mac when sealed().
  virtual void deliver(const v1::Reply& reply, std::size_t payload) = 0;
  // The session key is known: frames carry a mac from now on.
  virtual void on_key(const wire::Key&) {}
  [[nodiscard]] bool sealed() const { return sealer_.has_value(); }
  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }
  [[nodiscard]] std::size_t inbound_max() const { return is_open() ? wire::kControlInboundMax : kHandshakeFrameMax; }

  static constexpr std::size_t kHandshakeFrameMax = 4096;
  Hub& hub_;
  asio::steady_timer watchdog_;
  std::string address_, name_;
  std::optional<wire::Sealer> sealer_;  // set: frames carry a mac
  std::optional<ClientSlot> slot_;
  bool closing_ = false, closed_ = false;

 private:
  // What it throws ends this conversation only.
  template <typename Work>
  bool guard(Work work);
  bool handle_frame(std::span<const std::uint8_t> frame);
  bool check_mac(std::span<const std::uint8_t>& frame);
  bool handshake(const v1::Request& request);
  bool on_hello(std::uint32_t request, const v1::Hello& hello);
  bool admit_without_token(std::uint32_t request, v1::Reply& reply);
  bool on_authenticate(std::uint32_t request, const v1::Authenticate& authenticate);
  // Of Authenticate, at once or after the time that its source has to wait.
  bool check_proof(std::uint32_t request, const std::string& proof);
  bool proves(const std::string& token, const std::string& proof) const;
  bool open_session(Role role, bool by_token);
  bool refuse_full(std::uint32_t request);
  void make_room();
  void seal();
  void fill_hello(v1::HelloReply& reply) const;

  std::string source_;
  Lobby::Ticket ticket_ = 0;
  asio::steady_timer hold_;
  Phase phase_ = Phase::hello;
  wire::Nonce nonce_client_{}, nonce_server_{};
  wire::Key key_{};
  std::uint32_t session_id_ = 0;
  std::uint64_t counter_in_ = 0;
};

}  // namespace tactus::net
