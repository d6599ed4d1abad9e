// Plain values of the Tactus client library: what a state, a command, a verdict and the link's quality are.
// SI units. Frames after the monogram rule: p_WB is the position of B's origin from W's, in W; q_WB turns B's
// components into W's. Every integer time is in nanoseconds of a monotonic clock; "client clock" is
// std::chrono::steady_clock of this process.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "proto/cpp/link_quality.h"

namespace tactus::client {

using Vec3 = std::array<double, 3>;
using Quaternion = std::array<double, 4>;  // w x y z

// Nanoseconds of the client clock, now.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How to reach a server, and how patient to be.
struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t control_port = 17800;
  std::string token;         // contents of the token file; trailing white space is cut. Empty: none
  std::string name = "cpp";  // shown to others, [A-Za-z0-9_.-]{1,64}
  bool reconnect = true;     // after a lost link, try again until the Client is destroyed
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds request_timeout{10000};
  std::chrono::milliseconds link_timeout{10000};  // a probe without answer for this long is a lost link
  std::chrono::milliseconds lease{2000};          // renewed every third of it; cap 10 s
};

// What went wrong: thrown by constructors, connect and request methods only, never on the path of a control loop.
class Error : public std::runtime_error {
 public:
  enum class Kind {
    connect,    // no connection: address, port, firewall, server not running
    handshake,  // version or token
    timeout,    // connected, but no reply in time
    link_lost,  // the connection broke while waiting; the client may be reconnecting
    refused,    // the server answered with an error: code() is a tactus::v1::ErrorCode
    usage,      // a mistake of the caller, for example an unknown body name
  };
  Error(Kind kind, const std::string& text, int code = 0) : std::runtime_error(text), kind_(kind), code_(code) {}
  Kind kind() const { return kind_; }
  int code() const { return code_; }

 private:
  Kind kind_;
  int code_;
};

struct BodyState {
  std::uint32_t id = 0;
  Vec3 p_WB{};  // m
  Quaternion q_WB{1, 0, 0, 0};
  Vec3 v_WB{}, w_WB{};      // m/s of B's origin, rad/s; zero when not subscribed
  Vec3 f_Bcm_W{}, t_B_W{};  // commanded force N and torque N m at the mass centre, as applied; zero when not subscribed
};

struct Contact {
  std::uint32_t body_a = 0, body_b = 0;
  Vec3 p_WC{};       // m
  Vec3 nhat_BA_W{};  // unit, from B into A
  Vec3 f_AC_W{};     // on A at C, N
  double depth = 0;  // m, positive when overlapping
};

// A joint of one coordinate.
struct JointState {
  std::uint32_t id = 0;
  double q = 0, dq = 0;        // rad or m, and its rate
  double effort = 0;           // what its drive gave, mean over the tick, N m or N
  double external_effort = 0;  // J^T F of contacts, impacts and applied forces, mean over the tick, N m or N
  std::uint32_t bits = 0;      // tactus::v1::JointBit, or-ed: what acted on it
  std::uint32_t missed = 0;    // ticks without a fresh command, since the scene was loaded
};

struct SensorState {
  std::uint32_t id = 0;
  std::array<double, 6> value{};  // encoder q, dq; imu w, a - g; force_torque F, T; contact F
};

// The frame E of a link, in W.
struct EndEffectorState {
  std::uint32_t id = 0;
  Vec3 p_WE{};  // m
  Quaternion q_WE{1, 0, 0, 0};
  Vec3 v_WE{}, w_WE{};  // m/s, rad/s
  Vec3 f_W{}, t_W{};    // all that touched its body but its joints, mean over the tick: N, and N m about E
};
struct JacobianColumn {
  std::uint32_t end_effector = 0, dof = 0;
  Vec3 v{}, w{};  // V_WE per unit of the dof's velocity
};

// A robot of the scene, as client.robot() describes it. Valid for one scene_epoch.
struct Robot {
  struct Joint {
    std::uint32_t id = 0, dof = 0;
    std::string name;             // robot/joint
    double lower = 0, upper = 0;  // rad or m
    double effort_limit = 0, velocity_limit = 0;
  };
  std::uint32_t id = 0;
  std::string name;
  std::vector<Joint> joints;  // that take commands, in the order of every command
  std::vector<std::pair<std::string, std::uint32_t>> links, sensors;  // robot/name, id

