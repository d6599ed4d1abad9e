// How extremal points move. With b = the rate of D's gradient at fixed coordinates, the system is D's Hessian:
//   Ha xa'         + Ta^T nu = -(Ta^T (n x wa))
//          -Hb xb' - Tb^T nu =   Tb^T (n x wb)
//   Ta xa' - Tb xb' - d nu   = -(Va - Vb) in the tangent plane
// (eq. 42 to 49 and 56 to 60 say the same in other coordinates); d'' = D_tt + b . (xa', xb', nu).
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/math/checks.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

// Material velocity of the motion's body at p_W.
Vec3 velocity_at(const RigidMotion& motion, const Vec3& p_W) noexcept {
  return motion.v_W + motion.w_W.cross(p_W - motion.c_W);
}

// The points that D is made of: of spheres and capsules their cores'.
Vec3 core_a(const ExtremalPair& pair) noexcept {
  return pair.pa_W + pair.radius_a * pair.nhat_BA_W;
}
Vec3 core_b(const ExtremalPair& pair) noexcept {
  return pair.pb_W - pair.radius_b * pair.nhat_BA_W;
}

// At most 6 unknowns by elimination with row pivots.
struct System {
  double a[6][7] = {};
  int n = 0;

  bool solve(double* x) noexcept {
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      for (int i = k + 1; i < n; ++i) {
        if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
      }
      if (a[pivot][k] == 0) return false;
      if (pivot != k) std::swap_ranges(a[k], a[k] + 7, a[pivot]);
      for (int i = k + 1; i < n; ++i) {
        const double factor = a[i][k] / a[k][k];
        for (int j = k + 1; j < n; ++j) a[i][j] -= factor * a[k][j];
        a[i][6] -= factor * a[k][6];
      }
    }
    for (int k = n - 1; k >= 0; --k) {
      double sum = a[k][6];
      for (int j = k + 1; j < n; ++j) sum -= a[k][j] * x[j];
      x[k] = sum / a[k][k];
    }
    return true;
  }
};

// Tangents of a form in the basis: columns of T.
struct Tangents {
  double t[2][2] = {{1, 0}, {0, 1}};  // t[i]: i-th tangent's components
};
Tangents tangents(const ExtremalForm& form) noexcept {
  Tangents out;
  if (form.dim == 1) out.t[0][0] = form.tx, out.t[0][1] = form.ty;
  return out;
}

void put_form(const ExtremalForm& form, double sign, int first, int nu, System& s) noexcept {
  const Tangents T = tangents(form);
  const double h[2][2] = {{form.h11, form.h12}, {form.h12, form.h22}};
  for (int i = 0; i < form.dim; ++i) {
    for (int j = 0; j < form.dim; ++j) s.a[first + i][first + j] = sign * h[i][j];
    for (int j = 0; j < 2; ++j) s.a[first + i][nu + j] = s.a[nu + j][first + i] = sign * T.t[i][j];
  }
}

// A step on the feature, in W.
Vec3 along(const ExtremalPair& pair, const ExtremalForm& form, double x, double y) noexcept {
  if (form.dim == 0) return Vec3::Zero();
  if (form.dim == 1) return x * (form.tx * pair.t1_W + form.ty * pair.t2_W);
  return x * pair.t1_W + y * pair.t2_W;
}

struct Two {
  double x = 0, y = 0;
};
double dot(const Two& a, const Two& b) noexcept {
  return a.x * b.x + a.y * b.y;
}
struct Sym {
  double xx, xy, yy;
  Two operator*(const Two& v) const noexcept { return {xx * v.x + xy * v.y, xy * v.x + yy * v.y}; }
};
bool solve2(double a, double b, double c, double d, const Two& y, Two& x) noexcept {
  const double det = a * d - b * c;
  if (det == 0) return false;
  x = {(d * y.x - b * y.y) / det, (a * y.y - c * y.x) / det};
  return true;
}

