// How extremal points move: every rate against differences along random rigid motions with turning and acceleration,
// d'' as a linear function of the accelerations.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/collide/extremal_points.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"
#include "tests/unit/smooth_pairs.h"

namespace tactus {
namespace {

using smooth_pairs::Body;
using smooth_pairs::Shapes;
using test::Random;

// A body's frame while its point c moves with constant acceleration and the body turns by exp(w t + alpha t^2 / 2):
// w(0) = w, w'(0) = alpha. More than that the rates do not see.
struct Path {
  Body at0;
  RigidMotion motion;
  [[nodiscard]] Body at(double t) const {
    const RigidMotion& m = motion;
    const Vec3 phi = t * m.w_W + 0.5 * t * t * m.alpha_W;
    const Mat3 Q = rotate_by(phi, Quat::Identity()).toRotationMatrix();
    const Vec3 c = m.c_W + t * m.v_W + 0.5 * t * t * m.a_W;
    return {at0.shape, {Q * at0.X.R, c + Q * (at0.X.p - m.c_W)}};
  }
  // Velocities at t: the turning's is w + alpha t + (w x alpha) t^2 / 4 + O(t^3), whose t^2 no derivative at 0 sees.
  [[nodiscard]] RigidMotion motion_at(double t) const {
    RigidMotion m = motion;
    m.c_W += t * m.v_W + 0.5 * t * t * m.a_W;
    m.v_W += t * m.a_W, m.w_W += t * m.alpha_W;
    return m;
  }
};

Path random_path(const Body& body, Random& rng) {
  Path path{body, {}};
  path.motion.c_W = body.X.p + rng.in_cube(0.2);
  path.motion.v_W = rng.in_cube(1), path.motion.w_W = rng.in_cube(2);
  path.motion.a_W = rng.in_cube(5), path.motion.alpha_W = rng.in_cube(5);
  return path;
}

struct Pair {
  Path a, b;
  ExtremalSide side_a, side_b;
  ExtremalPair now;
  bool find() {
    const Body x = a.at(0), y = b.at(0);
    now = extremal_points(x.shape, x.X, y.shape, y.X, side_a, side_b);
    return now.has_rates();
  }
  // From the solution at 0; sides are copied so that every time starts there.
  [[nodiscard]] ExtremalPair at(double t) const {
    ExtremalSide sa = side_a, sb = side_b;
    const Body x = a.at(t), y = b.at(t);
    return extremal_points(x.shape, x.X, y.shape, y.X, sa, sb);
  }
};

// Six-point differences with error O(h^6), and second ones.
template <typename F>
auto first_difference(const F& f, double h) {
  using Value = decltype(f(0.0));
  return Value((45 * Value(f(h) - f(-h)) - 9 * Value(f(2 * h) - f(-2 * h)) + Value(f(3 * h) - f(-3 * h))) / (60 * h));
}

// Are the features at 0 also those around it?
bool steady(const Pair& pair, double h) {
  for (const int k : {-3, 3}) {
    ExtremalSide sa = pair.side_a, sb = pair.side_b;
    const Body x = pair.a.at(k * h), y = pair.b.at(k * h);
    const ExtremalPair there = extremal_points(x.shape, x.X, y.shape, y.X, sa, sb);
    if (!there.has_rates() || !there.warm || sa.feature != pair.side_a.feature || sb.feature != pair.side_b.feature) {
      return false;
    }
  }
  return true;
}

// Do the differences themselves agree at two step lengths? Not across a knot of a cubic spline, where third derivatives
// jump.
bool resolved(const Pair& pair, double h) {
  const auto pa = [&](double t) { return pair.at(t).pa_W; };
  const auto pb = [&](double t) { return pair.at(t).pb_W; };
  const auto n = [&](double t) { return pair.at(t).nhat_BA_W; };
  const auto d_dot = [&](double t) {
    return extremal_rates(pair.at(t), pair.a.motion_at(t), pair.b.motion_at(t)).d_dot;
  };
  const auto agree = [h](const auto& f) {
    const Vec3 x = first_difference(f, h), y = first_difference(f, 0.4 * h);
    return (x - y).norm() <= 1e-10 * (1 + x.norm());
  };
  const double x = first_difference(d_dot, h), y = first_difference(d_dot, 0.4 * h);
  return agree(pa) && agree(pb) && agree(n) && std::abs(x - y) <= 1e-9 * (1 + std::abs(x));
}

struct Worst {
  double d = 0, points = 0, normal = 0, second = 0;
};

void compare(const Pair& pair, double h, Worst& worst) {
  const RigidMotion &A = pair.a.motion, &B = pair.b.motion;
  const ExtremalRates rates = extremal_rates(pair.now, A, B);
  const auto pa = [&](double t) { return pair.at(t).pa_W; };
  const auto pb = [&](double t) { return pair.at(t).pb_W; };
  const auto n = [&](double t) { return pair.at(t).nhat_BA_W; };
  const auto d = [&](double t) { return pair.at(t).d; };
  const double points = 1 + rates.pa_dot_W.norm() + rates.pb_dot_W.norm(), turn = 1 + rates.nhat_dot_W.norm();
  worst.d = std::max(worst.d, std::abs(first_difference(d, h) - rates.d_dot) / (1 + std::abs(rates.d_dot)));
  worst.points = std::max(worst.points, (first_difference(pa, h) - rates.pa_dot_W).norm() / points);
  worst.points = std::max(worst.points, (first_difference(pb, h) - rates.pb_dot_W).norm() / points);
  worst.normal = std::max(worst.normal, (first_difference(n, h) - rates.nhat_dot_W).norm() / turn);
  const SecondRate second = extremal_second_rate(pair.now, rates, A, B);
  const auto d_dot = [&](double t) {
    return extremal_rates(pair.at(t), pair.a.motion_at(t), pair.b.motion_at(t)).d_dot;
  };
  const double difference = first_difference(d_dot, h), value = second.at(A, B);
  worst.second = std::max(worst.second, std::abs(difference - value) / (1 + std::abs(value)));
}

void check_rates(const std::vector<Shape>& firsts, const std::vector<Shape>& seconds, std::uint64_t seed, int wanted,
                 double h, double gap) {
  Random rng(seed);
  Worst worst;
  int checked = 0;
  for (const Shape& first : firsts) {
    for (const Shape& second : seconds) {
      for (int i = 0, done = 0; i < 40 * wanted && done < wanted; ++i) {
        Body x = smooth_pairs::placed(first, rng, 0), y = smooth_pairs::placed(second, rng, 0.8);
        if (second.kind != ShapeKind::half_space) {
          // To the wanted gap, or overlap, along the normal.
          ExtremalSide sa, sb;
          const ExtremalPair apart = extremal_points(x.shape, x.X, y.shape, y.X, sa, sb);
          if (!apart.known() || apart.d < 0.01) continue;
          y.X.p += (apart.d - gap) * apart.nhat_BA_W;
        }
        Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
        if (!pair.find() || pair.now.conditioning < 0.05 || !steady(pair, 2 * h) || !resolved(pair, h)) continue;
        INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second) << " " << i);
        compare(pair, h, worst);
        ++done, ++checked;
      }
    }
  }
  CHECK(checked >= static_cast<int>(firsts.size() * seconds.size()) * wanted * 3 / 4);
  MESSAGE("checked " << checked << ": d' " << worst.d << ", points " << worst.points << ", normal " << worst.normal
                     << ", d'' " << worst.second);
  CHECK_WITHIN(worst.d, 1e-9);
  CHECK_WITHIN(worst.points, 1e-9);
  CHECK_WITHIN(worst.normal, 1e-9);
  CHECK_WITHIN(worst.second, 1e-7);
}

