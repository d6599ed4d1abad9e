// How extremal points move: every rate against differences along random rigid motions with turning and acceleration,
// d'' as a linear function of the accelerations.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "core/collide/feature/contact_features.h"
#include "core/collide/smooth/extremal_points.h"
#include "tests/support/random.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"
#include "tests/unit/collide/smooth_pairs.h"

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

// Are the features at 0 also those around it, and the place the same? Where another becomes the nearest, points jump.
bool steady(const Pair& pair, double h) {
  const ExtremalRates rates = extremal_rates(pair.now, pair.a.motion, pair.b.motion);
  for (const int k : {-3, 3}) {
    ExtremalSide sa = pair.side_a, sb = pair.side_b;
    const Body x = pair.a.at(k * h), y = pair.b.at(k * h);
    const ExtremalPair there = extremal_points(x.shape, x.X, y.shape, y.X, sa, sb);
    if (!there.has_rates() || sa.feature != pair.side_a.feature || sb.feature != pair.side_b.feature) return false;
    const double way = 3 * h * (1 + rates.pa_dot_W.norm() + rates.pb_dot_W.norm());
    if ((there.pa_W - pair.now.pa_W).norm() + (there.pb_W - pair.now.pb_W).norm() > 2 * way) return false;
  }
  return true;
}

// Points, normal, d and d' of a pair at a time, in one, so that differences need one solution a time.
using Trace = Eigen::Matrix<double, 11, 1>;
Trace state_of(const Pair& pair, double t) {
  const ExtremalPair at = pair.at(t);
  const double d_dot = extremal_rates(at, pair.a.motion_at(t), pair.b.motion_at(t)).d_dot;
  return (Trace() << at.pa_W, at.pb_W, at.nhat_BA_W, at.d, d_dot).finished();
}

struct Worst {
  double d = 0, points = 0, normal = 0, second = 0;
};

// False: the differences themselves do not agree at two step lengths. Across a knot of a cubic spline third derivatives
// jump.
bool compare(const Pair& pair, double h, Worst& worst) {
  const RigidMotion &A = pair.a.motion, &B = pair.b.motion;
  const ExtremalRates rates = extremal_rates(pair.now, A, B);
  const auto state = [&](double t) { return state_of(pair, t); };
  const Trace found = first_difference(state, h), near = first_difference(state, 0.4 * h), off = found - near;
  const double points = 1 + rates.pa_dot_W.norm() + rates.pb_dot_W.norm(), turn = 1 + rates.nhat_dot_W.norm();
  if (off.head<6>().norm() > 1e-10 * points || off.segment<3>(6).norm() > 1e-10 * turn) return false;
  if (std::abs(off[10]) > 1e-9 * (1 + std::abs(found[10]))) return false;
  // Scenes are of metres and seconds: shapes of 0.3 m at about 1 m/s and 2 rad/s. 1 is the size of a rate.
  worst.d = std::max(worst.d, std::abs(found[9] - rates.d_dot));
  worst.points = std::max(worst.points, (found.head<3>() - rates.pa_dot_W).norm() / points);
  worst.points = std::max(worst.points, (found.segment<3>(3) - rates.pb_dot_W).norm() / points);
  worst.normal = std::max(worst.normal, (found.segment<3>(6) - rates.nhat_dot_W).norm() / turn);
  // Relative to the value itself: where its terms cancel the bar is no lower.
  const double value = extremal_second_rate(pair.now, rates, A, B).at(A, B);
  worst.second = std::max(worst.second, std::abs(found[10] - value) / std::abs(value));
  return true;
}

struct Tally {
  int checked = 0;
  Worst worst;
  std::array<int, 26> of_b{};  // by B's feature
};

// Pairs of these two at `gap` apart (below 0: overlapping), y within `spread` of x at first.
void check_pairs(const Shape& first, const Shape& second, Random& rng, int wanted, double h, double gap, double spread,
                 Tally& tally) {
  int done = 0;
  for (int i = 0; i < 40 * wanted && done < wanted; ++i) {
    Body x = smooth_pairs::placed(first, rng, 0), y = smooth_pairs::placed(second, rng, spread);
    const ExtremalPair apart = smooth_pairs::from_nothing(x, y);
    if (!apart.known() || apart.d < 0.01) continue;
    y.X.p += (apart.d - gap) * apart.nhat_BA_W;
    Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
    if (!pair.find() || pair.now.conditioning < 0.05 || !steady(pair, 2 * h)) continue;
    if (!compare(pair, h, tally.worst)) continue;
    ++done, ++tally.checked;
    ++tally.of_b[static_cast<std::size_t>(std::clamp(pair.side_b.feature, 0, 25))];
  }
  INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second) << " " << gap);
  CHECK(done >= (wanted + 1) / 2);
}

