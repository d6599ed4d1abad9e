// One client's control conversation, whatever carries it: handshake, macs, requests. TCP and WebSocket derive from it
// and move the frames. Belongs to the net thread.
#pragma once

#include <asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/net/control/client_line.h"
#include "server/net/control/door.h"
#include "server/net/control/refusals.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"

namespace tactus::net {

// What becomes of a conversation behind the door.
class House {
 public:
  virtual ~House() = default;
  // A session has begun ...
  virtual void welcome(Session& session) = 0;
  // ... makes a request ...
  virtual void serve(const std::shared_ptr<ClientLine>& line, const v1::Request& request) = 0;
  // ... and ends: leases, subscriptions, its slot.
  virtual void leave(ClientSlot client) = 0;
};

// What every conversation is handed.
struct Reception {
  asio::io_context& io;
  const NetOptions& options;
  const TickPort& tick;
  const SceneView& scene;
  SessionTable& sessions;
  Door& door;
  Refusals& refusals;
  House& house;
  std::uint16_t realtime_port;  // told in the handshake
};

class Conversation : public ClientLine, public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void send(const v1::Reply& reply) final;
  void send_error(std::uint32_t request, v1::ErrorCode code, const std::string& text) final;
  void end_silent() final;
  [[nodiscard]] Session* session() final { return closed_ || !slot_ ? nullptr : reception_.sessions.find(*slot_); }
  [[nodiscard]] const std::string& address() const final { return address_; }

 protected:
  // held: a proof waits for its answer, because its source has shown wrong tokens.
  enum class Phase { hello, authenticate, held, open };

  // address: for people; source: what limits are counted by (source_of).
  Conversation(const Reception& reception, std::string address, std::string source);
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
  const Reception& reception_;
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
