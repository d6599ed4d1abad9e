#include "core/contact/penalty/implicit_normal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Rounds in which the set of points that push is simply that of the last solution; 1 or 2 are common. Sets that come
// round again are left to the search, which ends.
constexpr int kFullSteps = 6;
constexpr int kMaxRounds = 16;
constexpr std::uint32_t kMostPoints = 64;  // of a manifold (World asserts it)

// Impulse of a point's spring without velocity. Across a gap the damper is a stop at its far end, and nothing else:
// bodies that part or approach are not touched.
double push_of(const ImplicitContact& c, double depth) noexcept {
  return depth < 0 ? c.stop * depth : c.spring * std::min(depth, c.reach);
}

// A 3 x 3 system by elimination with pivots. (Cofactors lose half the digits where one point is stiff.)
class Elimination {
 public:
  explicit Elimination(const Mat3& H) noexcept : a_(H) {
    const double a0 = std::abs(a_(0, 0)), a1 = std::abs(a_(1, 0)), a2 = std::abs(a_(2, 0));
    first_ = a0 >= a1 && a0 >= a2 ? 0 : a1 >= a2 ? 1 : 2;
    if (first_ != 0) swap_rows(0, first_);
    const double inverse = 1 / a_(0, 0);
    a_(1, 0) *= inverse, a_(2, 0) *= inverse;
    a_(1, 1) -= a_(1, 0) * a_(0, 1), a_(1, 2) -= a_(1, 0) * a_(0, 2);
    a_(2, 1) -= a_(2, 0) * a_(0, 1), a_(2, 2) -= a_(2, 0) * a_(0, 2);
    swapped_ = std::abs(a_(2, 1)) > std::abs(a_(1, 1));
    if (swapped_) swap_rows(1, 2);
    a_(2, 1) /= a_(1, 1);
    a_(2, 2) -= a_(2, 1) * a_(1, 2);
  }

  [[nodiscard]] Vec3 solve(Vec3 x) const noexcept {
    if (first_ != 0) std::swap(x[0], x[first_]);
    if (swapped_) std::swap(x[1], x[2]);
    x[1] -= a_(1, 0) * x[0];
    x[2] -= a_(2, 0) * x[0] + a_(2, 1) * x[1];
    x[2] /= a_(2, 2);
    x[1] = (x[1] - a_(1, 2) * x[2]) / a_(1, 1);
    x[0] = (x[0] - a_(0, 1) * x[1] - a_(0, 2) * x[2]) / a_(0, 0);
    return x;
  }

 private:
  void swap_rows(int i, int j) noexcept {
    for (int k = 0; k < 3; ++k) std::swap(a_(i, k), a_(j, k));
  }

  Mat3 a_;  // factors; row 0 was row first_, rows 1 and 2 were swapped
  int first_ = 0;
  bool swapped_ = false;
};

// The normal velocities v at the end of the substep minimise a convex function whose slope is piecewise linear: half
// of (v - n) . inv(K) (v - n) plus, for every point that pushes, its impulse squared over 2 yield. Newton's method on
// the set of points that push ends at the solution when the set repeats itself.
class NormalProblem {
 public:
  NormalProblem(ImplicitContact& c, const Vec3& n) noexcept : c_(c), n_(n) {
    TACTUS_DCHECK(c.count <= kMostPoints);
    for (std::uint32_t i = 0; i < c.count; ++i) push_[i] = push_of(c, c.points[i].depth);
  }

  Vec3 solve(const Vec3& guess) noexcept;

 private:
  struct Set {
    std::uint64_t bits = 0;
    std::uint32_t size = 0;
    void add(std::uint32_t i) noexcept { bits |= std::uint64_t{1} << i, ++size; }
    [[nodiscard]] bool has(std::uint32_t i) const noexcept { return (bits >> i & 1) != 0; }
  };

  // A point at (x, y) parts with g . v, g = (1, y, -x).
  [[nodiscard]] double rate(std::uint32_t i, const Vec3& v) const noexcept {
    const ImplicitPoint& p = c_.points[i];
    return v[0] + p.y * v[1] - p.x * v[2];
  }
  [[nodiscard]] Vec3 response(std::uint32_t i) const noexcept {  // K g
    const ImplicitPoint& p = c_.points[i];
    const Mat3& K = c_.K_nn;
    return {K(0, 0) + p.y * K(0, 1) - p.x * K(0, 2), K(1, 0) + p.y * K(1, 1) - p.x * K(1, 2),
            K(2, 0) + p.y * K(2, 1) - p.x * K(2, 2)};
  }
  [[nodiscard]] double impulse(std::uint32_t i, const Vec3& v) const noexcept {
    return push_[i] - c_.yield * rate(i, v);
  }
  void add(std::uint32_t i, double j, Vec3& sum) const noexcept {  // sum += j g
    sum[0] += j, sum[1] += j * c_.points[i].y, sum[2] -= j * c_.points[i].x;
  }

