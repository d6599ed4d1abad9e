// Baraff 1990, Fig. 9: disjointness of two polyhedra by the cached plane and the nearest features, over the number of
// vertices. Counted, not timed.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/collide/convex/narrow_witness.h"
#include "tests/paper/paper_output.h"
#include "tests/support/motions.h"

namespace tactus {
namespace {

using test::Random;

ConvexHull faceted_ball(int n, Random& random) {
  std::vector<Vec3> points;
  for (int i = 0; i < n; ++i) points.push_back(random.direction());
  ConvexHull hull;
  std::string error;
  REQUIRE(build_convex_hull(points, 100000, hull, error));
  return hull;
}

// The face of a, or of b, whose plane keeps them apart by most: the exhaustive search that finds a first witness.
Witness search(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) {
  Witness best;
  double most = 0;
  for (const bool of_a : {true, false}) {
    const ConvexHull& hull = of_a ? *a.hull : *b.hull;
    const Frame &X_own = of_a ? X_WA : X_WB, &X_other = of_a ? X_WB : X_WA;
    const Shape& other = of_a ? b : a;
    for (std::size_t f = 0; f < hull.faces.size(); ++f) {
      const Vec3 n_W = X_own.R * hull.faces[f].nhat;
      const double low = n_W.dot(X_other * support(other, X_other.R.transpose() * -n_W));
      const double gap = low - n_W.dot(X_own.p) - hull.faces[f].offset;
      if (gap <= most) continue;
      most = gap;
      best = {};
      best.axis_A = X_WA.R.transpose() * (of_a ? Vec3(-n_W) : n_W);
      (of_a ? best.feature_a : best.feature_b) = static_cast<std::int32_t>(f);
    }
  }
  return best;
}

TEST_CASE("Baraff 1990, Fig. 9: a cached witness is verified at a cost that hardly grows with the polyhedra") {
  auto csv = test::open_csv("fig9_witness.csv", "vertices,visited_with_witness,visited_by_plane_alone,hits,misses");
  Random random(9);
  std::vector<double> visited_at;
  for (const int n : {16, 64, 256, 1024, 4096}) {
    const ConvexHull ball_a = faceted_ball(n, random), ball_b = faceted_ball(n, random);
    const Shape a = make_convex(&ball_a), b = make_convex(&ball_b);
    test::Motion ma = test::random_motion(random, 0.3, 2, 0), mb = test::random_motion(random, 0.3, 2, 0);
    ma.c0 = Vec3(0, 0, 2.6), mb.c0 = Vec3::Zero();
    Witness witness;
    std::uint64_t visited = 0, hits = 0, misses = 0;
    constexpr int kSteps = 400;  // of 1 ms
    for (int i = 0; i < kSteps; ++i) {
      const Frame A = ma.at(1e-3 * i), B = mb.at(1e-3 * i);
      std::uint32_t count = 0;
      if (apart_by_witness(a, A, b, B, witness, count)) {
        ++hits;
        visited += count;
        continue;
      }
      ++misses;
      witness = search(a, A, b, B);
      REQUIRE_FALSE(witness.axis_A.isZero(0));
    }
    REQUIRE(hits > 300);
    visited_at.push_back(static_cast<double>(visited) / static_cast<double>(hits));
    csv << n << ',' << visited_at.back() << ',' << 2 * n << ',' << hits << ',' << misses << '\n';
  }
  // Vertices 256 times as many: a plane alone looks at all of them. With the nearest one known it is its neighbours,
  // six in the mean on a triangulated ball, and what the step makes it climb.
  CHECK(visited_at.back() < 32);
  CHECK(visited_at.back() < 4 * visited_at.front());
  const double slope = std::log(visited_at.back() / visited_at.front()) / std::log(256.0);
  CHECK(slope < 0.25);
}

}  // namespace
}  // namespace tactus
