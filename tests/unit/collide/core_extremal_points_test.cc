// Extremal points of smooth shapes (Baraff 1990, sections 5 and 7) against methods that know nothing of them: search by
// shrinking steps over points and over directions, closed forms, and the certificates that a convex pair's least
// distance has.
#include "core/collide/smooth/extremal_points.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/collide/smooth/extremal_solid.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"
#include "tests/unit/collide/smooth_pairs.h"

namespace tactus {
namespace {

using smooth_pairs::Body;
using smooth_pairs::Shapes;
using test::Random;

ExtremalPair cold(const Body& a, const Body& b) {
  ExtremalSide side_a, side_b;
  return extremal_points(a.shape, a.X, b.shape, b.X, side_a, side_b);
}

// What every solution must satisfy: eq. 9's conditions, said with supports. size: of the pair.
void check_convex(const Body& a, const Body& b, const ExtremalPair& pair, double size) {
  CHECK_WITHIN(pair.nhat_BA_W.norm() - 1, 1e-14);
  CHECK_WITHIN(pair.nhat_BA_W.dot(pair.pa_W - pair.pb_W) - pair.d, 1e-14 * size);
  // The gap along the normal is the one claimed: apart, that proves the distance to be the least.
  CHECK_WITHIN(smooth_pairs::gap_along(a, b, pair.nhat_BA_W) - pair.d, 1e-12 * size);
}

TEST_CASE("extremal points: distances against sampling of directions with polish, to 1e-12") {
  const Shapes shapes;
  Random rng(12);
  int checked = 0;
  for (const Shape& first : shapes.convex) {
    for (std::size_t k = 0; k < 3; ++k) {
      for (int i = 0; i < 4; ++i) {
        const Body a = smooth_pairs::placed(first, rng, 0), b = smooth_pairs::placed(shapes.convex[k], rng, 1.0);
        const ExtremalPair pair = cold(a, b);
        if (pair.d < 0.05) continue;
        CHECK_WITHIN(smooth_pairs::searched_gap(a, b, rng) - pair.d, 1e-12);
        ++checked;
      }
    }
  }
  CHECK(checked > 30);
}

TEST_CASE("extremal points: convex pairs from nothing, every one solved, by a certificate or a search") {
  const Shapes shapes;
  Random rng(11);
  const char* text = std::getenv("TACTUS_EXTREMAL_PAIRS");
  const int pairs = text ? std::atoi(text) : 60;
  int fallbacks = 0, ill = 0, overlapping = 0;
  for (const Shape& first : shapes.convex) {
    for (const Shape& second : shapes.partners) {
      int unsolved = 0;
      for (int i = 0; i < pairs; ++i) {
        const Body a = smooth_pairs::placed(first, rng, 0), b = smooth_pairs::placed(second, rng, 1.0);
        const ExtremalPair pair = cold(a, b);
        INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second) << " pair " << i);
        unsolved += pair.known() ? 0 : 1;
        CHECK(pair.known());
        if (!pair.known()) continue;
        fallbacks += pair.status == ExtremalStatus::fallen_back ? 1 : 0;
        ill += pair.status == ExtremalStatus::ill_conditioned ? 1 : 0;
        check_convex(a, b, pair, 1);
        if (pair.d >= 0) continue;
        ++overlapping;
        const double slack = pair.status == ExtremalStatus::fallen_back ? 1e-4 : 1e-8;
        if (i % 8 != 0) continue;
        const double searched = smooth_pairs::searched_gap(a, b, rng);
        CHECK_MESSAGE(pair.d >= searched - slack, pair.d << " < " << searched);
      }
      CHECK(unsolved == 0);
    }
  }
  MESSAGE("fallbacks " << fallbacks << ", ill-conditioned " << ill << ", overlapping " << overlapping);
}

}  // namespace
}  // namespace tactus
