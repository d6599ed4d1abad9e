// What wrench commands become: one channel a body, held until a deadline counted in ticks, then ramped to zero; cut to
// the channel's limits. Pure: no clock, no client. Time is the caller's tick counter, which only ever goes up by one
// (or is followed by clear()).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dynamics/state.h"

namespace tactus {

// A force and a torque on body B. Components in W, or in B and then turning with the body while held. The force acts at
// P (fixed in B) or at the mass centre.
struct WrenchCommand {
  Vec3 force = Vec3::Zero();   // [N]
  Vec3 torque = Vec3::Zero();  // [N m]
  Vec3 p_BP = Vec3::Zero();    // [m]; used when at_point
  bool in_body_frame = false;
  bool at_point = false;
};

struct ResolvedWrench {
  SpatialForce F_Bcm_W;
  bool clamped = false;
};

// The command at the mass centre, in W: the force's length cut to force_limit, then the whole torque (with the moment
// of the cut force about the mass centre) cut to torque_limit. Directions are kept. O(1).
ResolvedWrench resolve_wrench(const WrenchCommand& command, const Body& body, const Quat& q_WB) noexcept;

// Number of ticks that a deadline covers: ceil(deadline / h), at least 1.
std::uint64_t deadline_ticks(std::uint32_t deadline_us, double h) noexcept;

struct ChannelOutput {
  BodyIndex body = kNoBody;
  SpatialForce F_Bcm_W;
  bool expired_now = false;  // the deadline of a command that was not zero has just passed: said once
};

class WrenchChannels {
 public:
  static constexpr double kRampSeconds = 0.010;

  // Room for this many bodies; nothing is allocated afterwards.
  explicit WrenchChannels(std::uint32_t bodies);

  // Forgets every command and sets the ramp's length for steps of h: after a new scene, reset or restore.
  void clear(double h) noexcept;
  // From this tick on, full strength in ticks now .. expires - 1.
  void hold(BodyIndex body, const WrenchCommand& command, std::uint64_t expires) noexcept;
  // Ramps to zero from this tick on (lease lost, client gone); not announced as expired.
  void release(BodyIndex body, std::uint64_t now) noexcept;
  // What acts in tick `now`: one output an active channel, in out (room for every body). Channels that reached zero are
  // freed. O(active).
  std::uint32_t evaluate(std::uint64_t now, const Model& model, const State& state,
                         std::span<ChannelOutput> out) noexcept;

  [[nodiscard]] std::uint32_t active() const noexcept { return static_cast<std::uint32_t>(active_.size()); }

 private:
  struct Channel {
    WrenchCommand command;
    std::uint64_t expires = 0;
    bool active = false, announced = false;
  };
  std::vector<Channel> channels_;
  std::vector<BodyIndex> active_;
  std::uint64_t ramp_ticks_ = 10;
};

}  // namespace tactus