TEST_CASE("extremal rates: smooth pairs apart, near and overlapping, against differences") {
  const Shapes shapes;
  const std::vector<Shape> round{shapes.convex[0], shapes.convex[1], shapes.convex[2], shapes.convex[5]};
  for (const double gap : {0.1, 1e-4, -1e-3}) check_rates(round, round, 21, 3, 1e-4, gap);
}

TEST_CASE("extremal rates: smooth against every other kind, both orders") {
  const Shapes shapes;
  const std::vector<Shape> one{shapes.convex[0]};
  const std::vector<Shape> others(shapes.partners.end() - 5, shapes.partners.end());
  for (const double gap : {0.1, 1e-4, -1e-3}) {
    check_rates(one, others, 22, 4, 1e-4, gap);
    check_rates(others, one, 23, 4, 1e-4, gap);
    check_rates({shapes.convex[4], shapes.convex[5]}, others, 24, 2, 1e-4, gap);
  }
}

TEST_CASE("extremal rates: d'' is linear in the accelerations, and does not depend on the point that names them") {
  const Shapes shapes;
  Random rng(25);
  for (int i = 0; i < 40; ++i) {
    const Body x = smooth_pairs::placed(shapes.convex[0], rng, 0), y = smooth_pairs::placed(shapes.partners[8], rng, 1);
    Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
    if (!pair.find()) continue;
    const auto second = [&](const RigidMotion& A, const RigidMotion& B) {
      return extremal_second_rate(pair.now, extremal_rates(pair.now, A, B), A, B).at(A, B);
    };
    const RigidMotion A = pair.a.motion, B = pair.b.motion;
    RigidMotion none = A, more = A;
    none.a_W.setZero(), none.alpha_W.setZero();
    more.a_W *= 3, more.alpha_W *= 3;
    const double zero = second(none, B), once = second(A, B), thrice = second(more, B);
    CHECK_WITHIN((thrice - zero - 3 * (once - zero)) / (1 + std::abs(thrice)), 1e-12);
    // The same motion named at another point of the body.
    RigidMotion moved = A;
    const Vec3 arm = rng.in_cube(0.5);
    moved.c_W += arm;
    moved.v_W += A.w_W.cross(arm);
    moved.a_W += A.alpha_W.cross(arm) + A.w_W.cross(A.w_W.cross(arm));
    CHECK_WITHIN((second(moved, B) - once) / (1 + std::abs(once)), 1e-12);
  }
}

