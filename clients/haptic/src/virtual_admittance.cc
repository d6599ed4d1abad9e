#include "tactus/haptic/virtual_admittance.h"

#include <algorithm>

namespace tactus::haptic {
namespace {

constexpr int kServoSteps = 20;  // of a period: the servo's own cycle

double to_step(double x, double step) {
  return step > 0 ? step * std::round(x / step) : x;
}

}  // namespace

VirtualAdmittance::VirtualAdmittance(const ServoMechanism& mechanism, Hand hand, const Pose& X_DH)
    : m_(mechanism), hand_(std::move(hand)), p_(X_DH.p), p_first_(X_DH.p) {
  aim_.p = X_DH.p;
}

Capabilities VirtualAdmittance::capabilities() const {
  Capabilities c;
  c.name = "virtual-admittance";
  c.admittance = true;
  c.axes_sensed = c.axes_actuated = 3;
  c.force_max = m_.sensor_max;
  c.mass = m_.felt_mass;
  c.damping = m_.felt_damping;
  c.stiffness_max = m_.servo_stiffness;
  c.workspace_radius = 1;
  c.rate_hz = 1 / m_.period;
  c.speed_max = m_.speed_max;
  c.acceleration_max = m_.acceleration_max;
  return c;
}

Status VirtualAdmittance::read(Reading& out) {
  out = {};
  for (int i = 0; i < 3; ++i) {
    out.X_DH.p[i] = to_step(p_[i], m_.encoder_step);
    out.F_H.force[i] = std::clamp(to_step(hand_force_[i], m_.sensor_step), -m_.sensor_max, m_.sensor_max);
  }
  out.buttons = buttons_;
  return Status::ok;
}

Status VirtualAdmittance::write_pose(const Pose& X_DH, const Twist& V_DH) {
  aim_ = {X_DH.p, V_DH.v, time_ + m_.period};
  return Status::ok;
}

void VirtualAdmittance::step() {
  for (int i = 0; i < kServoSteps; ++i) substep(m_.period / kServoSteps);
}

// Mean velocity u over dt: m (2 u - 2 v) / dt = servo + hand, both at the middle.
void VirtualAdmittance::substep(double dt) {
  const double middle = time_ + 0.5 * dt;
  const bool goes = middle < aim_.until;
  const Vec3 goal_v = goes ? aim_.V : Vec3::Zero();
  const Vec3 goal_p = goes ? Vec3(aim_.p - (aim_.until - middle) * aim_.V) : aim_.p;
  const double grip = hand_.grip ? std::max(0.0, hand_.grip(middle)) : 1.0;
  const double k = grip * hand_.stiffness, c = grip * hand_.damping;
  const Vec3 from = hand_.wants ? hand_.wants(time_).p : p_first_,
             to = hand_.wants ? hand_.wants(time_ + dt).p : p_first_;
  const Vec3 wish_v = (to - from) / dt, wish_p = 0.5 * (from + to);
  const Vec3 own = hand_.pushes ? hand_.pushes(middle).force : Vec3::Zero();
  const double inertia = 2 * (m_.mass + hand_.mass) / dt;
  const Vec3 by_hand = inertia * v_ + own + k * (wish_p - p_) + c * wish_v;
  const double held = inertia + 0.5 * k * dt + c, servo = 0.5 * m_.servo_stiffness * dt + m_.servo_damping;
  const Vec3 pull = m_.servo_stiffness * (goal_p - p_) + m_.servo_damping * goal_v;
  Vec3 u = (by_hand + pull) / (held + servo);
  const Vec3 motor = pull - servo * u;
  if (motor.norm() > m_.servo_force_max) u = (by_hand + motor.normalized() * m_.servo_force_max) / held;
  hand_force_ = own + k * (wish_p - p_ - 0.5 * dt * u) + c * (wish_v - u);
  hand_work_ += dt * hand_force_.dot(u);
  v_ = 2 * u - v_;
  p_ += dt * u;
  time_ += dt;
}

}  // namespace tactus::haptic
