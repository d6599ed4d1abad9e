#include "core/contact/implicit_contact.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/contact/implicit_normal.h"

namespace tactus {

namespace {

constexpr int kMaxRounds = 16;  // of the search for a sliding contact's share of its springs

constexpr int kRollingRounds = 64;  // fewer when they agree

struct Twist {
  Vec3 V, W;
};

void add_twist(const TreeSides& trees, Twist& t) noexcept {
  double sum[6] = {0, 0, 0, 0, 0, 0};
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const double u = s.u[s.dofs[r]];
      for (int k = 0; k < 6; ++k) sum[k] += s.Y[6 * r + k] * u;
    }
  }
  t.V += trees.V + Vec3(sum[0], sum[1], sum[2]);
  t.W += trees.W + Vec3(sum[3], sum[4], sum[5]);
}

Twist twist_of(const ImplicitContact& c, const SweepBody& a, const SweepBody& b) noexcept {
  const Vec3 v = a.v + a.w.cross(c.r_a) - b.v - b.w.cross(c.r_b);
  Twist t{c.e.transpose() * v, c.e.transpose() * (a.w - b.w)};
  if (c.trees != nullptr) add_twist(*c.trees, t);
  return t;
}

// Where friction acts in this tick: seen from the pressure centre the levers are shorter by (x, y).
void find_patch(ImplicitContact& c, const Vec3& P) noexcept {
  const double per = 1 / P[0], x = -P[2] * per, y = P[1] * per;
  double square = 0;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ImplicitPoint& p = c.points[i];
    square += p.impulse * ((p.x - x) * (p.x - x) + (p.y - y) * (p.y - y));
  }
  c.patch_known = true;
  c.x = x, c.y = y, c.radius2 = per * square;
  const double g1 = c.K_qq(0, 2), g2 = c.K_qq(1, 2), J = c.K_qq(2, 2);
  c.F(0, 0) = c.K_qq(0, 0) - 2 * y * g1 + y * y * J;
  c.F(1, 1) = c.K_qq(1, 1) + 2 * x * g2 + x * x * J;
  c.F(0, 1) = c.F(1, 0) = c.K_qq(0, 1) - y * g2 + x * g1 - x * y * J;
  c.F(0, 2) = c.F(2, 0) = g1 - y * J;
  c.F(1, 2) = c.F(2, 1) = g2 + x * J;
  c.F(2, 2) = J;
  const double yield = c.tangential_yield;
  Mat3 H = c.F * Vec3(yield + c.viscous, yield + c.viscous, yield * c.radius2).asDiagonal();
  H.diagonal().array() += 1.0;
  c.stick = H.inverse();
}

double friction_size(const ImplicitContact& c, const Vec3& f) noexcept {
  return std::sqrt(f[0] * f[0] + f[1] * f[1] + (c.radius2 > 0 ? f[2] * f[2] / c.radius2 : 0.0));
}

// Spring-dampers that act with the factor k: impulse (without the viscous part), and the velocity at the end.
Vec3 weakened(const ImplicitContact& c, double k, const Vec3& s, const Vec3& spring, const Vec3& damp,
              Vec3& end) noexcept {
  Mat3 H = c.F * Vec3(k * damp[0] + c.viscous, k * damp[1] + c.viscous, k * damp[2]).asDiagonal();
  H.diagonal().array() += 1.0;
  end = H.inverse() * (s - k * (c.F * spring));
  return -k * (spring + damp.cwiseProduct(end));
}

