#include "core/dynamics/free_rotation.h"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace tactus {
namespace {

constexpr double kSame = 1e-12;  // moments that differ by less, relative, are one

// Cosine and sine of half an angle. Series for the small angles of one tick, so that no libm call decides a bit.
struct HalfTurn {
  double c, s;
  explicit HalfTurn(double angle) noexcept {
    const double a = 0.5 * angle, a2 = a * a;
    if (a2 < 0.0625) {
      c = 1.0 - a2 * (1.0 / 2 - a2 * (1.0 / 24 - a2 * (1.0 / 720 - a2 * (1.0 / 40320 - a2 / 3628800))));
      s = a * (1.0 - a2 * (1.0 / 6 - a2 * (1.0 / 120 - a2 * (1.0 / 5040 - a2 * (1.0 / 362880 - a2 / 39916800)))));
    } else {
      c = std::cos(a);
      s = std::sin(a);
    }
  }
};

// q exp(phi): the body turns about an axis of its own.
Quat turn_own(const Quat& q, const Vec3& phi) noexcept {
  return rotate_by(-phi, q.conjugate()).conjugate();
}

// The top that turns: its orientation in P, and L in P, which turns against it.
struct Top {
  Quat q_WP;
  Vec3 L;

  void turn_x(const HalfTurn& t) noexcept {
    q_WP = Quat(t.c * q_WP.w() - t.s * q_WP.x(), t.c * q_WP.x() + t.s * q_WP.w(), t.c * q_WP.y() + t.s * q_WP.z(),
                t.c * q_WP.z() - t.s * q_WP.y());
    const double c = t.c * t.c - t.s * t.s, s = 2 * t.c * t.s;
    L = Vec3(L.x(), c * L.y() + s * L.z(), c * L.z() - s * L.y());
  }
  void turn_z(const HalfTurn& t) noexcept {
    q_WP = Quat(t.c * q_WP.w() - t.s * q_WP.z(), t.c * q_WP.x() + t.s * q_WP.y(), t.c * q_WP.y() - t.s * q_WP.x(),
                t.c * q_WP.z() + t.s * q_WP.w());
    const double c = t.c * t.c - t.s * t.s, s = 2 * t.c * t.s;
    L = Vec3(c * L.x() + s * L.y(), c * L.y() - s * L.x(), L.z());
  }
};

}  // namespace

InertiaAxes inertia_axes(const Mat3& I_BBcm) {
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(I_BBcm);
  const Vec3 inv = eigen.eigenvalues().cwiseInverse();  // largest first
  const Eigen::Index top = inv[0] - inv[1] >= inv[1] - inv[2] ? 0 : 2, side = 2 - top;
  const auto difference = [&](Eigen::Index k) {
    const double d = inv[k] - inv[1];
    return std::abs(d) > kSame * inv[1] ? d : 0.0;
  };
  Mat3 R_BP;
  const Vec3 x = eigen.eigenvectors().col(side), z = eigen.eigenvectors().col(top);
  R_BP << x, z.cross(x), z;
  return {Quat(R_BP).normalized(), inv[1], difference(top), difference(side)};
}

// About L the body turns as if all moments were one: L in P stays. In W the same turn is exp(h inv_moment L_W), and
// from the right, in P, exp(h inv_moment L_P).
Quat free_rotation(const InertiaAxes& axes, const Vec3& L_B, double h, const Quat& q_WB) noexcept {
  Top t{q_WB * axes.q_BP, axes.q_BP.conjugate() * L_B};
  if (axes.side != 0) t.turn_x(HalfTurn(0.5 * h * axes.side * t.L.x()));
  t.turn_z(HalfTurn(h * axes.top * t.L.z()));
  t.q_WP = turn_own(t.q_WP, h * axes.inv_moment * t.L);
  if (axes.side != 0) t.turn_x(HalfTurn(0.5 * h * axes.side * t.L.x()));
  Quat q = t.q_WP * axes.q_BP.conjugate();
  q.coeffs() *= 1.0 / std::sqrt(q.squaredNorm());
  return q;
}

}  // namespace tactus
