// The range of every number and text that a client may send: one row a field of the messages that are reached from
// Request, CommandPacket, DevicePacket, GrantPacket and Ping. What the server tells is its own matter and has no row.
// Requests, datagrams and the configuration read this table; proto/make_ranges.py makes RANGES.md and ranges.json of
// it, so keep one row a line. What depends on more than the field itself (a lease, a scene, another field) stands where
// it is checked.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace tactus::wire {

enum class RangeKind : std::uint8_t {
  real,     // low to high, finite
  integer,  // low to high
  any,      // every value of its type: ids, epochs, clocks, counts, seeds
  choice,   // a value of its enumeration
  name,     // [A-Za-z0-9_.-], low to high characters
  text,     // low to high bytes
  bytes,    // low to high bytes
  rows      // of messages
};
enum class Beyond : std::uint8_t {
  refused,  // by name, with what was found and what is expected
  cut       // to the range; the field's comment says so, and the reply tells what was taken
};

struct Range {
  std::string_view field;  // Message.field, of package tactus.v1
  RangeKind kind;
  double low, high;
  std::string_view zero;   // what 0, or an empty text, means where it is outside low to high; empty: it is refused
  std::uint32_t most = 0;  // of a repeated field
  Beyond beyond = Beyond::refused;

  [[nodiscard]] constexpr bool holds(double x) const noexcept {
    return (x >= low && x <= high) || (x == 0 && !zero.empty());
  }
};

inline constexpr double kNearlyUint32 = std::numeric_limits<std::uint32_t>::max();

