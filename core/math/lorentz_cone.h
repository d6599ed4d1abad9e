// The cone K = {x in R^3: x_0 >= |(x_1, x_2)|} as interior-point methods see it: its Jordan algebra (Faraut and Koranyi
// 1994; Alizadeh and Goldfarb 2003) and the scaling of Nesterov and Todd (1997). K is its own dual.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"
#include "core/math/spatial.h"

namespace tactus {

// Of its size: iterates come as near to K's border as rounding lets them.
inline constexpr double kWithinCheck = 1e-4;

// x_0^2 - |(x_1, x_2)|^2; > 0 within K.
inline double cone_det(const Vec3& x) noexcept {
  const double t = std::sqrt(x[1] * x[1] + x[2] * x[2]);
  return (x[0] - t) * (x[0] + t);
}
// x o y = (x . y, x_0 y_t + y_0 x_t); its unit is (1, 0, 0).
inline Vec3 cone_product(const Vec3& x, const Vec3& y) noexcept {
  return {x.dot(y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]};
}
// y of x o y = r; x within K.
inline Vec3 cone_quotient(const Vec3& r, const Vec3& x) noexcept {
  TACTUS_DCHECK(in_cone(x, 1, kWithinCheck));
  const double y = (x[0] * r[0] - x[1] * r[1] - x[2] * r[2]) / cone_det(x);
  return {y, (r[1] - y * x[1]) / x[0], (r[2] - y * x[2]) / x[0]};
}
// Largest t for which x + t d is in K, infinity if all are; x within K.
inline double longest_in_cone(const Vec3& x, const Vec3& d) noexcept {
  TACTUS_DCHECK(in_cone(x, 1, kWithinCheck));
  double longest = std::numeric_limits<double>::infinity();
  const auto take = [&](double t) {
    if (t > 0) longest = std::min(longest, t);
  };
  // a t^2 + 2 b t + c = 0
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2],
               c = cone_det(x);
  const double roots = b * b - a * c;
  if (roots >= 0) {
    const double q = -(b + (b >= 0 ? std::sqrt(roots) : -std::sqrt(roots)));
    if (a != 0) take(q / a);
    if (q != 0) take(c / q);
  }
  if (d[0] < 0) take(-x[0] / d[0]);
  return longest;
}

// W, symmetric, that takes x and z within K to the same point: lambda = W z = W^-1 x.
class ConeScaling {
 public:
  ConeScaling() = default;
  ConeScaling(const Vec3& x, const Vec3& z) noexcept {
    TACTUS_DCHECK(in_cone(x, 1, kWithinCheck) && in_cone(z, 1, kWithinCheck));
    const double det_x = cone_det(x), det_z = cone_det(z);
    const Vec3 a = x / std::sqrt(det_x), b = z / std::sqrt(det_z);
    const double gamma = std::sqrt(0.5 * (1 + a.dot(b)));
    w_ = Vec3(a[0] + b[0], a[1] - b[1], a[2] - b[2]) / (2 * gamma);
    size_ = std::sqrt(std::sqrt(det_x / det_z));
    TACTUS_DCHECK(not_above(std::abs(cone_det(w_) - 1), 1e-6 * w_[0] * w_[0]));  // what w_0^2 - w_t^2 cancels
  }
  [[nodiscard]] Vec3 apply(const Vec3& y) const noexcept {
    const double d = w_[1] * y[1] + w_[2] * y[2], f = y[0] + d / (1 + w_[0]);
    return {size_ * (w_[0] * y[0] + d), size_ * (y[1] + f * w_[1]), size_ * (y[2] + f * w_[2])};
  }
  [[nodiscard]] Vec3 apply_inverse(const Vec3& y) const noexcept {
    const double d = w_[1] * y[1] + w_[2] * y[2], f = -y[0] + d / (1 + w_[0]), s = 1 / size_;
    return {s * (w_[0] * y[0] - d), s * (y[1] + f * w_[1]), s * (y[2] + f * w_[2])};
  }
  // W^2 = size^2 (2 w w^T - diag(1, -1, -1))
  [[nodiscard]] Vec3 apply_twice(const Vec3& y) const noexcept {
    const double s = size_ * size_, d = 2 * s * (w_[0] * y[0] + w_[1] * y[1] + w_[2] * y[2]);
    return {d * w_[0] - s * y[0], d * w_[1] + s * y[1], d * w_[2] + s * y[2]};
  }
  [[nodiscard]] Mat3 square() const noexcept {
    Mat3 out;
    for (int k = 0; k < 3; ++k) out.col(k) = apply_twice(Vec3::Unit(k));
    return out;
  }

 private:
  Vec3 w_ = Vec3::UnitX();  // det 1
  double size_ = 1;
};

}  // namespace tactus
