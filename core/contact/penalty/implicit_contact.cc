#include "core/contact/penalty/implicit_contact.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/penalty/implicit_friction.h"
#include "core/contact/penalty/implicit_normal.h"
#include "core/math/checks.h"
#include "core/math/two.h"

namespace tactus {

namespace {

constexpr int kRollingRounds = 64;  // fewer when they agree

struct Twist {
  Vec3 V, W;
};

// Two sums at a time over the rows of a side.
[[gnu::always_inline]] inline void add_twist(const TreeSides& trees, Twist& t) noexcept {
  Two v01{trees.V[0], trees.V[1]}, v2w0{trees.V[2], trees.W[0]}, w12{trees.W[1], trees.W[2]};
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const Two u = two(s.u[s.dofs[r]]);
      v01 += load_two(y) * u, v2w0 += load_two(y + 2) * u, w12 += load_two(y + 4) * u;
    }
  }
  t.V[0] += v01[0], t.V[1] += v01[1], t.V[2] += v2w0[0];
  t.W[0] += v2w0[1], t.W[1] += w12[0], t.W[2] += w12[1];
}

[[gnu::always_inline]] inline void add_velocity(const TreeSides& trees, Vec3& V) noexcept {
  Two v01{trees.V[0], trees.V[1]};
  double v2 = trees.V[2];
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const double u = s.u[s.dofs[r]];
      v01 += load_two(y) * two(u), v2 += y[2] * u;
    }
  }
  V[0] += v01[0], V[1] += v01[1], V[2] += v2;
}

// An impulse, in numbers of its own: a vector just written one by one and read in pairs would be waited for.
struct Push {
  double f0, f1, f2, m0, m1, m2;
};

[[gnu::always_inline]] inline void push_links(const TreeSides& trees, const Push& p) noexcept {
  const Two f01{p.f0, p.f1}, f2m0{p.f2, p.m0}, m12{p.m1, p.m2};
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const Two both = load_two(y) * f01 + load_two(y + 2) * f2m0 + load_two(y + 4) * m12;
      s.u[s.dofs[r]] += both[0] + both[1];
    }
  }
}

// Without moments.
[[gnu::always_inline]] inline void push_links(const TreeSides& trees, double f0, double f1, double f2) noexcept {
  const Two f01{f0, f1};
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const Two both = load_two(y) * f01;
      s.u[s.dofs[r]] += both[0] + both[1] + y[2] * f2;
    }
  }
}

// Body: anything with v and w.
template <typename Body>
Vec3 velocity_of(const ImplicitContact& c, const Body& a, const Body& b) noexcept {
  const Vec3 v = a.v + a.w.cross(c.r_a) - b.v - b.w.cross(c.r_b);
  return c.e.transpose() * v;
}

template <typename Body>
[[gnu::always_inline]] inline Twist twist_of(const ImplicitContact& c, const Body& a, const Body& b) noexcept {
  Twist t{Vec3::Zero(), Vec3::Zero()};
  if (!c.bodies_rest) t = {velocity_of(c, a, b), c.e.transpose() * (a.w - b.w)};
  if (c.trees != nullptr) add_twist(*c.trees, t);
  t.V[0] += c.turning;
  return t;
}

// V alone.
template <typename Body>
[[gnu::always_inline]] inline Vec3 point_velocity(const ImplicitContact& c, const Body& a, const Body& b) noexcept {
  Vec3 V = Vec3::Zero();
  if (!c.bodies_rest) V = velocity_of(c, a, b);
  if (c.trees != nullptr) add_velocity(*c.trees, V);
  V[0] += c.turning;
  return V;
}

inline void add_force_impulse(const ImplicitContact& c, double f0, double f1, double f2, SweepBody& a,
                              SweepBody& b) noexcept {
  if (!c.bodies_rest) {
    const Vec3 f_W = c.e * Vec3(f0, f1, f2);
    if (a.inv_mass > 0) {
      a.v += a.inv_mass * f_W;
      a.w += a.inv_I * c.r_a.cross(f_W);
    }
    if (b.inv_mass > 0) {
      b.v -= b.inv_mass * f_W;
      b.w -= b.inv_I * c.r_b.cross(f_W);
    }
  }
  if (c.trees != nullptr) push_links(*c.trees, f0, f1, f2);
}

