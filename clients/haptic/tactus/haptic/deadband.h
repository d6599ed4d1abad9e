// The deadband codec (proto/cpp/deadband.h) on the haptic client's plain values: which DEVICE goes out, and what may
// act of a wrench that is held. In a loop only hold with the passive rule keeps the ledger (of seeded runs plain hold
// gives energy in 22 %, prediction of forces in 60 %); the gate stands behind it.
//
//   DeviceDeadband band({.share = attached.deadband()}, period);
//   if (band.take(loop.message())) send(...);              // each cycle, after Loop::step()
//   LoopOptions::deadband = share;                         // the receiver's half: Loop holds by the passive rule
// The server's half: wire::ToolBand before a TOOL is sent, ToolSettings::predict_ticks for the DEVICE that is not.
// Not for wave variables: a wave that is not sent is energy that does not arrive.
#pragma once

#include "proto/cpp/deadband.h"
#include "tactus/haptic/messages.h"

namespace tactus::haptic {

class DeviceDeadband {
 public:
  DeviceDeadband(const wire::DeadbandOptions& options, double period) : band_(options, period) {}

  // Whether this cycle's message must go out now. Bits that flicker with the force (limits, slew, gate) do not ask for
  // it.
  bool take(const DeviceMessage& m) {
    constexpr std::uint32_t kFlickering = 32u | 64u | 128u;
    const Quat& q = m.X_WR.q;
    const wire::PoseRow pose{m.X_WR.p.x(), m.X_WR.p.y(), m.X_WR.p.z(), q.w(), q.x(), q.y(), q.z()};
    const wire::SixRow velocity = six(m.V_WR.v, m.V_WR.w);
    const std::uint64_t discrete =
        (std::uint64_t{m.grip} << 32) ^ (std::uint64_t{m.buttons} << 16) ^ (m.bits & ~kFlickering);
    return band_.take(pose, velocity, six(m.F_H.force, m.F_H.torque), discrete);
  }
  const wire::DeadbandCount& count() const { return band_.count(); }

 private:
  static wire::SixRow six(const Vec3& a, const Vec3& b) { return {a.x(), a.y(), a.z(), b.x(), b.y(), b.z()}; }
  wire::DeviceBand band_;
};

// The receiver's passive rule: while the held wrench drives the motion, the least that the band allows.
inline Wrench passive_hold(const Wrench& held, const Twist& V, double share) {
  return wire::passive_scale(power(held, V), share) * held;
}

}  // namespace tactus::haptic
