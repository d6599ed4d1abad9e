// Baraff 1990, section 8: what the core does (eq. 21 and the jets of both ends) beside eq. 21 alone, eq. 19 (Newton),
// regula falsi and bisection, all to 1e-10 s: evaluations beyond the step's two ends.
#include "core/collide/time/collision_time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/collide/feature/feature_jet.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/paper/paper_output.h"
#include "tests/support/motions.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Motion;
using test::Random;

using Jet = std::function<ChiJet(double)>;

constexpr double kTolerance = 1e-10;  // [s]

// Eq. 21 alone: from the jet looked at last, a parabola's root; what leaves the bracket or does not halve the step is
// replaced by bisection. It aims and ends as the core's search does, so that evaluations compare.
CollisionTime by_eq21(double h, const Jet& jet) {
  double low = 0, high = h, last = 0, step = std::numeric_limits<double>::infinity(), step_before = step;
  ChiJet low_jet = jet(0), last_jet = low_jet;
  const ChiJet at_end = jet(h);
  if (std::abs(time_to_touch(at_end)) < std::abs(time_to_touch(low_jet))) last = h, last_jet = at_end;
  CollisionTime out{0, 0, true};
  while (high - low > kTolerance && !(low_jet.chi_dot < 0 && time_to_touch(low_jet) <= kTolerance)) {
    double t = last + time_to_touch(last_jet) - 0.5 * kTolerance;
    if (!(t > low && t < high) || std::abs(t - last) > 0.5 * step_before) t = low + 0.5 * (high - low);
    if (!(t > low && t < high)) break;  // no number lies between them
    step_before = step, step = std::abs(t - last);
    last = t, last_jet = jet(t);
    ++out.evaluations;
    if (last_jet.chi >= 0) {
      low = t, low_jet = last_jet;
    } else {
      high = t;
    }
  }
  out.t = low;
  return out;
}

struct Way {
  const char* name;
  RootMethod method;
  bool eq21_alone = false;
  [[nodiscard]] CollisionTime find(double h, const Jet& jet) const {
    return eq21_alone ? by_eq21(h, jet) : find_collision_time(0, jet(0), h, jet(h), jet, {.method = method});
  }
};
constexpr std::array<Way, 5> kWays{{{"both ends' jets", RootMethod::quadratic},
                                    {"eq. 21", RootMethod::quadratic, true},
                                    {"newton", RootMethod::newton},
                                    {"regula falsi", RootMethod::regula_falsi},
                                    {"bisection", RootMethod::bisection}}};

// A pair that draws nearer and touches within h, or nothing.
using Make = std::optional<Jet> (*)(Random&, double h);

std::optional<Jet> if_it_touches(const Jet& jet, double h) {
  const ChiJet first = jet(0), last = jet(h);
  if (!first.known || !last.known || first.chi <= 0 || last.chi >= 0) return std::nullopt;
  return jet;
}

std::optional<Jet> vertex_over_face(Random& random, double h, double turn) {
  Motion a = test::random_motion(random, 1, turn, 10), b = test::random_motion(random, 1, turn, 10);
  const Vec3 pa = random.in_cube(0.3), pb = random.in_cube(0.3), n = random.direction();
  a.c0 = b.c0 + b.R0 * pb - a.R0 * pa + random.uniform(0, 2 * h) * (b.R0 * n) + random.in_cube(0.1).cross(b.R0 * n);
  return if_it_touches(
      [=](double t) {
        const Frame A = a.at(t), B = b.at(t);
        return vertex_face_jet(a.rates(t), A * pa, b.rates(t), B * pb, B.R * n);
      },
      h);
}
std::optional<Jet> falling_vertex(Random& random, double h) {
  return vertex_over_face(random, h, 0);
}
std::optional<Jet> turning_vertex(Random& random, double h) {
  return vertex_over_face(random, h, 10);
}

