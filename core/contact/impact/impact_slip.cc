#include "core/contact/impact/impact_slip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

using Vec2 = Eigen::Vector2d;
using Mat2 = Eigen::Matrix2d;
constexpr double kRounding = 4e-16;
constexpr double kNever = std::numeric_limits<double>::infinity();

Vec2 solve(const Mat2& A, const Vec2& b) noexcept {
  const double det = A(0, 0) * A(1, 1) - A(0, 1) * A(1, 0);
  return Vec2(A(1, 1) * b[0] - A(0, 1) * b[1], A(0, 0) * b[1] - A(1, 0) * b[0]) / det;
}

// Where a phase of the process ends.
struct Goal {
  enum class Of : std::uint8_t { velocity, impulse, work } of;
  double value;
};

// Everything that changes with the normal impulse p.
struct Now {
  double p = 0, v_n = 0, work = 0;  // work: integral of v_n dp
  Vec2 s = Vec2::Zero();            // slip
  Vec2 j = Vec2::Zero();            // friction impulse
};

class Collision {
 public:
  Collision(const Mat3& K, const Vec3& v_rel, const Vec3& nhat, double mu, const SlipAccuracy& accuracy) noexcept
      : accuracy_(accuracy), mu_(mu) {
    TACTUS_DCHECK(is_symmetric(K) && mu >= 0);
    tangent_basis(nhat, t1_, t2_);
    const Vec3 K_n = K * nhat, K_1 = K * t1_, K_2 = K * t2_;
    k_nn_ = nhat.dot(K_n);
    k_nt_ = Vec2(t1_.dot(K_n), t2_.dot(K_n));
    const double k_12 = t1_.dot(K_2);
    K_t_ << t1_.dot(K_1), k_12, k_12, t2_.dot(K_2);
    v_n0_ = now.v_n = nhat.dot(v_rel);
    s0_ = now.s = Vec2(t1_.dot(v_rel), t2_.dot(v_rel));
    stop_ = accuracy.stop * v_rel.norm();
    if (mu == 0) straight_ = true;  // and the friction impulse stays zero
  }

  // On to the goal; it only moves forward.
  void run_to(const Goal& goal) noexcept {
    while (missing(goal, now) > 0) {
      if (straight_) {
        line(distance(goal, slope(direction_)), direction_);
        return;
      }
      const double speed = now.s.norm();
      if (speed <= stop_ || steps > accuracy_.steps_max) {
        settle();
      } else if (slide(goal, speed)) {
        return;
      }
    }
  }

  [[nodiscard]] Vec3 friction() const noexcept { return now.j[0] * t1_ + now.j[1] * t2_; }

  Now now;
  bool stopped = false, reversed = false;
  std::uint32_t steps = 0;

 private:
  [[nodiscard]] double slope(const Vec2& d) const noexcept { return k_nn_ + k_nt_.dot(d); }  // dv_n/dp
  [[nodiscard]] static double missing(const Goal& goal, const Now& at) noexcept {
    return goal.value - (goal.of == Goal::Of::velocity ? at.v_n : goal.of == Goal::Of::impulse ? at.p : at.work);
  }

  // Normal impulse to the goal when v_n grows with the constant slope a.
  [[nodiscard]] double distance(const Goal& goal, double a) const noexcept {
    const double c = missing(goal, now), v = now.v_n;
    if (goal.of == Goal::Of::impulse) return c;
    if (goal.of == Goal::Of::velocity) return a > 0 ? c / a : kNever;
    const double square = v * v + 2 * a * c;  // v dp + a dp^2 / 2 = c
    if (square < 0) return kNever;
    const double root = std::sqrt(square);
    return v > 0 ? 2 * c / (v + root) : a > 0 ? (root - v) / a : kNever;
  }

  // Velocities follow from the impulses, so that they cannot drift apart.
  void place(Now& at) const noexcept {
    at.v_n = v_n0_ + k_nn_ * at.p + k_nt_.dot(at.j);
    at.s = s0_ + k_nt_ * at.p + K_t_ * at.j;
  }

  // The friction impulse grows by d for each unit of p.
  void line(double dp, const Vec2& d) noexcept {
    if (!(dp < kNever)) dp = 0;       // cannot be while K is positive definite; never hang
    TACTUS_DCHECK(not_below(dp, 0));  // the normal impulse only grows
    now.work += dp * (now.v_n + 0.5 * dp * slope(d));
    now.p += dp;
    now.j += dp * d;
    place(now);
  }

  // The slip is zero: stick, if the impulse that holds it is in the cone; else it leaves along the one direction u with
  // K_nt - mu K_t u = rate u, rate > 0.
  void settle() noexcept {
    stopped = straight_ = true;
    direction_ = -solve(K_t_, k_nt_);
    if (direction_.squaredNorm() <= mu_ * mu_) return;
    reversed = true;
    // |u(rate)| = 1 with (mu K_t + rate) u = K_nt; 1/|u| is concave and nearly linear in the rate: Newton from below.
    double rate = 0;
    Vec2 u = direction_;
    for (int i = 0; i < 50; ++i) {
      Mat2 A = mu_ * K_t_;
      A.diagonal().array() += rate;
      u = solve(A, k_nt_);
      const double size = u.norm(), step = size * size * (size - 1) / u.dot(solve(A, u));
      rate += step;
      if (!(step > 1e-15 * rate)) break;
    }
    direction_ = -mu_ * u.normalized();
    TACTUS_DCHECK(not_above(direction_.squaredNorm(), mu_ * mu_ * (1 + kRoundingCheck)));
  }

