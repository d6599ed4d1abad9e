// StatePacket (proto/realtime.proto) written straight from a state slot: exactly the bytes that libprotobuf would
// write, without its message object (tests/unit/net/server_encoder_test.cc compares them). Splits one tick into packets
// of at most one datagram.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/cpp/wire.h"
#include "server/net/scene/end_effectors.h"
#include "server/realtime/messages.h"
#include "server/session/session.h"

namespace tactus::net {

inline constexpr std::size_t kStatePayloadMax = wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes;

// All that one packet is made of, besides its share of the rows.
struct PacketSource {
  const StateSlot& slot;
  const SubscriptionSpec& spec;
  std::span<const VerdictRecord> verdicts;
  Echo echo;
  std::span<const std::uint32_t> contact_rows;      // of slot.contacts, those to send
  std::uint32_t up_lost = 0;                        // datagrams of this client
  std::span<const EndEffectorRow> end_effectors{};  // of spec.end_effectors
  std::span<const JacobianRow> jacobian{};
  std::size_t payload_max = kStatePayloadMax;  // of one packet [bytes]; a WebSocket frame may be longer than a datagram
  std::uint64_t verdict_number = 0;            // of the first of verdicts
};

// Rows of one packet: a range of spec.bodies, joints, sensors and so on.
struct PacketRange {
  std::uint32_t body_begin = 0, body_end = 0, contact_begin = 0, contact_end = 0;
  std::uint32_t joint_begin = 0, joint_end = 0, sensor_begin = 0, sensor_end = 0;
  std::uint32_t end_effector_begin = 0, end_effector_end = 0, jacobian_begin = 0, jacobian_end = 0;
};

// Bodies first, then joints, sensors, end effectors, their Jacobians, contacts; each packet as full as it may be. At
// least one packet. O(rows).
void plan_packets(const PacketSource& source, std::vector<PacketRange>& out);
// Number of packets that the subscription needs without contacts when all 8 verdicts are repeated.
std::uint32_t packets_per_tick(const SubscriptionSpec& spec, std::uint32_t jacobian_columns = 0);

// Writes one payload into out (payload_max bytes); returns its length. O(rows).
std::size_t encode_packet(const PacketSource& source, const PacketRange& range, std::uint32_t part, std::uint32_t parts,
                          std::uint64_t send_ns, std::uint8_t* out);

}  // namespace tactus::net