// How far from where look_ahead() expects it one side's point is at h, after `calls` calls that end at 0.
double surprise(const Pair& pair, double h, int calls, bool with_rates) {
  ExtremalSide sides[2];
  ExtremalPair now;
  const auto find_at = [&](double t) {
    const Body x = pair.a.at(t), y = pair.b.at(t);
    now = extremal_points(x.shape, x.X, y.shape, y.X, sides[0], sides[1]);
  };
  for (int i = calls - 1; i >= 0; --i) find_at(-i * h);
  if (with_rates) {
    const Body x = pair.a.at(0), y = pair.b.at(0);
    const ExtremalRates rates = extremal_rates(now, pair.a.motion, pair.b.motion);
    look_ahead(now, rates, pair.a.motion, pair.b.motion, x.shape, x.X, y.shape, y.X, h, sides[0], sides[1]);
  } else {
    look_ahead(sides[0]), look_ahead(sides[1]);
  }
  const Vec3 expected[2] = {sides[0].p_S + sides[0].ahead_S, sides[1].p_S + sides[1].ahead_S};
  find_at(h);
  return std::max((sides[0].p_S - expected[0]).norm(), (sides[1].p_S - expected[1]).norm());
}

TEST_CASE("extremal points are expected where a polynomial through the last ones says, with and without their rates") {
  const Shapes shapes;
  const std::vector<Shape> round{shapes.convex[0], shapes.convex[1], shapes.convex[2], shapes.convex[5]};
  struct Order {
    int calls;
    bool with_rates;
    int power;  // of the step, that the error grows with
  };
  // Eq. 17 and 60 alone; with the last step; with the last two. Without rates: the last place, a line, a parabola.
  for (const Order order : {Order{1, true, 2}, Order{2, true, 3}, Order{3, true, 4}, Order{4, true, 4},
                            Order{1, false, 1}, Order{2, false, 2}, Order{3, false, 3}, Order{4, false, 3}}) {
    Random rng(26);
    std::vector<double> powers;
    for (int i = 0; i < 60; ++i) {
      const Body x = smooth_pairs::placed(round[rng.below(4)], rng, 0),
                 y = smooth_pairs::placed(round[rng.below(4)], rng, 1.2);
      Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
      const double h = 4e-3;
      if (!pair.find() || pair.now.d < 0.02 || pair.now.conditioning < 0.05 || !steady(pair, 2 * h)) continue;
      const double wide = surprise(pair, h, order.calls, order.with_rates);
      const double narrow = surprise(pair, 0.5 * h, order.calls, order.with_rates);
      if (narrow > 1e-13) powers.push_back(std::log2(wide / narrow));
    }
    REQUIRE(powers.size() > 20);
    std::nth_element(powers.begin(), powers.begin() + powers.size() / 2, powers.end());
    INFO(order.calls << " calls, rates " << order.with_rates);
    CHECK_WITHIN(powers[powers.size() / 2] - order.power, 0.2);
  }
}

}  // namespace
}  // namespace tactus
