// Robots' actuators: each tick, from the scene's targets and from commands, one DofDrive per joint that can be driven.
//
// target or command -> delay -> law -> lag -> limits. Without a lag the law is linear in q and v, so that integrators
// take it at the end of each substep; the target is that of the tick's start.
//   torque    tau = u
//   velocity  tau = kd (r - v)
//   position  tau = kp (p - q) + kd (r - v)
// A lag filters the effort, tau += (1 - exp(-h / lag)) (tau_wanted - tau) once a tick, exact for an effort that stays;
// tau_wanted is the law at q, v of the tick's start, cut to the effort limit: such a law must be soft enough for the
// step. A velocity limit V acts as speed control inside a drive does: |r| <= V, and a position drive asks for the rate
// r + kp/kd (p - q) cut to V. Pure efforts fade to zero in the last 1 % before V; none pushes on beyond it.
// (Runge-Kutta's stages cannot resolve a fade: there a joint stops short of V by up to a tick's change of velocity.)
//
// A step of several ticks (a solver beside the tick) takes the targets and commands of each of its ticks through delay
// and lag, so that both are what they are at one tick a step. Of what comes out the law of the last tick acts over the
// step, with the mean of the torques; a lag follows q, v of the step's start.
//
// All memory is State::actuators. exp is called at load only, sine only for targets that are sines.
#pragma once

#include <span>
#include <vector>

#include "core/actuation/joint_channels.h"
#include "core/dynamics/joint_drive.h"

namespace tactus {

class RobotDrives {
 public:
  RobotDrives(const Model& model, std::uint32_t ticks_per_step);

  // Writes the entries of drives (one per entry of State::joint_v) whose joint has a drive in the scene or a command;
  // moves the memory on. Once a step, at its start. O(ticks joints).
  void write(State& state, DofDrive* drives) noexcept;
  // Only looks at the commands of tick state.tick: for a world that another one solves for.
  void sample(State& state) noexcept;
  // What the last write() or sample() found commanded: for each of its ticks, each of channels().joints().
  [[nodiscard]] std::span<const JointChannels::Output> commands() const noexcept {
    return std::span(commands_).first(sampled_);
  }
  // For the next write(), in place of what the channels hold: ticks_per_step times joints.
  void set_commands(std::span<const JointChannels::Output> commands) noexcept;

  [[nodiscard]] const JointChannels& channels() const noexcept { return channels_; }
  void set_options(JointIndex joint, const ChannelOptions& options) noexcept { channels_.set_options(joint, options); }
  // Of the last write(): joints whose command has expired; joints for which a command was missed for the first time
  // since their last one; robots that latched a fault.
  [[nodiscard]] std::span<const JointIndex> expired() const noexcept { return expired_; }
  [[nodiscard]] std::span<const JointIndex> missed() const noexcept { return missed_; }
  [[nodiscard]] std::span<const std::uint32_t> faults() const noexcept { return faults_; }
  // What acted on channels().joints()[i] in the last write(); kJoint... (joint_channels.h).
  [[nodiscard]] std::uint32_t bits(std::size_t i) const noexcept { return bits_[i]; }
  // Ticks without a fresh command since the start: of this run, not of State.
  [[nodiscard]] std::uint32_t missed_ticks(std::size_t i) const noexcept { return missed_ticks_[i]; }

 private:
  void note(std::size_t i, const JointChannels::Output& wanted) noexcept;
  void evaluate(std::uint32_t ticks, State& state) noexcept;
  bool find_law(std::size_t i, State& state, DofDrive& out) noexcept;

  JointChannels channels_;
  std::uint32_t ticks_;
  double tick_s_;
  std::vector<double> lag_share_;  // 1 - exp(-tick / lag) of each driven joint; 1: none
  std::vector<JointChannels::Output> commands_;
  std::size_t sampled_ = 0;
  bool given_ = false;
  std::vector<JointIndex> expired_, missed_;
  std::vector<std::uint32_t> faults_;  // robots
  std::vector<std::uint32_t> bits_, missed_ticks_;
};

// The law of a drive for a setpoint, without delay and lag; q and v at the start of the tick choose among its pieces.
DofDrive drive_law(const DrivenJoint& joint, const Setpoint& s, double q, double v) noexcept;

}  // namespace tactus
