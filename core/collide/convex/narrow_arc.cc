#include "core/collide/convex/narrow_arc.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// A direction of the circle, n = c u + s v, with the support point (x, y) of the difference projected on the circle's
// plane: f = c x + s y, df/dphi = c y - s x, and d2f/dphi2 = rho - f with the radius of curvature rho.
struct Sample {
  double c, s, x, y, rho;
  [[nodiscard]] double f() const noexcept { return c * x + s * y; }
  [[nodiscard]] double slope() const noexcept { return c * y - s * x; }
};

// half = sign of sin(phi), chooses the rim.
Sample sample(const ArcProblem& arc, double c, double s, double half) noexcept {
  const double flat = 1 - arc.delta * arc.delta;  // the rim's projection is an ellipse of half axes r and r sqrt(flat)
  const double k = 1.0 / std::sqrt(std::max(1e-300, c * c + flat * s * s));
  return {c, s, arc.alpha + arc.r * c * k, arc.beta + half * arc.h * arc.delta + arc.r * flat * s * k,
          arc.r * flat * k * k * k};
}

Sample sample_between(const ArcProblem& arc, const Sample& a, const Sample& b, double t, double half) noexcept {
  const double c = (1 - t) * a.c + t * b.c;
  const double s = (1 - t) * a.s + t * b.s;
  const double k = 1.0 / std::sqrt(c * c + s * s);
  return sample(arc, k * c, k * s, half);
}

// On the arc between two samples f is at least the distance of the origin from the chord of their support points.
bool stays_above(const Sample& a, const Sample& b, double limit) noexcept {
  const double cross = a.x * b.y - a.y * b.x;
  const double dx = b.x - a.x, dy = b.y - a.y;
  return cross > 0 && cross * cross >= limit * limit * (dx * dx + dy * dy) && limit > 0;
}

// Root of the slope between lo (negative) and hi (positive): Newton, halving the bracket where it would leave it. No
// trigonometric function decides a bit.
Sample root_between(const ArcProblem& arc, Sample lo, Sample hi, double half) noexcept {
  const double tiny = 1e-15 * (std::abs(arc.alpha) + std::abs(arc.beta) + arc.h + arc.r);
  Sample m = sample_between(arc, lo, hi, lo.slope() / (lo.slope() - hi.slope()), half);
  for (int i = 0; i < 60; ++i) {
    const double slope = m.slope();
    if (std::abs(slope) <= tiny) break;
    (slope < 0 ? lo : hi) = m;
    const double bend = m.rho - m.f();
    const double step = bend > 0 ? -slope / bend : 2.0;
    double c = m.c - step * m.s, s = m.s + step * m.c;
    const double k = 1.0 / std::sqrt(c * c + s * s);
    c *= k;
    s *= k;
    const bool inside = std::abs(step) < 1 && lo.c * s - lo.s * c > 0 && c * hi.s - s * hi.c > 0;
    if (inside && std::abs(step) < 1e-15) break;
    m = inside ? sample(arc, c, s, half) : sample_between(arc, lo, hi, 0.5, half);
    if (lo.c * hi.s - lo.s * hi.c < 1e-15) break;
  }
  return m;
}

// Minima on one piece of one rim, counter-clockwise from (c0, s0) to (c1, s1), cut in parts so that a maximum cannot
// hide a minimum.
struct Hunt {
  const ArcProblem& arc;
  double limit;
  Vec3 (&minima)[kArcMinima];
  int count = 0;

  void piece(double c0, double s0, double c1, double s1, double half) noexcept {
    constexpr int kParts = 4;
    const Sample first = sample(arc, c0, s0, half), end = sample(arc, c1, s1, half);
    if (stays_above(first, end, limit)) return;
    Sample lo = first;
    for (int k = 1; k <= kParts; ++k) {
      const Sample hi = k == kParts ? end : sample_between(arc, first, end, static_cast<double>(k) / kParts, half);
      if (lo.slope() < 0 && hi.slope() > 0 && count < kArcMinima && !stays_above(lo, hi, limit)) {
        const Sample m = root_between(arc, lo, hi, half);
        minima[count++] = m.c * arc.u + m.s * arc.v;
      }
      lo = hi;
    }
  }
};

}  // namespace

int arc_minima(const ArcProblem& arc, const Vec3* n1, const Vec3* n2, double limit,
               Vec3 (&minima)[kArcMinima]) noexcept {
  TACTUS_DCHECK(is_unit(arc.u) && is_unit(arc.v) && arc.r > 0 && (n1 == nullptr) == (n2 == nullptr));
  Hunt hunt{arc, limit, minima, 0};
  if (n1 == nullptr) {
    hunt.piece(1, 0, 0, 1, 1);
    hunt.piece(0, 1, -1, 0, 1);
    hunt.piece(-1, 0, 0, -1, -1);
    hunt.piece(0, -1, 1, 0, -1);
    return hunt.count;
  }
  double c0 = n1->dot(arc.u), s0 = n1->dot(arc.v), c1 = n2->dot(arc.u), s1 = n2->dot(arc.v);
  if (c0 * s1 - s0 * c1 < 0) {  // counter-clockwise from 0 to 1
    std::swap(c0, c1);
    std::swap(s0, s1);
  }
  if ((s0 >= 0 && s1 >= 0) || (s0 <= 0 && s1 <= 0)) {
    hunt.piece(c0, s0, c1, s1, s0 + s1 >= 0 ? 1 : -1);
  } else if (s0 < 0) {  // through phi = 0
    hunt.piece(c0, s0, 1, 0, -1);
    hunt.piece(1, 0, c1, s1, 1);
  } else {
    hunt.piece(c0, s0, -1, 0, 1);
    hunt.piece(-1, 0, c1, s1, -1);
  }
  return hunt.count;
}

bool arc_minimum_near(const ArcProblem& arc, const Vec3& start, Vec3& n) noexcept {
  TACTUS_DCHECK(is_unit(arc.u) && is_unit(arc.v) && not_below(arc.delta, -kRoundingCheck));
  constexpr int kSteps = 8;
  constexpr double kFar = 0.1;  // [rad]: a pair that turned this much in a tick is searched anew
  double c = start.dot(arc.u), s = start.dot(arc.v);
  const double size = std::sqrt(c * c + s * s), half = s < 0 ? -1.0 : 1.0;
  if (size < 0.5) return false;
  c /= size, s /= size;
  for (int i = 0; i < kSteps && s * half > 0; ++i) {
    const Sample m = sample(arc, c, s, half);
    const double bend = m.rho - m.f(), step = -m.slope() / bend;
    if (!(bend > 0) || std::abs(step) > kFar) return false;
    if (std::abs(step) < 1e-15 || (i > 2 && std::abs(step) < 1e-13)) {
      n = c * arc.u + s * arc.v;
      return true;
    }
    c = m.c - step * m.s, s = m.s + step * m.c;
    const double k = 1.0 / std::sqrt(c * c + s * s);
    c *= k, s *= k;
  }
  return false;
}

}  // namespace tactus
