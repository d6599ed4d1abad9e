#include "core/collide/narrow_arc.h"

#include <algorithm>
#include <utility>

namespace tactus {

namespace {

// Unit vector of the circle's plane and the derivative of f along it; half = sign of sin(phi) that chooses the rim.
struct Angle {
  double c, s;
};

double slope(const ArcProblem& arc, const Angle& x, double half) noexcept {
  const double ds = arc.delta * x.s;
  const double root = std::sqrt(std::max(1e-300, 1.0 - ds * ds));
  return -arc.alpha * x.s + (arc.beta + half * arc.h * arc.delta) * x.c -
         arc.r * arc.delta * arc.delta * x.s * x.c / root;
}

Angle between(const Angle& x, const Angle& y, double t) noexcept {
  const double c = (1 - t) * x.c + t * y.c;
  const double s = (1 - t) * x.s + t * y.s;
  const double k = 1.0 / std::sqrt(c * c + s * s);
  return {k * c, k * s};
}

// Root of the slope between lo (negative) and hi (positive), less than half a turn apart: regula falsi with the
// Illinois halving, on the chord, so that no trigonometric function decides a bit.
Angle root_between(const ArcProblem& arc, Angle lo, Angle hi, double f_lo, double f_hi, double half) noexcept {
  Angle x = lo;
  const double tiny = 1e-15 * (std::abs(arc.alpha) + std::abs(arc.beta) + arc.h + arc.r);
  int side = 0;
  for (int i = 0; i < 60; ++i) {
    const double t = f_lo / (f_lo - f_hi);
    x = between(lo, hi, std::clamp(t, 1e-3, 1 - 1e-3));
    if (t < 1e-3 || t > 1 - 1e-3) x = between(lo, hi, std::clamp(t, 1e-9, 1 - 1e-9));
    const double f = slope(arc, x, half);
    if (std::abs(f) <= tiny) break;
    if (f < 0) {
      lo = x;
      f_lo = f;
      if (side == -1) f_hi *= 0.5;
      side = -1;
    } else {
      hi = x;
      f_hi = f;
      if (side == 1) f_lo *= 0.5;
      side = 1;
    }
    if (std::abs(lo.c * hi.s - lo.s * hi.c) < 1e-15) break;
  }
  return x;
}

// Minima on one piece of an arc of one rim, from x to y counter-clockwise, cut in parts so that a maximum cannot hide a
// minimum.
int minima_on(const ArcProblem& arc, const Angle& x, const Angle& y, double half, Vec3 (&minima)[kArcMinima],
              int count) noexcept {
  constexpr int kParts = 4;
  Angle lo = x;
  double f_lo = slope(arc, lo, half);
  for (int k = 1; k <= kParts; ++k) {
    const Angle hi = k == kParts ? y : between(x, y, static_cast<double>(k) / kParts);
    const double f_hi = slope(arc, hi, half);
    if (f_lo < 0 && f_hi > 0 && count < kArcMinima) {
      const Angle m = root_between(arc, lo, hi, f_lo, f_hi, half);
      minima[count++] = m.c * arc.u + m.s * arc.v;
    }
    lo = hi;
    f_lo = f_hi;
  }
  return count;
}

}  // namespace

int arc_minima(const ArcProblem& arc, const Vec3* n1, const Vec3* n2, Vec3 (&minima)[kArcMinima]) noexcept {
  constexpr Angle kStart{1, 0}, kTop{0, 1}, kBack{-1, 0}, kBottom{0, -1};
  int count = 0;
  if (n1 == nullptr) {
    count = minima_on(arc, kStart, kTop, 1, minima, count);
    count = minima_on(arc, kTop, kBack, 1, minima, count);
    count = minima_on(arc, kBack, kBottom, -1, minima, count);
    return minima_on(arc, kBottom, kStart, -1, minima, count);
  }
  Angle x{n1->dot(arc.u), n1->dot(arc.v)};
  Angle y{n2->dot(arc.u), n2->dot(arc.v)};
  if (x.c * y.s - x.s * y.c < 0) std::swap(x, y);  // counter-clockwise from x to y
  if (x.s >= 0 && y.s >= 0) return minima_on(arc, x, y, 1, minima, count);
  if (x.s <= 0 && y.s <= 0) return minima_on(arc, x, y, -1, minima, count);
  const bool through_start = x.s < 0;  // else through the back
  const Angle cut = through_start ? kStart : kBack;
  count = minima_on(arc, x, cut, through_start ? -1 : 1, minima, count);
  return minima_on(arc, cut, y, through_start ? 1 : -1, minima, count);
}

}  // namespace tactus
