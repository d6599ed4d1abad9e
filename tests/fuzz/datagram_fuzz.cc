// Bytes of a datagram into the server's plain structs: whatever comes, what is accepted keeps its promises.
#include <cmath>
#include <cstdlib>

#include "proto/cpp/seal.h"
#include "server/net/udp/datagram.h"
#include "server/net/udp/device_rows.h"
#include "server/session/replay_window.h"

using namespace tactus;

namespace {

// Always on, in any build.
void require(bool holds) {
  if (!holds) std::abort();
}

void check_vector(const std::array<double, 3>& x, double limit) {
  for (const double value : x) require(std::isfinite(value) && std::abs(value) <= limit);
}

void check(const net::CommandDatagram& command) {
  require(command.rows <= wire::kCommandRowsMax);
  require(command.deadline_us > 0 && command.deadline_us <= wire::kDeadlineCapUs);
  for (std::uint32_t i = 0; i < command.rows; ++i) {
    const WrenchRow& row = command.row[i];
    check_vector(row.force, net::kForceMax);
    check_vector(row.torque, net::kTorqueMax);
    check_vector(row.point_B, net::kPointMax);
    require(row.frame <= v1::WRENCH_BODY);
    for (std::uint32_t j = 0; j < i; ++j) require(command.row[j].body != row.body);
  }
  require(command.joint_rows <= wire::kJointRowsMax);
  for (std::uint32_t i = 0; i < command.joint_rows; ++i) {
    const JointRow& row = command.joint[i];
    require(std::isfinite(row.value) && std::abs(row.value) <= net::kJointMax);
    require(std::isfinite(row.rate) && std::abs(row.rate) <= net::kJointMax);
    require(row.kind <= DriveKind::position);
    require((row.joint == kNone) == (command.robot != 0) || command.robot == 0);
  }
}

// And what a tool's playout buffer makes of its waves, whatever came before.
void check(const DeviceRow& row, wire::Playout<6>& playout) {
  double norm2 = 0;
  for (std::size_t i = 3; i < 7; ++i) norm2 += row.pose[i] * row.pose[i];
  require(std::abs(norm2 - 1) < 1e-9);
  for (const double x : row.pose) require(std::isfinite(x));
  for (const double x : row.velocity) require(std::isfinite(x));
  for (const double x : row.wave) require(std::isfinite(x));
  for (const double x : row.force) require(std::isfinite(x));
  require(row.stiffness_share >= 0 && row.stiffness_share <= 1 && row.sample > 0);
  static std::uint64_t now = 1000;
  playout.push(row.sample, ++now, row.wave);
  wire::Playout<6>::Row played{};
  playout.advance(now, played);
  for (const double x : played) require(std::isfinite(x));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static net::DatagramDecoder decoder;  // its messages are reused, as in the server
  static ReplayWindow window;
  static wire::Sealer sealer(wire::Key{});
  wire::DatagramHeader header{};
  if (wire::read_header({data, size}, header) == wire::HeaderError::none) {
    const std::uint64_t newest = window.newest();
    const bool accepted = window.accept(header.sequence);
    require(!accepted || !window.accept(header.sequence));  // once
    require(accepted || window.newest() == newest);
    sealer.open_datagram(data, size);
  }
  const std::size_t skipped = size > wire::kHeaderBytes + wire::kMacBytes ? wire::kHeaderBytes : 0;
  const std::span<const std::uint8_t> payload(data + skipped, size - skipped - (skipped > 0 ? wire::kMacBytes : 0));
  static net::CommandDatagram command;
  if (decoder.decode(payload, command).code == v1::VERDICT_NONE) check(command);
  net::PingDatagram ping;
  decoder.decode(payload, ping);
  net::GrantDatagram grant;
  decoder.decode(payload, grant);
  static v1::DevicePacket device;
  static wire::Playout<6> playout;
  if (device.ParseFromArray(payload.data(), static_cast<int>(payload.size())) && net::check(device) == v1::VERDICT_NONE)
    check(net::to_row(device), playout);
  return 0;
}