  std::size_t size() const { return joints.size(); }
  std::string channel() const { return "joint/" + name + "/*"; }  // for arm(), claim()
  // With or without the robot's name; throw Error(usage) with the names there are.
  std::size_t joint(const std::string& joint_name) const;  // place in joints
  std::uint32_t link(const std::string& link_name) const;
  std::uint32_t sensor(const std::string& sensor_name) const;
};

struct State;
// The joints of a robot in a state; i is the place in Robot::joints. Valid while both live.
class RobotView {
 public:
  RobotView(const Robot& robot, const State& state) : robot_(&robot), state_(&state) {}
  std::size_t size() const { return robot_->joints.size(); }
  const JointState& joint(std::size_t i) const;  // throws Error(usage) when it is not subscribed
  double q(std::size_t i) const { return joint(i).q; }
  double dq(std::size_t i) const { return joint(i).dq; }
  double effort(std::size_t i) const { return joint(i).effort; }
  double external_effort(std::size_t i) const { return joint(i).external_effort; }
  bool fault() const;  // latched: client.recover() first
  // Column i belongs to joint i; zero where the joint does not move the link.
  std::vector<JacobianColumn> jacobian(std::uint32_t link) const;

 private:
  const Robot* robot_;
  const State* state_;
};

// What the exact stepper did in one step (realtime.proto, 71 to 79); all 0: another one moved the world.
struct ExactStep {
  std::uint32_t pieces = 0, collisions = 0, evaluations = 0, bisections = 0, breaks = 0, stops = 0;
  std::uint32_t unresolved = 0, exhausted = 0;  // the step did not do what was asked
  double event_time_s = 0;
};

// One tick as the server published it, put together from all its packets.
struct State {
  std::uint32_t scene_epoch = 0;
  std::uint64_t tick = 0;
  double sim_time_s = 0;
  std::int64_t tick_start_ns = 0, send_ns = 0;  // server clock
  std::int64_t receive_ns = 0;                  // client clock, of the packet that completed it
  std::uint32_t subscription = 0;
  std::uint32_t status_bits = 0;  // tactus::v1::StatusBit, or-ed
  double real_time_factor = 0;
  std::uint64_t ticks_missed = 0;        // grid points the server skipped since its start
  std::int64_t echo_client_send_ns = 0;  // client clock, of our newest datagram the server had seen; 0 none
  std::int64_t echo_server_recv_ns = 0;  // server clock
  std::uint64_t echo_sequence = 0;
  std::uint64_t sequence = 0;      // newest datagram of this state
  std::vector<BodyState> bodies;   // ascending id
  std::vector<Contact> contacts;   // when subscribed
  std::vector<JointState> joints;  // when subscribed, ascending id, and so on
  std::vector<SensorState> sensors;
  std::vector<EndEffectorState> end_effectors;
  std::vector<JacobianColumn> jacobian;
  std::uint32_t contact_count = 0, contacts_dropped = 0;
  // Of the last step of the model in charge: islands of contacts (realtime.proto, 56 to 59).
  std::uint32_t solver_failures = 0, solver_fallbacks = 0, inconsistent = 0, indeterminate = 0;
  ExactStep exact;  // of the same step
  double penetration_max_m = 0, kinetic_energy_j = 0, work_us = 0, wake_late_us = 0;
  std::uint32_t up_lost = 0;  // of our datagrams up to echo_sequence, those that never reached the server so far

  // The body with this id, or null when it is not in the subscription. O(log N).
  const BodyState* find(std::uint32_t id) const;
  // As find, but for an id that must be there; throws Error(usage).
  const BodyState& body(std::uint32_t id) const;
  RobotView robot(const Robot& robot) const { return {robot, *this}; }
  // Throw Error(usage) when it is not subscribed.
  const SensorState& sensor(std::uint32_t id) const;
  const EndEffectorState& end_effector(std::uint32_t link) const;
};
using StatePtr = std::shared_ptr<const State>;