  [[nodiscard]] Set pushing(const Vec3& v) const noexcept {
    Set set;
    for (std::uint32_t i = 0; i < c_.count; ++i) {
      if (impulse(i, v) > 0) set.add(i);
    }
    return set;
  }
  [[nodiscard]] Vec3 pushed(const Vec3& v) const noexcept;
  [[nodiscard]] Mat3 system(const Set& set) const noexcept;
  [[nodiscard]] Vec3 one(const Set& set) noexcept;
  [[nodiscard]] Vec3 two(const Set& set) noexcept;
  [[nodiscard]] Vec3 many(const Set& set) noexcept;
  Set round(const Set& set, Vec3& v, Vec3& sum) noexcept;
  void advance(const Vec3& v, const Vec3& y_v, Vec3& u, Vec3& y) const noexcept;

  ImplicitContact& c_;
  const Vec3 n_;
  double push_[kMostPoints];
};

// What the points give at a velocity.
Vec3 NormalProblem::pushed(const Vec3& v) const noexcept {
  Vec3 sum = Vec3::Zero();
  for (std::uint32_t i = 0; i < c_.count; ++i) add(i, std::max(0.0, impulse(i, v)), sum);
  return sum;
}

// v = n + K sum g (push - yield g . v): the matrix in front of v, 1 + yield K S with S the sum of g g^T.
Mat3 NormalProblem::system(const Set& set) const noexcept {
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (std::uint32_t i = 0; i < c_.count; ++i) {
    if (!set.has(i)) continue;
    const ImplicitPoint& p = c_.points[i];
    x += p.x, y += p.y, xx += p.x * p.x, xy += p.x * p.y, yy += p.y * p.y;
  }
  const double n = set.size;
  Mat3 H;
  for (int k = 0; k < 3; ++k) {
    const double k0 = c_.yield * c_.K_nn(k, 0), k1 = c_.yield * c_.K_nn(k, 1), k2 = c_.yield * c_.K_nn(k, 2);
    H(k, 0) = k0 * n + k1 * y - k2 * x;
    H(k, 1) = k0 * y + k1 * yy - k2 * xy;
    H(k, 2) = k2 * xx - k0 * x - k1 * xy;
    H(k, k) += 1;
  }
  return H;
}

// Velocities for a set of one and of two points, solved for their impulses.
Vec3 NormalProblem::one(const Set& set) noexcept {
  TACTUS_DCHECK(set.size == 1 && set.bits != 0);
  std::uint32_t i = 0;
  while (!set.has(i)) ++i;
  const Vec3 k = response(i);
  return n_ + impulse(i, n_) / (1 + c_.yield * rate(i, k)) * k;
}

Vec3 NormalProblem::two(const Set& set) noexcept {
  TACTUS_DCHECK(set.size == 2 && std::popcount(set.bits) == 2);
  std::uint32_t i = 0;
  while (!set.has(i)) ++i;
  std::uint32_t j = i + 1;
  while (!set.has(j)) ++j;
  const Vec3 k_i = response(i), k_j = response(j);
  const double a = 1 + c_.yield * rate(i, k_i), b = c_.yield * rate(i, k_j), d = 1 + c_.yield * rate(j, k_j);
  const double p = impulse(i, n_), q = impulse(j, n_), per = 1 / (a * d - b * b);
  return n_ + ((d * p - b * q) * per) * k_i + ((a * q - b * p) * per) * k_j;
}

Vec3 NormalProblem::many(const Set& set) noexcept {
  Vec3 push = Vec3::Zero();
  for (std::uint32_t i = 0; i < c_.count; ++i) {
    if (set.has(i)) add(i, push_[i], push);
  }
  const Vec3 free = n_ + c_.K_nn * push;
  if (set.size < c_.count) return Elimination(system(set)).solve(free);
  if (!c_.all_active_known) {
    const Elimination all(system(set));
    for (int k = 0; k < 3; ++k) c_.all_active.col(k) = all.solve(Vec3::Unit(k));
    c_.all_active_known = true;
  }
  return c_.all_active * free;
}

// Solves for a set and keeps its impulses, whose sum is that which leads to v. Gives the set that pushes there.
NormalProblem::Set NormalProblem::round(const Set& set, Vec3& v, Vec3& sum) noexcept {
  v = set.size == 0 ? n_ : set.size == 1 ? one(set) : set.size == 2 ? two(set) : many(set);
  sum.setZero();
  Set now;
  for (std::uint32_t i = 0; i < c_.count; ++i) {
    const double j = impulse(i, v);
    if (j > 0) now.add(i);
    // Impulses count only for the set that v was solved for: the stiffness would turn an error of it into force.
    const bool in = set.has(i);
    c_.points[i].impulse = in ? std::max(0.0, j) : 0.0;
    if (in) add(i, j, sum);
  }
  return now;
}

