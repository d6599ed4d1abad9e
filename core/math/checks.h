// What checks ask of numbers (core/check.h): unit length, symmetry, order, bounds. Each says its tolerance, and why.
//
// What is not finite passes all of them: it may appear within a step, whose guard freezes the body then
// (core/world_guard.cc), and no check may stop a server for it.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tactus {

// Of the square of a length that is 1: what a state's quaternions may be off (1e-6, dynamics/state_bounds.cc) stretches
// all that is turned by them up to four times as much. One that was never normalised is farther off.
inline constexpr double kUnitCheck = 1e-5;
// Of a bound that arithmetic meets but for rounding.
inline constexpr double kRoundingCheck = 1e-9;
// Of the square of a quaternion's length: what a state may hold (dynamics/state_bounds.cc), and two of them multiplied.
inline constexpr double kUnitQuatCheck = 1e-5;
// Of a matrix's largest entry: R I R^T and sums of y y^T are symmetric to some 1e-15; a forgotten transpose is not.
inline constexpr double kSymmetryCheck = 1e-9;

// x is not below, above or outside bounds; a NaN is not.
inline bool not_below(double x, double least) noexcept {
  return !(x < least);
}
inline bool not_above(double x, double most) noexcept {
  return !(x > most);
}
inline bool not_outside(double x, double least, double most) noexcept {
  return not_below(x, least) && not_above(x, most);
}

// |x| is 1, to the tolerance.
template <typename Vector>
bool is_unit(const Vector& x, double tolerance = kUnitCheck) noexcept {
  const double square = x.squaredNorm();
  return !std::isfinite(square) || std::abs(square - 1) <= tolerance;
}
inline bool is_unit(const Eigen::Quaterniond& q) noexcept {
  return is_unit(q.coeffs(), kUnitQuatCheck);
}

// Unit, or exactly zero: a direction that may be unknown.
template <typename Vector>
bool is_unit_or_zero(const Vector& x) noexcept {
  return x.isZero(0) || is_unit(x);
}

// R^T R = 1 and det R = 1. The quaternion that R comes from may be off by kUnitQuatCheck.
inline bool is_rotation(const Eigen::Matrix3d& R) noexcept {
  if (!R.allFinite()) return true;
  const double off = (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  return !(off > 4 * kUnitQuatCheck) && R.determinant() > 0;
}

template <typename Matrix>
bool is_symmetric(const Matrix& M) noexcept {
  const double largest = M.cwiseAbs().maxCoeff();
  return !((M - M.transpose()).cwiseAbs().maxCoeff() > kSymmetryCheck * largest);
}
// Of n x n numbers, row-major: each pair of entries, relative to the larger of both diagonal entries or of the pair.
inline bool is_symmetric(const double* A, std::uint32_t n) noexcept {
  const auto at = [&](std::uint32_t i, std::uint32_t j) { return A[std::size_t{i} * n + j]; };
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      const double largest = std::max({std::abs(at(i, i)), std::abs(at(j, j)), std::abs(at(i, j)), std::abs(at(j, i))});
      if (std::abs(at(i, j) - at(j, i)) > kSymmetryCheck * largest) return false;
    }
  }
  return true;
}

// Each less than the next: keys without doubles.
template <typename Number>
bool is_ascending(std::span<const Number> keys) noexcept {
  return std::adjacent_find(keys.begin(), keys.end(), [](Number a, Number b) { return !(a < b); }) == keys.end();
}

template <typename Number>
bool is_descending(std::span<const Number> keys) noexcept {
  return std::adjacent_find(keys.begin(), keys.end(), [](Number a, Number b) { return !(a > b); }) == keys.end();
}

// A force or impulse (n, t1, t2) pushes, and its friction is within mu times that: relative to the larger of both,
// since cones are met by scaling (1e-9: some roundings, and what is solved to 1e-9 is then put back into its cone).
inline bool in_cone(const Eigen::Vector3d& p, double mu, double tolerance = kRoundingCheck) noexcept {
  const double size = p.cwiseAbs().maxCoeff(), slip = std::hypot(p[1], p[2]);
  return !(p[0] < -tolerance * size) &&
         !(slip > mu * std::max(p[0], 0.0) * (1 + tolerance) + tolerance * size + 1e-300);
}

// The same of a force in W against its normal. A normal that is not quite unit leaves some of the
// push across it.
inline bool pushes_in_cone(const Eigen::Vector3d& f, const Eigen::Vector3d& nhat, double mu) noexcept {
  const double normal = nhat.dot(f);
  return in_cone({normal, (f - normal * nhat).norm(), 0}, mu, 1e-4);
}

}  // namespace tactus
