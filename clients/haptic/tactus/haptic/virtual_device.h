// A simulated device in a simulated hand, both stepped in simulated time: no clock, the same bits each run. The handle
// is a mass with viscous and Coulomb friction, read through an encoder, driven through a saturated, delayed amplifier
// that holds its last force. Integrated by the implicit midpoint rule in substeps, which keeps the energy of linear
// parts to rounding, so the true energies can be told from the loop's own ledger.
#pragma once

#include <functional>
#include <vector>

#include "tactus/haptic/device.h"

namespace tactus::haptic {

struct Mechanism {
  double mass = 0.1;           // [kg]
  double damping = 1;          // [N s/m]
  double coulomb = 0;          // [N]
  double inertia = 1e-4;       // isotropic [kg m^2]
  double turn_damping = 1e-3;  // [N m s/rad]
  double turn_coulomb = 0;     // [N m]
  double encoder_step = 1e-6;  // [m]; 0: exact
  double turn_step = 1e-5;     // [rad], of each component of the rotation vector
  double force_max = 20;       // [N], of the length
  double torque_max = 1;       // [N m]
  double amplifier_delay = 0;  // force written to force acting [s]
  double period = 1e-3;        // T [s]
};

// Spring, damper and mass between a pose that the person wants and the handle.
struct Hand {
  double stiffness = 500;                // [N/m]
  double damping = 5;                    // [N s/m]; 0: takes no energy away
  double mass = 0;                       // moves with the handle [kg]
  double turn_stiffness = 0.5;           // [N m/rad]
  double turn_damping = 5e-3;            // [N m s/rad]
  std::function<Pose(double)> wants;     // by time [s]; empty: stays at the first pose
  std::function<double(double)> grip;    // factor on all of the above but the mass, >= 0; empty: 1
  std::function<Wrench(double)> pushes;  // and a force of its own; empty: none
};

class VirtualDevice : public Device {
 public:
  explicit VirtualDevice(const Mechanism& mechanism, Hand hand = {}, const Pose& X_DH = {});

  std::string open() override { return {}; }
  Capabilities capabilities() const override;
  Status read(Reading& out) override;
  Status write(const Wrench& F_H_D) override;
  void close() override { write({}); }

  // One period.
  void step();
  // One period in which the handle is carried in a straight line to X_DH, whatever the motor does.
  void carry(const Pose& X_DH);

  void set_buttons(std::uint32_t buttons) { buttons_ = buttons; }
  Hand& hand() { return hand_; }
  double time() const { return time_; }
  const Pose& pose() const { return X_; }  // the truth
  const Twist& velocity() const { return V_; }
  const Wrench& acting() const { return acting_; }  // of the motor, now
  Wrench hand_force() const { return hand_force_; }

  // The truth, since the start [J].
  double motor_work() const { return motor_work_; }  // given by the motor to the handle
  double hand_work() const { return hand_work_; }    // given by the hand to the handle
  double losses() const { return losses_; }
  double kinetic() const;
  // Given out at the hand's port: to the hand, of what the device and all behind it put in.
  double given_to_hand() const { return motor_work_ - losses_ - kinetic() + kinetic0_; }

 private:
  void substep(double dt, bool carried, const Twist& V_carried);

  Mechanism m_;
  Hand hand_;
  Pose X_, X_first_;
  Twist V_;
  Wrench acting_, hand_force_;
  struct Written {
    Wrench F;
    double at;
  };
  std::vector<Written> waiting_;
  std::uint32_t buttons_ = 0;
  double time_ = 0, kinetic0_ = 0;
  double motor_work_ = 0, hand_work_ = 0, losses_ = 0;
};

}  // namespace tactus::haptic
