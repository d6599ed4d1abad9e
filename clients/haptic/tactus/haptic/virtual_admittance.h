// A simulated admittance device in a simulated hand: a mechanism under stiff position control, which measures the
// hand's force and is sent motion. Stepped in simulated time as VirtualDevice, by the implicit midpoint rule in
// substeps. 3 axes of force and motion; it does not turn.
#pragma once

#include "tactus/haptic/virtual_device.h"

namespace tactus::haptic {

struct ServoMechanism {
  double mass = 1;                                // that the servo moves [kg]
  double servo_stiffness = 1e5;                   // [N/m]
  double servo_damping = 600;                     // [N s/m]
  double servo_force_max = 200;                   // [N]
  double encoder_step = 1e-6;                     // [m]; 0: exact
  double sensor_step = 0.01;                      // of the force [N]; 0: exact
  double sensor_max = 50;                         // [N]
  double felt_mass = 2, felt_damping = 2;         // the least it may be given [kg], [N s/m]
  double speed_max = 0.5, acceleration_max = 30;  // [m/s], [m/s^2]
  double period = 1e-3;                           // T [s]
};

class VirtualAdmittance : public Device {
 public:
  explicit VirtualAdmittance(const ServoMechanism& mechanism, Hand hand = {}, const Pose& X_DH = {});

  std::string open() override { return {}; }
  Capabilities capabilities() const override;
  Status read(Reading& out) override;
  Status write(const Wrench&) override { return Status::lost; }
  Status write_pose(const Pose& X_DH, const Twist& V_DH) override;
  void close() override { aim_.until = 0; }  // stands

  // One period.
  void step();

  void set_buttons(std::uint32_t buttons) { buttons_ = buttons; }
  Hand& hand() { return hand_; }
  double time() const { return time_; }
  const Vec3& position() const { return p_; }  // the truth
  const Vec3& velocity() const { return v_; }
  const Vec3& hand_force() const { return hand_force_; }
  // The truth, since the start: given by the hand to the handle [J]. Below 0: the device gave it to the hand.
  double hand_work() const { return hand_work_; }

 private:
  void substep(double dt);

  struct Aim {
    Vec3 p = Vec3::Zero();  // at `until`
    Vec3 V = Vec3::Zero();
    double until = 0;
  };
  ServoMechanism m_;
  Hand hand_;
  Vec3 p_, v_ = Vec3::Zero(), p_first_;
  Vec3 hand_force_ = Vec3::Zero();
  Aim aim_;
  std::uint32_t buttons_ = 0;
  double time_ = 0, hand_work_ = 0;
};

}  // namespace tactus::haptic
