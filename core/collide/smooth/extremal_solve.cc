#include "core/collide/smooth/extremal_solve.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {

namespace {

// Residuals of this much of the pair's size are rounding; those that no longer fall and are below the second are what
// rounding of the surface's own functions leaves.
constexpr double kRounding = 4e-15, kStalled = 1e-10;
// A step is no longer than this part of the size: Newton's direction, not its length, is to be trusted far out.
constexpr double kLongestStep = 0.4;
// The same of a step down a slope that has no minimum near.
constexpr double kLongestDescent = 0.1;
// Below this part of the size a step squared is far below rounding: it is the last one, and nothing is evaluated at its
// end. Curvatures there are those of its start, which the rates' accuracy (1e-9) allows.
constexpr double kLastStep = 1e-11;
// Of a matrix' larger eigenvalue: a smaller one is none.
constexpr double kSingular = 1e-11;
// A valley: conditioning along it, that part of the one across it, and how steep it may be [rad].
constexpr double kValley = 0.02, kValleyShare = 0.1, kLevelSlope = 0.005;

bool solve2(double a, double b, double c, double d, const Pair2& y, Pair2& x) noexcept {
  const double det = a * d - b * c;
  if (det == 0 || !std::isfinite(det)) return false;
  x = {(d * y.x - b * y.y) / det, (a * y.y - c * y.x) / det};
  return true;
}

// N x = c of a point's nearest place, N = I + d k_b. Where the point is as far from a whole curve (a ball that closes a
// ring's hole) N is singular along it, and the step across it is the one that counts.
bool solve_nearest(double n11, double n12, double n22, const Pair2& c, Pair2& x) noexcept {
  const double half = 0.5 * (n11 - n22), mean = 0.5 * (n11 + n22), spread = std::sqrt(half * half + n12 * n12);
  const double large = mean + spread;
  if (!(large > 0) || std::abs(mean - spread) > kSingular * large) return solve2(n11, n12, n12, n22, c, x);
  const Pair2 v = half > 0 ? Pair2{half + spread, n12} : Pair2{n12, spread - half};
  const double along = (v.x * c.x + v.y * c.y) / (large * (v.x * v.x + v.y * v.y));
  x = {along * v.x, along * v.y};
  return std::isfinite(along);
}

bool positive(double a, double b, double c) noexcept {
  return a + c > 0 && a * c > b * b;
}

Pair2 times(const Form2& k, const Pair2& x) noexcept {
  return {k.xx * x.x + k.xy * x.y, k.xy * x.x + k.yy * x.y};
}

// What one iterate knows. Curvature forms are of the outward normals: Ha = k_a along n, Hb = -k_b.
struct Local {
  Vec3 pa, pb, n, t1, t2;
  double d = 0;
  Form2 k_a, k_b;
  Pair2 r, q;                 // pa - pb in the tangent plane; -n_a there
  Pair2 turn_a, turn_b;       // of the outward normals by stepping onto the surfaces
  double bend = 0, lean = 0;  // curve: second derivative along n; its direction along n
  Pair2 along;                // curve: its direction in the tangent plane
  double eta_a = 0, eta_b = 0;
  double residual = 0;
  bool opposed = true, flat = false;
};

Local look(ExtremalFeature& a, ExtremalFeature& b, double scale) noexcept {
  Local s;
  a.evaluate(), b.evaluate();
  s.n = b.n();
  tangent_basis(s.n, s.t1, s.t2);
  s.pa = a.p(), s.pb = b.p();
  const Vec3 diff = s.pa - s.pb;
  s.d = s.n.dot(diff);
  Pair2 w;
  b.curvature(s.t1, s.t2, s.k_b, w);
  s.turn_b = {w.x * b.eta(), w.y * b.eta()};
  s.eta_a = a.eta(), s.eta_b = b.eta();
  s.residual = std::max(std::abs(s.eta_a), std::abs(s.eta_b));
  s.flat = a.kind() == ExtremalFeature::Kind::plane;
  if (!s.flat) {
    s.r = {s.t1.dot(diff), s.t2.dot(diff)};
    s.residual = std::max({s.residual, std::abs(s.r.x), std::abs(s.r.y)});
  }
  if (a.dim() == 2) {
    a.curvature(s.t1, s.t2, s.k_a, w);
    s.turn_a = {w.x * a.eta(), w.y * a.eta()};
    s.q = {-s.t1.dot(a.n()), -s.t2.dot(a.n())};
    s.opposed = s.n.dot(a.n()) < 0;
    s.residual = std::max({s.residual, scale * std::abs(s.q.x), scale * std::abs(s.q.y)});
  } else if (a.dim() == 1) {
    s.along = {s.t1.dot(a.along()), s.t2.dot(a.along())};
    s.lean = s.n.dot(a.along());
    s.bend = a.bend(s.n);
    s.residual = std::max(s.residual, scale * std::abs(s.lean));
  }
  if (!s.opposed) s.residual = std::max(s.residual, scale);
  return s;
}

// A 2 x 2 matrix' largest singular value, its directions in front (left) and behind, and the smallest.
struct Singular2 {
  double large = 0, small = 0;
  Pair2 left, right;
};
Singular2 singular_of(double a, double b, double c, double d) noexcept {
  Singular2 out;
  out.small = least_singular(a, b, c, d);
  const double xx = a * a + c * c, xy = a * b + c * d, yy = b * b + d * d;  // of its square
  const double half = 0.5 * (xx - yy), spread = std::sqrt(half * half + xy * xy);
  Pair2 v = half > 0 ? Pair2{half + spread, xy} : Pair2{xy, spread - half};
  const double length = std::sqrt(v.x * v.x + v.y * v.y);
  if (!(length > 0)) return out;  // none is larger
  v = {v.x / length, v.y / length};
  const Pair2 u{a * v.x + b * v.y, c * v.x + d * v.y};
  out.large = std::sqrt(u.x * u.x + u.y * u.y);
  out.left = {u.x / out.large, u.y / out.large};
  out.right = v;
  return out;
}

// Two surfaces, or a surface and a point, that are as near along a curve: the step across it, and what is left to go
// there. False: no such curve, or one that is not level.
bool step_across(const Local& s, int dim_a, double scale, Pair2& x_a, Pair2& x_b, double& residual) noexcept {
  if (dim_a == 1) return false;
  const Form2 &ka = s.k_a, &kb = s.k_b;
  const double n11 = 1 + s.d * kb.xx, n12 = s.d * kb.xy, n22 = 1 + s.d * kb.yy;
  const Pair2 c{s.r.x - s.d * s.turn_b.x, s.r.y - s.d * s.turn_b.y};
  const bool surface = dim_a == 2;
  const Singular2 m = surface ? singular_of(ka.xx * n11 + ka.xy * n12 + kb.xx, ka.xx * n12 + ka.xy * n22 + kb.xy,
                                            ka.xy * n11 + ka.yy * n12 + kb.xy, ka.xy * n12 + ka.yy * n22 + kb.yy)
                              : singular_of(n11, n12, n12, n22);
  const double length = surface ? scale : 1.0;
  if (!(length * m.small <= kValley && m.small <= kValleyShare * m.large)) return false;
  // Of the normals' difference, or of the way to the point, what is along the curve.
  const Pair2 off = surface ? s.q : s.r;
  const double steep = m.left.x * off.y - m.left.y * off.x;
  if (std::abs(steep) > kLevelSlope * (surface ? 1.0 : std::abs(s.d))) return false;
  const double still = std::abs(m.left.x * off.x + m.left.y * off.y);
  residual = std::max({residual, std::abs(s.eta_a), std::abs(s.eta_b), surface ? scale * still : still});
  const Pair2 kc = times(ka, c);
  const Pair2 y = surface ? Pair2{s.q.x - s.turn_a.x - s.turn_b.x + kc.x, s.q.y - s.turn_a.y - s.turn_b.y + kc.y} : c;
  const double along = (m.left.x * y.x + m.left.y * y.y) / m.large;
  x_b = {along * m.right.x, along * m.right.y};
  x_a = {};
  if (!surface) return true;
  residual = std::max({residual, std::abs(s.r.x), std::abs(s.r.y)});
  x_a = {n11 * x_b.x + n12 * x_b.y - c.x, n12 * x_b.x + n22 * x_b.y - c.y};
  return true;
}

// Of two surfaces whose distance has no minimum near: the way of A's point down its slope. False: it may have one.
bool descend(const Local& s, double n11, double n12, double n22, double longest, Pair2& x_a) noexcept {
  const double det = n11 * n22 - n12 * n12;
  if (!(det > 0 && n11 + n22 > 0)) return false;
  const Form2 &ka = s.k_a, &kb = s.k_b;
  // H = k_a + k_b N^-1, which is symmetric.
  const double xx = ka.xx + (kb.xx * n22 - kb.xy * n12) / det, xy = ka.xy + (kb.xy * n11 - kb.xx * n12) / det,
               yy = ka.yy + (kb.yy * n11 - kb.xy * n12) / det;
  const double half = 0.5 * (xx - yy), spread = std::sqrt(half * half + xy * xy);
  const double steepest = std::abs(0.5 * (xx + yy)) + spread, slope = std::sqrt(s.q.x * s.q.x + s.q.y * s.q.y);
  // Where they fit along a curve it is as good as level, not a top.
  if (!(slope > 0) || 0.5 * (xx + yy) - spread >= -kValley * steepest) return false;
  const double by = std::min(longest / slope, 1 / steepest);
  x_a = {by * s.q.x, by * s.q.y};
  return true;
}

// The Newton step of both sides in (t1, t2); a curve's is x_a.x along it. longest > 0: where the distance has no
// minimum near, a step of at most that down its slope.
bool newton_step(const Local& s, int dim_a, double longest, Pair2& x_a, Pair2& x_b) noexcept {
  const Form2 &ka = s.k_a, &kb = s.k_b;
  const double n11 = 1 + s.d * kb.xx, n12 = s.d * kb.xy, n22 = 1 + s.d * kb.yy;  // N = I + d k_b
  const Pair2 c{s.r.x - s.d * s.turn_b.x, s.r.y - s.d * s.turn_b.y};
  if (dim_a == 2) {
    const Pair2 kc = times(ka, c);
    const Pair2 y{s.q.x - s.turn_a.x - s.turn_b.x + kc.x, s.q.y - s.turn_a.y - s.turn_b.y + kc.y};
    if (!solve2(ka.xx * n11 + ka.xy * n12 + kb.xx, ka.xx * n12 + ka.xy * n22 + kb.xy, ka.xy * n11 + ka.yy * n12 + kb.xy,
                ka.xy * n12 + ka.yy * n22 + kb.yy, y, x_b)) {
      return false;
    }
    if (longest > 0 && s.flat && descend(s, 1, 0, 1, longest, x_a)) return x_b = x_a, true;
    if (longest > 0 && !s.flat && descend(s, n11, n12, n22, longest, x_a)) {
      return solve2(n11, n12, n12, n22, {c.x + x_a.x, c.y + x_a.y}, x_b);
    }
    x_a = {n11 * x_b.x + n12 * x_b.y - c.x, n12 * x_b.x + n22 * x_b.y - c.y};
    return true;
  }
  if (dim_a == 0) return solve_nearest(n11, n12, n22, c, x_b);
  Pair2 nc, nt;
  if (!solve2(n11, n12, n12, n22, c, nc)) return false;
  solve2(n11, n12, n12, n22, s.along, nt);
  const Pair2 k_nt = times(kb, nt), k_nc = times(kb, nc);
  const double stiff = s.bend + s.along.x * k_nt.x + s.along.y * k_nt.y;
  if (stiff == 0) return false;
  const double pull = s.along.x * (s.turn_b.x + k_nc.x) + s.along.y * (s.turn_b.y + k_nc.y);
  x_a = {-(s.lean + pull) / stiff, 0};
  if (longest > 0 && stiff < 0) x_a.x = std::clamp(-x_a.x, -longest, longest);
  x_b = {nc.x + x_a.x * nt.x, nc.y + x_a.x * nt.y};
  return true;
}

// Where a step of at most kLastStep leads, to first order.
void advance(const ExtremalFeature& a, const ExtremalFeature& b, const Pair2& x_a, const Pair2& x_b,
             Local& s) noexcept {
  s.pb += x_b.x * s.t1 + x_b.y * s.t2 + b.eta() * s.n;
  if (a.dim() == 2 && a.kind() != ExtremalFeature::Kind::plane) {
    s.pa += x_a.x * s.t1 + x_a.y * s.t2 + a.eta() * a.n();
  } else if (a.dim() == 1) {
    s.pa += x_a.x * a.along();
  }
  const Pair2 turn = times(s.k_b, x_b);
  const double m1 = turn.x + s.turn_b.x, m2 = turn.y + s.turn_b.y;
  const Vec3 n = s.n;
  s.n += m1 * s.t1 + m2 * s.t2;
  s.t1 -= m1 * n, s.t2 -= m2 * n;
  s.d = s.n.dot(s.pa - s.pb);
}

// Is this critical point the one that is meant? Apart: a local minimum of the distance. Overlapping convex solids: one
// of the overlap over directions. Else the branch that a minimum continues on when it goes through contact.
bool is_least(const Local& s, const ExtremalFeature& a, const SmoothSurface& surface) noexcept {
  const Form2 &ka = s.k_a, &kb = s.k_b;
  const double n11 = 1 + s.d * kb.xx, n12 = s.d * kb.xy, n22 = 1 + s.d * kb.yy;
  const bool convex = surface.convex() && (a.surface() == nullptr || a.surface()->convex());
  if (convex && s.d >= 0) return true;
  if (convex && a.kind() == ExtremalFeature::Kind::plane) return true;
  if (convex) {
    // Radii of curvature and d add up to something positive: k_a^-1 + k_b^-1 + d > 0; by an edge, across it.
    const double det_b = kb.xx * kb.yy - kb.xy * kb.xy;
    if (det_b <= 0) return true;
    double xx = kb.yy / det_b + s.d, xy = -kb.xy / det_b, yy = kb.xx / det_b + s.d;
    if (a.dim() == 1) {
      return a.kind() == ExtremalFeature::Kind::circle ||
             s.along.y * s.along.y * xx - 2 * s.along.x * s.along.y * xy + s.along.x * s.along.x * yy > 0;
    }
    if (a.dim() == 2) {
      const double det_a = ka.xx * ka.yy - ka.xy * ka.xy;
      if (det_a <= 0) return true;
      xx += ka.yy / det_a, xy -= ka.xy / det_a, yy += ka.xx / det_a;
    }
    return positive(xx, xy, yy);
  }
  const bool nearest = positive(n11, n12, n22);
  if (a.dim() == 0) {
    const double trace = n11 + n22;
    return nearest || (trace > 0 && std::abs(n11 * n22 - n12 * n12) <= kSingular * trace * trace);
  }
  if (!nearest) return false;
  if (a.dim() == 1) {
    Pair2 nt;
    solve2(n11, n12, n12, n22, s.along, nt);
    const Pair2 k_nt = times(kb, nt);
    return s.bend + s.along.x * k_nt.x + s.along.y * k_nt.y > 0;
  }
  // N (k_a N + k_b), symmetric.
  const double m11 = ka.xx * n11 + ka.xy * n12 + kb.xx, m12 = ka.xx * n12 + ka.xy * n22 + kb.xy,
               m21 = ka.xy * n11 + ka.yy * n12 + kb.xy, m22 = ka.xy * n12 + ka.yy * n22 + kb.yy;
  const double q11 = n11 * m11 + n12 * m21, q12 = n11 * m12 + n12 * m22, q22 = n12 * m12 + n22 * m22;
  return positive(q11, q12, q22) || std::abs(q11 * q22 - q12 * q12) <= 1e-12 * (q11 * q11 + q22 * q22);
}

// k_a + k_b > 0: surfaces that touch there do not cross. 1 + d K > 0 with K^-1 = k_a^-1 + k_b^-1, the curvature of
// what all places of A that touch B make: the way out is a shortest one. K = k_b - k_b C k_b with C the inverse of
// k_a + k_b, or along a curve only.
bool parts(const Local& s, int dim_a) noexcept {
  const Form2 &ka = s.k_a, &kb = s.k_b;
  Form2 C;
  if (dim_a == 2) {
    const double xx = ka.xx + kb.xx, xy = ka.xy + kb.xy, yy = ka.yy + kb.yy, det = xx * yy - xy * xy;
    if (xx + yy > 0 && std::abs(det) <= 1e-12 * (xx * xx + yy * yy)) return true;  // they fit each other along a line
    if (!positive(xx, xy, yy)) return false;
    C = {yy / det, -xy / det, xx / det};
  } else if (dim_a == 1) {
    const Pair2 k_t = times(kb, s.along);
    const double stiff = s.bend + s.along.x * k_t.x + s.along.y * k_t.y;
    if (!(stiff > 0)) return false;
    C = {s.along.x * s.along.x / stiff, s.along.x * s.along.y / stiff, s.along.y * s.along.y / stiff};
  }
  const Pair2 c1 = times(C, {kb.xx, kb.xy}), c2 = times(C, {kb.xy, kb.yy});
  const Pair2 m1 = times(kb, c1), m2 = times(kb, c2);
  return positive(1 + s.d * (kb.xx - m1.x), s.d * (kb.xy - m2.x), 1 + s.d * (kb.yy - m2.y));
}

double conditioning(const Local& s, int dim_a, double scale) noexcept {
  const Form2 &ka = s.k_a, &kb = s.k_b;
  const double n11 = 1 + s.d * kb.xx, n12 = s.d * kb.xy, n22 = 1 + s.d * kb.yy;
  if (dim_a == 2) {
    return scale * least_singular(ka.xx * n11 + ka.xy * n12 + kb.xx, ka.xx * n12 + ka.xy * n22 + kb.xy,
                                  ka.xy * n11 + ka.yy * n12 + kb.xy, ka.xy * n12 + ka.yy * n22 + kb.yy);
  }
  const double least = least_singular(n11, n12, n12, n22);
  if (dim_a == 0) return least;
  Pair2 nt;
  if (!solve2(n11, n12, n12, n22, s.along, nt)) return 0;
  const Pair2 k_nt = times(kb, nt);
  return std::min(least, scale * std::abs(s.bend + s.along.x * k_nt.x + s.along.y * k_nt.y));
}

void finish(const Local& s, const ExtremalFeature& a, const ExtremalFeature& b, double scale,
            ExtremalRoot& out) noexcept {
  TACTUS_DCHECK(b.surface() != nullptr && scale > 0);
  out.n = s.n, out.t1 = s.t1, out.t2 = s.t2;
  out.d = s.d;
  out.pb = s.pb;
  out.pa = s.pa;
  if (a.kind() == ExtremalFeature::Kind::plane) {  // whose own normal is exact also where the surface fits it
    out.d = a.n().dot(s.pb - s.pa);
    out.pa = s.pb + out.d * s.n;
  }
  out.opposed = s.opposed;
  out.residual = s.residual;
  out.a = {a.dim(), s.k_a.xx, s.k_a.xy, s.k_a.yy, s.along.x, s.along.y, 0, 0, 0, 0};
  if (a.dim() == 1) out.a.h11 = s.bend;
  out.b = {2, -s.k_b.xx, -s.k_b.xy, -s.k_b.yy, 0, 0, 0, 0, 0, 0};
  a.parameters(out.a), b.parameters(out.b);
  out.conditioning = conditioning(s, a.dim(), scale);
  out.least = is_least(s, a, *b.surface());
  out.parts = s.d < 0 && !b.surface()->convex() && parts(s, a.dim());
}

}  // namespace

