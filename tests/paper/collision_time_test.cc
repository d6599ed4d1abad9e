// Baraff 1990, section 8: eq. 21 beside eq. 19 (Newton), regula falsi and bisection, all to 1e-10 s: evaluations beyond
// the step's two ends.
#include "core/collide/collision_time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/collide/extremal_points.h"
#include "core/collide/feature_jet.h"
#include "core/shape/smooth_shapes.h"
#include "tests/paper/paper_output.h"
#include "tests/support/motions.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Motion;
using test::Random;

using Jet = std::function<ChiJet(double)>;

struct Way {
  const char* name;
  RootMethod method;
};
constexpr std::array<Way, 4> kWays{{{"quadratic", RootMethod::quadratic},
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
std::optional<Jet> edges(Random& random, double h, double least, double most, bool volume) {
  Motion a = test::random_motion(random, 1, 10, 10), b = test::random_motion(random, 1, 10, 10);
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
std::optional<Jet> turning_edges(Random& random, double h) {
  return edges(random, h, 0.3, 1, false);
}
std::optional<Jet> nearly_parallel_edges(Random& random, double h) {
  return edges(random, h, 0.03, 0.3, false);
}
std::optional<Jet> narrow_edges(Random& random, double h) {
  return edges(random, h, 1e-3, 0.03, false);
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

std::shared_ptr<const SmoothSurface> random_ellipsoid(Random& random) {
  const Vec3 radii(random.uniform(0.05, 0.3), random.uniform(0.05, 0.3), random.uniform(0.05, 0.3));
  return make_ellipsoid(radii);
}

// d of an ellipsoid and another convex shape that both turn: of the extremal points at that time, found from nothing.
std::optional<Jet> turning_pair(Random& random, double h, const Shape& shape_a, const Shape& shape_b,
                                const std::shared_ptr<const SmoothSurface>& surface_a,
                                const std::shared_ptr<const SmoothSurface>& surface_b) {
  Motion a = test::random_motion(random, 1, 10, 10), b = test::random_motion(random, 1, 10, 10);
  a.c0 = b.c0 + 2 * random.direction();
  ExtremalSide side_a, side_b;
  const ExtremalPair apart = extremal_points(shape_a, a.at(0), shape_b, b.at(0), side_a, side_b);
  if (!apart.has_rates()) return std::nullopt;
  a.c0 -= (apart.d - random.uniform(0, 2 * h)) * apart.nhat_BA_W;
  return if_it_touches(
      [=, keep_a = surface_a, keep_b = surface_b](double t) {
        ExtremalSide at_a, at_b;
        const ExtremalPair pair = extremal_points(shape_a, a.at(t), shape_b, b.at(t), at_a, at_b);
        if (!pair.has_rates()) return ChiJet{0, 0, 0, false};
        const RigidMotion A = a.rates(t), B = b.rates(t);
        const ExtremalRates rates = extremal_rates(pair, A, B);
        return ChiJet{pair.d, rates.d_dot, extremal_second_rate(pair, rates, A, B).at(A, B), true};
      },
      h);
}
std::optional<Jet> turning_ellipsoids(Random& random, double h) {
  const auto sa = random_ellipsoid(random), sb = random_ellipsoid(random);
  return turning_pair(random, h, make_smooth(sa.get()), make_smooth(sb.get()), sa, sb);
}
std::optional<Jet> ellipsoid_and_plane(Random& random, double h) {
  const auto sa = random_ellipsoid(random);
  return turning_pair(random, h, make_smooth(sa.get()), make_half_space(), sa, nullptr);
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

TEST_CASE("Baraff 1990, section 8: four methods for the time of a collision") {
  struct Class {
    const char* name;
    Make make;
    std::uint32_t most;  // evaluations of eq. 21 that are allowed
  };
  constexpr std::array<Class, 9> kClasses{
      {{"vertex and face, not turning", falling_vertex, 1},
       {"vertex and face, turning", turning_vertex, 3},
       {"two edges, turning", turning_edges, 3},
       {"two edges, sine below 0.3", nearly_parallel_edges, 4},
       {"two edges, sine below 0.3, times the sine", nearly_parallel_edges_volume, 3},
       {"two balls beside their centres, turning", turning_balls, 5},
       {"two ellipsoids, turning", turning_ellipsoids, 5},
       {"ellipsoid and plane, turning", ellipsoid_and_plane, 5},
       {"two edges, sine below 0.03", narrow_edges, 5}}};
  auto csv = test::open_csv("collision_time.csv", "pair,step_s,method,evaluations_mean,evaluations_max,error_max_s");
  Random random(10);
  for (const Class& c : kClasses) {
    for (const double h : {1e-3, 1e-2}) {
      std::array<Tally, 4> tallies;
      constexpr int kPairs = 500;
      for (int i = 0; i < kPairs;) {
        const std::optional<Jet> jet = c.make(random, h);
        if (!jet) continue;
        ++i;
        const double exact = by_bisection(*jet, h);
        for (std::size_t k = 0; k < kWays.size(); ++k) {
          const CollisionTime found =
              find_collision_time(0, (*jet)(0), h, (*jet)(h), *jet, {.method = kWays[k].method});
          REQUIRE(found.found);
          tallies[k].sum += found.evaluations;
          tallies[k].most = std::max(tallies[k].most, found.evaluations);
          tallies[k].error = std::max(tallies[k].error, std::abs(found.t - exact));
        }
      }
      for (std::size_t k = 0; k < kWays.size(); ++k) {
        csv << '"' << c.name << "\"," << h << ',' << kWays[k].name << ',' << tallies[k].sum / kPairs << ','
            << tallies[k].most << ',' << tallies[k].error << '\n';
        CHECK_WITHIN(tallies[k].error, 1e-10);
      }
      CHECK(tallies[0].most <= c.most);
      // The paper's order: each model of the motion knows more than the one after it.
      CHECK(tallies[0].sum <= tallies[1].sum);
      CHECK(tallies[1].sum <= tallies[2].sum);
      CHECK(tallies[2].sum < tallies[3].sum);
    }
  }
}

}  // namespace
}  // namespace tactus
