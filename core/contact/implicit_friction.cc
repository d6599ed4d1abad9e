#include "core/contact/implicit_friction.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

constexpr int kMaxRounds = 16;  // of the search for a sliding contact's share of its springs

// Springs of D generalized velocities at the pressure centre: two tangential ones, or with the torsional one, too.
template <int D>
struct Springs {
  using Vector = Eigen::Matrix<double, D, 1>;
  using Matrix = Eigen::Matrix<double, D, D>;

  ImplicitContact& c;
  Vector velocity;  // without friction
  Vector spring, damp;

  [[nodiscard]] Matrix mobility() const noexcept { return c.F.template topLeftCorner<D, D>(); }

  [[nodiscard]] double size(const Vector& f) const noexcept {
    double square = f[0] * f[0] + f[1] * f[1];
    if constexpr (D == 3) square += c.radius2 > 0 ? f[2] * f[2] / c.radius2 : 0.0;
    return std::sqrt(square);
  }

  // All of them stick: impulse, and the velocity at the end.
  Vector stick(Vector& end) const noexcept {
    end = c.stick.template topLeftCorner<D, D>() * (velocity - mobility() * spring);
    return -(spring + damp.cwiseProduct(end));
  }

  // Spring-dampers that act with the factor k: impulse (without the viscous part), and the velocity at the end.
  Vector weakened(double k, Vector& end) const noexcept {
    const Matrix F = mobility();
    Vector yield = k * damp;
    yield[0] += c.viscous, yield[1] += c.viscous;
    Matrix H = F * yield.asDiagonal();
    H.diagonal().array() += 1.0;
    end = H.inverse() * (velocity - k * (F * spring));
    return -k * (spring + damp.cwiseProduct(end));
  }

  Vector slide(double limit, double full, Vector& end) const noexcept;
  Vector impulse(double N) const noexcept;
};

// Beyond the limit surface the spring-dampers slide: against the velocity at the end of the substep, at the limit.
// full: the size of what would stick.
template <int D>
typename Springs<D>::Vector Springs<D>::slide(double limit, double full, Vector& end) const noexcept {
  const double free = size(spring + damp.cwiseProduct(velocity));
  Vector f = Vector::Zero();
  if (limit > 0 && free > 0) {
    // 1 / size is linear in 1 / k where all directions are equally mobile: one or two rounds find k. What is left is
    // scaled away; a result far below the limit must not be scaled up, it could turn the velocity round.
    double lo = 1, f_lo = 1 / full, hi = 1 + free * (1 / limit - 1 / full), f_hi = 0;  // in 1 / k and 1 / size
    double q = c.sliding > 0 ? c.sliding : std::max(1.0, hi), found = 0;
    for (int i = 0; i < kMaxRounds; ++i) {
      f = weakened(1 / q, end);
      found = size(f);
      if (std::abs(found - limit) <= 0.005 * limit) break;
      const double now = 1 / found;
      (found > limit ? lo : hi) = q;
      (found > limit ? f_lo : f_hi) = now;
      if (f_hi == 0) {
        q *= 2;
      } else {  // halving in turn, where one end sticks
        q = i % 2 == 0 ? lo + (hi - lo) * (1 / limit - f_lo) / (f_hi - f_lo) : std::sqrt(lo * hi);
      }
    }
    c.sliding = q;
    const double scale = limit / found;
    f *= scale < 1.006 ? scale : 1.0;
  }
  // The springs give way: what is left of them alone carries the limit.
  const double per = c.tangential_spring > 0 ? 1 / c.tangential_spring : 0.0;
  c.stretch1 = -per * f[0], c.stretch2 = -per * f[1];
  if constexpr (D == 3) c.twist = c.radius2 > 0 ? -per * f[2] / c.radius2 : 0.0;
  return f;
}

template <int D>
typename Springs<D>::Vector Springs<D>::impulse(double N) const noexcept {
  Vector end;
  Vector f = stick(end);
  double mu = c.mu_dynamic;
  if (c.stribeck_velocity > 0) {
    double speed2 = end[0] * end[0] + end[1] * end[1];
    if constexpr (D == 3) speed2 += c.radius2 * end[2] * end[2];
    mu += (c.mu_static - c.mu_dynamic) * std::exp(-speed2 / (c.stribeck_velocity * c.stribeck_velocity));
  }
  const double full = size(f);
  c.slipped = full > (c.was_slipping ? mu : c.mu_static) * N;
  if (c.slipped) f = slide(mu * N, full, end);
  f[0] -= c.viscous * end[0];
  f[1] -= c.viscous * end[1];
  return f;
}

}  // namespace

// Seen from the pressure centre the levers are shorter by (x, y).
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

void find_point_patch(ImplicitContact& c) noexcept {
  c.patch_known = true;
  c.F.topLeftCorner<2, 2>() = c.K_qq.topLeftCorner<2, 2>();
  Eigen::Matrix2d H = (c.tangential_yield + c.viscous) * c.K_qq.topLeftCorner<2, 2>();
  H.diagonal().array() += 1.0;
  c.stick.topLeftCorner<2, 2>() = H.inverse();
}

Vec3 friction_impulse(ImplicitContact& c, const Vec3& q, double N) noexcept {
  const Springs<3> springs{c, Vec3(q[0] - c.y * q[2], q[1] + c.x * q[2], q[2]),
                           c.tangential_spring * Vec3(c.stretch1, c.stretch2, c.radius2 * c.twist),
                           c.tangential_yield * Vec3(1, 1, c.radius2)};
  const Vec3 f = springs.impulse(N);
  return {f[0], f[1], f[2] + c.x * f[1] - c.y * f[0]};
}

Eigen::Vector2d point_friction(ImplicitContact& c, const Eigen::Vector2d& q, double N) noexcept {
  return Springs<2>{c, q, c.tangential_spring * Eigen::Vector2d(c.stretch1, c.stretch2),
                    Eigen::Vector2d::Constant(c.tangential_yield)}
      .impulse(N);
}

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

}  // namespace tactus
