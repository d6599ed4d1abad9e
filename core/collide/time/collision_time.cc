#include "core/collide/time/collision_time.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Predictions aim this part of the tolerance early: chi is then above zero in spite of rounding.
constexpr double kEarly = 0.5;
// Least part of a quintic that its two highest terms are for a rational model to be defined.
constexpr double kHighTerms = 1e-4;
// Least part of the rational model's denominator at either end that it may fall to between them.
constexpr double kLeastQ = 0.05;
constexpr int kPolishes = 20;  // of the model's root: nothing is evaluated for them

// The polynomial of degree 5 in x that has given values and two derivatives at 0 and at 1: its coefficients.
struct Quintic {
  double c[6];
  Quintic(double f0, double d0, double dd0, double f1, double d1, double dd1) noexcept {
    const double value = f1 - (f0 + d0 + 0.5 * dd0), rate = d1 - (d0 + dd0), bend = dd1 - dd0;
    c[0] = f0, c[1] = d0, c[2] = 0.5 * dd0;
    c[3] = 10 * value - 4 * rate + 0.5 * bend;
    c[4] = -15 * value + 7 * rate - bend;
    c[5] = 6 * value - 3 * rate + 0.5 * bend;
  }
};

bool draws_nearer(const ChiJet& at) noexcept {
  return at.chi_dot < 0 || (at.chi_dot == 0 && at.chi_ddot < 0);
}

}  // namespace

double newton_time_to_touch(const ChiJet& at) noexcept {
  return at.chi_dot < 0 ? -at.chi / at.chi_dot : kNever;
}

double time_to_touch(const ChiJet& at) noexcept {
  const double square = at.chi_dot * at.chi_dot - 2 * at.chi_ddot * at.chi;
  if (square < 0) return newton_time_to_touch(at);
  const double root = std::sqrt(square);  // of chi' at the touch, whose sign is negative
  if (at.chi_dot <= 0) {
    const double sum = root - at.chi_dot;
    return sum > 0 ? 2 * at.chi / sum : kNever;
  }
  return at.chi_ddot < 0 ? (at.chi_dot + root) / -at.chi_ddot : kNever;
}

CollisionSearch::CollisionSearch(double t0, const ChiJet& at_t0, double t1, const ChiJet& at_t1,
                                 const CollisionOptions& options) noexcept
    : options_(options), low_(t0), high_(t1), last_(t0), low_jet_(at_t0), high_jet_(at_t1), last_jet_(at_t0) {
  TACTUS_ASSERT(t1 >= t0 && options.time_tolerance > 0);
  start();
}

void CollisionSearch::start() noexcept {
  if (!low_jet_.known) return finish(false);
  if (low_jet_.chi <= 0 && draws_nearer(low_jet_)) return finish(true);
  if (high_jet_.known && high_jet_.chi > 0) {
    low_ = high_;
    low_jet_ = high_jet_;
    return finish(false);
  }
  if (high_jet_.known && std::abs(step_from(high_jet_)) < std::abs(step_from(low_jet_))) {
    last_ = high_;
    last_jet_ = high_jet_;
  }
  choose();
}

void CollisionSearch::finish(bool found) noexcept {
  result_.t = low_;
  result_.found = found;
  done_ = true;
}

double CollisionSearch::step_from(const ChiJet& at) const noexcept {
  return options_.method == RootMethod::quadratic ? time_to_touch(at) : newton_time_to_touch(at);
}