  // One piece of sliding; true when the goal was reached.
  bool slide(const Goal& goal, double speed) noexcept {
    const Vec2 u = now.s / speed, rate = k_nt_ - mu_ * (K_t_ * u);
    const double along = u.dot(rate), turn = std::abs(u[0] * rate[1] - u[1] * rate[0]);
    const double fastest = std::max(turn, std::abs(along)), stiffest = std::max(fastest, mu_ * K_t_.trace());
    if (turn <= accuracy_.straight * fastest + kRounding * (stiffest + k_nt_.norm())) {
      const Vec2 d = -mu_ * u;
      const double dp_goal = distance(goal, slope(d)), dp_stop = along < 0 ? -speed / along : kNever;
      line(std::min(dp_goal, dp_stop), d);
      if (dp_goal > dp_stop || !(dp_goal < kNever)) settle();
      return dp_goal <= dp_stop;
    }
    // The slower it turns compared with how it could, the smaller is the error of a step.
    const double longer = std::sqrt(std::sqrt(stiffest / turn));
    const double h = speed / stiffest * std::min(accuracy_.turn * longer, 0.7);
    return curve(goal, h);
  }

  [[nodiscard]] Vec2 unit(const Vec2& s) const noexcept {
    const double size = s.norm();
    return size > 0 ? Vec2(s / size) : Vec2(Vec2::Zero());
  }

  // A step of Runge and Kutta; its weights are positive, so the sum stays in the cone.
  [[nodiscard]] Now stepped(double h) const noexcept {
    const auto s_at = [&](double dp, const Vec2& d) { return Vec2(now.s + dp * (k_nt_ + K_t_ * d)); };
    const Vec2 d1 = -mu_ * unit(now.s), d2 = -mu_ * unit(s_at(0.5 * h, d1)), d3 = -mu_ * unit(s_at(0.5 * h, d2));
    TACTUS_DCHECK(not_below(h, 0));
    const Vec2 d4 = -mu_ * unit(s_at(h, d3));
    Now next = now;
    next.work += h * (now.v_n + h / 6 * (slope(d1) + slope(d2) + slope(d3)));
    next.p += h;
    next.j += h / 6 * (d1 + 2 * (d2 + d3) + d4);
    place(next);
    return next;
  }

  bool curve(const Goal& goal, double h) noexcept {
    ++steps;
    const Now end = stepped(h);
    if (missing(goal, end) > 0) {
      now = end;
      return false;
    }
    // The goal lies inside: false position, with the older end's weight halved (Illinois).
    double lo = 0, hi = h, at_lo = missing(goal, now), at_hi = missing(goal, end);
    const double scale = goal.of == Goal::Of::velocity ? std::abs(v_n0_) : std::abs(goal.value);
    const double enough = 1e-2 * accuracy_.stop * scale;
    Now best = end;
    for (int i = 0, side = 0; i < 60 && hi - lo > 1e-15 * h && at_hi != 0; ++i) {
      const double x = lo + (hi - lo) * at_lo / (at_lo - at_hi);
      best = stepped(x);
      const double at_x = missing(goal, best);
      if (std::abs(at_x) <= enough) break;
      if (at_x > 0) {
        lo = x, at_lo = at_x;
        if (side > 0) at_hi *= 0.5;
        side = 1;
      } else {
        hi = x, at_hi = at_x;
        if (side < 0) at_lo *= 0.5;
        side = -1;
      }
    }
    now = best;
    return true;
  }

  const SlipAccuracy& accuracy_;
  double mu_, k_nn_, v_n0_, stop_;
  Vec3 t1_, t2_;
  Vec2 k_nt_, s0_, direction_ = Vec2::Zero();
  Mat2 K_t_;
  bool straight_ = false;  // no more turning: friction grows along direction_
};

Goal end_of_restitution(RestitutionLaw law, double e, double v_n, const SlipProcess& r) noexcept {
  switch (law) {
    case RestitutionLaw::newton:
      return {Goal::Of::velocity, -e * v_n};
    case RestitutionLaw::poisson:
      return {Goal::Of::impulse, (1 + e) * r.compression};
    case RestitutionLaw::stronge:
      break;
  }
  return {Goal::Of::work, (1 - e * e) * r.compression_work};
}

}  // namespace

SlipProcess integrate_slip(const Mat3& K, const Vec3& v_rel, const Vec3& nhat, double restitution, double mu,
                           RestitutionLaw law, const SlipAccuracy& accuracy) noexcept {
  SlipProcess result;
  const double v_n = nhat.dot(v_rel);
  if (v_n >= 0) return result;
  Collision c(K, v_rel, nhat, mu, accuracy);
  c.run_to({Goal::Of::velocity, 0});
  result.compression = c.now.p;
  result.compression_work = c.now.work;
  if (c.stopped) result.stopped = SlipEnd::in_compression;
  if (restitution > 0) c.run_to(end_of_restitution(law, restitution, v_n, result));
  // Slip that turns may compress a second time; nobody is left approaching.
  if (c.now.v_n < 0) c.run_to({Goal::Of::velocity, 0});
  if (c.stopped && result.stopped == SlipEnd::never) result.stopped = SlipEnd::in_restitution;
  TACTUS_DCHECK(not_above(c.now.j.norm(), mu * c.now.p * (1 + kRoundingCheck) + 1e-300));  // the cone holds exactly
  result.reversed = c.reversed;
  result.work = c.now.work;
  result.steps = c.steps;
  result.j = c.now.p * nhat + c.friction();
  return result;
}

}  // namespace tactus
