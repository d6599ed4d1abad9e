// An ellipsoid as the unit ball of other coordinates: quick to ask of many points.
#pragma once

#include <cmath>

#include "core/math/two.h"
#include "core/shape/ellipsoid_form.h"

namespace tactus {

// With A = U^T U: |U (p - m)| <= 1.
struct WhiteForm {
  explicit WhiteForm(const EllipsoidForm& e) noexcept {
    const Mat3& A = e.A;
    u00 = std::sqrt(A(0, 0)), u01 = A(0, 1) / u00, u02 = A(0, 2) / u00;
    u11 = std::sqrt(A(1, 1) - u01 * u01), u12 = (A(1, 2) - u01 * u02) / u11;
    u22 = std::sqrt(A(2, 2) - u02 * u02 - u12 * u12);
    k0 = u00 * e.m.x() + u01 * e.m.y() + u02 * e.m.z(), k1 = u11 * e.m.y() + u12 * e.m.z(), k2 = u22 * e.m.z();
  }
  [[nodiscard]] bool finite() const noexcept { return u11 > 0 && u22 > 0 && std::isfinite(u22); }
  [[nodiscard]] double x(double px, double py, double pz) const noexcept { return u00 * px + u01 * py + u02 * pz - k0; }
  [[nodiscard]] double y(double py, double pz) const noexcept { return u11 * py + u12 * pz - k1; }
  [[nodiscard]] double z(double pz) const noexcept { return u22 * pz - k2; }
  [[nodiscard]] double at(double px, double py, double pz) const noexcept {
    const double a = x(px, py, pz), b = y(py, pz), c = z(pz);
    return a * a + b * b + c * c;
  }
  [[nodiscard]] Two at(const Two& px, const Two& py, const Two& pz) const noexcept {
    const Two a = two(u00) * px + two(u01) * py + two(u02) * pz - two(k0), b = two(u11) * py + two(u12) * pz - two(k1),
              c = two(u22) * pz - two(k2);
    return a * a + b * b + c * c;
  }
  // Asked of a point's mirror image; sign: 1 and -1.
  [[nodiscard]] WhiteForm mirrored(const Vec3& sign) const noexcept {
    WhiteForm out = *this;
    out.u00 *= sign.x(), out.u01 *= sign.y(), out.u02 *= sign.z();
    out.u11 *= sign.y(), out.u12 *= sign.z(), out.u22 *= sign.z();
    return out;
  }
  double u00, u01, u02, u11, u12, u22, k0, k1, k2;
};

// At least the largest eigenvalue of a positive definite matrix, by the fourth power's Frobenius norm, and at most
// 3^(1/8) of it.
[[nodiscard]] inline double most_eigenvalue(const Mat3& A) noexcept {
  const Mat3 A2 = A * A, A4 = A2 * A2;
  return std::sqrt(std::sqrt(std::sqrt(A4.squaredNorm()))) * (1 + 1e-12);
}

}  // namespace tactus
