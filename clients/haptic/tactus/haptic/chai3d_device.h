// CHAI3D's cGenericHapticDevice behind our interface. Include chai3d.h first; this header includes none of it, so that
// nothing here depends on it. Device is chai3d::cGenericHapticDevice or what has the same calls (tested with a
// stand-in).
//
//   auto device = tactus::haptic::Chai3dDevice<chai3d::cGenericHapticDevicePtr, chai3d::cVector3d,
//   chai3d::cMatrix3d>(handle);
#pragma once

#include <string>

#include "tactus/haptic/device.h"

namespace tactus::haptic {

template <class Pointer, class Vector, class Matrix>
class Chai3dDevice : public Device {
 public:
  // damping: of the mechanism [N s/m]; CHAI3D does not say it. 0: its stated largest stiffness counts alone.
  explicit Chai3dDevice(Pointer device, double damping = 0) : device_(device), damping_(damping) {}

  std::string open() override {
    if (!device_->open()) return "the device does not open: is it switched on, and its driver installed?";
    device_->calibrate();
    return {};
  }
  Capabilities capabilities() const override {
    const auto s = device_->getSpecifications();
    Capabilities c;
    c.name = s.m_modelName;
    c.axes_sensed = s.m_sensedRotation ? 6 : 3;
    c.axes_actuated = !s.m_actuatedPosition ? 0 : s.m_actuatedRotation && s.m_sensedRotation ? 6 : 3;
    c.force_max = c.axes_actuated > 0 ? s.m_maxLinearForce : 0;
    c.torque_max = c.axes_actuated == 6 ? s.m_maxAngularTorque : 0;
    c.stiffness_max = s.m_maxLinearStiffness;
    c.damping_max = s.m_maxLinearDamping;
    c.turn_stiffness_max = s.m_maxAngularStiffness;
    c.damping = damping_;
    c.workspace_radius = s.m_workspaceRadius;
    return c;
  }
  Status read(Reading& out) override {
    Vector p;
    Matrix R;
    out = {};
    if (!device_->getPosition(p)) return Status::lost;
    out.X_DH.p = Vec3(p.x(), p.y(), p.z());
    if (device_->getRotation(R)) {
      Mat3 m;
      for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) m(i, k) = R(i, k);
      }
      out.X_DH.q = Quat(m).normalized();
    }
    unsigned int switches = 0;
    if (device_->getUserSwitches(switches)) out.buttons = switches;
    return Status::ok;
  }
  Status write(const Wrench& F) override {
    const Vector force(F.force.x(), F.force.y(), F.force.z()), torque(F.torque.x(), F.torque.y(), F.torque.z());
    return device_->setForceAndTorqueAndGripperForce(force, torque, 0.0) ? Status::ok : Status::lost;
  }
  void close() override {
    write({});
    device_->close();
  }

 private:
  Pointer device_;
  double damping_;
};

}  // namespace tactus::haptic