// The system with a surface q on the second side, reduced to 2 x 2. bp, bq, bn: b's parts; out: the points' and the
// normal's rates in the basis (p: of a curve along it).
bool solve_reduced(const ExtremalForm& p, const Sym& Hp, const Sym& Hq, double d, const Two& bp, const Two& bq,
                   const Two& bn, Two& p_dot, Two& q_dot, Two& nu) noexcept {
  const double n11 = 1 - d * Hq.xx, n12 = -d * Hq.xy, n22 = 1 - d * Hq.yy;  // N = I - d Hq
  const Two c{bn.x - d * bq.x, bn.y - d * bq.y};
  if (p.dim == 2) {
    const Two hc = Hp * c;
    if (!solve2(Hp.xx * n11 + Hp.xy * n12 - Hq.xx, Hp.xx * n12 + Hp.xy * n22 - Hq.xy, Hp.xy * n11 + Hp.yy * n12 - Hq.xy,
                Hp.xy * n12 + Hp.yy * n22 - Hq.yy, {hc.x - bp.x - bq.x, hc.y - bp.y - bq.y}, q_dot)) {
      return false;
    }
    p_dot = {n11 * q_dot.x + n12 * q_dot.y - c.x, n12 * q_dot.x + n22 * q_dot.y - c.y};
  } else {
    if (!solve2(n11, n12, n12, n22, c, q_dot)) return false;
    if (p.dim == 1) {
      const Two t{p.tx, p.ty};
      Two nt;
      solve2(n11, n12, n12, n22, t, nt);
      const double stiff = Hp.xx - dot(t, Hq * nt);
      if (stiff == 0) return false;
      p_dot.x = (-dot(t, bp) - dot(t, bq) + dot(t, Hq * q_dot)) / stiff;
      q_dot.x += p_dot.x * nt.x, q_dot.y += p_dot.x * nt.y;
    }
  }
  const Two turn = Hq * q_dot;
  nu = {bq.x - turn.x, bq.y - turn.y};
  return true;
}

// Both sides edges or vertices: the whole system.
bool solve_whole(const ExtremalPair& pair, double d, const Two& ba, const Two& bb, const Two& bn, Two& a_dot,
                 Two& b_dot, Two& nu) noexcept {
  const int na = pair.a.dim, nb = pair.b.dim, n = na + nb;
  const Tangents Ta = tangents(pair.a), Tb = tangents(pair.b);
  System s;
  s.n = n + 2;
  put_form(pair.a, 1.0, 0, n, s);
  put_form(pair.b, -1.0, na, n, s);
  s.a[n][n] = s.a[n + 1][n + 1] = -d;
  for (int i = 0; i < na; ++i) s.a[i][6] = -(Ta.t[i][0] * ba.x + Ta.t[i][1] * ba.y);
  for (int i = 0; i < nb; ++i) s.a[na + i][6] = -(Tb.t[i][0] * bb.x + Tb.t[i][1] * bb.y);
  s.a[n][6] = -bn.x, s.a[n + 1][6] = -bn.y;
  double x[6] = {};
  if (!s.solve(x)) return false;
  if (na > 0) a_dot.x = x[0];
  if (na > 1) a_dot.y = x[1];
  if (nb > 0) b_dot.x = x[na];
  if (nb > 1) b_dot.y = x[na + 1];
  nu = {x[n], x[n + 1]};
  return true;
}

}  // namespace

ExtremalRates extremal_rates(const ExtremalPair& pair, const RigidMotion& A, const RigidMotion& B) noexcept {
  TACTUS_ASSERT(pair.known());
  const Vec3 &n = pair.nhat_BA_W, Va = velocity_at(A, core_a(pair)), Vb = velocity_at(B, core_b(pair));
  const Vec3 relative = Va - Vb, turn_a = n.cross(A.w_W), turn_b = n.cross(B.w_W), &t1 = pair.t1_W, &t2 = pair.t2_W;
  const double d = pair.d + pair.radius_a + pair.radius_b;
  const Two ba{t1.dot(turn_a), t2.dot(turn_a)}, bb{-t1.dot(turn_b), -t2.dot(turn_b)},
      bn{t1.dot(relative), t2.dot(relative)};
  const Sym Ha{pair.a.h11, pair.a.h12, pair.a.h22}, Hb{pair.b.h11, pair.b.h12, pair.b.h22};
  ExtremalRates out;
  out.d_dot = n.dot(relative);
  out.pa_dot_W = Va, out.pb_dot_W = Vb;
  Two a, b, nu;
  if (pair.b.dim == 2) {
    if (!solve_reduced(pair.a, Ha, Hb, d, ba, bb, bn, a, b, nu)) return out;  // the points' rates are not defined
  } else if (pair.a.dim == 2) {
    // Seen from the other side: the normal and with it heights turn round.
    const Sym p{-Hb.xx, -Hb.xy, -Hb.yy}, q{-Ha.xx, -Ha.xy, -Ha.yy};
    if (!solve_reduced(pair.b, p, q, d, bb, ba, {-bn.x, -bn.y}, b, a, nu)) return out;
    nu = {-nu.x, -nu.y};
  } else if (!solve_whole(pair, d, ba, bb, bn, a, b, nu)) {
    return out;
  }
  out.nhat_dot_W = nu.x * t1 + nu.y * t2;
  out.pa_dot_W += along(pair, pair.a, a.x, a.y) - pair.radius_a * out.nhat_dot_W;
  out.pb_dot_W += along(pair, pair.b, b.x, b.y) + pair.radius_b * out.nhat_dot_W;
  return out;
}