void judge(const Tally& tally) {
  const Worst& worst = tally.worst;
  MESSAGE("checked " << tally.checked << ": d' " << worst.d << ", points " << worst.points << ", normal "
                     << worst.normal << ", d'' " << worst.second);
  CHECK_WITHIN(worst.d, 1e-9);
  CHECK_WITHIN(worst.points, 1e-9);
  CHECK_WITHIN(worst.normal, 1e-9);
  CHECK_WITHIN(worst.second, 1e-7);
}

void check_rates(const std::vector<Shape>& firsts, const std::vector<Shape>& seconds, std::uint64_t seed, int wanted,
                 double h, double gap) {
  Random rng(seed);
  Tally tally;
  for (const Shape& first : firsts) {
    for (const Shape& second : seconds) check_pairs(first, second, rng, wanted, h, gap, 0.8, tally);
  }
  CHECK(tally.checked >= static_cast<int>(firsts.size() * seconds.size()) * wanted * 3 / 4);
  judge(tally);
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

// One or more of each kind of surface, those that are not convex too; `scale` of about 0.3 m.
std::vector<Shape> every_surface(test::OwnedShapes& owned, double scale) {
  std::string error;
  const auto profile = [&](std::vector<Vec2> points) {
    for (Vec2& x : points) x *= scale;
    return owned.add(make_revolution(points, error));
  };
  std::vector<Vec3> ring = test::torus_control(9, 6), ball = test::ball_control(5, 4, 6);
  for (Vec3& x : ring) x *= scale;
  for (Vec3& x : ball) x *= scale;
  const Mat3 R = Quat(0.5, 0.1, -0.7, 0.5).normalized().toRotationMatrix();
  const Vec3 radii = scale * Vec3(0.3, 0.2, 0.25), middle = scale * Vec3(0.1, -0.2, 0.1);
  return {owned.add(make_ellipsoid(radii)),
          owned.add(make_superellipsoid(radii, 0.7, 0.8)),
          owned.add(make_superellipsoid(radii, 0.3, 0.3)),
          owned.add(make_quadric(test::quadric_of(radii, R, middle, -7), error)),
          owned.add(make_patched_ellipsoid(radii)),
          owned.add(make_torus(0.3 * scale, 0.1 * scale)),
          profile(test::egg_profile()),
          profile(test::pear_profile()),
          profile(test::ring_profile()),
          owned.add(make_spline(ring, {9, 6}, error)),
          owned.add(make_spline(ball, {5, 4, 6}, error))};
}

TEST_CASE("extremal rates: every kind of surface against ellipsoid, torus, plane, box and cylinder, both orders") {
  test::OwnedShapes owned;
  const std::vector<Shape> surfaces = every_surface(owned, 1);
  const std::vector<Shape> partners{surfaces[0], surfaces[5], make_half_space(), make_box({0.3, 0.2, 0.1}),
                                    make_cylinder(0.35, 0.2)};
  for (const Shape& partner : partners) {
    Random rng(27);
    Tally tally, turned;
    for (const Shape& surface : surfaces) {
      for (const double gap : {0.1, 1e-4, -1e-3}) check_pairs(surface, partner, rng, 3, 1e-4, gap, 1.2, tally);
      check_pairs(surface, partner, rng, 3, 1e-4, 0.02, 1.2, tally);
      check_pairs(partner, surface, rng, 2, 1e-4, 0.02, 1.2, turned);
    }
    INFO(smooth_pairs::describe(partner));
    judge(tally), judge(turned);
    const auto seen = [&](int from, int to) {
      return std::accumulate(tally.of_b.begin() + from, tally.of_b.begin() + to, 0);
    };
    if (partner.kind == ShapeKind::box) {  // vertices, edges, faces
      MESSAGE("vertices " << seen(0, 8) << ", edges " << seen(8, 20) << ", faces " << seen(20, 26));
      CHECK(std::min({seen(0, 8), seen(8, 20), seen(20, 26)}) >= 5);
    }
    if (partner.kind == ShapeKind::cylinder) {  // caps, rims, side
      MESSAGE("caps " << seen(0, 2) << ", rims " << seen(2, 4) << ", side " << seen(4, 5));
      CHECK(std::min({seen(0, 2), seen(2, 4), seen(4, 5)}) >= 5);
    }
  }
}

TEST_CASE("extremal rates: bodies of every kind in bowls of four kinds") {
  test::OwnedShapes owned;
  std::string error;
  std::vector<Shape> bodies = every_surface(owned, 0.4);
  for (const Shape& body :
       {make_sphere(0.1), make_capsule(0.05, 0.1), make_box({0.15, 0.1, 0.05}), make_cylinder(0.1, 0.1)}) {
    bodies.push_back(body);
  }
  const Mat3 R = Quat(0.5, 0.1, -0.7, 0.5).normalized().toRotationMatrix();
  for (const Shape& bowl :
       {owned.add(make_cavity(make_ellipsoid({0.5, 0.45, 0.4}))),
        owned.add(make_cavity(make_quadric(test::quadric_of({0.45, 0.5, 0.4}, R, {0.02, 0, -0.05}, 1), error))),
        owned.add(make_cavity(make_superellipsoid({0.5, 0.45, 0.4}, 0.7, 0.8))),
        owned.add(make_cavity(make_patched_ellipsoid({0.5, 0.45, 0.4})))}) {
    Random rng(28);
    Tally tally;
    for (const Shape& body : bodies) {
      for (const double gap : {0.02, 1e-4, -1e-3}) check_pairs(bowl, body, rng, 2, 1e-4, gap, 0.08, tally);
    }
    INFO("bowl of " << smooth_pairs::describe(bowl));
    judge(tally);
  }
}

// 12 numbers: a_W and alpha_W of A, then of B.
using Twelve = Eigen::Matrix<double, 12, 1>;
void set_accelerations(const Twelve& x, RigidMotion& A, RigidMotion& B) {
  A.a_W = x.head<3>(), A.alpha_W = x.segment<3>(3);
  B.a_W = x.segment<3>(6), B.alpha_W = x.tail<3>();
}

// f(s x + u y) = s f(x) + u f(y) + (1 - s - u) f(0), relative to the terms: f is a linear function and a constant.
template <typename F>
double bent(const F& f, Random& rng) {
  Twelve x, y;
  for (int i = 0; i < 12; ++i) x[i] = rng.uniform(-5, 5), y[i] = rng.uniform(-500, 500);
  const double s = rng.uniform(-3, 3), u = rng.uniform(-3, 3);
  const double fx = s * f(x), fy = u * f(y), rest = (1 - s - u) * f(Twelve::Zero());
  return std::abs(f(s * x + u * y) - fx - fy - rest) / (std::abs(fx) + std::abs(fy) + std::abs(rest));
}

TEST_CASE("extremal rates: d'' is linear in both bodies' accelerations, as the exact stepper's chi'' of them is") {
  test::OwnedShapes owned;
  const std::vector<Shape> surfaces = every_surface(owned, 1);
  const std::vector<Shape> partners{surfaces[0], make_half_space(), make_box({0.3, 0.2, 0.1}), make_cylinder(0.2, 0.25),
                                    make_sphere(0.2)};
  Random rng(25);
  int checked = 0;
  double worst = 0, worst_jet = 0, apart = 0, against_b = 0;
  for (const Shape& first : surfaces) {
    for (const Shape& second : partners) {
      for (int i = 0; i < 4; ++i) {
        const Body x = smooth_pairs::placed(first, rng, 0), y = smooth_pairs::placed(second, rng, 1);
        Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
        if (!pair.find() || pair.now.conditioning < 0.05) continue;
        RigidMotion A = pair.a.motion, B = pair.b.motion;
        const auto second_rate = [&](const Twelve& v) {
          set_accelerations(v, A, B);
          return extremal_second_rate(pair.now, extremal_rates(pair.now, A, B), A, B).at(A, B);
        };
        const auto of_jet = [&](const Twelve& v) {
          set_accelerations(v, A, B);
          ExtremalSide sa = pair.side_a, sb = pair.side_b;
          return gap_acceleration(extremal_jet(x.shape, x.X, A, y.shape, y.X, B, false, sa, sb), A, B);
        };
        worst = std::max(worst, bent(second_rate, rng)), worst_jet = std::max(worst_jet, bent(of_jet, rng));
        Twelve v = Twelve::Ones();
        apart = std::max(apart, std::abs(second_rate(v) - of_jet(v)) / (1 + std::abs(of_jet(v))));
        // The same acceleration along the normal of both bodies: the gap does not see it.
        v.setZero(), v.head<3>() = pair.now.nhat_BA_W, v.segment<3>(6) = pair.now.nhat_BA_W;
        against_b = std::max(against_b,
                             std::abs(second_rate(v) - second_rate(Twelve::Zero())) / (1 + std::abs(second_rate(v))));
        ++checked;
      }
    }
  }
  MESSAGE("checked " << checked << ": " << worst << ", of the stepper " << worst_jet << ", one from the other " << apart
                     << ", both pushed alike " << against_b);
  CHECK(checked > 150);
  CHECK_WITHIN(worst, 1e-12);
  CHECK_WITHIN(worst_jet, 1e-12);
  CHECK_WITHIN(apart, 1e-9);  // the stepper's points are of a solution of its own, to rounding over the conditioning
  CHECK_WITHIN(against_b, 1e-12);
}

TEST_CASE("extremal rates: d'' does not depend on the point that names a body's motion") {
  const Shapes shapes;
  Random rng(25);
  int checked = 0;
  for (int i = 0; i < 40; ++i) {
    const Body x = smooth_pairs::placed(shapes.convex[0], rng, 0), y = smooth_pairs::placed(shapes.partners[8], rng, 1);
    Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
    if (!pair.find()) continue;
    const auto second = [&](const RigidMotion& A, const RigidMotion& B) {
      return extremal_second_rate(pair.now, extremal_rates(pair.now, A, B), A, B).at(A, B);
    };
    const auto renamed = [&](const RigidMotion& m) {
      RigidMotion moved = m;
      const Vec3 arm = rng.in_cube(0.5);
      moved.c_W += arm;
      moved.v_W += m.w_W.cross(arm);
      moved.a_W += m.alpha_W.cross(arm) + m.w_W.cross(m.w_W.cross(arm));
      return moved;
    };
    const RigidMotion A = pair.a.motion, B = pair.b.motion;
    const double once = second(A, B);
    CHECK_WITHIN((second(renamed(A), B) - once) / (1 + std::abs(once)), 1e-12);
    CHECK_WITHIN((second(A, renamed(B)) - once) / (1 + std::abs(once)), 1e-12);
    ++checked;
  }
  CHECK(checked > 20);
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
  // Eq. 17 and 60 alone; with the last step, two, three. Without rates: the last place, a line, a parabola.
  for (const Order order :
       {Order{1, true, 2}, Order{2, true, 3}, Order{3, true, 4}, Order{4, true, 5}, Order{5, true, 5},
        Order{1, false, 1}, Order{2, false, 2}, Order{3, false, 3}, Order{4, false, 3}}) {
    Random rng(26);
    std::vector<double> powers;
    for (int i = 0; i < 60; ++i) {
      const Body x = smooth_pairs::placed(round[rng.below(4)], rng, 0),
                 y = smooth_pairs::placed(round[rng.below(4)], rng, 1.2);
      Pair pair{random_path(x, rng), random_path(y, rng), {}, {}, {}};
      const double h = order.power < 5 ? 4e-3 : 1e-2;
      if (!pair.find() || pair.now.d < 0.02 || pair.now.conditioning < 0.05 || !steady(pair, 2 * h)) continue;
      const double wide = surprise(pair, h, order.calls, order.with_rates);
      const double narrow = surprise(pair, 0.5 * h, order.calls, order.with_rates);
      if (narrow > (order.power < 5 ? 1e-13 : 1e-12)) powers.push_back(std::log2(wide / narrow));
    }
    REQUIRE(powers.size() > 20);
    std::nth_element(powers.begin(), powers.begin() + powers.size() / 2, powers.end());
    INFO(order.calls << " calls, rates " << order.with_rates);
    CHECK_WITHIN(powers[powers.size() / 2] - order.power, 0.2);
  }
}

}  // namespace
}  // namespace tactus
