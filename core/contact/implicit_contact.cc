#include "core/contact/implicit_contact.h"

#include <algorithm>
#include <cmath>

#include "core/contact/implicit_friction.h"
#include "core/contact/implicit_normal.h"

namespace tactus {

namespace {

constexpr int kRollingRounds = 64;  // fewer when they agree

struct Twist {
  Vec3 V, W;
};

// Sums over the rows of a side, in single variables and two halves, so that compilers take them two at a time.
void add_twist(const TreeSides& trees, Twist& t) noexcept {
  t.V += trees.V, t.W += trees.W;
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    double v0 = 0, v1 = 0, v2 = 0, w0 = 0, w1 = 0, w2 = 0;
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const double u = s.u[s.dofs[r]];
      const double* y = s.Y + 6 * r;
      v0 += y[0] * u, v1 += y[1] * u, v2 += y[2] * u, w0 += y[3] * u, w1 += y[4] * u, w2 += y[5] * u;
    }
    t.V += Vec3(v0, v1, v2), t.W += Vec3(w0, w1, w2);
  }
}

void add_velocity(const TreeSides& trees, Vec3& V) noexcept {
  V += trees.V;
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    double v0 = 0, v1 = 0, v2 = 0;
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const double u = s.u[s.dofs[r]];
      const double* y = s.Y + 6 * r;
      v0 += y[0] * u, v1 += y[1] * u, v2 += y[2] * u;
    }
    V += Vec3(v0, v1, v2);
  }
}

void push_links(const TreeSides& trees, const Vec3& f, const Vec3& m) noexcept {
  const double f0 = f[0], f1 = f[1], f2 = f[2], m0 = m[0], m1 = m[1], m2 = m[2];
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const double* y = s.Y + 6 * r;
      const double even = y[0] * f0 + y[2] * f2 + y[4] * m1, odd = y[1] * f1 + y[3] * m0 + y[5] * m2;
      s.u[s.dofs[r]] += even + odd;
    }
  }
}

Vec3 velocity_of(const ImplicitContact& c, const SweepBody& a, const SweepBody& b) noexcept {
  const Vec3 v = a.v + a.w.cross(c.r_a) - b.v - b.w.cross(c.r_b);
  return c.e.transpose() * v;
}

Twist twist_of(const ImplicitContact& c, const SweepBody& a, const SweepBody& b) noexcept {
  Twist t{Vec3::Zero(), Vec3::Zero()};
  if (!c.bodies_rest) t = {velocity_of(c, a, b), c.e.transpose() * (a.w - b.w)};
  if (c.trees != nullptr) add_twist(*c.trees, t);
  return t;
}

// V alone.
Vec3 point_velocity(const ImplicitContact& c, const SweepBody& a, const SweepBody& b) noexcept {
  Vec3 V = Vec3::Zero();
  if (!c.bodies_rest) V = velocity_of(c, a, b);
  if (c.trees != nullptr) add_velocity(*c.trees, V);
  return V;
}

void add_force_impulse(const ImplicitContact& c, const Vec3& f, SweepBody& a, SweepBody& b) noexcept {
  if (!c.bodies_rest) {
    const Vec3 f_W = c.e * f;
    if (a.inv_mass > 0) {
      a.v += a.inv_mass * f_W;
      a.w += a.inv_I * c.r_a.cross(f_W);
    }
    if (b.inv_mass > 0) {
      b.v -= b.inv_mass * f_W;
      b.w -= b.inv_I * c.r_b.cross(f_W);
    }
  }
  if (c.trees != nullptr) push_links(*c.trees, f, Vec3::Zero());
}

// Linear and angular velocity from f and m.
struct Mobility {
  Mat3 LL, LR, RR;
};

void add_mobility(const TreeSides& trees, Mobility& K) noexcept {
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const Eigen::Map<const Vec3> f(s.Y + 6 * r), m(s.Y + 6 * r + 3);
      K.LL.noalias() += f * f.transpose();
      K.LR.noalias() += f * m.transpose();
      K.RR.noalias() += m * m.transpose();
    }
  }
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
  add_force_impulse(c, Vec3(dN, Q[0] - old[0], Q[1] - old[1]), a, b);
  c.P[0] = N, c.Q[0] = Q[0], c.Q[1] = Q[1];
}

}  // namespace

void find_mobility(const SweepBody& a, const SweepBody& b, ImplicitContact& c) noexcept {
  c.all_active_known = false;
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
}

void add_impulse(const ImplicitContact& c, const Vec3& f, const Vec3& m, SweepBody& a, SweepBody& b) noexcept {
  if (!c.bodies_rest) {
    const Vec3 f_W = c.e * f, m_W = c.e * m;
    if (a.inv_mass > 0) {
      a.v += a.inv_mass * f_W;
      a.w += a.inv_I * (c.r_a.cross(f_W) + m_W);
    }
    if (b.inv_mass > 0) {
      b.v -= b.inv_mass * f_W;
      b.w -= b.inv_I * (c.r_b.cross(f_W) + m_W);
    }
  }
  if (c.trees != nullptr) push_links(*c.trees, f, m);
}

void visit(ImplicitContact& c, SweepBody& a, SweepBody& b) noexcept {
  if (c.at_point) {
    visit_point(c, a, b);
    return;
  }
  const Twist t = twist_of(c, a, b);
  const Vec3 n(t.V[0], t.W[1], t.W[2]);
  const Vec3 P = normal_impulse(c, n - c.K_nn * c.P, n), dP = P - c.P;
  Vec3 Q = Vec3::Zero();
  const double M1 = c.M1, M2 = c.M2;
  c.slipped = false;
  if (P[0] > 0) {
    const bool friction = c.mu_static > 0 || c.viscous > 0;
    if (friction && !c.patch_known) find_patch(c, P);
    // Friction and rolling resistance act through each other (a ball: 0.7 of an error is left by each round).
    const int rounds = c.rolling > 0 && friction ? kRollingRounds : 1;
    const double old[5] = {c.stretch1, c.stretch2, c.twist, c.roll1, c.roll2};
    for (int k = 0; k < rounds; ++k) {
      c.stretch1 = old[0], c.stretch2 = old[1], c.twist = old[2], c.roll1 = old[3], c.roll2 = old[4];
      const Vec3 dM(0, c.M1 - M1, c.M2 - M2);
      if (friction) Q = friction_impulse(c, Vec3(t.V[1], t.V[2], t.W[0]) + c.K_qn * (dP + dM) - c.K_qq * c.Q, P[0]);
      if (c.rolling <= 0) continue;
      const double M1_before = c.M1, M2_before = c.M2;
      const Vec3 dn = c.K_nn * (dP - Vec3(0, M1, M2)) + c.K_qn.transpose() * (Q - c.Q);
      rolling_impulse(c, n[1] + dn[1], n[2] + dn[2], P[0]);
      if (std::abs(c.M1 - M1_before) + std::abs(c.M2 - M2_before) <= 1e-12 * c.rolling * P[0]) break;
    }
  } else {
    c.M1 = c.M2 = c.stretch1 = c.stretch2 = c.twist = c.roll1 = c.roll2 = 0;
  }
  const Vec3 dQ = Q - c.Q;
  if (P[0] == 0 && c.P[0] == 0 && dQ.isZero(0) && M1 == 0 && M2 == 0) return;  // apart, as before
  add_impulse(c, Vec3(dP[0], dQ[0], dQ[1]), Vec3(dQ[2], dP[1] + c.M1 - M1, dP[2] + c.M2 - M2), a, b);
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

void follow(ImplicitContact& c, const SweepBody& a, const SweepBody& b, double h) noexcept {
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
