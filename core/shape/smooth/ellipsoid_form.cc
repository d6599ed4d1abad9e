#include "core/shape/smooth/ellipsoid_form.h"

#include <cmath>

namespace tactus {

namespace {

// Of a matrix' trace: what it must be positive by.
constexpr double kDefinite = 1e-9;
// Steps to the foot of a point.
constexpr int kFeet = 4;

// Of a symmetric matrix: the inverse times the determinant.
struct Cofactors {
  explicit Cofactors(const Mat3& A) noexcept
      : xx(A(1, 1) * A(2, 2) - A(1, 2) * A(1, 2)),
        xy(A(0, 2) * A(1, 2) - A(0, 1) * A(2, 2)),
        xz(A(0, 1) * A(1, 2) - A(0, 2) * A(1, 1)),
        yy(A(0, 0) * A(2, 2) - A(0, 2) * A(0, 2)),
        yz(A(0, 1) * A(0, 2) - A(0, 0) * A(1, 2)),
        zz(A(0, 0) * A(1, 1) - A(0, 1) * A(0, 1)),
        det(A(0, 0) * xx + A(0, 1) * xy + A(0, 2) * xz) {}
  [[nodiscard]] Mat3 matrix() const noexcept {
    Mat3 out;
    out << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    return out;
  }
  double xx, xy, xz, yy, yz, zz, det;
};

}  // namespace

bool positive_definite(const Mat3& A) noexcept {
  const double shift = kDefinite * A.trace(), a = A(0, 0) - shift, b = A(1, 1) - shift, c = A(2, 2) - shift;
  const double minor = a * b - A(0, 1) * A(0, 1);
  return a > 0 && minor > 0 &&
         minor * c - a * A(1, 2) * A(1, 2) - b * A(0, 2) * A(0, 2) + 2 * A(0, 1) * A(0, 2) * A(1, 2) > 0;
}

// Points x at least d from the outside of e: y^T A y <= 1 wherever |y - x| <= d, for which it is enough (and for each x
// with its own best t needed) that y^T A y - 1 <= (|y - x|^2 - d^2) / t for all y; the largest of the difference is
// x^T A (I - t A)^-1 x - 1 + d^2 / t. With t = d / |A p| it is zero where p went.
MovedForm::MovedForm(const EllipsoidForm& e, const Vec3& p) noexcept : g_(e.A * (p - e.m)) {
  const Cofactors c(e.A);
  rest_ = c.matrix();
  det_ = c.det;
  slope_ = std::sqrt(g_.squaredNorm());
}

bool MovedForm::by(double d, EllipsoidForm& e) const noexcept {
  if (d < 0) {  // what is moved by -d lies in the outer parallel body
    e.m -= (d / slope_) * g_;
    return true;
  }
  const double t = d / slope_, level = 1 - slope_ * d;
  if (!(level > 0)) return false;
  // A (I - t A)^-1 = det A (C - t det A)^-1 with A^-1 = C / det A.
  Mat3 rest = rest_;
  rest.diagonal().array() -= t * det_;
  if (!positive_definite(rest)) return false;
  const Cofactors inverse(rest);
  e.A = det_ / (inverse.det * level) * inverse.matrix();
  return true;
}

bool InnerForm::set(const EllipsoidForm& of_wall, const Vec3& p, double depth) noexcept {
  wall = of_wall;
  A = wall.A, m = wall.m;
  d = depth;
  moved = MovedForm(wall, p);
  return moved.by(d, *this);
}

bool InnerForm::deeper(double r, InnerForm& out) const noexcept {
  out.wall = wall, out.d = d + r, out.moved = moved;
  out.A = wall.A, out.m = wall.m;
  return moved.by(out.d, out);
}

// The foot of x on the wall, about: from a place of it, along the normal there that is as far from x.
bool InnerForm::near(const Vec3& x, EllipsoidForm& out) const noexcept {
  const Vec3 from = x - wall.m;
  Vec3 p = from;
  for (int i = 0; i < kFeet; ++i) {
    const Vec3 g = wall.A * p, q = from + g.dot(p - from) / g.squaredNorm() * g, slope = wall.A * q;
    p = q + 0.5 * (1 - q.dot(slope)) / slope.squaredNorm() * slope;
    p /= std::sqrt(p.dot(wall.A * p));
  }
  out = wall;
  return move_surface(out, wall.m + p, d);
}

// e - 1 <= mu (inner - 1) everywhere, if mu A_inner - A >= 0 and both sides have one value and gradient at p.
bool holds_ellipsoid(const EllipsoidForm& e, const EllipsoidForm& inner, const Vec3& p) noexcept {
  const Vec3 outside = e.A * (p - e.m), inside = inner.A * (p - inner.m);
  return positive_definite(outside.dot(inside) / inside.squaredNorm() * inner.A - e.A);
}

double touching_factor(const EllipsoidForm& e, const Vec3& p) noexcept {
  const Vec3 slope = e.A * (p - e.m);
  return (slope.x() * p.x() + slope.y() * p.y()) / (p.x() * p.x() + p.y() * p.y());
}

double least_factor(const EllipsoidForm& e) noexcept {
  const double half = 0.5 * (e.A(0, 0) - e.A(1, 1));
  return 0.5 * (e.A(0, 0) + e.A(1, 1)) + std::sqrt(half * half + e.A(0, 1) * e.A(0, 1));
}

bool bound_circles(const EllipsoidForm& e, double mu, CircleBound& out) noexcept {
  out.mu = mu;
  const double a = mu - e.A(0, 0), b = -e.A(0, 1), c = mu - e.A(1, 1), det = a * c - b * b;
  if (!(a > 0 && det > kDefinite * mu * mu)) return false;
  // c - m = z k - m; g = z g1 - g0.
  const Vec3 at_m = e.A * e.m;
  const double g0x = at_m.x(), g0y = at_m.y(), g1x = e.A(0, 2), g1y = e.A(1, 2), s = 1 / det;
  const double h1x = s * (c * g1x - b * g1y), h1y = s * (a * g1y - b * g1x);
  const double h0x = s * (c * g0x - b * g0y), h0y = s * (a * g0y - b * g0x);
  out.q2 = e.A(2, 2) + g1x * h1x + g1y * h1y;
  out.q1 = -2 * (at_m.z() + g0x * h1x + g0y * h1y);
  out.q0 = e.m.dot(at_m) + g0x * h0x + g0y * h0y;
  return true;
}

}  // namespace tactus