// The step from u to v, as far as the function falls along it. y, y_v: the impulses that lead to u and v.
void NormalProblem::advance(const Vec3& v, const Vec3& y_v, Vec3& u, Vec3& y) const noexcept {
  const Vec3 d = v - u, dy = y_v - y;
  double lo = 0, hi = 1, f_lo = (y - pushed(u)).dot(d), f_hi = (y_v - pushed(v)).dot(d);
  for (int i = 0; i < 20 && f_hi > 0 && f_lo < 0; ++i) {
    const double t = i % 2 == 0 ? 0.5 * (lo + hi) : lo + (hi - lo) * (f_lo / (f_lo - f_hi));
    const double f = (y + t * dy - pushed(u + t * d)).dot(d);
    (f < 0 ? lo : hi) = t;
    (f < 0 ? f_lo : f_hi) = f;
  }
  u += hi * d;  // beyond the kink, so that the set changes
  y += hi * dy;
}

Vec3 NormalProblem::solve(const Vec3& guess) noexcept {
  Vec3 v, sum;
  Set set = pushing(guess);
  for (int i = 0; i < kFullSteps; ++i) {
    const Set now = round(set, v, sum);
    if (now.bits == set.bits) return sum;
    set = now;
  }
  Vec3 u = guess, y = c_.P;
  for (int i = 0; i < kMaxRounds; ++i) {
    set = pushing(u);
    const Set now = round(set, v, sum);
    if (now.bits == set.bits) return sum;
    advance(v, sum, u, y);
  }
  sum.setZero();
  for (std::uint32_t i = 0; i < c_.count; ++i) add(i, c_.points[i].impulse, sum);
  return sum;
}

}  // namespace

namespace {

void find_pair(ImplicitContact& c) noexcept {
  TACTUS_DCHECK(c.count == 2 && is_symmetric(c.K_nn));
  const ImplicitPoint &p = c.points[0], &q = c.points[1];
  const Mat3& K = c.K_nn;
  const Vec3 k_p = K.col(0) + p.y * K.col(1) - p.x * K.col(2), k_q = K.col(0) + q.y * K.col(1) - q.x * K.col(2);
  c.pair.a = 1 + c.yield * (k_p[0] + p.y * k_p[1] - p.x * k_p[2]);
  c.pair.b = c.yield * (k_q[0] + p.y * k_q[1] - p.x * k_q[2]);
  c.pair.d = 1 + c.yield * (k_q[0] + q.y * k_q[1] - q.x * k_q[2]);
  c.pair.per = 1 / (c.pair.a * c.pair.d - c.pair.b * c.pair.b);
  c.pair.known = true;
}

// Two points: a p + b q = f and b p + d q = g where both push; else one of them, or none. The matrix is positive
// definite, so one of the four holds and the others do not.
Vec3 pair_impulse(ImplicitContact& c, const Vec3& n) noexcept {
  ImplicitPoint &p = c.points[0], &q = c.points[1];
  if (!c.pair.known) find_pair(c);
  const double a = c.pair.a, b = c.pair.b, d = c.pair.d, per = c.pair.per;
  const double f = push_of(c, p.depth) - c.yield * (n[0] + p.y * n[1] - p.x * n[2]);
  const double g = push_of(c, q.depth) - c.yield * (n[0] + q.y * n[1] - q.x * n[2]);
  double i = (d * f - b * g) * per, j = (a * g - b * f) * per;
  if (!(i > 0 && j > 0)) {
    const bool first = f > 0 && !(a * g > b * f), second = g > 0 && !(d * f > b * g);
    i = first ? f / a : 0.0;
    j = second && !first ? g / d : 0.0;
  }
  TACTUS_DCHECK(not_below(i, 0) && not_below(j, 0));
  p.impulse = i, q.impulse = j;
  return {i + j, i * p.y + j * q.y, -(i * p.x + j * q.x)};
}

}  // namespace

Vec3 normal_impulse(ImplicitContact& c, const Vec3& n, const Vec3& guess) noexcept {
  return c.count == 2 ? pair_impulse(c, n) : NormalProblem(c, n).solve(guess);
}

double single_impulse(ImplicitContact& c, double V0) noexcept {
  TACTUS_DCHECK(c.count == 1 && not_below(c.yield * c.K_nn(0, 0), 0));
  ImplicitPoint& p = c.points[0];
  p.impulse = std::max(0.0, (push_of(c, p.depth) - c.yield * V0) / (1 + c.yield * c.K_nn(0, 0)));
  return p.impulse;
}

}  // namespace tactus