// Edges whose angle has a sine of at least `least` and at most `most` at both ends. volume: chi times the sine.
std::optional<Jet> edges(Random& random, double h, double least, double most, bool volume, double turn = 10) {
  Motion a = test::random_motion(random, 1, turn, 10), b = test::random_motion(random, 1, turn, 10);
  const Vec3 pa = random.in_cube(0.3), pb = random.in_cube(0.3), ea = random.direction();
  const double apart = random.uniform(least, most);
  const Vec3 eb = b.R0.transpose() * a.R0 * (ea + apart * ea.cross(random.direction()).normalized()).normalized();
  const auto normal = [=](double t) { return Vec3((a.at(t).R * ea).cross(b.at(t).R * eb)); };
  const Vec3 n = normal(0), last = normal(h);
  // Edges that become parallel within the step are no contact: the faces beside them are.
  if (std::min(n.norm(), last.norm()) < least || std::max(n.norm(), last.norm()) > most || n.dot(last) <= 0) {
    return std::nullopt;
  }
  a.c0 = b.c0 + b.R0 * pb - a.R0 * pa + random.uniform(0, 2 * h) * n.normalized();
  return if_it_touches(
      [=](double t) {
        const Frame A = a.at(t), B = b.at(t);
        const Vec3 u = A.R * ea, v = B.R * eb;
        return (volume ? edge_edge_volume_jet : edge_edge_jet)(a.rates(t), A * pa, u, b.rates(t), B * pb, v,
                                                               u.cross(v));
      },
      h);
}
std::optional<Jet> falling_edges(Random& random, double h) {
  return edges(random, h, 0.03, 1, false, 0);
}
std::optional<Jet> turning_edges(Random& random, double h) {
  return edges(random, h, 0.3, 1, false);
}
std::optional<Jet> nearly_parallel_edges(Random& random, double h) {
  return edges(random, h, 0.03, 0.3, false);
}
std::optional<Jet> narrow_edges(Random& random, double h) {
  return edges(random, h, 1e-3, 0.03, false);
}
std::optional<Jet> narrow_edges_volume(Random& random, double h) {
  return edges(random, h, 1e-3, 0.03, true);
}
std::optional<Jet> nearly_parallel_edges_volume(Random& random, double h) {
  return edges(random, h, 0.03, 0.3, true);
}

// Two balls beside their bodies' centres, which turn: d = |c| - r with c between the balls' centres.
std::optional<Jet> turning_balls(Random& random, double h) {
  Motion a = test::random_motion(random, 1, 10, 10), b = test::random_motion(random, 1, 10, 10);
  const Vec3 pa = random.in_cube(0.3), pb = random.in_cube(0.3), n = random.direction();
  const double reach = random.log_uniform(0.02, 0.4);
  a.c0 = b.c0 + b.R0 * pb - a.R0 * pa + (reach + random.uniform(0, 2 * h)) * n;
  return if_it_touches(
      [=](double t) {
        const auto at = [t](const Motion& m, const Vec3& p, Vec3& x, Vec3& v, Vec3& acceleration) {
          const RigidMotion rates = m.rates(t);
          x = m.at(t) * p;
          const Vec3 r = x - rates.c_W, turn = rates.w_W.cross(r);
          v = rates.v_W + turn;
          acceleration = rates.a_W + rates.w_W.cross(turn);
        };
        Vec3 xa, va, aa, xb, vb, ab;
        at(a, pa, xa, va, aa), at(b, pb, xb, vb, ab);
        const Vec3 c = xa - xb, v = va - vb;
        const double length = c.norm(), rate = c.dot(v) / length;
        return ChiJet{length - reach, rate, (c.dot(aa - ab) + v.squaredNorm() - rate * rate) / length, true};
      },
      h);
}

// A shape, and the surface that it is of.
struct Solid {
  Shape shape;
  std::shared_ptr<const SmoothSurface> surface;
  Solid(const Shape& of) : shape(of) {}
  Solid(std::shared_ptr<const SmoothSurface> of) : shape(make_smooth(of.get())), surface(std::move(of)) {}
};

