// The plain structs that cross between the tick thread and the rest of the server. No protobuf, no pointer that two
// threads write.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/contact/contact_model.h"
#include "core/dynamics/robot_drive.h"
#include "core/dynamics/state.h"
#include "server/realtime/tool_desk.h"

namespace tactus {

class World;
class SlowSolver;
struct SlowMemory;
class ShadowSolver;

// Names a client to the session room (index and generation); the tick thread only hands it back.
using ClientSlot = std::uint16_t;
inline constexpr ClientSlot kNoClient = 0xffff;

// Proto VerdictCode and StatusBit as this room uses them; server/net asserts that the numbers agree.
enum class Verdict : std::uint8_t {
  none = 0,
  applied = 1,
  clamped = 2,
  superseded = 3,
  expired = 4,
  late = 5,
  held = 6,  // this and the next three: in the order of MissedPolicy
  extrapolated = 7,
  ramped = 8,
  braked = 9,
  stale_epoch = 10,
  not_finite = 14,
  out_of_range = 15,
  unknown_joint = 20,
  wrong_count = 21,
  no_gains = 22,
  fault = 23
};
inline constexpr std::uint32_t kStatusPaused = 1;
inline constexpr std::uint32_t kStatusLockstep = 2;
inline constexpr std::uint32_t kStatusContactsDropped = 4;
inline constexpr std::uint32_t kStatusUnconverged = 8;
inline constexpr std::uint32_t kStatusBodyFrozen = 16;
inline constexpr std::uint32_t kStatusLateTick = 32;
inline constexpr std::uint32_t kStatusCommandsDropped = 64;
inline constexpr std::uint32_t kStatusFault = 128;
inline constexpr std::uint32_t kStatusExtrapolated = 256;
inline constexpr std::uint32_t kStatusSolveLate = 512;
inline constexpr std::uint32_t kStatusRecordLost = 1024;
inline constexpr std::uint32_t kStatusExactUnresolved = 2048;
inline constexpr std::uint32_t kStatusExactExhausted = 4096;
inline constexpr std::uint32_t kStatusRecordFailed = 8192;
inline constexpr std::uint32_t kStatusSpeedCut = 16384;
inline constexpr std::uint32_t kStatusRobotFault = 65536;

// One row of a wrench command (proto CommandPacket), already finite, in range, authorised; a body stands in one row of
// a datagram at most. Rows of one datagram are pushed together.
struct WrenchRow {
  std::array<double, 3> force, torque;  // [N], [N m] in `frame`
  std::array<double, 3> point_B;        // p_BP [m]; used when at_point
  BodyIndex body;
  std::uint8_t frame;  // 0 world, 1 body
  bool at_point;
};

// One joint row of a command, as WrenchRow: a joint stands in one row of a datagram at most.
struct JointRow {
  JointIndex joint = kNone;
  DriveKind kind = DriveKind::torque;
  double value = 0, rate = 0;  // core/actuation/joint_channels.h
  bool release = false;        // no command: the channel's safe state, from now on
};

// net -> tick. Kinds that carry a pointer hand the object over: the receiver owns it until the matching Notice hands it
// back.
struct Command {
  enum class Kind : std::uint8_t {
    wrench,
    joint,              // a datagram may have rows of both kinds
    drop_joint,         // as drop_channel: joint.joint goes to its safe state from now on. No Notice
    set_joint_options,  // of joint.joint, copied from options
    recover_robot,      // value: which
    drop_channel,       // lease lost or client gone: row.body's wrench ramps to zero from now. No Notice
    pause,
    resume,
    step,            // value ticks while paused; done when they have run
    lockstep_on,     // done, and then the tick thread sleeps until TickLoop::return_world()
    swap_world,      // world: a new scene, value: its epoch, solver, shadow; the old one comes back in the Notice
    reset,           // solver: when the scene's model is slow and another one is in charge
    snapshot,        // state: filled with a copy
    restore,         // state: copied from; solver as for reset
    set_model,       // value: ContactModelKind; solver: when it is slow. Away from a slow model: at the end of its step
    set_shadow,      // shadow: in charge from now on; null: none
    set_parameters,  // parameters: copied from
    probe,           // done with tick and state hash
    device,          // row `device`; a verdict
    attach_tool,     // value: which; tool: its settings, copied from; reach
    detach_tool,     // value: which; ramps to zero. No Notice
  };
  Kind kind = Kind::wrench;
  bool last_row = true;  // of its datagram: the verdict is given here
  ClientSlot client = kNoClient;
  std::uint32_t epoch = 0;  // wrench: refused (stale epoch) when the world has changed in between
  std::uint32_t row_index = 0;
  std::uint64_t ticket = 0;       // wrench: the datagram's sequence; others: repeated in the Notice
  std::uint64_t received_ns = 0;  // CLOCK_MONOTONIC at the net thread
  std::uint32_t deadline_us = 0;
  std::uint64_t value = 0;
  std::uint64_t expected_tick = 0;  // joint: of the state that it answers; 0: none
  WrenchRow row{};
  JointRow joint{};
  DeviceRow device{};
  const ToolSettings* tool = nullptr;
  double reach = 0;
  const ChannelOptions* options = nullptr;
  World* world = nullptr;
  State* state = nullptr;
  SlowMemory* memory = nullptr;  // snapshot: filled, too, when not null
  const Parameters* parameters = nullptr;
  SlowSolver* solver = nullptr;    // running; comes back in a Notice retired, when another one takes its place
  ShadowSolver* shadow = nullptr;  // the same
};

// tick -> net, once-only, in order, in a ring of its own: verdicts, completions, events. Never dropped: the tick stops
// draining commands while half of the ring is full, and what it says of its own accord (expiries, frozen bodies) is
// fewer than the other half.
struct Notice {
  enum class Kind : std::uint8_t {
    verdict,
    done,
    channel_expired,
    joint_expired,  // joint
    robot_fault,    // robot: its channels have latched a fault
    tool_let_go,    // body: of the tool that the watchdog let go
    body_frozen,
    fault,
    retired  // solver, shadow: no longer needed, to be destroyed off the tick
  };
  Kind kind = Kind::verdict;
  Command::Kind command = Command::Kind::wrench;  // done: of which
  bool ok = true;
  ClientSlot client = kNoClient;
  Verdict verdict = Verdict::none;  // done(attach_tool): fault when the tool is frozen
  std::uint32_t row = 0;            // verdict: the row that decided
  BodyIndex body = kNoBody;         // channel_expired, body_frozen
  JointIndex joint = kNone;
  std::uint32_t robot = kNone;
  std::uint64_t ticket = 0;
  std::uint64_t tick = 0;
  std::uint32_t age_us = 0;
  std::uint64_t hash = 0;          // done(snapshot, restore, step, reset, probe): state hash
  World* world = nullptr;          // done(swap_world): the old world
  State* state = nullptr;          // done(snapshot, restore): handed back
  SlowSolver* solver = nullptr;    // retired
  ShadowSolver* shadow = nullptr;  // retired
};

// One contact for publishing.
struct ContactRow {
  BodyIndex body_a, body_b;
  std::array<float, 10> value;  // p_WC, nhat_BA_W, force on A in W, depth
  std::uint8_t phase = 0;       // ContactPhase of the pair
};

// One joint of one coordinate for publishing.
struct JointSample {
  double q = 0, v = 0, effort = 0, external_effort = 0;  // World::JointReading
  std::uint32_t bits = 0, missed = 0;                    // RobotDrives::bits, missed_ticks
};

// How far one body is from where the shadow model would have it, after one of the shadow's steps.
struct ShadowRow {
  float position = 0;  // of the mass centre [m]
  float angle = 0;     // [rad]
  float velocity = 0;  // of the mass centre [m/s]
  float force = 0;     // of all contacts on the body, mean over the step [N]
};
struct ShadowMaximum {
  float value = 0;
  BodyIndex body = kNoBody;
};
// One comparison: at which tick, over how many, and the largest differences.
struct ShadowSummary {
  std::uint64_t tick = 0;
  std::uint32_t ticks = 0;
  ShadowMaximum position, angle, velocity, force;
};

// What one beat publishes, without the columns.
struct StateFrame {
  std::uint64_t beat = 0;  // publications since start: goes on while paused
  std::uint64_t tick = 0;
  std::uint32_t epoch = 0;
  bool advanced = false;  // the world was stepped in this beat
  double sim_time = 0;
  std::uint64_t tick_start_ns = 0;
  std::uint32_t status_bits = 0;  // kStatus..., or-ed
  float real_time_factor = 1;
  std::uint64_t ticks_missed = 0;
  std::uint32_t body_count = 0, joint_count = 0, sensor_value_count = 0;
  std::uint32_t contact_count = 0;  // rows in contacts; at most what the slot holds
  StepReport report;
  double kinetic_energy = 0;
  float work_us = 0;  // of the tick before
  float wake_late_us = 0;
  bool adopted = false;  // this tick's state is a slow model's, not extrapolated from one (a recorder needs it)
  // Playback. 0: the world is live
  std::uint64_t play_time_ns = 0;     // of the recording
  std::uint32_t play_generation = 0;  // of the wish (a seek) that it serves
  std::uint32_t play_beats = 1;       // it is shown for so many
  bool play_ended = false;            // the last state there is
  bool has_shadow = false;            // shadow, and the slot's rows, came in with this beat
  ShadowSummary shadow;
};

// The slot with its columns. Capacity is fixed when the server starts (config limits: bodies, published contacts).
struct StateSlot {
  StateFrame frame;
  std::vector<double> pose;      // 7 a body: p_WB, q_WB (wxyz) of the user's frame B
  std::vector<double> velocity;  // 6 a body: v_WB of B's origin, w_WB
  std::vector<double> wrench;    // 6 a body: commanded force, torque at Bcm in W, as applied this tick
  std::vector<ContactRow> contacts;
  std::vector<JointSample> joints;    // by JointIndex; those of several coordinates are empty
  std::vector<double> sensors;        // readings, sensor after sensor
  std::vector<double> link_wrenches;  // 6 a body: World::external_wrench(), force first; with joints only
  std::vector<ShadowRow> shadow;      // one a body; valid with frame.has_shadow
  std::array<ToolRow, kTools> tools;  // held by devices
  std::uint32_t tool_count = 0;

  static constexpr std::size_t kSensorValuesPerBody = 8;  // readings beyond this are not published
  void resize(std::uint32_t bodies, std::uint32_t contact_rows) {
    const std::size_t n = bodies;
    pose.resize(7 * n);
    velocity.resize(6 * n);
    wrench.resize(6 * n);
    contacts.resize(contact_rows);
    joints.resize(n);  // each joint moves a body of its own
    sensors.resize(kSensorValuesPerBody * n);
    link_wrenches.resize(6 * n);
    shadow.resize(n);
  }
};

// What devices are answered in one tick: known as soon as their wrenches are, before the world is stepped.
struct ToolFrame {
  std::uint32_t epoch = 0;
  std::uint64_t tick = 0;          // of the state that the tick will publish
  std::uint64_t start_ns = 0;      // of the tick
  std::uint64_t late_ns = 0;       // after its grid point (0 in lockstep)
  std::uint64_t handed_ns = 0;     // to net
  std::uint64_t next_beat_ns = 0;  // the next grid point; 0 in lockstep
  std::array<ToolRow, kTools> tools;
  std::uint32_t tool_count = 0;
};

}  // namespace tactus