SecondRate extremal_second_rate(const ExtremalPair& pair, const ExtremalRates& rates, const RigidMotion& A,
                                const RigidMotion& B) noexcept {
  TACTUS_DCHECK(pair.known() && is_unit(pair.nhat_BA_W));
  const Vec3 &n = pair.nhat_BA_W, pa = core_a(pair), pb = core_b(pair);
  const Vec3 ra = pa - A.c_W, rb = pb - B.c_W;
  const Vec3 Va = velocity_at(A, pa), Vb = velocity_at(B, pb);
  // The core points' rates.
  const Vec3 pa_dot = rates.pa_dot_W + pair.radius_a * rates.nhat_dot_W,
             pb_dot = rates.pb_dot_W - pair.radius_b * rates.nhat_dot_W;
  SecondRate out;
  out.on_a = n;
  out.on_alpha = ra.cross(n);
  out.on_a_B = -n;
  out.on_alpha_B = -rb.cross(n);
  out.constant = n.dot(A.w_W.cross(pa_dot - A.v_W) - B.w_W.cross(pb_dot - B.v_W)) + rates.nhat_dot_W.dot(Va - Vb);
  return out;
}

namespace {

// Steps that differ by all of their length are a jolt's, or one of them is not known.
bool steady(const Vec3& step, const Vec3& other) noexcept {
  return (step - other).squaredNorm() < step.squaredNorm();
}

// The point's rate within the shape's frame; in the parameters of a parametric surface.
Vec3 own_rate(const Shape& shape, const Frame& X_WS, const Vec3& p_dot_W, const Vec3& V_W, const ExtremalPair& pair,
              const ExtremalForm& form, const ExtremalSide& side) noexcept {
  const Vec3 own_W = p_dot_W - V_W;
  if (form.u1 != 0 || form.u2 != 0) {
    const double x = pair.t1_W.dot(own_W), y = pair.t2_W.dot(own_W);
    return {form.u1 * x + form.u2 * y, form.v1 * x + form.v2 * y, 0};
  }
  const Vec3 p_dot_S = X_WS.R.transpose() * own_W;
  if (shape.kind != ShapeKind::smooth || !shape.smooth->parametric() || side.feature < 0) return p_dot_S;
  const PatchJet jet = shape.smooth->patch({side.feature, side.p_S.head<2>()});
  const double uu = jet.Su.squaredNorm(), uv = jet.Su.dot(jet.Sv), vv = jet.Sv.squaredNorm();
  const double a = jet.Su.dot(p_dot_S), b = jet.Sv.dot(p_dot_S), det = uu * vv - uv * uv;
  if (!(det > 0)) return Vec3::Zero();
  return {(vv * a - uv * b) / det, (uu * b - uv * a) / det, 0};
}

// r: the rate times the step. The polynomial with that rate through this point and the last three, or what is known.
void look_along(const Vec3& r, ExtremalSide& side) noexcept {
  const Vec3 &last = side.step_S, &before = side.last_step_S, &first = side.first_step_S;
  if (!steady(r, last)) {
    side.ahead_S = r;
  } else if (!steady(last, before)) {
    side.ahead_S = 2 * r - last;
  } else if (!steady(before, first)) {
    side.ahead_S = 3 * r - 2.5 * last + 0.5 * before;
  } else {
    side.ahead_S = 4 * r - 13.0 / 3 * last + 5.0 / 3 * before - 1.0 / 3 * first;
  }
}

}  // namespace

void look_ahead(ExtremalSide& side) noexcept {
  side.ahead_S = side.step_S;
  if (steady(side.step_S, side.last_step_S)) side.ahead_S += side.step_S - side.last_step_S;
}

void look_ahead(const ExtremalPair& pair, const ExtremalRates& rates, const RigidMotion& A, const RigidMotion& B,
                const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double dt, ExtremalSide& side_a,
                ExtremalSide& side_b) noexcept {
  const Vec3 pa_dot_W = rates.pa_dot_W + pair.radius_a * rates.nhat_dot_W,
             pb_dot_W = rates.pb_dot_W - pair.radius_b * rates.nhat_dot_W;
  look_along(dt * own_rate(a, X_WA, pa_dot_W, velocity_at(A, core_a(pair)), pair, pair.a, side_a), side_a);
  look_along(dt * own_rate(b, X_WB, pb_dot_W, velocity_at(B, core_b(pair)), pair, pair.b, side_b), side_b);
}

}  // namespace tactus
