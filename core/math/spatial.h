// Vectors, rotations, poses. SI units. Frames by the monogram rule: X_WB is the pose of B in W, X_WC = X_WB * X_BC.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quat = Eigen::Quaterniond;  // constructor order (w, x, y, z)

struct Pose {
  Quat q = Quat::Identity();  // rotation, unit
  Vec3 p = Vec3::Zero();      // [m]

  Vec3 operator*(const Vec3& p_BC) const noexcept {
    TACTUS_DCHECK(is_unit(q));
    return p + q * p_BC;
  }
  Pose operator*(const Pose& X_BC) const noexcept {
    TACTUS_DCHECK(is_unit(q) && is_unit(X_BC.q));
    return {q * X_BC.q, p + q * X_BC.p};
  }
  [[nodiscard]] Pose inverse() const noexcept {
    TACTUS_DCHECK(is_unit(q));
    return {q.conjugate(), -(q.conjugate() * p)};
  }
};

// Pose with the rotation as a matrix: what the inner loops use.
struct Frame {
  Mat3 R = Mat3::Identity();
  Vec3 p = Vec3::Zero();  // [m]

  Vec3 operator*(const Vec3& p_BC) const noexcept { return p + R * p_BC; }
  [[nodiscard]] Vec3 to_local(const Vec3& p_W) const noexcept { return R.transpose() * (p_W - p); }
};

struct SpatialForce {          // F_Bq_W: at a point q, expressed in W
  Vec3 torque = Vec3::Zero();  // [N m]
  Vec3 force = Vec3::Zero();   // [N]
};

struct SpatialVelocity {  // V_WBq: of the point of B at q, in W
  Vec3 w = Vec3::Zero();  // [rad/s]
  Vec3 v = Vec3::Zero();  // [m/s]
};

// Cuts the length of x to limit; true when it was longer.
inline bool cut_length(Vec3& x, double limit) noexcept {
  TACTUS_DCHECK(not_below(limit, 0));
  const double length = x.norm();
  if (!(length > limit)) return false;
  x *= limit / length;
  return true;
}

// Two unit vectors that complete the unit vector n to a right-handed basis (t1, t2, n). Deterministic, no branch on
// noise but at n.z = 0 (Duff et al. 2017).
inline void tangent_basis(const Vec3& n, Vec3& t1, Vec3& t2) noexcept {
  TACTUS_DCHECK(is_unit(n));
  const double sign = std::copysign(1.0, n.z());
  const double a = -1.0 / (sign + n.z());
  const double b = n.x() * n.y() * a;
  t1 = Vec3(1.0 + sign * n.x() * n.x() * a, sign * b, -sign * n.x());
  t2 = Vec3(b, sign + n.y() * n.y() * a, -n.y());
}

// Rotation by the vector phi [rad] in the world frame applied to q: exp(phi) q, normalised. Series for the small angles
// of one tick, so no libm call decides a bit.
inline Quat rotate_by(const Vec3& phi, const Quat& q) noexcept {
  const double a2 = 0.25 * phi.squaredNorm();  // (angle/2)^2
  double c, s;                                 // cos(angle/2), sin(angle/2)/angle
  if (a2 < 0.0625) {
    c = 1.0 - a2 * (1.0 / 2 - a2 * (1.0 / 24 - a2 * (1.0 / 720 - a2 * (1.0 / 40320 - a2 / 3628800))));
    s = 0.5 * (1.0 - a2 * (1.0 / 6 - a2 * (1.0 / 120 - a2 * (1.0 / 5040 - a2 * (1.0 / 362880 - a2 / 39916800)))));
  } else {
    const double a = std::sqrt(a2);
    c = std::cos(a);
    s = 0.5 * std::sin(a) / a;
  }
  Quat r = Quat(c, s * phi.x(), s * phi.y(), s * phi.z()) * q;
  TACTUS_DCHECK(not_below(r.squaredNorm(), 0.5));  // of a turn and of a pose: both unit
  r.coeffs() *= 1.0 / std::sqrt(r.squaredNorm());
  return r;
}

inline Mat3 skew(const Vec3& a) noexcept {
  Mat3 m;
  m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return m;
}

}  // namespace tactus
