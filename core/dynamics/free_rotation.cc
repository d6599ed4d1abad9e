#include "core/dynamics/free_rotation.h"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace tactus {
namespace {

constexpr double kSame = 1e-12;  // moments that differ by less, relative, are one

// q exp(angle axis_B): the body turns about an axis of its own.
Quat turn_own(const Quat& q, const Vec3& axis_B, double angle) noexcept {
  return rotate_by(angle * (q * axis_B), q);
}

}  // namespace

InertiaAxes inertia_axes(const Mat3& I_BBcm) {
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(I_BBcm);
  const Vec3 inv = eigen.eigenvalues().cwiseInverse();  // largest first
  const Eigen::Index top = inv[0] - inv[1] >= inv[1] - inv[2] ? 0 : 2, side = 2 - top;
  const auto difference = [&](Eigen::Index k) {
    const double d = inv[k] - inv[1];
    return std::abs(d) > kSame * inv[1] ? d : 0.0;
  };
  return {eigen.eigenvectors().col(top), eigen.eigenvectors().col(side), inv[1], difference(top), difference(side)};
}

Quat free_rotation(const InertiaAxes& axes, const Vec3& L_W, double h, const Quat& q_WB) noexcept {
  Quat q = q_WB;
  const auto turn_side = [&] {
    if (axes.side != 0) q = turn_own(q, axes.side_B, 0.5 * h * axes.side * L_W.dot(q * axes.side_B));
  };
  turn_side();
  q = turn_own(q, axes.top_B, h * axes.top * L_W.dot(q * axes.top_B));
  q = rotate_by(h * axes.inv_moment * L_W, q);
  turn_side();
  return q;
}

}  // namespace tactus
