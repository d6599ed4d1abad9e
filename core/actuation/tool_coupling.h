// A body or a robot's link held by a haptic device: the 6-DOF virtual coupling (Colgate, Stanley & Brown 1995) between
// the device's reference R and the tool frame T, evaluated every tick, with its energy ledger and its ramps. Pure: no
// clock, no client; time is the caller's ticks.
#pragma once

#include <cstdint>

#include "core/dynamics/state.h"

namespace tactus {

enum class ToolMode : std::uint8_t {
  local,   // the device's side renders a local contact model; here a spring follows its reference
  direct,  // the device gets this coupling's wrench back
  wave     // wave variables (Niemeyer & Slotine 1991): the reference is what the arriving waves make of it
};

struct ToolGains {
  double stiffness = 0, damping = 0;            // [N/m], [N s/m]
  double turn_stiffness = 0, turn_damping = 0;  // [N m/rad], [N m s/rad]
};

struct ToolSettings {
  BodyIndex body = kNoBody;
  Pose X_BT;  // the tool's frame in the user's frame of the body
  ToolMode mode = ToolMode::local;
  ToolGains gains;
  double force_limit = 20, torque_limit = 2;           // [N], [N m]
  double wave_impedance = 14, turn_impedance = 0.014;  // b_w [N s/m], [N m s/rad]
  double speed_limit = 5, turn_speed_limit = 50;       // of the reference [m/s], [rad/s]
  double position_scale = 1;                           // of the tool's motion to the handle's
  bool carry_weight = true;                            // a free body's weight is taken off it
  bool passivity = false;                              // direct: time-domain passivity at the reference
  bool gate = true;                                    // off: for measurements only
  std::uint32_t watchdog_ticks = 5, ramp_ticks = 50, ramp_in_ticks = 200;
  std::uint32_t predict_ticks = 0;  // a reference not renewed goes on with its velocity for so long (deadband)
};

// What the device's side says, newest.
struct ToolInput {
  Pose X_WR;
  SpatialVelocity V_WR;
  SpatialForce F_H_W;          // on the hand, as its side renders it
  double port_in = 0;          // time-domain passivity: energy that the device's port took in, cumulative [J]
  double stiffness_share = 1;  // of the gains, 0..1: gains by age (direct)
  Vec3 wave_v = Vec3::Zero();  // mean wave of this tick [sqrt(W)], translation
  Vec3 wave_w = Vec3::Zero();  // and rotation
};

// Bits of ToolReport::bits; the wire's ToolBit.
inline constexpr std::uint32_t kToolEngaged = 1;         // coupled
inline constexpr std::uint32_t kToolRampIn = 2;          // the spring grows from zero
inline constexpr std::uint32_t kToolRampOut = 4;         // and shrinks: link lost, or let go
inline constexpr std::uint32_t kToolLost = 8;            // the watchdog acted; engage again
inline constexpr std::uint32_t kToolForceLimited = 16;   // cut to force_limit or torque_limit
inline constexpr std::uint32_t kToolSpeedLimited = 32;   // the reference was moved more slowly than asked for
inline constexpr std::uint32_t kToolSwept = 64;          // the swept test held the tool back
inline constexpr std::uint32_t kToolGainsLimited = 128;  // the gains asked for were beyond what the body bears
inline constexpr std::uint32_t kToolDoubted = 256;       // the hand is said to get more than was granted
inline constexpr std::uint32_t kToolGateActed = 512;     // the server port's gate cut what would have given energy
inline constexpr std::uint32_t kToolSlow = 1024;         // a slow model is in charge: bodies yield up to two steps late

struct ToolReport {
  Pose X_WT, X_WR;
  SpatialVelocity V_WT;
  SpatialForce F_T_W;          // on the tool at T, by the coupling
  Vec3 wave_v = Vec3::Zero();  // the wave sent back, mean over the tick [sqrt(W)]
  Vec3 wave_w = Vec3::Zero();
  std::uint32_t bits = 0;
  std::uint64_t input_age_ticks = 0;
  double scale = 0;           // of the spring, 0..1
  double stored = 0;          // in the spring [J]
  double reference_work = 0;  // put in by the reference's motion, since engaged [J]
  double tool_work = 0;       // given to the tool, since engaged [J]
  double created = 0;         // given to the tool or stored, and put in by nobody: above 0 the coupling itself gave [J]
  double port_in = 0;         // time-domain passivity: put into the network by the tool, since engaged [J]
  double declared = 0;        // taken from the world, at most so far: an active scene's input [J]
};

// What resists a force, and a moment, at the tool's point, each in the direction that resists least.
struct ToolMass {
  double mass = 0, inertia = 0;  // [kg], [kg m^2]
};
ToolMass tool_mass(const Model& model, BodyIndex body, const Pose& X_BT) noexcept;  // of a body of its own
// Of World::mobility() at the tool's point: of links, whose resistance is their robot's and changes as it moves.
ToolMass tool_mass(const Eigen::Matrix<double, 6, 6>& mobility) noexcept;

// What that bears at this step: explicit springs with 4 K h^2 <= m and 3 B h <= m at the tool point.
ToolGains bearable_gains(const ToolMass& mass, const ToolGains& wanted, double h, bool& limited) noexcept;

class ToolCoupling {
 public:
  // Before engage(): where the tool is, for the report.
  void set(const ToolSettings& settings) noexcept { settings_ = settings; }
  // Coupled from the next tick on; the reference starts at the tool's present pose, the spring ramps in.
  void engage(const ToolSettings& settings, const ToolMass& mass, const Model& model, const State& state) noexcept;
  // A link's resistance of now, before each tick(). Gains only come down by it.
  void bear(const ToolMass& mass, double h) noexcept;
  // The spring shrinks to zero where it is.
  void let_go() noexcept;
  // At once: the state jumped, or the tool froze.
  void drop() noexcept { bits_ = kToolLost; }
  [[nodiscard]] bool engaged() const noexcept { return (bits_ & kToolEngaged) != 0; }
  [[nodiscard]] bool idle() const noexcept { return (bits_ & (kToolEngaged | kToolRampOut)) == 0; }
  [[nodiscard]] const ToolSettings& settings() const noexcept { return settings_; }

