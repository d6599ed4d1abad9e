#include "core/contact/penalty/implicit_friction.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr int kFrictionRounds = 16;  // of the search for a sliding contact's share of its springs

// Inverse of s H + k, H symmetric and D x D, D 2 or 3: cofactors, and one division.
template <int D>
class Inverse {
 public:
  using Vector = Eigen::Matrix<double, D, 1>;

  Inverse(double s, const Mat3& H, double k) noexcept {
    const double a = s * H(0, 0) + k, b = s * H(1, 0), d = s * H(1, 1) + k;
    if constexpr (D == 3) {
      const double c = s * H(2, 0), e = s * H(2, 1), f = s * H(2, 2) + k;
      c00_ = d * f - e * e, c01_ = c * e - b * f, c02_ = b * e - c * d;
      c11_ = a * f - c * c, c12_ = b * c - a * e, c22_ = a * d - b * b;
      per_ = 1 / (a * c00_ + (b * c01_ + c * c02_));
    } else {
      c00_ = d, c01_ = -b, c11_ = a;
      per_ = 1 / (a * d - b * b);
    }
  }
  [[nodiscard]] Vector operator*(const Vector& x) const noexcept {
    if constexpr (D == 3) {
      return Vector(per_ * (c00_ * x[0] + c01_ * x[1] + c02_ * x[2]), per_ * (c01_ * x[0] + c11_ * x[1] + c12_ * x[2]),
                    per_ * (c02_ * x[0] + c12_ * x[1] + c22_ * x[2]));
    } else {
      return Vector(per_ * (c00_ * x[0] + c01_ * x[1]), per_ * (c01_ * x[0] + c11_ * x[1]));
    }
  }

 private:
  double c00_, c01_, c02_ = 0, c11_, c12_ = 0, c22_ = 0, per_;
};

// Springs of D generalized velocities at the pressure centre: two tangential ones, or with the torsional one, too,
// whose turn counts times the radius R and whose moment over it. All of them then have one stiffness, and the limit
// surface is a ball: impulses g = -(spring + yield end) inside |g| <= mu N, where end = velocity + mobility g.
template <int D>
struct Springs {
  using Vector = Eigen::Matrix<double, D, 1>;
  using Matrix = Eigen::Matrix<double, D, D>;

  ImplicitContact& c;
  Vector velocity;  // without friction
  Vector spring;

  [[nodiscard]] Vector end(const Vector& g) const noexcept { return velocity + c.F.template topLeftCorner<D, D>() * g; }
  [[nodiscard]] double friction_now(const Vector& g) const noexcept;
  Vector slide(const Vector& free, double limit, const Vector& stuck, double full) const noexcept;
  Vector impulse(double N) const noexcept;
};

// Beyond the limit the spring-dampers slide: weakened by one factor 1 / k they give -(k + yield mobility)^-1 (spring +
// yield velocity), against the velocity at the end of the substep; k is that at which they are at the limit. 1 / |g| is
// concave and nearly linear in k: Newton's method comes from below without a step too far. free: spring + yield
// velocity; stuck: g for k = 1, of size full.
template <int D>
typename Springs<D>::Vector Springs<D>::slide(const Vector& free, double limit, const Vector& stuck,
                                              double full) const noexcept {
  TACTUS_DCHECK(limit > 0 && not_below(c.sliding, 0));
  double k = c.sliding, size2 = full * full;
  if (k == 0) {
    const double bend = stuck.dot(c.stick.template topLeftCorner<D, D>() * stuck);
    k = std::max(1.0, 1 + (full / limit - 1) * size2 / bend);
  }
  Vector g = stuck;
  double found = full;
  for (int i = 0; i < kFrictionRounds; ++i) {
    const Inverse<D> inverse(c.tangential_yield, c.F, k);
    g = -(inverse * free);
    size2 = g.squaredNorm();
    found = std::sqrt(size2);
    // What is left is scaled away; a result far below the limit must not be scaled up, it could turn the velocity
    // round.
    if (std::abs(found - limit) <= 0.005 * limit) break;
    k = std::max(1.0, k + (found - limit) * size2 / (limit * g.dot(inverse * g)));
  }
  c.sliding = k;
  TACTUS_DCHECK(not_below(k, 1));  // springs are weakened, never stiffened
  const double scale = limit / found;
  return scale < 1.006 ? Vector(scale * g) : g;
}

template <int D>
double Springs<D>::friction_now(const Vector& g) const noexcept {
  if (!(c.stribeck_velocity > 0)) return c.mu_dynamic;
  const double speed2 = end(g).squaredNorm();
  return c.mu_dynamic + (c.mu_static - c.mu_dynamic) * std::exp(-speed2 / (c.stribeck_velocity * c.stribeck_velocity));
}

