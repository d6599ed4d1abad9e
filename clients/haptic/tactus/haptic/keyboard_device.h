// A device without a motor: keys or a mouse move a point. The program that has the window feeds it; the force that the
// tool would give is kept for showing. Portable, no window system of its own.
#pragma once

#include <mutex>

#include "tactus/haptic/device.h"

namespace tactus::haptic {

class KeyboardDevice : public Device {
 public:
  // speed: of the point while a key is down [m/s]; smoothing: its time constant, so that no key is a jump [s].
  explicit KeyboardDevice(double speed = 0.1, double smoothing = 0.05) : speed_(speed), smoothing_(smoothing) {}

  // From any thread. Keys: direction of those that are down, each component -1..1. Mouse: a step of the point [m].
  void keys(const Vec3& direction) {
    const std::lock_guard lock(m_);
    direction_ = direction.cwiseMax(-1).cwiseMin(1);
  }
  void mouse(const Vec3& step) {
    const std::lock_guard lock(m_);
    if (is_finite(step)) goal_ += step;
  }
  void clutch(bool down) {
    const std::lock_guard lock(m_);
    clutch_ = down;
  }
  Wrench force() const {
    const std::lock_guard lock(m_);
    return force_;
  }

  std::string open() override { return {}; }
  Capabilities capabilities() const override {
    Capabilities c;
    c.name = "keyboard";
    c.axes_actuated = 0;
    c.workspace_radius = 10;
    return c;
  }
  Status read(Reading& out) override {
    const std::lock_guard lock(m_);
    goal_ += speed_ * kPeriod * direction_;
    Vec3 step = kPeriod / (smoothing_ + kPeriod) * (goal_ - point_);
    const double most = 2.0 * kPeriod;  // a mouse may jump; the point goes at 2 m/s
    if (step.norm() > most) step *= most / step.norm();
    point_ += step;
    out = {};
    out.X_DH.p = point_;
    out.buttons = clutch_ ? 1 : 0;
    return Status::ok;
  }
  Status write(const Wrench& F) override {
    const std::lock_guard lock(m_);
    force_ = F;
    return Status::ok;
  }
  void close() override {}

 private:
  static constexpr double kPeriod = 1e-3;
  mutable std::mutex m_;
  double speed_, smoothing_;
  Vec3 direction_ = Vec3::Zero(), goal_ = Vec3::Zero(), point_ = Vec3::Zero();
  Wrench force_;
  bool clutch_ = false;
};

}  // namespace tactus::haptic