// Beyond the limit surface the spring-dampers slide: against the velocity at the end of the substep, at the limit.
Vec3 sliding_impulse(ImplicitContact& c, double limit, const Vec3& s, const Vec3& spring, const Vec3& damp, double full,
                     Vec3& end) noexcept {
  const double free = friction_size(c, spring + damp.cwiseProduct(s));
  Vec3 f = Vec3::Zero();
  if (limit > 0 && free > 0) {
    // 1 / size is linear in 1 / k where all directions are equally mobile: one or two rounds find k. What is left is
    // scaled away; a result far below the limit must not be scaled up, it could turn the velocity round.
    double lo = 1, f_lo = 1 / full, hi = 1 + free * (1 / limit - 1 / full), f_hi = 0;  // in 1 / k and 1 / size
    double q = std::max(1.0, hi);
    for (int i = 0; i < kMaxRounds; ++i) {
      f = weakened(c, 1 / q, s, spring, damp, end);
      const double size = friction_size(c, f), now = 1 / size;
      if (std::abs(size - limit) <= 0.005 * limit) break;
      (size > limit ? lo : hi) = q;
      (size > limit ? f_lo : f_hi) = now;
      if (f_hi == 0) {
        q *= 2;
      } else {  // halving in turn, where one end sticks
        q = i % 2 == 0 ? lo + (hi - lo) * (1 / limit - f_lo) / (f_hi - f_lo) : std::sqrt(lo * hi);
      }
    }
    const double scale = limit / friction_size(c, f);
    f *= scale < 1.006 ? scale : 1.0;
  }
  // The springs give way: what is left of them alone carries the limit.
  const double per = c.tangential_spring > 0 ? 1 / c.tangential_spring : 0.0;
  c.stretch1 = -per * f[0], c.stretch2 = -per * f[1];
  c.twist = c.radius2 > 0 ? -per * f[2] / c.radius2 : 0.0;
  return f;
}

// Tangential and torsional springs, together inside one limit surface |F|^2 + (M / R)^2 <= (mu N)^2: one budget for
// both. q: the velocities without friction.
Vec3 friction_impulse(ImplicitContact& c, const Vec3& q, double N) noexcept {
  const Vec3 s(q[0] - c.y * q[2], q[1] + c.x * q[2], q[2]);
  const Vec3 spring = c.tangential_spring * Vec3(c.stretch1, c.stretch2, c.radius2 * c.twist);
  const Vec3 damp = c.tangential_yield * Vec3(1, 1, c.radius2);
  Vec3 end = c.stick * (s - c.F * spring);
  Vec3 f = -(spring + damp.cwiseProduct(end));
  double mu = c.mu_dynamic;
  if (c.stribeck_velocity > 0) {
    const double speed2 = end[0] * end[0] + end[1] * end[1] + c.radius2 * end[2] * end[2];
    mu += (c.mu_static - c.mu_dynamic) * std::exp(-speed2 / (c.stribeck_velocity * c.stribeck_velocity));
  }
  const double size = friction_size(c, f);
  c.slipped = size > (c.was_slipping ? mu : c.mu_static) * N;
  if (c.slipped) f = sliding_impulse(c, mu * N, s, spring, damp, size, end);
  f[0] -= c.viscous * end[0];
  f[1] -= c.viscous * end[1];
  return {f[0], f[1], f[2] + c.x * f[1] - c.y * f[0]};
}

// A spring-damper against rolling, of the tangential gains at the arm of the rolling resistance, up to that arm times
// the normal impulse. w1, w2: W1 and W2 without it.
void rolling_impulse(ImplicitContact& c, double w1, double w2, double N) noexcept {
  const double arm2 = c.rolling * c.rolling, spring = arm2 * c.tangential_spring, yield = arm2 * c.tangential_yield;
  const double k11 = c.K_nn(1, 1), k12 = c.K_nn(1, 2), k22 = c.K_nn(2, 2);
  const double s1 = spring * c.roll1, s2 = spring * c.roll2;
  const double b1 = w1 - k11 * s1 - k12 * s2, b2 = w2 - k12 * s1 - k22 * s2;
  const double h11 = 1 + yield * k11, h22 = 1 + yield * k22, h12 = yield * k12, det = h11 * h22 - h12 * h12;
  c.M1 = -s1 - yield * (h22 * b1 - h12 * b2) / det;
  c.M2 = -s2 - yield * (h11 * b2 - h12 * b1) / det;
  const double size = std::sqrt(c.M1 * c.M1 + c.M2 * c.M2), limit = c.rolling * N;
  if (size <= limit) return;
  c.M1 *= limit / size, c.M2 *= limit / size;
  c.roll1 = -c.M1 / spring, c.roll2 = -c.M2 / spring;
}

}  // namespace

