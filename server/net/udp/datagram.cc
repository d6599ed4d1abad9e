#include "server/net/udp/datagram.h"

#include <algorithm>
#include <cmath>

namespace tactus::net {
namespace {

bool parse(google::protobuf::MessageLite& message, std::span<const std::uint8_t> payload) {
  return message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
}

template <std::size_t N>
std::array<double, N> row_of(const google::protobuf::RepeatedField<double>& column, int first) {
  std::array<double, N> out;
  std::copy_n(column.data() + first, N, out.begin());
  return out;
}

v1::VerdictCode check(const std::array<double, 3>& x, double limit) {
  for (const double value : x) {
    if (!std::isfinite(value)) return v1::VERDICT_REFUSED_NOT_FINITE;
  }
  for (const double value : x) {
    if (std::abs(value) > limit) return v1::VERDICT_REFUSED_OUT_OF_RANGE;
  }
  return v1::VERDICT_NONE;
}

bool counts_match(const v1::CommandPacket& packet) {
  const int rows = packet.body_id_size();
  return packet.wrench_size() == 6 * rows && (packet.frame_size() == 0 || packet.frame_size() == rows) &&
         (packet.point_size() == 0 || packet.point_size() == 3 * rows);
}

v1::VerdictCode check_row(const WrenchRow& row, std::span<const WrenchRow> earlier) {
  if (const auto code = check(row.force, kForceMax)) return code;
  if (const auto code = check(row.torque, kTorqueMax)) return code;
  if (const auto code = check(row.point_B, kPointMax)) return code;
  if (row.frame > v1::WRENCH_BODY) return v1::VERDICT_REFUSED_OUT_OF_RANGE;
  const bool twice =
      std::any_of(earlier.begin(), earlier.end(), [&](const WrenchRow& r) { return r.body == row.body; });
  return twice ? v1::VERDICT_REFUSED_OUT_OF_RANGE : v1::VERDICT_NONE;
}

v1::VerdictCode check_joint(const JointRow& row, std::span<const JointRow> earlier, bool named) {
  if (!std::isfinite(row.value) || !std::isfinite(row.rate)) return v1::VERDICT_REFUSED_NOT_FINITE;
  if (std::abs(row.value) > kJointMax || std::abs(row.rate) > kJointMax) return v1::VERDICT_REFUSED_OUT_OF_RANGE;
  const bool twice =
      named && std::any_of(earlier.begin(), earlier.end(), [&](const JointRow& r) { return r.joint == row.joint; });
  return twice ? v1::VERDICT_REFUSED_OUT_OF_RANGE : v1::VERDICT_NONE;
}

// Joint rows; items of verdicts count from `first_row`.
Refusal decode_joints(const v1::CommandPacket& packet, std::uint32_t first_row, CommandDatagram& out) {
  const int rows = packet.joint_value_size(), modes = packet.joint_mode_size();
  out.robot = packet.robot();
  const bool named = out.robot == 0;
  if (rows > static_cast<int>(wire::kJointRowsMax) || (named && packet.joint_id_size() != rows) ||
      (!named && packet.joint_id_size() > 0) || (modes > 1 && modes != rows) ||
      (packet.joint_rate_size() > 0 && packet.joint_rate_size() != rows))
    return {v1::VERDICT_REFUSED_WRONG_COUNT, first_row};
  for (int i = 0; i < rows; ++i) {
    JointRow& row = out.joint[out.joint_rows];
    row.joint = named ? packet.joint_id(i) : kNone;
    const std::uint32_t mode = modes == 0 ? 0 : packet.joint_mode(modes == 1 ? 0 : i);
    row.value = packet.joint_value(i);
    row.rate = packet.joint_rate_size() > 0 ? packet.joint_rate(i) : 0.0;
    const std::uint32_t item = first_row + static_cast<std::uint32_t>(i);
    if (mode > v1::JOINT_RELEASE) return {v1::VERDICT_REFUSED_OUT_OF_RANGE, item};
    row.release = mode == v1::JOINT_RELEASE;
    row.kind = row.release ? DriveKind::torque : static_cast<DriveKind>(mode);
    if (const auto code = check_joint(row, {out.joint.data(), out.joint_rows}, named)) return {code, item};
    ++out.joint_rows;
  }
  return {};
}

static_assert(wire::range_of("CommandPacket.deadline_us").high == wire::kDeadlineCapUs &&
              wire::range_of("CommandPacket.frame").high == int{v1::WRENCH_BODY} &&
              wire::range_of("CommandPacket.joint_mode").high == int{v1::JOINT_RELEASE} &&
              wire::range_of("CommandPacket.body_id").most == wire::kCommandRowsMax &&
              wire::range_of("CommandPacket.joint_value").most == wire::kJointRowsMax &&
              wire::range_of("CommandPacket.joint_rate").high == kJointMax);
static_assert(static_cast<int>(DriveKind::torque) == v1::JOINT_EFFORT &&
              static_cast<int>(DriveKind::velocity) == v1::JOINT_VELOCITY &&
              static_cast<int>(DriveKind::position) == v1::JOINT_POSITION);

}  // namespace

Refusal DatagramDecoder::decode(std::span<const std::uint8_t> payload, CommandDatagram& out) {
  out.rows = out.joint_rows = out.robot = 0;
  if (!parse(command_, payload)) return {v1::VERDICT_REFUSED_MALFORMED, 0};
  out.epoch = command_.scene_epoch();
  out.client_send_ns = command_.client_send_ns();
  out.expected_tick = command_.expected_tick();
  out.client_recv_ns = command_.client_recv_ns();
  out.states_received = command_.states_received();
  out.states_lost = command_.states_lost();
  out.states_due = command_.states_due();
  out.ends = command_.ends() != 0;
  out.part = command_.part();
  out.parts = std::max(1u, command_.parts());
  out.verdicts_received = command_.verdicts_received();
  out.deadline_us =
      command_.deadline_us() == 0 ? wire::kDeadlineDefaultUs : std::min(command_.deadline_us(), wire::kDeadlineCapUs);
  if (command_.body_id_size() > static_cast<int>(wire::kCommandRowsMax))
    return {v1::VERDICT_REFUSED_OUT_OF_RANGE, static_cast<std::uint32_t>(wire::kCommandRowsMax)};  // the first too many
  if (!counts_match(command_)) return {v1::VERDICT_REFUSED_OUT_OF_RANGE, 0};
  for (int i = 0; i < command_.body_id_size(); ++i) {
    WrenchRow& row = out.row[out.rows];
    row.body = command_.body_id(i);
    row.force = row_of<3>(command_.wrench(), 6 * i);
    row.torque = row_of<3>(command_.wrench(), 6 * i + 3);
    row.at_point = command_.point_size() > 0;
    row.point_B = row.at_point ? row_of<3>(command_.point(), 3 * i) : std::array<double, 3>{};
    const std::uint32_t frame = command_.frame_size() > 0 ? command_.frame(i) : 0;
    row.frame = static_cast<std::uint8_t>(std::min<std::uint32_t>(frame, 255));
    if (const auto code = check_row(row, {out.row.data(), out.rows})) return {code, static_cast<std::uint32_t>(i)};
    ++out.rows;
  }
  return decode_joints(command_, out.rows, out);
}

bool DatagramDecoder::is_heartbeat(std::span<const std::uint8_t> payload) {
  return parse(command_, payload) && command_.body_id_size() == 0 && command_.joint_id_size() == 0 &&
         command_.robot() == 0;
}

std::uint64_t DatagramDecoder::challenge(std::span<const std::uint8_t> payload) {
  return parse(command_, payload) ? command_.challenge() : 0;
}

bool DatagramDecoder::decode(std::span<const std::uint8_t> payload, PingDatagram& out) {
  if (!parse(ping_, payload)) return false;
  out.client_send_ns = ping_.client_send_ns();
  return true;
}

bool DatagramDecoder::decode(std::span<const std::uint8_t> payload, GrantDatagram& out) {
  if (!parse(grant_, payload)) return false;
  out = {grant_.scene_epoch(), grant_.run_to_tick(), grant_.client_send_ns()};
  return true;
}

}  // namespace tactus::net
