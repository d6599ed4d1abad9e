// An ellipsoid as the unit ball of other coordinates: quick to ask of many points.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/shape/smooth/ellipsoid_form.h"

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
  double u00, u01, u02, u11, u12, u22, k0, k1, k2;
};

// The same of four points at once, in single precision.
struct FourForm {
  using Floats = float __attribute__((vector_size(16)));
  using Integers = std::int32_t __attribute__((vector_size(16)));
  // No coordinate is larger than `farthest`. With eps = 2^-24 each of the three sums is wrong by at most 6.1 eps times
  // that of its terms' sizes (U, the point and the product are rounded, and three sums), that of their squares by 3.1
  // eps of it: what is not above `most` is at most 1.
  FourForm(const WhiteForm& e, double farthest) noexcept
      : u00(four(e.u00)),
        u01(four(e.u01)),
        u02(four(e.u02)),
        u11(four(e.u11)),
        u12(four(e.u12)),
        u22(four(e.u22)),
        k0(four(e.k0)),
        k1(four(e.k1)),
        k2(four(e.k2)) {
    const double terms = farthest * (std::abs(e.u00) + std::abs(e.u01) + std::abs(e.u02) + std::abs(e.u11) +
                                     std::abs(e.u12) + std::abs(e.u22)) +
                         std::abs(e.k0) + std::abs(e.k1) + std::abs(e.k2);
    most = four(1 - 0x1p-23 * (8 * terms + 4));
  }
  // Asked of the points' mirror images; sign: 1 and -1.
  [[nodiscard]] FourForm mirrored(const Vec3& sign) const noexcept {
    FourForm out = *this;
    const Floats x = four(sign.x()), y = four(sign.y()), z = four(sign.z());
    out.u00 *= x;
    out.u01 *= y, out.u11 *= y;
    out.u02 *= z, out.u12 *= z, out.u22 *= z;
    return out;
  }
  // A bit for each that may be beyond.
  [[nodiscard]] std::uint32_t beyond(const float* x, const float* y, const float* z) const noexcept {
    const Floats px = load(x), py = load(y), pz = load(z), a = u00 * px + u01 * py + u02 * pz - k0,
                 b = u11 * py + u12 * pz - k1, c = u22 * pz - k2;
    return bits(~(a * a + b * b + c * c <= most));
  }
  // Of numbers that have all bits or none.
  static std::uint32_t bits(const Integers& all) noexcept {
#ifdef __SSE__
    return static_cast<std::uint32_t>(__builtin_ia32_movmskps(reinterpret_cast<Floats>(all)));
#else
    return (all[0] & 1) | (all[1] & 2) | (all[2] & 4) | (all[3] & 8);
#endif
  }
  static Floats four(double x) noexcept {
    const auto f = static_cast<float>(x);
    return Floats{f, f, f, f};
  }
  static Floats load(const float* x) noexcept {
    Floats out;
    std::memcpy(&out, x, sizeof out);
    return out;
  }
  Floats u00, u01, u02, u11, u12, u22, k0, k1, k2, most;
};

// At least the largest eigenvalue of a positive definite matrix, by the fourth power's Frobenius norm, and at most
// 3^(1/8) of it.
[[nodiscard]] inline double most_eigenvalue(const Mat3& A) noexcept {
  const Mat3 A2 = A * A, A4 = A2 * A2;
  return std::sqrt(std::sqrt(std::sqrt(A4.squaredNorm()))) * (1 + 1e-12);
}

}  // namespace tactus
