#include "tactus/haptic/virtual_device.h"

#include <algorithm>

namespace tactus::haptic {
namespace {

constexpr int kSubsteps = 20;

double quantised(double x, double step) {
  return step > 0 ? step * std::round(x / step) : x;
}
Vec3 quantised(const Vec3& x, double step) {
  return {quantised(x.x(), step), quantised(x.y(), step), quantised(x.z(), step)};
}
Vec3 cut(const Vec3& x, double limit) {
  const double length = x.norm();
  return length > limit ? Vec3(x * (limit / length)) : x;
}

// Mean velocity over dt of inertia m under force f, spring k to a point d away, dampers c (to velocity u) and b, dry
// friction: implicit midpoint.
Vec3 mean_velocity(double m, const Vec3& v, double dt, const Vec3& f, double k, const Vec3& d, double c, const Vec3& u,
                   double b, double dry) {
  const Vec3 sum = 2 * m / dt * v + f + k * d + c * u;
  const double length = sum.norm();
  if (length <= dry) return Vec3::Zero();
  return sum * ((1 - dry / length) / (2 * m / dt + 0.5 * k * dt + c + b));
}

}  // namespace

VirtualDevice::VirtualDevice(const Mechanism& mechanism, Hand hand, const Pose& X_DH)
    : m_(mechanism), hand_(std::move(hand)), X_(X_DH), X_first_(X_DH) {}

Capabilities VirtualDevice::capabilities() const {
  Capabilities c;
  c.name = "virtual";
  c.axes_sensed = c.axes_actuated = 6;
  c.force_max = m_.force_max;
  c.torque_max = m_.torque_max;
  c.mass = m_.mass;
  c.damping = m_.damping;
  c.inertia = m_.inertia;
  c.turn_damping = m_.turn_damping;
  c.workspace_radius = 1;
  c.rate_hz = 1 / m_.period;
  c.delay_s = m_.amplifier_delay;
  return c;
}

Status VirtualDevice::read(Reading& out) {
  out = {};
  out.X_DH.p = quantised(X_.p, m_.encoder_step);
  // Exact where the encoder is: a rotation vector to third order is no rotation any more.
  out.X_DH.q = X_.q;
  if (m_.turn_step > 0) {
    const Vec3 phi = quantised(rotation_vector(Quat::Identity(), X_.q), m_.turn_step);
    const double s2 = std::min(0.25 * phi.squaredNorm(), 1.0);
    out.X_DH.q = Quat(std::sqrt(1 - s2), 0.5 * phi.x(), 0.5 * phi.y(), 0.5 * phi.z()).normalized();
  }
  out.buttons = buttons_;
  out.F_H = hand_force_;
  return Status::ok;
}

Status VirtualDevice::write(const Wrench& F_H_D) {
  const Wrench cut_to_limits{cut(F_H_D.force, m_.force_max), cut(F_H_D.torque, m_.torque_max)};
  if (m_.amplifier_delay <= 0) {
    acting_ = cut_to_limits;
  } else {
    waiting_.push_back({cut_to_limits, time_ + m_.amplifier_delay});
  }
  return Status::ok;
}

double VirtualDevice::kinetic() const {
  return 0.5 * (m_.mass + hand_.mass) * V_.v.squaredNorm() + 0.5 * m_.inertia * V_.w.squaredNorm();
}

void VirtualDevice::step() {
  for (int i = 0; i < kSubsteps; ++i) substep(m_.period / kSubsteps, false, {});
}

void VirtualDevice::carry(const Pose& X_DH) {
  const Twist V{(X_DH.p - X_.p) / m_.period, rotation_vector(X_.q, X_DH.q) / m_.period};
  for (int i = 0; i < kSubsteps; ++i) substep(m_.period / kSubsteps, true, V);
}

void VirtualDevice::substep(double dt, bool carried, const Twist& V_carried) {
  while (!waiting_.empty() && waiting_.front().at <= time_ + 0.5 * dt) {
    acting_ = waiting_.front().F;
    waiting_.erase(waiting_.begin());
  }
  Twist mean = V_carried;
  const Wrench own = hand_.pushes && !carried ? hand_.pushes(time_ + 0.5 * dt) : Wrench{};
  if (!carried) {
    const double grip = hand_.grip ? std::max(0.0, hand_.grip(time_ + 0.5 * dt)) : 1.0;
    const Pose wanted = hand_.wants ? hand_.wants(time_) : X_first_;
    const Pose next = hand_.wants ? hand_.wants(time_ + dt) : X_first_;
    const Twist U{(next.p - wanted.p) / dt, rotation_vector(wanted.q, next.q) / dt};
    const double k = grip * hand_.stiffness, c = grip * hand_.damping;
    const double kt = grip * hand_.turn_stiffness, ct = grip * hand_.turn_damping;
    const Vec3 away = 0.5 * (wanted.p + next.p) - X_.p;
    const Vec3 turned = rotation_vector(X_.q, wanted.q) + 0.5 * dt * U.w;
    mean.v = mean_velocity(m_.mass + hand_.mass, V_.v, dt, acting_.force + own.force, k, away, c, U.v, m_.damping,
                           m_.coulomb);
    mean.w = mean_velocity(m_.inertia, V_.w, dt, acting_.torque + own.torque, kt, turned, ct, U.w, m_.turn_damping,
                           m_.turn_coulomb);
    hand_force_.force = own.force + k * (away - 0.5 * dt * mean.v) + c * (U.v - mean.v);
    hand_force_.torque = own.torque + kt * (turned - 0.5 * dt * mean.w) + ct * (U.w - mean.w);
  }
  const Motion moved{dt * mean.v, dt * mean.w};
  const double before = kinetic();
  V_ = carried ? mean : Twist{2 * mean.v - V_.v, 2 * mean.w - V_.w};
  X_.p += moved.p;
  X_.q = rotated(moved.phi, X_.q);
  const double motor = work(acting_, moved),
               lost = dt * (m_.damping * mean.v.squaredNorm() + m_.coulomb * mean.v.norm() +
                            m_.turn_damping * mean.w.squaredNorm() + m_.turn_coulomb * mean.w.norm());
  motor_work_ += motor;
  losses_ += lost;
  hand_work_ += carried ? kinetic() - before + lost - motor : work(hand_force_, moved);
  time_ += dt;
}

}  // namespace tactus::haptic
