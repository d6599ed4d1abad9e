// Measures one client's control loop from the server's side: each tick and each command goes through here. Pure: times
// are passed in.
#pragma once

#include <array>
#include <cstdint>

#include "proto/link_quality.h"

namespace tactus {

// What a command says of itself (proto CommandPacket); 0: not told.
struct CommandStamps {
  std::uint64_t expected_tick = 0, client_recv_ns = 0, client_send_ns = 0;  // client's clock
  std::uint32_t states_received = 0, states_lost = 0;
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
  // A verdict applied or clamped. age: arrival to application.
  void applied(std::uint32_t age_us) noexcept;
  // The client has been sent the state of a tick. Since its session began: datagrams that came, sequence numbers that
  // never did so far, commands refused.
  void tick(const TickStamps& stamps, std::uint64_t up_received, std::uint64_t up_lost, std::uint64_t refused) noexcept;

  [[nodiscard]] bool has_commanded() const noexcept { return last_command_ns_ != 0; }
  [[nodiscard]] const LinkMeter& meter() const noexcept { return meter_; }

 private:
  struct Sent {
    std::uint64_t tick = 0, ns = 0;
  };
  LinkMeter meter_;
  LinkMeter::Totals totals_;
  std::array<Sent, 1024> sent_{};
  std::uint64_t last_command_ns_ = 0, commands_ = 0, ticks_missed_ = 0;
  bool applied_ = false, active_ = false;
};

}  // namespace tactus
