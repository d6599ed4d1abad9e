// The contact model that lives beside the device: a 6-DOF god-object (Zilles & Salisbury 1995; Ortega, Redon &
// Coquillart 2007) against planes that the server sends before there is contact. The proxy is where the tool would be:
// nearest to the device's reference in the metric of the coupling's stiffness, on the right side of every plane, with
// Coulomb friction. So the force does not depend on the link's delay.
#pragma once

#include <array>

#include "tactus/haptic/messages.h"

namespace tactus::haptic {

// Dampers act on rates low-passed at 66 Hz. A sampled spring K gives energy like a damper of -K T/2, which the device's
// own b covers at the hand but not at the motor; a damper of K T/2 covers it there, and at the Nyquist frequency,
// where it would cost all of b (Colgate: b > K T/2 + B), the filter leaves a sixth of it.
inline double damping_share(double period) {
  constexpr double kTau = 2.4e-3;  // [s]
  return period / (kTau + period);
}

class LocalModel {
 public:
  static constexpr int kPlanes = 12;

  // From here on: the tool as the server has it.
  void place(const Pose& X_WT);
  // Planes of a newer tick. age: round trip [s]; interval: to the message before [s].
  void receive(const ToolMessage& tool, double age, double interval);
  // One period: the wrench on the device, K (proxy - reference) + B (its rate), in W at the reference.
  Wrench step(const Pose& X_WR, const Twist& V_WR, const Gains& gains, double period);
  const Pose& proxy() const { return X_WP_; }
  // The proxy did not get as far as step() took it.
  void hold(const Pose& X_WT) { X_WP_ = X_WT; }
  bool in_contact() const { return contact_; }
  // Elastic energy between proxy and reference [J].
  double stored(const Pose& X_WR, const Gains& gains) const;

 private:
  struct Held {
    Plane plane;
    Vec3 n_T = Vec3::UnitZ();         // of a face of the tool
    double behind = 0, rate = 0;      // where it still is along n, beyond where it is to be [m], [m/s]
    double tau = 0;                   // of moving planes in contact [s]
    double creep_tau = 1, creep = 0;  // of friction's place [s], share of the way in this period
    double impulse[3] = {0, 0, 0};    // normal and tangential force, for the next start [N]
  };
  struct Row {
    Vec3 lin, ang;   // the row of the Jacobian
    double gap = 0;  // before the motion
    double response = 0;
    double force = 0;
  };
  const Held* same_as(const Held& fresh) const;
  void move_planes(double period);
  void solve(const Motion& wish, const Gains& gains);
  void set_row(Row& row, const Vec3& direction, const Vec3& arm, double gap, const Gains& gains) const;

  Pose X_WP_;
  bool placed_ = false, contact_ = false;
  std::array<Held, kPlanes> held_;
  int count_ = 0;
  Motion moved_;  // of the proxy, found by solve()
  Twist away_;    // rate of the proxy from the reference, low-passed
};

}  // namespace tactus::haptic