// d of a smooth shape and another that both turn. From the points of the time looked at before. Only where B's feature
// is from `from` up to `to` at both ends.
std::optional<Jet> turning_pair(Random& random, double h, const Solid& sa, const Solid& sb, int from = 0,
                                int to = 1 << 20) {
  Motion a = test::random_motion(random, 1, 10, 10), b = test::random_motion(random, 1, 10, 10);
  a.c0 = b.c0 + 2 * random.direction();
  ExtremalSide side_a, side_b;
  const ExtremalPair apart = extremal_points(sa.shape, a.at(0), sb.shape, b.at(0), side_a, side_b);
  if (!apart.has_rates()) return std::nullopt;
  a.c0 -= (apart.d - random.uniform(0, 2 * h)) * apart.nhat_BA_W;
  side_a = side_b = {};
  extremal_points(sa.shape, a.at(0), sb.shape, b.at(0), side_a, side_b);
  ExtremalSide end_a = side_a, end_b = side_b;
  extremal_points(sa.shape, a.at(h), sb.shape, b.at(h), end_a, end_b);
  if (std::min(side_b.feature, end_b.feature) < from || std::max(side_b.feature, end_b.feature) >= to) {
    return std::nullopt;
  }
  const auto jet = [=, at_a = side_a, at_b = side_b](double t) mutable {
    const ExtremalPair pair = extremal_points(sa.shape, a.at(t), sb.shape, b.at(t), at_a, at_b);
    if (!pair.has_rates()) return ChiJet{0, 0, 0, false};
    const RigidMotion A = a.rates(t), B = b.rates(t);
    const ExtremalRates rates = extremal_rates(pair, A, B);
    return ChiJet{pair.d, rates.d_dot, extremal_second_rate(pair, rates, A, B).at(A, B), true};
  };
  return if_it_touches(jet, h);
}

Vec3 random_radii(Random& random) {
  const double x = random.uniform(0.05, 0.3), y = random.uniform(0.05, 0.3), z = random.uniform(0.05, 0.3);
  return {x, y, z};
}
Solid random_ellipsoid(Random& random) {
  return {make_ellipsoid(random_radii(random))};
}
// Exponents of 0.5 to 1: below, a pole's curvature is zero. One of twelve: each takes 10 ms to make.
const Solid& random_pebble(Random& random) {
  static const std::vector<Solid> all = [] {
    Random of_all(63);
    std::vector<Solid> out;
    for (int i = 0; i < 12; ++i) {
      const double e1 = of_all.uniform(0.5, 1), e2 = of_all.uniform(0.5, 1);
      out.emplace_back(make_superellipsoid(random_radii(of_all), e1, e2));
    }
    return out;
  }();
  return all[random.below(12)];
}
Solid random_torus(Random& random) {
  const double ring = random.uniform(0.1, 0.3);
  return {make_torus(ring, random.uniform(0.2, 0.8) * ring)};
}
Solid spline(bool ball) {
  std::string error;
  if (ball) return {make_spline(test::ball_control(5, 4, 6), {5, 4, 6}, error)};
  return {make_spline(test::torus_control(9, 6), {9, 6}, error)};
}
Solid box() {
  return {make_box({0.3, 0.2, 0.1})};
}

std::optional<Jet> turning_ellipsoids(Random& random, double h) {
  const Solid a = random_ellipsoid(random);
  return turning_pair(random, h, a, random_ellipsoid(random));
}
std::optional<Jet> ellipsoid_and_plane(Random& random, double h) {
  return turning_pair(random, h, random_ellipsoid(random), make_half_space());
}
std::optional<Jet> turning_pebbles(Random& random, double h) {
  const Solid& a = random_pebble(random);
  return turning_pair(random, h, a, random_pebble(random));
}
std::optional<Jet> torus_and_ellipsoid(Random& random, double h) {
  const Solid a = random_torus(random);
  return turning_pair(random, h, a, random_ellipsoid(random));
}
std::optional<Jet> turning_tori(Random& random, double h) {
  const Solid a = random_torus(random);
  return turning_pair(random, h, a, random_torus(random));
}
std::optional<Jet> spline_ring_and_ellipsoid(Random& random, double h) {
  static const Solid ring = spline(false);
  return turning_pair(random, h, ring, random_ellipsoid(random));
}
std::optional<Jet> spline_ball_and_ellipsoid(Random& random, double h) {
  static const Solid ball = spline(true);
  return turning_pair(random, h, ball, random_ellipsoid(random));
}
// Features of a box: 8 vertices, 12 edges, 6 faces.
std::optional<Jet> ellipsoid_and_vertex(Random& random, double h) {
  return turning_pair(random, h, random_ellipsoid(random), box(), 0, 8);
}
std::optional<Jet> ellipsoid_and_edge(Random& random, double h) {
  return turning_pair(random, h, random_ellipsoid(random), box(), 8, 20);
}
std::optional<Jet> pebble_and_box(Random& random, double h) {
  return turning_pair(random, h, random_pebble(random), box());
}
std::optional<Jet> torus_and_box(Random& random, double h) {
  return turning_pair(random, h, random_torus(random), box());
}

