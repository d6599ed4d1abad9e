// Ellipsoids as sets (p - m)^T A (p - m) <= 1, and what proves that one holds what it touches: the body in a bowl.
#pragma once

#include "core/math/spatial.h"

namespace tactus {

struct EllipsoidForm {
  Mat3 A = Mat3::Identity();  // symmetric, positive definite [1/m^2]
  Vec3 m = Vec3::Zero();

  [[nodiscard]] double at(const Vec3& p) const noexcept { return (p - m).dot(A * (p - m)); }
  // The same ellipsoid seen from a frame whose pose is (R, p).
  [[nodiscard]] EllipsoidForm seen_from(const Mat3& R, const Vec3& p) const noexcept {
    return {R.transpose() * A * R, R.transpose() * (m - p)};
  }
};

// Positive definite, by more than rounding?
[[nodiscard]] bool positive_definite(const Mat3& A) noexcept;

// What of an ellipsoid moves with p, a point of its surface, along the normal there.
class MovedForm {
 public:
  MovedForm() = default;
  MovedForm(const EllipsoidForm& e, const Vec3& p) noexcept;
  // From e, that it was made of, to one that lies in its inner parallel body, which is none, and touches that where p
  // went: d deep along the inward normal. d < 0: to one in the outer parallel body. False: at that depth p is not the
  // nearest place of the surface.
  [[nodiscard]] bool by(double d, EllipsoidForm& e) const noexcept;

 private:
  Mat3 rest_ = Mat3::Zero();  // the inverse of e.A times the determinant
  Vec3 g_ = Vec3::Zero();     // e.A (p - m)
  double det_ = 0, slope_ = 0;
};
[[nodiscard]] inline bool move_surface(EllipsoidForm& e, const Vec3& p, double d) noexcept {
  return MovedForm(e, p).by(d, e);
}

// An ellipsoid within the points that are at least d from a wall's outside, and which others there are.
struct InnerForm : EllipsoidForm {
  EllipsoidForm wall;
  double d = 0;
  MovedForm moved;  // the wall, about a place of it

  // The one that is widest about where the wall has the place p. False: none.
  [[nodiscard]] bool set(const EllipsoidForm& of_wall, const Vec3& p, double depth) noexcept;
  // The same deeper by r.
  [[nodiscard]] bool deeper(double r, InnerForm& out) const noexcept;
  // About where the wall is near x.
  [[nodiscard]] bool near(const Vec3& x, EllipsoidForm& out) const noexcept;
};

// Does e hold the ellipsoid `inner`, which touches it at p from within?
[[nodiscard]] bool holds_ellipsoid(const EllipsoidForm& e, const EllipsoidForm& inner, const Vec3& p) noexcept;

// The largest value of e on circles about z. With G = A's part across z, c the circle's centre and g = A (c - m) across
// z: at most mu r^2 + e(c) + g^T (mu - G)^-1 g for any mu I > G, with equality for the mu of a circle that touches e
// from within at its farthest point. That is a quadratic in (r^2, z).
struct CircleBound {
  double mu = 0, q2 = 0, q1 = 0, q0 = 0;  // mu r^2 + q2 z^2 + q1 z + q0
  [[nodiscard]] double at(double r2, double z) const noexcept { return mu * r2 + (q2 * z + q1) * z + q0; }
};
// False: mu is too small for the bound.
[[nodiscard]] bool bound_circles(const EllipsoidForm& e, double mu, CircleBound& out) noexcept;
// The mu of a circle that touches e at p, which is not on the axis.
[[nodiscard]] double touching_factor(const EllipsoidForm& e, const Vec3& p) noexcept;
// The largest eigenvalue of G, which mu must be above, and what to try of it for circles that do not touch.
inline constexpr double kOtherFactors[] = {1.2, 1.5, 2.0, 3.0, 5.0};
[[nodiscard]] double least_factor(const EllipsoidForm& e) noexcept;

}  // namespace tactus