// Linear and angular velocity from f and m.
struct Mobility {
  Mat3 LL, LR, RR;
};

// Sums of y y^T, the upper half and two columns at a time.
void add_mobility(const TreeSides& trees, Mobility& K) noexcept {
  Two s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{}, s8{}, s9{};
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const Two a = load_two(y), b = load_two(y + 2), c = load_two(y + 4);
      const Two y0 = two(y[0]), y1 = two(y[1]), y2 = two(y[2]), y3 = two(y[3]);
      s0 += y0 * a, s1 += y0 * b, s2 += y0 * c;
      s3 += y1 * b, s4 += y1 * c, s5 += a * a;
      s6 += y2 * b, s7 += y2 * c, s8 += y3 * c;
      s9 += b * b;
    }
  }
  Two ee{};
  double k45 = 0;
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    const double* y = s.Y;
    for (std::uint32_t r = 0; r < s.rows; ++r, y += 6) {
      const Two c = load_two(y + 4);
      ee += c * c, k45 += y[4] * y[5];
    }
  }
  Mat3 LL, LR, RR;
  LL << s0[0], s0[1], s1[0], s0[1], s5[1], s3[0], s1[0], s3[0], s6[0];
  LR << s1[1], s2[0], s2[1], s3[1], s4[0], s4[1], s6[1], s7[0], s7[1];
  RR << s9[1], s8[0], s8[1], s8[0], ee[0], k45, s8[1], k45, ee[1];
  K.LL += LL, K.LR += LR, K.RR += RR;
}

void add_mobility(const SweepBody& body, const Vec3& r, const Mat3& e, Mobility& K) noexcept {
  if (body.inv_mass == 0) return;
  Mat3 lever;
  for (int i = 0; i < 3; ++i) lever.col(i) = r.cross(e.col(i));
  const Mat3 turn = body.inv_I * e;
  K.LL.noalias() += lever.transpose() * (body.inv_I * lever);
  K.LR.noalias() += lever.transpose() * turn;
  K.RR.noalias() += e.transpose() * turn;
  K.LL.diagonal().array() += body.inv_mass;
}

void add_point_mobility(const SweepBody& body, const Vec3& r, const Mat3& e, Mat3& LL) noexcept {
  if (body.inv_mass == 0) return;
  Mat3 lever;
  for (int i = 0; i < 3; ++i) lever.col(i) = r.cross(e.col(i));
  const Mat3 turn = body.inv_I * lever;
  LL.noalias() += lever.transpose() * turn;
  LL.diagonal().array() += body.inv_mass;
}

// Only velocities along e, and forces.
void find_point_mobility(const SweepBody& a, const SweepBody& b, ImplicitContact& c) noexcept {
  Mat3 LL = Mat3::Zero();
  add_point_mobility(a, c.r_a, c.e, LL);
  add_point_mobility(b, c.r_b, c.e, LL);
  for (std::uint32_t i = 0; c.trees != nullptr && i < c.trees->count; ++i) {
    const TreeSide& s = c.trees->side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const Eigen::Map<const Vec3> f(s.Y + 6 * r);
      LL.noalias() += f * f.transpose();
    }
  }
  c.K_nn(0, 0) = LL(0, 0);
  c.K_qn(0, 0) = LL(1, 0), c.K_qn(1, 0) = LL(2, 0);
  c.K_qq(0, 0) = LL(1, 1), c.K_qq(1, 1) = LL(2, 2);
  c.K_qq(0, 1) = c.K_qq(1, 0) = LL(1, 2);
}