double by_bisection(const Jet& jet, double t1) {
  double t0 = 0;
  for (double middle = 0.5 * t1; middle > t0 && middle < t1; middle = t0 + 0.5 * (t1 - t0)) {
    (jet(middle).chi >= 0 ? t0 : t1) = middle;
  }
  return t0;
}

struct Tally {
  double sum = 0;
  std::uint32_t most = 0;
  double error = 0;  // [s]
};

struct Class {
  const char* name;
  Make make;
  std::uint32_t most;  // evaluations that the core's search may take
  int pairs = 500;
};

void tally_class(const Class& c, double h, Random& random, std::array<Tally, kWays.size()>& tallies) {
  for (int i = 0; i < c.pairs;) {
    const std::optional<Jet> jet = c.make(random, h);
    if (!jet) continue;
    ++i;
    const double exact = by_bisection(*jet, h);
    for (std::size_t k = 0; k < kWays.size(); ++k) {
      const CollisionTime found = kWays[k].find(h, *jet);
      REQUIRE(found.found);
      tallies[k].sum += found.evaluations;
      tallies[k].most = std::max(tallies[k].most, found.evaluations);
      tallies[k].error = std::max(tallies[k].error, std::abs(found.t - exact));
    }
  }
}

TEST_CASE("Baraff 1990, section 8: five methods for the time of a collision") {
  constexpr Class kClasses[] = {{"vertex and face, not turning", falling_vertex, 1},
                                {"two edges, not turning", falling_edges, 1},
                                {"vertex and face, turning", turning_vertex, 3},
                                {"two edges, turning", turning_edges, 3},
                                {"two edges, sine below 0.3", nearly_parallel_edges, 4},
                                {"two edges, sine below 0.3, times the sine", nearly_parallel_edges_volume, 3},
                                {"two balls beside their centres, turning", turning_balls, 5},
                                {"two ellipsoids, turning", turning_ellipsoids, 5},
                                {"ellipsoid and plane, turning", ellipsoid_and_plane, 5},
                                {"ellipsoid and a box's vertex, turning", ellipsoid_and_vertex, 5},
                                {"ellipsoid and a box's edge, turning", ellipsoid_and_edge, 5},
                                {"two superellipsoids, turning", turning_pebbles, 5},
                                {"superellipsoid and box, turning", pebble_and_box, 5},
                                {"torus and ellipsoid, turning", torus_and_ellipsoid, 5},
                                {"two tori, turning", turning_tori, 5},
                                {"torus and box, turning", torus_and_box, 5},
                                {"ring of splines and ellipsoid, turning", spline_ring_and_ellipsoid, 5, 200},
                                {"ball of splines and ellipsoid, turning", spline_ball_and_ellipsoid, 5, 200},
                                {"two edges, sine below 0.03, times the sine", narrow_edges_volume, 3},
                                // Falls short of 3: 4 to 9 by the seed, where chi may have several zeros. The exact
                                // stepper looks for the zeros of the row above, which are the same.
                                {"two edges, sine below 0.03", narrow_edges, 9}};
  auto csv = test::open_csv("collision_time.csv", "pair,step_s,method,evaluations_mean,evaluations_max,error_max_s");
  for (const Class& c : kClasses) {
    Random random(10 + static_cast<std::uint64_t>(&c - kClasses));  // so that a row does not depend on the others
    for (const double h : {1e-3, 1e-2}) {
      CAPTURE(std::string(c.name));
      CAPTURE(h);
      std::array<Tally, kWays.size()> tallies;
      tally_class(c, h, random, tallies);
      for (std::size_t k = 0; k < kWays.size(); ++k) {
        csv << '"' << c.name << "\"," << h << ',' << kWays[k].name << ',' << tallies[k].sum / c.pairs << ','
            << tallies[k].most << ',' << tallies[k].error << '\n';
        CHECK_WITHIN(tallies[k].error, kTolerance);
      }
      CHECK(tallies[0].most <= c.most);
      // The paper's order: each model of the motion knows more than the one after it.
      for (std::size_t k = 0; k + 1 < kWays.size(); ++k) CHECK(tallies[k].sum <= tallies[k + 1].sum);
    }
  }
}

}  // namespace
}  // namespace tactus