// clang-format off
inline constexpr std::array kRanges{
    Range{"Request.id", RangeKind::integer, 1, kNearlyUint32, ""},
    Range{"Request.command", RangeKind::bytes, 0, 1048576, ""},
    Range{"Hello.version_major", RangeKind::integer, 1, 1, ""},
    Range{"Hello.version_minor", RangeKind::any, 0, 0, ""},
    Range{"Hello.client_name", RangeKind::name, 1, 64, ""},
    Range{"Hello.nonce", RangeKind::bytes, 32, 32, ""},
    Range{"Authenticate.proof", RangeKind::bytes, 32, 32, ""},
    Range{"Parameter.key", RangeKind::text, 0, 256, ""},
    Range{"Parameter.value", RangeKind::text, 0, 65536, ""},
    Range{"LoadScene.name", RangeKind::text, 0, 1024, ""},
    Range{"LoadScene.parameters", RangeKind::rows, 0, 0, "", 4096},
    Range{"LoadScene.seed", RangeKind::any, 0, 0, ""},
    Range{"Subscribe.bodies", RangeKind::text, 0, 1024, "", 65536},
    Range{"Subscribe.decimation", RangeKind::integer, 0, 1e9, ""},
    Range{"Subscribe.contacts_every", RangeKind::integer, 0, 1e9, ""},
    Range{"Subscribe.joints", RangeKind::text, 0, 1024, "", 65536},
    Range{"Subscribe.sensors", RangeKind::text, 0, 1024, "", 65536},
    Range{"Subscribe.end_effectors", RangeKind::text, 0, 1024, "", 65536},
    Range{"Unsubscribe.id", RangeKind::any, 0, 0, ""},
    Range{"GetMesh.body", RangeKind::any, 0, 0, ""},
    Range{"GetMesh.shape", RangeKind::any, 0, 0, ""},
    Range{"GetMesh.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"GetMesh.first", RangeKind::any, 0, 0, ""},
    Range{"GetMesh.count", RangeKind::integer, 1, 50000, "50,000", 0, Beyond::cut},
    Range{"AcquireLease.channels", RangeKind::text, 0, 1024, "", 65536},
    Range{"AcquireLease.duration_ms", RangeKind::integer, 1, 10000, "2,000", 0, Beyond::cut},
    Range{"RenewLease.lease", RangeKind::any, 0, 0, ""},
    Range{"ReleaseLease.lease", RangeKind::any, 0, 0, ""},
    Range{"Step.ticks", RangeKind::integer, 1, 1e6, "1"},
    Range{"Grant.run_to_tick", RangeKind::any, 0, 0, ""},
    Range{"Grant.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"TakeSnapshot.name", RangeKind::name, 1, 64, "not kept"},
    Range{"RestoreSnapshot.name", RangeKind::text, 0, 64, ""},
    Range{"RestoreSnapshot.state", RangeKind::bytes, 0, 1048576, ""},
    Range{"SetModel.name", RangeKind::text, 0, 64, ""},
    Range{"SetShadow.model", RangeKind::text, 0, 64, ""},
    Range{"SetShadow.rate_hz", RangeKind::real, 1, 10000, "the server's setting"},
    Range{"JointOptions.missed", RangeKind::text, 0, 64, ""},
    Range{"JointOptions.tolerance_ticks", RangeKind::integer, 0, 1e6, ""},
    Range{"JointOptions.fault_ticks", RangeKind::integer, 0, 1e6, ""},
    Range{"JointOptions.ramp_s", RangeKind::real, 0, 1, ""},
    Range{"JointOptions.cutoff_hz", RangeKind::real, 0, 1e6, ""},
    Range{"JointOptions.effort_limit", RangeKind::real, 0, 1e12, ""},
    Range{"JointOptions.effort_rate_limit", RangeKind::real, 0, 1e12, ""},
    Range{"JointOptions.velocity_limit", RangeKind::real, 0, 1e12, ""},
    Range{"SetJointOptions.joints", RangeKind::text, 0, 1024, "", 65536},
    Range{"RecoverFault.robot", RangeKind::text, 0, 1024, ""},
    Range{"SetParameter.key", RangeKind::text, 0, 256, ""},
    Range{"SetParameter.value", RangeKind::text, 0, 65536, ""},
    Range{"SaveBlackBox.reason", RangeKind::name, 1, 64, "request"},
    Range{"StartRecording.name", RangeKind::name, 1, 64, "recording"},
    Range{"StartRecording.state_hz", RangeKind::real, 0.001, 1000, "the server's setting"},
    Range{"SetPlayback.position_s", RangeKind::real, -1e12, 1e12, ""},
    Range{"SetPlayback.speed", RangeKind::real, 0.001, 1000, "as it is"},
    Range{"LinkDirection.delay_us", RangeKind::integer, 0, 1e6, ""},
    Range{"LinkDirection.jitter_us", RangeKind::integer, 0, 1e6, ""},
    Range{"LinkDirection.loss", RangeKind::real, 0, 1, ""},
    Range{"LinkDirection.loss_burst", RangeKind::real, 1, 1000, "independent losses"},
    Range{"LinkDirection.duplicate", RangeKind::real, 0, 1, ""},
    Range{"LinkDirection.reorder", RangeKind::real, 0, 1, ""},
    Range{"LinkDirection.reorder_us", RangeKind::integer, 1, 1e6, "2,000"},
    Range{"SetLinkFaults.session", RangeKind::any, 0, 0, ""},
    Range{"SetLinkFaults.seed", RangeKind::any, 0, 0, ""},
    Range{"GetLinkFaults.session", RangeKind::any, 0, 0, ""},
    Range{"DeviceCapabilities.name", RangeKind::name, 1, 64, ""},
    Range{"DeviceCapabilities.axes_sensed", RangeKind::integer, 3, 6, ""},
    Range{"DeviceCapabilities.axes_actuated", RangeKind::integer, 0, 6, ""},
    Range{"DeviceCapabilities.force_max_n", RangeKind::real, 0, 1000, ""},
    Range{"DeviceCapabilities.torque_max_n_m", RangeKind::real, 0, 1000, ""},
    Range{"DeviceCapabilities.mass_kg", RangeKind::real, 0, 100, ""},
    Range{"DeviceCapabilities.damping_n_s_per_m", RangeKind::real, 0, 1000, ""},
    Range{"DeviceCapabilities.stiffness_max_n_per_m", RangeKind::real, 0, 1e6, ""},
    Range{"DeviceCapabilities.damping_max_n_s_per_m", RangeKind::real, 0, 1e4, ""},
    Range{"DeviceCapabilities.inertia_kg_m2", RangeKind::real, 0, 10, ""},
    Range{"DeviceCapabilities.turn_damping_n_m_s_per_rad", RangeKind::real, 0, 10, ""},
    Range{"DeviceCapabilities.turn_stiffness_max_n_m_per_rad", RangeKind::real, 0, 1e5, ""},
    Range{"DeviceCapabilities.workspace_radius_m", RangeKind::real, 0, 100, ""},
    Range{"DeviceCapabilities.rate_hz", RangeKind::real, 50, 1e5, ""},
    Range{"DeviceCapabilities.delay_s", RangeKind::real, 0, 1, ""},
    Range{"AttachTool.tool", RangeKind::text, 0, 1024, ""},
    Range{"AttachTool.mode", RangeKind::choice, 0, 3, ""},
    Range{"AttachTool.position_scale", RangeKind::real, 0.001, 1000, "1"},
    Range{"AttachTool.stiffness_n_per_m", RangeKind::real, 0.001, 1e6, "what is passive with this device"},
    Range{"AttachTool.watchdog_s", RangeKind::real, 0.002, 0.2, "the server's setting"},
    Range{"AttachTool.reach_m", RangeKind::real, 0.001, 1, "the server's setting"},
    Range{"AttachTool.deadband", RangeKind::real, 0, 0.5, ""},
    Range{"AttachTool.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"AttachTool.round_trip_s", RangeKind::real, 0, 10, ""},
    Range{"AttachTool.jitter_s", RangeKind::real, 0, 10, ""},
    Range{"AttachTool.loss", RangeKind::real, 0, 1, ""},
    Range{"DetachTool.tool", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.client_send_ns", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.deadline_us", RangeKind::integer, 1, 200000, "20,000", 0, Beyond::cut},
    Range{"CommandPacket.expected_tick", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.part", RangeKind::integer, 0, 7, ""},
    Range{"CommandPacket.parts", RangeKind::integer, 1, 8, "1"},
    Range{"CommandPacket.body_id", RangeKind::any, 0, 0, "", 64},
    Range{"CommandPacket.wrench", RangeKind::real, -1e6, 1e6, "", 384},
    Range{"CommandPacket.frame", RangeKind::integer, 0, 1, "", 64},
    Range{"CommandPacket.point", RangeKind::real, -1000, 1000, "", 192},
    Range{"CommandPacket.joint_id", RangeKind::any, 0, 0, "", 128},
    Range{"CommandPacket.robot", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.joint_mode", RangeKind::integer, 0, 3, "", 128},
    Range{"CommandPacket.joint_value", RangeKind::real, -1e6, 1e6, "", 128},
    Range{"CommandPacket.joint_rate", RangeKind::real, -1e6, 1e6, "", 128},
    Range{"CommandPacket.client_recv_ns", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.states_received", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.states_lost", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.verdicts_received", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.challenge", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.states_due", RangeKind::any, 0, 0, ""},
    Range{"CommandPacket.ends", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.client_send_ns", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.tool", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.grip", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.sample", RangeKind::integer, 1, 9007199254740991, ""},
    Range{"DevicePacket.tick_echo", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.bits", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.buttons", RangeKind::any, 0, 0, ""},
    Range{"DevicePacket.stiffness_share", RangeKind::real, 0, 1, ""},
    Range{"DevicePacket.given_j", RangeKind::real, -1e12, 1e12, ""},
    Range{"DevicePacket.taken_j", RangeKind::real, -1e12, 1e12, ""},
    Range{"DevicePacket.round_trip_s", RangeKind::real, -1e12, 1e12, ""},
    Range{"DevicePacket.pose", RangeKind::real, -1e4, 1e4, "", 7},
    Range{"DevicePacket.velocity", RangeKind::real, -1e4, 1e4, "", 6},
    Range{"DevicePacket.wave", RangeKind::real, -1e6, 1e6, "", 6},
    Range{"DevicePacket.wrench", RangeKind::real, -1e6, 1e6, "", 6},
    Range{"DevicePacket.band_seen", RangeKind::integer, 0, 9007199254740991, ""},
    Range{"DevicePacket.band_sent", RangeKind::integer, 0, 9007199254740991, ""},
    Range{"DevicePacket.band_error", RangeKind::real, -1e12, 1e12, ""},
    Range{"DevicePacket.port_in_j", RangeKind::real, -1e12, 1e12, ""},
    Range{"GrantPacket.scene_epoch", RangeKind::any, 0, 0, ""},
    Range{"GrantPacket.run_to_tick", RangeKind::any, 0, 0, ""},
    Range{"GrantPacket.client_send_ns", RangeKind::any, 0, 0, ""},
    Range{"Ping.client_send_ns", RangeKind::any, 0, 0, ""},
};
// clang-format on

// At compile time: an unknown field does not compile.
consteval Range range_of(std::string_view field) {
  for (const Range& range : kRanges) {
    if (range.field == field) return range;
  }
  throw "a field without a row in kRanges";
}

// "1 to 10000, or 0: the server's setting".
std::string to_text(const Range& range);
// The first number or text of a message, or of one in it, that is beyond its range and not cut: "KEY: found X, expected
// LOW to HIGH"; empty: none. A field of a message that has no row is named, too.
std::string out_of_range(const google::protobuf::Message& message);

}  // namespace tactus::wire
