// Plain 6-DOF values of the haptic client. SI units. Frames by the monogram rule: X_WB is the pose of B in W. A wrench
// acts at the origin of the frame that it is said to act on, in W.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>

namespace tactus::haptic {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quat = Eigen::Quaterniond;  // (w, x, y, z)

struct Twist {
  Vec3 v = Vec3::Zero();  // [m/s]
  Vec3 w = Vec3::Zero();  // [rad/s]
};
struct Wrench {
  Vec3 force = Vec3::Zero();   // [N]
  Vec3 torque = Vec3::Zero();  // [N m]
};
struct Pose {
  Quat q = Quat::Identity();  // unit
  Vec3 p = Vec3::Zero();      // [m]
};
// A small motion: translation, and rotation vector in W.
struct Motion {
  Vec3 p = Vec3::Zero();    // [m]
  Vec3 phi = Vec3::Zero();  // [rad]
};

inline Wrench operator*(double s, const Wrench& a) {
  return {s * a.force, s * a.torque};
}
inline Wrench operator+(const Wrench& a, const Wrench& b) {
  return {a.force + b.force, a.torque + b.torque};
}
inline Wrench operator-(const Wrench& a, const Wrench& b) {
  return {a.force - b.force, a.torque - b.torque};
}
inline double power(const Wrench& F, const Twist& V) {
  return F.force.dot(V.v) + F.torque.dot(V.w);
}
inline double work(const Wrench& F, const Motion& d) {
  return F.force.dot(d.p) + F.torque.dot(d.phi);
}
inline bool is_finite(const Vec3& x) {
  return std::isfinite(x.x()) && std::isfinite(x.y()) && std::isfinite(x.z());
}
inline bool is_finite(const Quat& q) {
  return std::isfinite(q.w()) && std::isfinite(q.x()) && std::isfinite(q.y()) && std::isfinite(q.z());
}

// sin(angle) times the axis of the turn from a to b, in W: gradient of the potential 2 sin^2(angle / 2), so a torsion
// spring k * turn(a, b) keeps energy at any angle, and yields beyond a right angle.
inline Vec3 turn(const Quat& a, const Quat& b) {
  const Quat d = b * a.conjugate();
  return 2 * d.w() * d.vec();
}
// Twice the vector part, nearest way: as a rotation vector to third order.
inline Vec3 rotation_vector(const Quat& a, const Quat& b) {
  const Quat d = b * a.conjugate();
  return (d.w() < 0 ? -2.0 : 2.0) * d.vec();
}
// 1 - cos(angle) of the turn from a to b: the torsion spring's energy per unit of stiffness.
inline double turn_energy(const Quat& a, const Quat& b) {
  return 2 * (b * a.conjugate()).vec().squaredNorm();
}
// The rotation vector phi in W applied to q. Second order in |phi|, then normalised: for motions of one cycle.
inline Quat rotated(const Vec3& phi, const Quat& q) {
  const double a2 = 0.25 * phi.squaredNorm();
  const double s = 0.5 * (1 - a2 / 6 * (1 - a2 / 20)), c = 1 - a2 / 2 * (1 - a2 / 12);
  Quat r = Quat(c, s * phi.x(), s * phi.y(), s * phi.z()) * q;
  r.coeffs() /= std::sqrt(r.squaredNorm());
  return r;
}
inline Motion motion(const Pose& a, const Pose& b) {
  return {b.p - a.p, rotation_vector(a.q, b.q)};
}

}  // namespace tactus::haptic