namespace {

void add_mobility(const TreeSides& trees, Mat3& LL, Mat3& LR, Mat3& RR) noexcept {
  for (std::uint32_t i = 0; i < trees.count; ++i) {
    const TreeSide& s = trees.side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const Eigen::Map<const Vec3> f(s.Y + 6 * r), m(s.Y + 6 * r + 3);
      LL.noalias() += f * f.transpose();
      LR.noalias() += f * m.transpose();
      RR.noalias() += m * m.transpose();
    }
  }
}

}  // namespace

void find_mobility(const SweepBody& a, const SweepBody& b, ImplicitContact& c) noexcept {
  Mat3 LL = Mat3::Zero(), LR = Mat3::Zero(), RR = Mat3::Zero();  // linear and angular velocity from f and m
  const auto add = [&](const SweepBody& body, const Vec3& r) noexcept {
    Mat3 lever;
    for (int i = 0; i < 3; ++i) lever.col(i) = r.cross(c.e.col(i));
    const Mat3 turn = body.inv_I * c.e;
    LL.noalias() += lever.transpose() * (body.inv_I * lever);
    LR.noalias() += lever.transpose() * turn;
    RR.noalias() += c.e.transpose() * turn;
    LL.diagonal().array() += body.inv_mass;
  };
  if (a.inv_mass > 0) add(a, c.r_a);
  if (b.inv_mass > 0) add(b, c.r_b);
  if (c.trees != nullptr) add_mobility(*c.trees, LL, LR, RR);
  c.K_nn << LL(0, 0), LR(0, 1), LR(0, 2), LR(0, 1), RR(1, 1), RR(1, 2), LR(0, 2), RR(1, 2), RR(2, 2);
  c.K_qn << LL(1, 0), LR(1, 1), LR(1, 2), LL(2, 0), LR(2, 1), LR(2, 2), LR(0, 0), RR(0, 1), RR(0, 2);
  c.K_qq << LL(1, 1), LL(1, 2), LR(1, 0), LL(1, 2), LL(2, 2), LR(2, 0), LR(1, 0), LR(2, 0), RR(0, 0);
  c.all_active_known = false;
}

void add_impulse(const ImplicitContact& c, const Vec3& f, const Vec3& m, SweepBody& a, SweepBody& b) noexcept {
  const Vec3 f_W = c.e * f, m_W = c.e * m;
  if (a.inv_mass > 0) {
    a.v += a.inv_mass * f_W;
    a.w += a.inv_I * (c.r_a.cross(f_W) + m_W);
  }
  if (b.inv_mass > 0) {
    b.v -= b.inv_mass * f_W;
    b.w -= b.inv_I * (c.r_b.cross(f_W) + m_W);
  }
  if (c.trees == nullptr) return;
  for (std::uint32_t i = 0; i < c.trees->count; ++i) {
    const TreeSide& s = c.trees->side[i];
    for (std::uint32_t r = 0; r < s.rows; ++r) {
      const double* y = s.Y + 6 * r;
      s.u[s.dofs[r]] += y[0] * f[0] + y[1] * f[1] + y[2] * f[2] + y[3] * m[0] + y[4] * m[1] + y[5] * m[2];
    }
  }
}

void visit(ImplicitContact& c, SweepBody& a, SweepBody& b) noexcept {
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
  add_impulse(c, Vec3(dP[0], dQ[0], dQ[1]), Vec3(dQ[2], dP[1] + c.M1 - M1, dP[2] + c.M2 - M2), a, b);
  c.P = P, c.Q = Q;
}

void follow(ImplicitContact& c, const SweepBody& a, const SweepBody& b, double h) noexcept {
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