template <int D>
typename Springs<D>::Vector Springs<D>::impulse(double N) const noexcept {
  const Vector free = spring + c.tangential_yield * velocity;
  Vector g = -(c.stick.template topLeftCorner<D, D>() * free);
  const double full = std::sqrt(g.squaredNorm()), mu = friction_now(g);
  c.slipped = full > (c.was_slipping ? mu : c.mu_static) * N;
  if (c.slipped) {
    g = mu * N > 0 ? slide(free, mu * N, g, full) : Vector(Vector::Zero());
    // The springs give way: what is left of them alone carries the limit.
    const double per = c.tangential_spring > 0 ? 1 / c.tangential_spring : 0.0;
    c.stretch1 = -per * g[0], c.stretch2 = -per * g[1];
    if constexpr (D == 3) c.twist = c.radius > 0 ? -per * g[2] / c.radius : 0.0;
  }
  TACTUS_DCHECK(not_above(g.norm(), c.mu_static * N * (1 + kRoundingCheck) + 1e-300));  // in the limit surface
  if (c.viscous > 0) g.template head<2>() -= c.viscous * end(g).template head<2>();
  return g;
}

// From the mobility F: what is left of it beside viscous friction, and the matrices of the springs.
template <int D>
void set_springs(ImplicitContact& c) noexcept {
  using Matrix = Eigen::Matrix<double, D, D>;
  auto F = c.F.topLeftCorner<D, D>();
  TACTUS_DCHECK(is_symmetric(Matrix(F)) && not_below(c.tangential_yield, 0));
  if (c.viscous > 0) {
    Matrix beside = Matrix::Identity();
    beside.template leftCols<2>() += c.viscous * F.template leftCols<2>();
    const Matrix inverse = beside.inverse();
    c.beside_viscous.topLeftCorner<D, D>() = inverse;
    F = Matrix(inverse * F);
  }
  Matrix all = c.tangential_yield * F;
  all.diagonal().array() += 1.0;
  c.stick.topLeftCorner<D, D>() = all.inverse();
}

template <int D>
Eigen::Matrix<double, D, 1> free_velocity(const ImplicitContact& c, const Eigen::Matrix<double, D, 1>& v) noexcept {
  if (!(c.viscous > 0)) return v;
  return c.beside_viscous.topLeftCorner<D, D>() * v;
}

}  // namespace

// Seen from the pressure centre the levers are shorter by (x, y).
void find_patch(ImplicitContact& c, const Vec3& P) noexcept {
  TACTUS_DCHECK(P[0] > 0);  // its pressure has a centre
  const double per = 1 / P[0], x = -P[2] * per, y = P[1] * per;
  double square = 0;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ImplicitPoint& p = c.points[i];
    square += p.impulse * ((p.x - x) * (p.x - x) + (p.y - y) * (p.y - y));
  }
  TACTUS_DCHECK(not_below(square, 0));
  c.patch_known = true;
  c.x = x, c.y = y;
  const double R = c.radius = std::sqrt(per * square);
  const double g1 = c.K_qq(0, 2), g2 = c.K_qq(1, 2), J = c.K_qq(2, 2);
  c.F(0, 0) = c.K_qq(0, 0) - 2 * y * g1 + y * y * J;
  c.F(1, 1) = c.K_qq(1, 1) + 2 * x * g2 + x * x * J;
  c.F(0, 1) = c.F(1, 0) = c.K_qq(0, 1) - y * g2 + x * g1 - x * y * J;
  c.F(0, 2) = c.F(2, 0) = R * (g1 - y * J);
  c.F(1, 2) = c.F(2, 1) = R * (g2 + x * J);
  c.F(2, 2) = R * R * J;
  set_springs<3>(c);
}

void find_point_patch(ImplicitContact& c) noexcept {
  c.patch_known = true;
  c.F.topLeftCorner<2, 2>() = c.K_qq.topLeftCorner<2, 2>();
  set_springs<2>(c);
}

Vec3 friction_impulse(ImplicitContact& c, const Vec3& q, double N) noexcept {
  const Vec3 v(q[0] - c.y * q[2], q[1] + c.x * q[2], c.radius * q[2]);
  const Springs<3> springs{c, free_velocity<3>(c, v),
                           c.tangential_spring * Vec3(c.stretch1, c.stretch2, c.radius * c.twist)};
  const Vec3 g = springs.impulse(N);
  return {g[0], g[1], c.radius * g[2] + c.x * g[1] - c.y * g[0]};
}

Eigen::Vector2d point_friction(ImplicitContact& c, const Eigen::Vector2d& q, double N) noexcept {
  return Springs<2>{c, free_velocity<2>(c, q), c.tangential_spring * Eigen::Vector2d(c.stretch1, c.stretch2)}.impulse(
      N);
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
  TACTUS_DCHECK(not_below(spring, 0));
  c.roll1 = -c.M1 / spring, c.roll2 = -c.M2 / spring;
}

}  // namespace tactus