double least_singular(double a, double b, double c, double d) noexcept {
  const double f = a * a + b * b + c * c + d * d, det = std::abs(a * d - b * c);
  const double largest = std::sqrt(0.5 * (f + std::sqrt(std::max(0.0, (f - 2 * det) * (f + 2 * det)))));
  return largest > 0 ? det / largest : 0.0;
}

void describe_extremal(ExtremalFeature& a, ExtremalFeature& b, double scale, ExtremalRoot& out) noexcept {
  finish(look(a, b, scale), a, b, scale, out);
}

bool solve_extremal(ExtremalFeature& a, ExtremalFeature& b, double scale, std::uint32_t most, ExtremalRoot& out,
                    Sought sought) noexcept {
  TACTUS_DCHECK(b.surface() != nullptr && scale > 0);
  double last = std::numeric_limits<double>::infinity();
  for (out.iterations = 0;; ++out.iterations) {
    Local s = look(a, b, scale);
    if (!std::isfinite(s.residual)) return false;
    Pair2 x_a, x_b;
    double left = 0;
    const bool across = sought == Sought::across && s.opposed && step_across(s, a.dim(), scale, x_a, x_b, left);
    if (across) s.residual = left;
    const bool stalled = s.residual <= kStalled * scale && s.residual > 0.25 * last;
    if (s.residual <= kRounding * (scale + std::abs(s.d)) || stalled) {
      finish(s, a, b, scale, out);
      return s.opposed;
    }
    if (out.iterations == most) {
      out.pa = s.flat ? Vec3(s.pb + a.n().dot(s.pa - s.pb) * a.n()) : s.pa;
      return false;
    }
    last = s.residual;
    const double descent = sought == Sought::least ? kLongestDescent * scale : 0.0;
    if (!across && !newton_step(s, a.dim(), descent, x_a, x_b)) return false;
    const double length2 = std::max(x_b.x * x_b.x + x_b.y * x_b.y, a.surface() ? x_a.x * x_a.x + x_a.y * x_a.y : 0.0);
    const double longest = kLongestStep * scale, last_step = kLastStep * scale;
    if (s.opposed && std::max(length2, x_a.x * x_a.x) <= last_step * last_step && s.residual <= last_step) {
      a.move(s.t1, s.t2, x_a);
      b.move(s.t1, s.t2, x_b);
      advance(a, b, x_a, x_b, s);
      ++out.iterations;
      finish(s, a, b, scale, out);
      return true;
    }
    if (length2 > longest * longest) {
      const double cut = longest / std::sqrt(length2);
      x_a = {cut * x_a.x, cut * x_a.y}, x_b = {cut * x_b.x, cut * x_b.y};
    }
    a.move(s.t1, s.t2, x_a);
    b.move(s.t1, s.t2, x_b);
  }
}

}  // namespace tactus