// A visit of a contact at one point: no moments.
void visit_point(ImplicitContact& c, SweepBody& a, SweepBody& b) noexcept {
  const Vec3 V = point_velocity(c, a, b);
  TACTUS_DCHECK(c.count == 1 && c.rolling <= 0);
  const double N = single_impulse(c, V[0] - c.K_nn(0, 0) * c.P[0]), dN = N - c.P[0];
  Eigen::Vector2d Q(0, 0), old(c.Q[0], c.Q[1]);
  c.slipped = false;
  if (N > 0) {
    if (c.mu_static > 0 || c.viscous > 0) {
      if (!c.patch_known) find_point_patch(c);
      const Eigen::Vector2d q = V.tail<2>() + dN * c.K_qn.col(0).head<2>() - c.K_qq.topLeftCorner<2, 2>() * old;
      Q = point_friction(c, q, N);
    }
  } else {
    c.stretch1 = c.stretch2 = 0;
    if (c.P[0] == 0 && old[0] == 0 && old[1] == 0) return;
  }
  add_force_impulse(c, dN, Q[0] - old[0], Q[1] - old[1], a, b);
  c.P[0] = N, c.Q[0] = Q[0], c.Q[1] = Q[1];
}

}  // namespace

void find_mobility(const SweepBody& a, const SweepBody& b, ImplicitContact& c) noexcept {
  TACTUS_DCHECK(is_rotation(c.e) && c.count > 0 && c.points != nullptr);
  c.all_active_known = c.pair.known = false;
  c.bodies_rest =
      a.inv_mass == 0 && b.inv_mass == 0 && a.v.isZero(0) && a.w.isZero(0) && b.v.isZero(0) && b.w.isZero(0);
  c.at_point = c.count == 1 && c.rolling <= 0;
  if (c.at_point) {
    find_point_mobility(a, b, c);
    return;
  }
  Mobility K{Mat3::Zero(), Mat3::Zero(), Mat3::Zero()};
  add_mobility(a, c.r_a, c.e, K);
  add_mobility(b, c.r_b, c.e, K);
  if (c.trees != nullptr) add_mobility(*c.trees, K);
  const Mat3 &LL = K.LL, &LR = K.LR, &RR = K.RR;
  c.K_nn << LL(0, 0), LR(0, 1), LR(0, 2), LR(0, 1), RR(1, 1), RR(1, 2), LR(0, 2), RR(1, 2), RR(2, 2);
  c.K_qn << LL(1, 0), LR(1, 1), LR(1, 2), LL(2, 0), LR(2, 1), LR(2, 2), LR(0, 0), RR(0, 1), RR(0, 2);
  c.K_qq << LL(1, 1), LL(1, 2), LR(1, 0), LL(1, 2), LL(2, 2), LR(2, 0), LR(1, 0), LR(2, 0), RR(0, 0);
  TACTUS_DCHECK(is_symmetric(LL) && is_symmetric(RR));  // of which the upper halves are taken
}

namespace {

[[gnu::always_inline]] inline void push(const ImplicitContact& c, const Push& p, SweepBody& a, SweepBody& b) noexcept {
  if (!c.bodies_rest) {
    const Vec3 f_W = c.e * Vec3(p.f0, p.f1, p.f2), m_W = c.e * Vec3(p.m0, p.m1, p.m2);
    if (a.inv_mass > 0) {
      a.v += a.inv_mass * f_W;
      a.w += a.inv_I * (c.r_a.cross(f_W) + m_W);
    }
    if (b.inv_mass > 0) {
      b.v -= b.inv_mass * f_W;
      b.w -= b.inv_I * (c.r_b.cross(f_W) + m_W);
    }
  }
  if (c.trees != nullptr) push_links(*c.trees, p);
}

// Friction and rolling resistance act through each other (a ball: 0.7 of an error is left by each round).
Vec3 friction_and_rolling(ImplicitContact& c, const Twist& t, const Vec3& n, const Vec3& dP, double N) noexcept {
  const bool friction = c.mu_static > 0 || c.viscous > 0;
  TACTUS_DCHECK(c.rolling > 0 && N > 0);
  const int rounds = friction ? kRollingRounds : 1;
  const double M1 = c.M1, M2 = c.M2;
  const double old[5] = {c.stretch1, c.stretch2, c.twist, c.roll1, c.roll2};
  Vec3 Q = Vec3::Zero();
  for (int k = 0; k < rounds; ++k) {
    c.stretch1 = old[0], c.stretch2 = old[1], c.twist = old[2], c.roll1 = old[3], c.roll2 = old[4];
    const Vec3 dM(0, c.M1 - M1, c.M2 - M2);
    if (friction) Q = friction_impulse(c, Vec3(t.V[1], t.V[2], t.W[0]) + c.K_qn * (dP + dM) - c.K_qq * c.Q, N);
    const double M1_before = c.M1, M2_before = c.M2;
    const Vec3 dn = c.K_nn * (dP - Vec3(0, M1, M2)) + c.K_qn.transpose() * (Q - c.Q);
    rolling_impulse(c, n[1] + dn[1], n[2] + dn[2], N);
    if (std::abs(c.M1 - M1_before) + std::abs(c.M2 - M2_before) <= 1e-12 * c.rolling * N) break;
  }
  return Q;
}

}  // namespace