// The root of what has the jets of both ends of the bracket, beginning at eq. 21's step from last_, which is one of
// them: of a cubic over a quadratic, where that is positive between the ends, else of the polynomial of degree 5. Where
// bodies turn, chi'' is not constant; where a normal turns fast, chi has a root or a pole nearby in the complex plane.
double CollisionSearch::corrected(double step) const noexcept {
  TACTUS_DCHECK(low_ <= high_);
  if (options_.method != RootMethod::quadratic || !low_jet_.known || !high_jet_.known) return step;
  const bool from_low = last_ == low_;
  const ChiJet &at = last_jet_, &other = from_low ? high_jet_ : low_jet_;
  const double T = from_low ? high_ - low_ : low_ - high_;
  if (T == 0 || low_jet_.chi < 0 || high_jet_.chi > 0) return step;
  const double f = at.chi, df = T * at.chi_dot, ddf = T * T * at.chi_ddot, g = other.chi, dg = T * other.chi_dot,
               ddg = T * T * other.chi_ddot;
  Quintic p(f, df, ddf, g, dg, ddg);
  // chi Q with Q = 1 + q1 x + q2 x^2 is a cubic if the two highest terms of its quintic vanish.
  const Quintic once(0, f, 2 * df, g, g + dg, 2 * dg + ddg), twice(0, 0, 2 * f, g, 2 * g + dg, 2 * g + 4 * dg + ddg);
  const double det = once.c[4] * twice.c[5] - once.c[5] * twice.c[4];
  const double q1 = (twice.c[4] * p.c[5] - twice.c[5] * p.c[4]) / det,
               q2 = (once.c[5] * p.c[4] - once.c[4] * p.c[5]) / det;
  const double end = 1 + q1 + q2;
  const double least = q2 > 0 && q1 < 0 && q1 > -2 * q2 ? 1 - 0.25 * q1 * q1 / q2 : std::min(1.0, end);  // on [0, 1]
  const double high = std::abs(p.c[4]) + std::abs(p.c[5]), low = std::abs(p.c[1]) + std::abs(p.c[2]) + std::abs(p.c[3]);
  if (high > kHighTerms * low && std::isfinite(least) && least > kLeastQ * std::max(1.0, end)) {
    for (int i = 0; i < 4; ++i) p.c[i] += q1 * once.c[i] + q2 * twice.c[i];
    p.c[4] = p.c[5] = 0;
  }
  const double sign = from_low ? 1 : -1;
  double x = step / T, apart = from_low ? 0 : 1, overlap = 1 - apart;
  for (int i = 0; i < kPolishes; ++i) {
    if (!(x > std::min(apart, overlap) && x < std::max(apart, overlap))) x = 0.5 * (apart + overlap);
    const double value = p.c[0] + x * (p.c[1] + x * (p.c[2] + x * (p.c[3] + x * (p.c[4] + x * p.c[5]))));
    const double slope = p.c[1] + x * (2 * p.c[2] + x * (3 * p.c[3] + x * (4 * p.c[4] + x * 5 * p.c[5])));
    (value >= 0 ? apart : overlap) = x;
    if (!(sign * slope < 0)) {
      x = 0.5 * (apart + overlap);
      continue;
    }
    const double change = value / slope;
    x -= change;
    if (std::abs(change) < 1e-15 * std::abs(x)) break;
  }
  return x > 0 && x < 1 ? x * T : step;
}

// A time for the touch, or infinity.
double CollisionSearch::predict() const noexcept {
  switch (options_.method) {
    case RootMethod::regula_falsi:
      if (!high_jet_.known || low_jet_.chi <= 0 || high_jet_.chi >= 0) return kNever;
      return low_ + (high_ - low_) * (low_jet_.chi / (low_jet_.chi - high_jet_.chi));
    case RootMethod::bisection:
      return kNever;
    case RootMethod::quadratic:
    case RootMethod::newton:
      break;
  }
  return last_jet_.known ? last_ + corrected(step_from(last_jet_)) : kNever;
}

// Is the touch within the tolerance after low_? By the bracket, or by the rates there.
bool CollisionSearch::near_touch() const noexcept {
  TACTUS_DCHECK(not_below(options_.distance_tolerance, 0));
  const bool touches_at_high = !high_jet_.known || high_jet_.chi <= 0;
  if (high_ - low_ <= options_.time_tolerance) return touches_at_high;
  if (low_jet_.chi < 0 || !draws_nearer(low_jet_)) return false;
  if (low_jet_.chi <= options_.distance_tolerance) return true;
  if (options_.method == RootMethod::bisection) return false;
  return step_from(low_jet_) <= options_.time_tolerance;
}

void CollisionSearch::choose() noexcept {
  if (near_touch()) {
    const bool by_bracket = high_ - low_ <= options_.time_tolerance && !high_jet_.known;
    return finish(!by_bracket);
  }
  if (result_.evaluations >= options_.most_evaluations) return finish(false);
  const double middle = low_ + 0.5 * (high_ - low_);
  double t = predict() - kEarly * options_.time_tolerance;
  const double step = std::abs(t - last_);
  const bool slow = step > 0.5 * step_before_;
  if (!(t > low_ && t < high_) || slow) t = middle;
  if (!(t > low_ && t < high_)) return finish(high_jet_.known);  // no number lies between them
  step_before_ = step_;
  step_ = std::abs(t - last_);
  next_ = t;
}

void CollisionSearch::take(const ChiJet& at_next) noexcept {
  TACTUS_ASSERT(!done_);
  ++result_.evaluations;
  last_ = next_;
  last_jet_ = at_next;
  if (at_next.known && at_next.chi >= 0) {
    low_ = next_;
    low_jet_ = at_next;
  } else {
    high_ = next_;
    high_jet_ = at_next;
  }
  choose();
}

}  // namespace tactus
