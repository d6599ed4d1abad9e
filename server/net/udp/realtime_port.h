// The UDP port: datagrams in through the checks of proto/README.md, states out. Callbacks that re-arm themselves;
// nothing is allocated per datagram. A full socket drops and counts, it never blocks.
#pragma once

#include <asio/steady_timer.hpp>

#include <array>
#include <optional>
#include <vector>

#include "server/net/udp/client_routes.h"
#include "server/net/udp/datagram.h"
#include "server/net/scene/end_effectors.h"
#include "server/net/hub.h"
#include "server/net/udp/state_encoder.h"

namespace tactus::net {

class RealtimePort {
 public:
  // Throws asio::system_error when the port cannot be bound.
  RealtimePort(Hub& hub, const asio::ip::udp::endpoint& endpoint);
  void start();
  void stop();
  [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

  // Answers the devices of one tick: before its state is there.
  void answer_tools(const ToolFrame& frame);
  // What an answer takes, once without sending: code and keys are then where the processor has them at hand.
  void rehearse_tools();
  // Datagrams that have come, up to a batch.
  void receive_batch();
  // Streams one state to every subscription that is due.
  void publish(const StateSlot& slot);
  // Lockstep: states before `until` are not sent to this client; that of `until` goes to all its subscriptions.
  void answer_at(ClientSlot client, std::uint64_t until, bool mute_before);
  // Forgets answers up to this tick.
  void answered(std::uint64_t tick);
  void give_verdict(const Notice& notice);
  // Lockstep: the client's grant has been run, for one whose states a faulty link holds back. False: its link is sound.
  bool send_granted(ClientSlot client);
  // link_port.cc. Datagrams that faulty links hold back and that have arrived by now; arms the timer for the next ones.
  void release_due();
  // A run begins: what is under way is gone, or (deliver) let through first; the fates begin anew.
  void restart_links(bool deliver);
  // What is under way on this client's links is let through at once.
  void flush_links(Session& session);
  void forget(ClientSlot client);
  // A CommandPacket that came in a frame of the control conversation: the same checks and verdicts, without a datagram.
  void take_command(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload);
  [[nodiscard]] std::string address(ClientSlot client) const;

 private:
  struct Answer {
    ClientSlot client;
    std::uint64_t until;
    bool mute_before;
  };
  void receive();
  void look_again();
  void handle(std::size_t length, std::uint64_t now);
  // route_port.cc. The newest datagram of a client came from `from_`: its own go there, or it is asked to show that it
  // is there.
  void note_route(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                  std::uint64_t now);
  void send_challenge(Session& session, std::uint64_t challenge);
  // A command of a client that subscribes to states and does not see them.
  [[nodiscard]] Refusal check_sight(const Session& session, std::uint64_t now) const;
  // An authentic datagram, once it has passed the client's link.
  void take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
            std::uint64_t now);
  void handle_command(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                      std::uint64_t now);
  [[nodiscard]] Refusal authorise(const Session& session, const CommandDatagram& command, std::uint64_t now) const;
  [[nodiscard]] Refusal authorise_joints(const Session& session, const CommandDatagram& command,
                                         std::uint64_t now) const;
  // What is commanded, if the scene and the leases allow it.
  [[nodiscard]] Refusal admit(const Session& session);
  void note_command(Session& session, std::uint64_t sequence, std::uint64_t now);
  // The decoded command as rows_[first] and behind; returns how many.
  [[nodiscard]] std::uint32_t fill_rows(const Session& session, std::uint64_t sequence, std::uint32_t first,
                                        std::uint64_t now);
  void push_rows(Session& session, std::uint64_t sequence, std::uint32_t rows);
  void handle_ping(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                   std::uint64_t now);
  void handle_grant(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                    std::uint64_t now);
  // verdict_port.cc
  void offer_verdicts(Session& session, std::uint64_t now);
  [[nodiscard]] std::span<const VerdictRecord> framed_verdicts(Session& session, std::uint64_t replaced);
  [[nodiscard]] std::uint64_t parts_clock() const;  // ns
  void handle_part(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload, std::uint64_t now);
  void handle_complete(Session& session, const CommandParts& parts, std::uint64_t now);
  void refuse_incomplete(Session& session);
  // device_port.cc
  void handle_device(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                     std::uint64_t now);
  [[nodiscard]] v1::VerdictCode check_rights(const Session& session, std::uint64_t now);
  void publish_tools(Session& session, std::uint32_t subscription, const StateSlot& slot);
  void send_tool(Session& session, std::uint32_t subscription, const ToolRow& row);
  void begin_tool(std::uint32_t epoch, std::uint64_t tick);
  void refuse_command(Session& session, std::uint64_t sequence, Refusal refusal);
  void refuse_grant(Session& session, std::uint64_t sequence, v1::VerdictCode problem);
  void give_verdict(Session& session, const VerdictRecord& verdict);
  void refuse(const char* reason);
  void publish_to(Session& session, Subscriber& subscriber, const StateSlot& slot);
  void publish_framed(Session& session, PacketSource source);
  void publish_shadow(Session& session, const SubscriptionSpec& spec, const StateSlot& slot);
  void send(Session& session, wire::DatagramType type, std::size_t payload_length);
  void transmit(Session& session, std::span<const std::uint8_t> datagram);
  // link_port.cc
  [[nodiscard]] std::uint64_t link_now() const;   // ns, or in lockstep the tick
  [[nodiscard]] std::uint64_t link_unit() const;  // ns
  [[nodiscard]] bool takes_part(wire::DatagramType type, std::span<const std::uint8_t> payload);
  void submit(Session& session, bool down, std::span<const std::uint8_t> datagram);
  void take_datagram(Session& session, std::span<const std::uint8_t> datagram);
  void arm_timer(std::uint64_t due_ns);

  Hub& hub_;
  RealtimeSocket socket_;
  Route from_;
  ClientRoutes routes_;
  std::array<std::uint8_t, 2048> in_{};
  std::array<std::uint8_t, wire::kDatagramMax> out_{};
  DatagramDecoder decoder_;
  CommandDatagram command_;
  std::vector<Command> rows_;
  std::vector<std::uint32_t> contact_rows_;
  EndEffectors end_effectors_;
  std::vector<PacketRange> plan_;
  std::vector<std::uint8_t> framed_;  // one payload for a WebSocket client
  std::vector<VerdictRecord> framed_verdicts_;
  v1::VerdictPacket verdicts_;
  v1::ShadowPacket shadow_;
  v1::DevicePacket device_;
  v1::ToolPacket tool_;
  std::vector<Answer> answers_;
  std::uint64_t last_send_ns_ = 0;  // of a state
  std::uint64_t answered_ns_ = 0;   // a grant
  asio::steady_timer link_timer_;
  std::uint64_t timer_due_ = 0;  // 0: not armed
  bool around_faults_ = false;   // what is sent now is no part of the stream: the answer to a refused grant
};

}  // namespace tactus::net
