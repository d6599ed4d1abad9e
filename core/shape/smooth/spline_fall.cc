// Splines near a touch: does the body fall away from it within an ellipsoid?
#include <algorithm>
#include <array>
#include <cmath>

#include "core/shape/smooth/spline_pieces.h"
#include "core/shape/smooth/white_form.h"

namespace tactus {

namespace {

// How far a patch is extended beyond its border at most, and what the sizes of its points' weights sum up to there, at
// most.
constexpr double kMostBeyond = 0.5, kExtended = 25.0 / 24;

// A polynomial of degree 3 in powers of what is left beyond t; `step` apart in memory.
void shift(double* c, std::size_t step, double t) noexcept {
  for (std::size_t lowest = 0; lowest < 3; ++lowest)
    for (std::size_t k = 3; k-- > lowest;) c[k * step] += t * c[(k + 1) * step];
}

// A patch in powers about (u, v), in e's coordinates: d[m][n] is what s^m t^n is multiplied by.
void expand(std::array<double, 16> x, std::array<double, 16> y, std::array<double, 16> z, double u, double v,
            const WhiteForm& e, Vec3 (&d)[4][4]) noexcept {
  for (std::array<double, 16>* c : {&x, &y, &z}) {
    for (std::size_t n = 0; n < 4; ++n) shift(c->data() + n, 4, u);
    for (std::size_t m = 0; m < 4; ++m) shift(c->data() + 4 * m, 1, v);
  }
  for (std::size_t m = 0; m < 4; ++m)
    for (std::size_t n = 0; n < 4; ++n) {
      const double px = x[4 * m + n], py = y[4 * m + n], pz = z[4 * m + n];
      d[m][n] = Vec3(e.u00 * px + e.u01 * py + e.u02 * pz, e.u11 * py + e.u12 * pz, e.u22 * pz);
    }
}

double length(const Vec3& q) noexcept {
  return std::sqrt(q.squaredNorm());
}
// Not less, and quick.
double about_length(const Vec3& q) noexcept {
  return std::abs(q.x()) + std::abs(q.y()) + std::abs(q.z());
}

}  // namespace

SplinePieces::Piece SplinePieces::as_powers(const Piece& bezier) noexcept {
  Piece out = bezier;
  const auto along = [](double* c, std::size_t step) {
    const double b0 = c[0], b1 = c[step], b2 = c[2 * step], b3 = c[3 * step];
    c[step] = 3 * (b1 - b0), c[2 * step] = 3 * (b2 - 2 * b1 + b0), c[3 * step] = b3 - 3 * b2 + 3 * b1 - b0;
  };
  for (std::array<double, 16>* c : {&out.x, &out.y, &out.z}) {
    for (std::size_t n = 0; n < 4; ++n) along(c->data() + n, 4);
    for (std::size_t m = 0; m < 4; ++m) along(c->data() + 4 * m, 1);
  }
  return out;
}

// A neighbour lies by t^3 / 6 times the third derivative's jump off the patch extended by t, of control points' jumps
// with weights that sum up to 1, or where the other parameter is beyond its border, too, with sizes that sum up to at
// most kExtended. What that adds to the form of e: twice the way from e's middle times it, and its square. That way is
// known at the touch, where it times e's coordinates is `slope`, and differs elsewhere by at most `beside`.
Vec2 SplinePieces::of_neighbours(int i, int j, const Borders& over, const Window& window, const Vec3& slope,
                                 double beside, double stretch) const noexcept {
  const int nu = nu_ / kParts, nv = nv_ / kParts;
  struct Most {
    double along = 0, length = 0, over3 = 0;
    void add(const Jump& jump, const Vec3& direction) noexcept {
      along = std::max(along, std::abs(direction.dot(jump.by)));
      length = std::max(length, jump.length);
    }
  };
  const auto at = [&](int k, int l) {
    const auto wrapped = [](int x, int n) { return x < 0 ? x + n : (x >= n ? x - n : x); };
    return static_cast<std::size_t>(wrapped(k, nu) * nv + wrapped(l, nv));
  };
  const auto of_u = [&](int k, double t) {
    Most out;
    if (t <= 0) return out;
    for (int l = over.before_v > 0 ? j - 2 : j - 1; l <= (over.behind_v > 0 ? j + 3 : j + 2); ++l)
      out.add(jumps_u_[at(k, l)], slope);
    out.over3 = t * t * t;
    return out;
  };
  const auto of_v = [&](int l, double t) {
    Most out;
    if (t <= 0) return out;
    for (int k = i - 1; k <= i + 2; ++k) out.add(jumps_v_[at(k, l)], slope);
    out.over3 = t * t * t;
    return out;
  };
  const Most before_u = of_u(i, over.before_u), behind_u = of_u(i + 1, over.behind_u),
             before_v = of_v(j, over.before_v), behind_v = of_v(j + 1, over.behind_v);
  const auto off = [&](const Most& m) { return kExtended / 6 * stretch * m.over3 * m.length; };
  const double most = beside + std::max({off(before_u), off(behind_u), off(before_v), off(behind_v)});
  // Part of the square of the step: nothing up to the patch's edge, most at the window's.
  const auto of_square = [&](const Most& m, double end) {
    return m.over3 > 0 ? kExtended / 3 * m.over3 * (m.along + most * stretch * m.length) / (end * end) : 0.0;
  };
  return {std::max(of_square(before_u, window.lo.x()), of_square(behind_u, window.hi.x())),
          std::max(of_square(before_v, window.lo.y()), of_square(behind_v, window.hi.y()))};
}

// The form of e about the touch in powers of the steps (s, t), a Taylor series that has an end: from the third degree
// on its terms are less than those of the second, after t is seen from the ridge that runs through the touch. Beyond
// the patch its neighbours differ from it by what the third derivatives jump by.
bool SplinePieces::falls_about(const WhiteForm& e, const Vec2& uv, const Window& window) const noexcept {
  const int nu = nu_ / kParts, nv = nv_ / kParts;
  const int i = std::clamp(static_cast<int>(uv.x()), 0, nu - 1), j = std::clamp(static_cast<int>(uv.y()), 0, nv - 1);
  const double u = uv.x() - i, v = uv.y() - j;
  const double h = std::max(-window.lo.x(), window.hi.x()), k = std::max(-window.lo.y(), window.hi.y());
  const Borders over{std::max(0.0, -window.lo.x() - u), std::max(0.0, window.hi.x() + u - 1),
                     std::max(0.0, -window.lo.y() - v), std::max(0.0, window.hi.y() + v - 1)};
  const double beyond = std::max({over.before_u, over.behind_u, over.before_v, over.behind_v});
  if (!(beyond <= kMostBeyond && h > 0 && k > 0)) return false;
  const Piece& piece = powers_[static_cast<std::size_t>(i * nv + j)];
  Vec3 d[4][4];
  expand(piece.x, piece.y, piece.z, u, v, e, d);
  const Vec3 w = d[0][0] - Vec3(e.k0, e.k1, e.k2), &s1 = d[1][0], &t1 = d[0][1], &s2 = d[2][0], &st = d[1][1],
             &t2 = d[0][2], &s3 = d[3][0], &s2t = d[2][1], &st2 = d[1][2], &t3 = d[0][3];
  const double f20 = 2 * w.dot(s2) + s1.dot(s1), f11 = 2 * (w.dot(st) + s1.dot(t1)), f02 = 2 * w.dot(t2) + t1.dot(t1);
  if (!(f02 < 0)) return false;
  const double m = -0.5 * f11 / f02, a = f20 + 0.5 * m * f11;
  if (!(a < 0)) return false;
  const double f30 = 2 * (w.dot(s3) + s1.dot(s2)), f21 = 2 * (w.dot(s2t) + s1.dot(st) + t1.dot(s2)),
               f12 = 2 * (w.dot(st2) + s1.dot(t2) + t1.dot(st)), f03 = 2 * (w.dot(t3) + t1.dot(t2));
  const double f40 = 2 * s1.dot(s3) + s2.dot(s2), f31 = 2 * (w.dot(d[3][1]) + s1.dot(s2t) + t1.dot(s3) + s2.dot(st)),
               f22 = 2 * (w.dot(d[2][2]) + s1.dot(st2) + t1.dot(s2t) + s2.dot(t2)) + st.dot(st),
               f13 = 2 * (w.dot(d[1][3]) + s1.dot(t3) + t1.dot(st2) + t2.dot(st)), f04 = 2 * t1.dot(t3) + t2.dot(t2);
  // t = t' + m s
  const double c30 = f30 + m * (f21 + m * (f12 + m * f03)), c21 = f21 + m * (2 * f12 + 3 * m * f03),
               c12 = f12 + 3 * m * f03, c40 = f40 + m * (f31 + m * (f22 + m * (f13 + m * f04))),
               c31 = f31 + m * (2 * f22 + m * (3 * f13 + 4 * m * f04)), c22 = f22 + m * (3 * f13 + 6 * m * f04),
               c13 = f13 + 4 * m * f04;
  const double k2 = k + std::abs(m) * h;
  // Of the fifth degree and more, by lengths.
  const double hh = h * h, kk = k * k;
  const double n1 = length(s1) * h + length(t1) * k, n2 = length(s2) * hh + length(st) * h * k + length(t2) * kk,
               n3 = length(s3) * hh * h + length(s2t) * hh * k + length(st2) * h * kk + length(t3) * kk * k,
               n4 = about_length(d[3][1]) * hh * h * k + about_length(d[2][2]) * hh * kk +
                    about_length(d[1][3]) * h * kk * k,
               n5 = (about_length(d[3][2]) * h + about_length(d[2][3]) * k + about_length(d[3][3]) * h * k) * hh * kk;
  const double rest = 2 * n5 + 2 * n1 * (n4 + n5) + 2 * n2 * (n3 + n4 + n5) + (n3 + n4 + n5) * (n3 + n4 + n5);
  double of_s2 = rest / hh, of_t2 = rest / kk;
  if (beyond > 0) {
    const double stretch =
        std::sqrt(e.u00 * e.u00 + e.u01 * e.u01 + e.u02 * e.u02 + e.u11 * e.u11 + e.u12 * e.u12 + e.u22 * e.u22);
    const Vec3 slope(e.u00 * w.x(), e.u01 * w.x() + e.u11 * w.y(), e.u02 * w.x() + e.u12 * w.y() + e.u22 * w.z());
    const Vec2 more = of_neighbours(i, j, over, window, slope, n1 + n2 + n3 + n4 + n5, stretch);
    of_s2 += more.x(), of_t2 += more.y();
  }
  const double c = f02 + std::abs(c12) * h + std::abs(f03) * k2 + std::max(c22, 0.0) * hh + std::abs(c13) * h * k2 +
                   std::max(f04, 0.0) * k2 * k2 + 2 * of_t2;
  if (!(c < 0)) return false;
  const double cross = (std::abs(c21) + std::abs(c31) * h) * h;
  return a + std::abs(c30) * h + std::max(c40, 0.0) * hh - 0.25 * cross * cross / c + of_s2 + 2 * m * m * of_t2 <= 0;
}

}  // namespace tactus
