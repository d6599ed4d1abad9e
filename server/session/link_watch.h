// Measures one client's control loop from the server's side: each tick and each command goes through here. Pure: times
// are passed in.
#pragma once

#include <array>
#include <cstdint>

#include "proto/cpp/link_quality.h"

namespace tactus {

// What a command says of itself (proto CommandPacket); 0: not told.
struct CommandStamps {
  std::uint64_t expected_tick = 0, client_recv_ns = 0, client_send_ns = 0;  // client's clock
  std::uint32_t states_received = 0, states_lost = 0, states_due = 0;
  std::uint32_t deadline_us = 0;
  std::uint64_t sequence = 0;  // of its datagram
  bool ends = false;           // the control loop, on purpose
};

// One published tick.
struct TickStamps {
  std::uint64_t tick = 0, send_ns = 0;  // when its state was handed to the socket
  std::uint64_t ticks_missed = 0;       // grid points skipped since start
  double period_us = 1000, wake_late_us = 0, work_us = 0;
};

class LinkWatch {
 public:
  // A command with rows, accepted into the window.
  void command(const CommandStamps& stamps, std::uint64_t now_ns) noexcept;
  // One without: it tells what has arrived at the client.
  void heartbeat(const CommandStamps& stamps, std::uint64_t now_ns) noexcept;
  // Any authentic datagram; a request on the control connection. Where only these go on, UDP passes one way.
  void datagram(std::uint64_t now_ns) noexcept;
  void request(std::uint64_t now_ns) noexcept;
  // The client gave its leases back: its loop is over.
  void end() noexcept { span_.end(0); }
  // A verdict applied or clamped. age: arrival to application.
  void applied(std::uint32_t age_us) noexcept;
  // The client has been sent the state of a tick. Since its session began: datagrams that came, sequence numbers that
  // never did so far, commands refused.
  void tick(const TickStamps& stamps, std::uint64_t up_received, std::uint64_t up_lost, std::uint64_t refused) noexcept;

  [[nodiscard]] bool has_commanded() const noexcept { return commands_ != 0; }
  [[nodiscard]] const LinkMeter& meter() const noexcept { return meter_; }

 private:
  struct Sent {
    std::uint64_t tick = 0, ns = 0;
  };
  void count_states(const CommandStamps& stamps, std::uint64_t now_ns) noexcept;
  void look_for_mute_client(std::uint64_t now_ns) noexcept;
  void count_unheard(const TickStamps& stamps) noexcept;

  LinkMeter meter_;
  LinkMeter::Totals totals_;
  ControlSpan span_;
  std::array<Sent, 1024> sent_{};
  std::uint64_t datagrams_ = 0, commands_ = 0, ticks_missed_ = 0;
  std::uint64_t last_datagram_ns_ = 0, last_request_ns_ = 0;
  std::uint64_t tick_ = 0, heard_tick_ = 0, quiet_cycles_ = 0;  // since anything came, by whatever way
  // States that the client says it has: looked at now and then, for a client that hears nothing and speaks.
  std::uint64_t looked_ns_ = 0, states_sent_ = 0, sent_before_ = 0, received_before_ = 0;
  std::uint32_t same_ = 0;
  bool applied_ = false;
};

}  // namespace tactus
