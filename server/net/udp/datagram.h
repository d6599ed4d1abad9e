// Client datagrams into plain structs, with every check that needs no knowledge of the scene. Nothing is allocated once
// warm.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "proto/cpp/ranges.h"
#include "proto/cpp/wire.h"
#include "realtime.pb.h"
#include "server/realtime/messages.h"

namespace tactus::net {

// Beyond these no channel of any scene accepts a command.
inline constexpr double kForceMax = wire::range_of("CommandPacket.wrench").high;  // [N], each component
inline constexpr double kTorqueMax = kForceMax;                                   // [N m]
inline constexpr double kPointMax = wire::range_of("CommandPacket.point").high;   // [m]
inline constexpr double kJointMax =
    wire::range_of("CommandPacket.joint_value").high;  // of a joint's effort, rate and position

struct CommandDatagram {
  std::uint32_t epoch = 0, deadline_us = 0, rows = 0;
  std::uint64_t client_send_ns = 0, expected_tick = 0, client_recv_ns = 0;
  std::uint32_t states_received = 0, states_lost = 0, states_due = 0;
  std::uint32_t part = 0, parts = 1;
  std::uint64_t verdicts_received = 0;
  bool ends = false;
  std::array<WrenchRow, wire::kCommandRowsMax> row;
  std::uint32_t joint_rows = 0, robot = 0;  // robot: id + 1, the rows' joints are still to be filled in; 0: none
  std::array<JointRow, wire::kJointRowsMax> joint;
};
struct PingDatagram {
  std::uint64_t client_send_ns = 0;
};
struct GrantDatagram {
  std::uint32_t epoch = 0;
  std::uint64_t run_to_tick = 0, client_send_ns = 0;
};

// What is wrong with a command, and in which row.
struct Refusal {
  v1::VerdictCode code = v1::VERDICT_NONE;  // NONE: nothing
  std::uint32_t row = 0;
};

class DatagramDecoder {
 public:
  // The header fields of out are set whenever the payload decodes. Deadline: default and cap are applied here.
  Refusal decode(std::span<const std::uint8_t> payload, CommandDatagram& out);
  bool decode(std::span<const std::uint8_t> payload, PingDatagram& out);
  // A COMMAND that commands nothing.
  bool is_heartbeat(std::span<const std::uint8_t> payload);
  // The number with which a COMMAND answers a challenge; 0: it answers none.
  std::uint64_t challenge(std::span<const std::uint8_t> payload);
  bool decode(std::span<const std::uint8_t> payload, GrantDatagram& out);

 private:
  v1::CommandPacket command_;
  v1::Ping ping_;
  v1::GrantPacket grant_;
};

}  // namespace tactus::net