  // One tick: input, or null when nothing new came. The wrench at the body's mass centre, the weight included.
  // slow_ticks > 0: a slow model of such steps is in charge and takes the wrench up to two steps late. In local mode
  // the tool then gets what the hand is given, and a spring to where the hand's side has it, as soft as that delay
  // bears; in the others the coupling itself is made so soft.
  SpatialForce tick(const ToolInput* input, const Model& model, const State& state, const Vec3& gravity_W, double h,
                    std::uint32_t slow_ticks = 0) noexcept;
  [[nodiscard]] const ToolReport& report() const noexcept { return report_; }
  // The wave to play in a tick without other input: the playout buffer still holds some.
  void set_wave(const ToolInput& input) noexcept { input_.wave_v = input.wave_v, input_.wave_w = input.wave_w; }
  // The swept test's contribution to the report.
  void note(std::uint32_t bits) noexcept { report_.bits |= bits; }

 private:
  void damp(double h) noexcept;
  SpatialForce rest() noexcept;
  void watch(bool fresh) noexcept;
  void move_reference(double h) noexcept;
  void pass(Vec3& step, Vec3& turned) const noexcept;
  void play_wave(const ToolGains& gains, double h) noexcept;
  [[nodiscard]] ToolGains gains_now() const noexcept;
  void lower(const ToolGains& most) noexcept;
  [[nodiscard]] ToolGains slow_gains(double delay) const noexcept;
  [[nodiscard]] SpatialForce slow_force(double delay) const noexcept;
  void account(const Pose& before, const SpatialForce& spring) noexcept;
  void send_wave(const SpatialForce& F) noexcept;
  void settle() noexcept;
  void gate(SpatialForce& F, double h) noexcept;

  ToolSettings settings_;
  ToolGains asked_;  // settings_.gains before what the tool bears
  ToolMass mass_;
  ToolInput input_;
  Pose X_WR_;
  SpatialVelocity V_WR_;
  std::uint32_t bits_ = 0;
  std::uint64_t silent_ticks_ = 0;
  std::uint32_t ramp_left_ = 0, ramp_in_left_ = 0;
  double share_ = 1;
  Pose X_WT_last_;                        // of the tick before, under the force held since
  double port_out_ = 0, port_heard_ = 0;  // time-domain passivity: given to the tool, taken from the hand [J]
  double forgiven_ = 0;                   // of created, at the last quiet moment [J]
  std::uint32_t quiet_ticks_ = 0;
  ToolReport report_;
};

}  // namespace tactus