void add_impulse(const ImplicitContact& c, const Vec3& f, const Vec3& m, SweepBody& a, SweepBody& b) noexcept {
  push(c, {f[0], f[1], f[2], m[0], m[1], m[2]}, a, b);
}

void visit(ImplicitContact& c, SweepBody& a, SweepBody& b) noexcept {
  if (c.at_point) {
    visit_point(c, a, b);
    return;
  }
  const Twist t = twist_of(c, a, b);
  const Vec3 n(t.V[0], t.W[1], t.W[2]);
  const Vec3 P = normal_impulse(c, n - c.K_nn * c.P, n), dP = P - c.P;
  TACTUS_DCHECK(not_below(P[0], 0));  // contacts push
  Vec3 Q = Vec3::Zero();
  const double M1 = c.M1, M2 = c.M2;
  c.slipped = false;
  if (P[0] > 0) {
    const bool friction = c.mu_static > 0 || c.viscous > 0;
    if (friction && !c.patch_known) find_patch(c, P);
    if (c.rolling > 0) {
      Q = friction_and_rolling(c, t, n, dP, P[0]);
    } else if (friction) {
      Q = friction_impulse(c, Vec3(t.V[1], t.V[2], t.W[0]) + c.K_qn * dP - c.K_qq * c.Q, P[0]);
    }
  } else {
    c.M1 = c.M2 = c.stretch1 = c.stretch2 = c.twist = c.roll1 = c.roll2 = 0;
  }
  const Vec3 dQ = Q - c.Q;
  if (P[0] == 0 && c.P[0] == 0 && dQ.isZero(0) && M1 == 0 && M2 == 0) return;  // apart, as before
  push(c, {dP[0], dQ[0], dQ[1], dQ[2], dP[1] + c.M1 - M1, dP[2] + c.M2 - M2}, a, b);
  c.P = P, c.Q = Q;
}

namespace {

void follow_point(ImplicitContact& c, const Vec3& moved) noexcept {
  c.points[0].depth -= moved[0];
  if (c.P[0] > 0 && !c.slipped) c.stretch1 += moved[1], c.stretch2 += moved[2];
  c.was_slipping = c.slipped;
  c.f_sum += Vec3(c.P[0], c.Q[0], c.Q[1]);
}

}  // namespace

void follow(ImplicitContact& c, const SpatialVelocity& a, const SpatialVelocity& b, double h) noexcept {
  TACTUS_DCHECK(h > 0);
  if (c.at_point) {
    follow_point(c, h * point_velocity(c, a, b));
    return;
  }
  const Twist t = twist_of(c, a, b);
  for (std::uint32_t i = 0; i < c.count; ++i) {
    ImplicitPoint& p = c.points[i];
    p.depth -= h * (t.V[0] + p.y * t.W[1] - p.x * t.W[2]);
  }
  if (c.P[0] > 0) {
    if (!c.slipped) {
      c.stretch1 += h * (t.V[1] - c.y * t.W[0]);
      c.stretch2 += h * (t.V[2] + c.x * t.W[0]);
      c.twist += h * t.W[0];
    }
    c.roll1 += h * t.W[1];
    c.roll2 += h * t.W[2];
  }
  c.was_slipping = c.slipped;
  c.f_sum += Vec3(c.P[0], c.Q[0], c.Q[1]);
  c.m_sum += Vec3(c.Q[2], c.P[1] + c.M1, c.P[2] + c.M2);
}

}  // namespace tactus