// How far the live model is from the shadow model at one body, after one of the shadow's steps from the same state.
struct ShadowRow {
  std::uint32_t id = 0;
  double position_m = 0, angle_rad = 0, velocity_m_per_s = 0,
         force_n = 0;  // lengths of differences, proto/realtime.proto
};
struct Shadow {
  std::uint32_t scene_epoch = 0, subscription = 0;
  std::uint64_t tick = 0;                    // end of the interval
  std::uint32_t ticks = 0;                   // its length
  std::int64_t send_ns = 0, receive_ns = 0;  // server clock, client clock
  std::vector<ShadowRow> bodies;             // ascending id
};
using ShadowPtr = std::shared_ptr<const Shadow>;

enum class Frame : std::uint32_t {
  world = 0,  // components in W
  body = 1,   // components in B; they turn with the body while the command is held
};

// A force and a torque on one body.
struct Wrench {
  std::uint32_t body = 0;
  Vec3 force_n{};
  Vec3 torque_n_m{};
  Frame frame = Frame::world;
  std::optional<Vec3> p_BP{};  // where the force acts, m, in the body's frame; empty: the mass centre
};

// What a joint is asked for.
enum class JointMode : std::uint32_t {
  effort = 0,    // N m or N
  velocity = 1,  // rad/s or m/s; the scene's drive must have a kd
  position = 2,  // rad or m, and its rate; the scene's drive must have a kp
  release = 3,   // nothing more: to the channel's safe state
};
struct JointRow {
  std::uint32_t joint = 0;  // id
  JointMode mode = JointMode::effort;
  double value = 0, rate = 0;
};

// One datagram of wrenches and joint commands, all applied or none.
struct Command {
  std::vector<Wrench> rows;
  std::vector<JointRow> joints;
  std::uint32_t deadline_us = 0;    // lives this long, then ramps to zero; 0 = 20,000 (server default), cap 200,000
  std::uint64_t expected_tick = 0;  // tick of the state it answers; run() fills it in

  Command& force(std::uint32_t body, const Vec3& force_n, Frame frame = Frame::world) {
    rows.push_back({body, force_n, {}, frame, {}});
    return *this;
  }
  Command& wrench(const Wrench& row) {
    rows.push_back(row);
    return *this;
  }
  // One value for each of robot.joints; a wrong number of them makes send() say so.
  Command& effort(const Robot& robot, const std::vector<double>& values) {
    return whole(robot, JointMode::effort, values, {});
  }
  Command& velocity(const Robot& robot, const std::vector<double>& values) {
    return whole(robot, JointMode::velocity, values, {});
  }
  Command& position(const Robot& robot, const std::vector<double>& values, const std::vector<double>& rates = {}) {
    return whole(robot, JointMode::position, values, rates);
  }
  Command& joint(const JointRow& row) {
    joints.push_back(row);
    return *this;
  }
  bool empty() const { return rows.empty() && joints.empty() && !wrong_count; }
  void clear() {
    rows.clear();
    joints.clear();
    wrong_count = false;
  }
  bool wrong_count = false;  // set by the calls above
  // What effort(), velocity() and position() of a robot do.
  Command& whole(const Robot& robot, JointMode mode, const std::vector<double>& values,
                 const std::vector<double>& rates);
};

// What the server did with one command. Delivered once, whatever the link loses or repeats.
struct Verdict {
  std::uint64_t sequence = 0;                 // as send() returned it
  int code = 0;                               // tactus::v1::VerdictCode; 0: lost by the link
  std::uint64_t tick = 0;                     // applied at, or judged at
  std::uint32_t age_us = 0;                   // arrival to application
  std::uint32_t item = 0;                     // row that decided
  std::int64_t sent_ns = 0, received_ns = 0;  // client clock

  bool applied() const { return code == 1 || code == 2 || code == 5; }
  bool in_time() const { return code == 1 || code == 2; }
  bool refused() const { return code >= 10; }
  // The link lost the command, or its verdict for good. Told 250 ms after send() at the earliest.
  bool lost() const { return code == 0; }
};
// "applied", "refused_not_leased"... for people and JSON.
const char* verdict_name(int code);

