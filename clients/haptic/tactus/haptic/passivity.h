// The energy ledger of the motor's port and the gate that keeps it: what the motor gives out it must have taken in
// before. papers: Hannaford & Ryu 2002 (time-domain passivity); the order of the terms decides the sign (README).
#pragma once

#include <algorithm>
#include <cmath>

#include "tactus/haptic/types.h"

namespace tactus::haptic {

// E = sum F_held (x[k+1] - x[k]): the force that really acted, times the motion under it.
class Ledger {
 public:
  // The wrench `held` acted while the handle moved so. Call before the next wrench is computed.
  void add(const Wrench& held, const Motion& moved) {
    const double e = work(held, moved);
    net_ += e;
    if (e > 0) given_ += e;
    if (e < 0) taken_ -= e;
    if (net_ < low_) low_ = net_;
    if (net_ - low_ > draw_up_) draw_up_ = net_ - low_;
  }
  // A quiet moment in free space: storage that is left over is no bank for later.
  void restart() { low_ = net_; }
  double net() const { return net_; }          // given out less taken in [J]
  double given() const { return given_; }      // [J]
  double taken() const { return taken_; }      // [J]
  double draw_up() const { return draw_up_; }  // largest rise of net above its least value so far [J]

 private:
  double net_ = 0, given_ = 0, taken_ = 0, low_ = 0, draw_up_ = 0;
};

// The device's end of a wave line. What it sends in a period has no more energy than the wave that came in and what the
// hand gave while the force of that wave really acted: else each echo of a light tool comes back with more.
class WaveEnd {
 public:
  explicit WaveEnd(double cap) : cap_(cap) {}
  void restart() { bank_ = cap_, in_ = Vec3::Zero(); }
  // The wave that the force of the period that ended was made of.
  const Vec3& in() const { return in_; }
  // The wave to send: `wanted`, or as much of it as there is energy. taken: from the hand into the line [J].
  Vec3 send(const Vec3& wanted, double taken, double period);
  // What comes in for the next period.
  void play(const Vec3& in) { in_ = in; }
  double bank() const { return bank_; }  // [J]

 private:
  double cap_, bank_ = cap_;  // cap_: what was not sent is no bank for later, beyond this
  Vec3 in_ = Vec3::Zero();
};

// The device's port of a network between two ports, under time-domain passivity (Ryu, Artigas & Preusche 2010): what
// it gives out here it must have taken in at the other port, as far as is known. The controller is a damper, no
// stronger than a sampled one may be; what it could not take away is carried on.
class NetworkPort {
 public:
  static constexpr double kAllowance = 0.1e-3;  // [J]
  static constexpr double kClosed = 1e9;        // [J]
  void restart() { in_ = out_ = lost_ = heard_ = 0; }
  // No account any more: what the other side hears covers all.
  void close() { in_ = heard_ = kClosed; }
  bool closed() const { return in_ >= kClosed; }
  // In the period that ended, the network gave so much at this port (below 0: took) and the controller took away
  // `lost`.
  void add(double given, double lost) {
    (given > 0 ? out_ : in_) += std::abs(given);
    lost_ += lost;
  }
  void hear(double in_at_the_other) { heard_ = std::max(heard_, in_at_the_other); }
  double in() const { return in_; }                                   // since engaged [J]
  double bank() const { return heard_ + lost_ + kAllowance - out_; }  // below 0: given out, not covered [J]
  // The damper for a period in which the network is about to give `power` [W] at `speed` [N s/m].
  double damper(double power, double speed, double period, double most) const;

 private:
  double in_ = 0, out_ = 0, lost_ = 0, heard_ = 0;
};

// The wrench is cut so that one period gives out no more than the bank holds: u (v + u T / 2 m) T <= bank, when it
// drives with v0 more; a wrench that brakes at the period's start may drive at its end. The bank is what was absorbed;
// it is emptied after a while without force.
class Gate {
 public:
  struct Options {
    double period = 1e-3;       // T [s]
    double speed = 2e-3;        // v0: what a velocity estimate may miss [m/s]
    double turn_speed = 0.05;   // the same [rad/s]
    double mass = 0;            // of the handle: how far a force gets it going within the period; 0: not known
    double inertia = 0;         // [kg m^2]
    double forget_s = 0.060;    // without force for so long, plus the round trip: the bank is set back to the allowance
    double allowance = 0.3e-3;  // what may be given out and never taken in [J]: less chatter at the end of a release
  };
  explicit Gate(const Options& options) : o_(options), bank_(options.allowance) {}

  void add(const Wrench& held, const Motion& moved);
  // What the world says it gives by itself (robots, motors): may be given out, too.
  void declare(double energy) { bank_ += energy; }
  Wrench limit(const Wrench& wanted, const Twist& V);
  void set_round_trip(double seconds) { round_trip_ = seconds; }
  double bank() const { return bank_; }    // [J]; below zero: owed
  bool acted() const { return acted_; }    // the last limit() cut
  double scale() const { return scale_; }  // by what

 private:
  Options o_;
  Wrench held_;
  double bank_ = 0, round_trip_ = 0, quiet_s_ = 0, scale_ = 1;
  bool acted_ = false;
};

}  // namespace tactus::haptic