// Sums over the life of the connection (they restart with a new one).
struct VerdictCounts {
  std::uint64_t sent = 0, applied = 0, clamped = 0, superseded = 0, expired = 0, refused = 0, unanswered = 0, late = 0;
};

// How good the link is right now.
struct Link {
  bool connected = false;
  bool armed = false;
  double success_rate = 1;          // of the last 100 commands, those applied in time (clamped ones included)
  double received_rate = 1;         // of the last 100 ticks, those whose state arrived complete
  std::uint32_t lost_in_a_row = 0;  // ticks missing just before the newest state
  std::uint32_t lost_in_a_row_max = 0;
  double age_us = 0;  // start of the newest state's tick to now, by the clock estimate
  std::uint64_t states = 0, states_lost = 0, states_incomplete = 0, packets_lost = 0, packets_refused = 0;
  VerdictCounts verdicts;
  std::uint64_t verdicts_lost = 0;  // given, but no longer kept by the server before the link let them through
  // Whose fault it is when cycles are missed: the times of this program, of the link in each direction and of the
  // server, shares, likely cause and one sentence (proto/cpp/link_quality.h). Renewed twice a second while run() runs,
  // at once by Client::link().
  LinkFigures quality;

  // One sentence: what is wrong and on which side, or that all is well.
  std::string explain() const;
};

// Estimate from pings: of the last 64 (about 6 s) the one with the shortest round trip.
struct Clock {
  bool valid = false;
  std::int64_t offset_ns = 0;      // server clock - client clock
  std::int64_t round_trip_ns = 0;  // of the chosen sample; the offset is wrong by at most half of it
  std::int64_t round_trip_last_ns = 0;
  std::uint64_t samples = 0;
};

enum class SendStatus {
  sent,
  not_armed,  // arm() first (again, after a lost link, lease or a new scene)
  not_connected,
  not_finite,    // a number is NaN or infinite
  too_large,     // more rows than 8 datagrams hold, of 17 rows with points each, or 25 without: send several commands
  unknown_body,  // not an id of the present scene
  wrong_count,   // not one value for each joint of a robot
  would_block,   // the socket is full; nothing was sent
};
const char* send_status_name(SendStatus status);
struct SendResult {
  SendStatus status = SendStatus::sent;
  std::uint64_t sequence = 0;  // names the command in its verdict
  explicit operator bool() const { return status == SendStatus::sent; }
};

// Which states to stream.
struct Subscription {
  std::vector<std::string> bodies;  // names; empty: all free and kinematic bodies
  bool velocity = true;
  bool wrench = false;
  bool contacts = false;
  bool single_precision = false;  // half the bytes
  std::uint32_t decimation = 1;   // every n-th tick
  // Robots, robot/joint or "*"; robots, robot/sensor or "*"; robot/link. With these, no body comes unless named.
  std::vector<std::string> joints{}, sensors{}, end_effectors{};
  bool jacobian = false;  // of the end effectors
  bool shadow = false;    // comparisons with the shadow model, while there is one
  bool tools = false;     // tools that devices hold: Client::on_tool
};

// How channels of joints take commands (control.proto, JointOptions). Limits: 0 = none.
struct JointOptions {
  std::string missed = "hold";        // for ticks without a fresh command: hold, extrapolate, ramp, brake
  std::uint32_t tolerance_ticks = 2;  // a tick misses its command when the newest is so many ticks old; 0: not watched
  std::uint32_t fault_ticks = 0;      // missed in a row: the robot latches a fault; 0: never
  double ramp_s = 0.010;              // after the deadline, to the safe state
  double cutoff_hz = 0;               // of the low-pass filter; 0: none
  double effort_limit = 0, effort_rate_limit = 0, velocity_limit = 0;
};

// How a control loop ended.
struct Report {
  enum class End {
    finished,   // the callback returned false
    link_lost,  // the connection broke; wait_connected(), arm(), run again
    disarmed,   // the lease was lost or the scene changed; arm() and run again
    silent,     // connected, but no state for a second
  };
  End end = End::finished;
  std::string reason;               // one sentence, for people
  std::uint64_t cycles = 0;         // calls of the callback
  std::uint64_t send_failures = 0;  // commands that send() did not send
  Link link;                        // at the end
};

}  // namespace tactus::client
