// A smooth shape against a triangle mesh (collide/places/mesh_places.h): the places of a box made of triangles are
// those of the same box as a polyhedron, and of a floor those of a half-space; two walls of what is not convex, each
// with its own normal; what fits a facet; deep overlap; either order, the same bits, nothing allocated.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/collide/places/collide_mesh_smooth.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

struct Found {
  std::vector<ContactPoint> points[kMaxMeshPatches];
  Vec3 normal[kMaxMeshPatches];
  std::vector<std::uint32_t> places;  // that have points
  WitnessCounts witnesses;
  std::uint32_t dropped = 0;
};

// As a World asks, with what the records remember.
Found collide_once(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                   PairRecord* records, double margin = 0) {
  std::vector<ContactPoint> room(64 * kMaxMeshPatches);
  PlaceContacts contacts;
  for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) contacts.place[k] = {room.data() + 64 * std::size_t{k}, 64};
  collide_mesh_smooth(a, X_WA, b, X_WB, reach, margin, records, kMaxMeshPatches, contacts);
  Found out;
  out.dropped = contacts.dropped;
  for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) {
    const ContactBuffer& place = contacts.place[k];
    out.witnesses += place.witnesses;
    if (place.count == 0) {
      records[k].age = 0;
      continue;
    }
    ++records[k].age;
    out.places.push_back(k);
    out.normal[k] = place.nhat_BA_W;
    out.points[k].assign(place.points, place.points + place.count);
  }
  return out;
}

Found collide_fresh(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach) {
  PairRecord records[kMaxMeshPatches];
  return collide_once(a, X_WA, b, X_WB, reach, records);
}

// The places, nearest first.
std::vector<ExtremalPair> places_of(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                                    double reach) {
  MeshPlaces found;
  find_mesh_places(a, X_WA, b, X_WB, reach, {}, found);
  CHECK(found.dropped == 0);
  std::vector<ExtremalPair> out;
  for (std::uint32_t i = 0; i < found.count; ++i) out.push_back(found.place[i].pair);
  return out;
}

// Kinds of smooth shapes of about 0.3 m.
struct Smooth {
  test::OwnedShapes owned;
  std::vector<Shape> convex, folded;

  Smooth() {
    std::string error;
    convex.push_back(owned.add(make_ellipsoid({0.3, 0.2, 0.25})));
    convex.push_back(owned.add(make_ellipsoid({0.4, 0.3, 0.06})));
    convex.push_back(owned.add(make_superellipsoid({0.3, 0.2, 0.25}, 0.7, 0.8)));
    convex.push_back(owned.add(make_patched_ellipsoid({0.3, 0.2, 0.25})));
    convex.push_back(owned.add(make_revolution(test::egg_profile(), error)));
    folded.push_back(owned.add(make_torus(0.3, 0.1)));
    folded.push_back(owned.add(make_revolution(test::pear_profile(), error)));
    folded.push_back(owned.add(make_spline(test::torus_control(9, 6), {9, 6}, error)));
    folded.push_back(owned.add(make_spline(test::ball_control(5, 4, 6), {5, 4, 6}, error)));
  }
};

std::string name_of(const Shape& shape) {
  return to_string(shape.smooth->kind());
}

const Vec3 kHalf(0.5, 0.4, 0.3);
const TriangleMesh& box_of(int n) {
  static const test::MeshPtr coarse = test::finish_mesh(test::box_mesh(kHalf)),
                             fine = test::finish_mesh(test::box_mesh(kHalf, 5, 4, 3));
  return n == 1 ? *coarse : *fine;
}

// The box and the shape so that their least distance is d along some direction, turned as they happen to be.
Frame pose_near(const Shape& box, const Shape& smooth, Random& rng, double d) {
  Frame X{rng.rotation().toRotationMatrix(), rng.in_cube(0.9)};
  for (int i = 0; i < 60; ++i) {
    const ExtremalPair pair = test::from_nothing(box, {}, smooth, X);
    REQUIRE(pair.known());
    X.p += (pair.d - d) * pair.nhat_BA_W;
    if (std::abs(pair.d - d) < 1e-9) break;
  }
  return X;
}

}  // namespace

TEST_CASE("mesh and smooth: a box of triangles is the box, to rounding") {
  const Smooth smooth;
  Random rng(11);
  const Shape box = make_box(kHalf);
  for (const bool folded : {false, true}) {
    for (const Shape& shape : folded ? smooth.folded : smooth.convex) {
      int features[3] = {};
      for (int i = 0; i < 300; ++i) {
        CAPTURE(name_of(shape));
        CAPTURE(i);
        const double d = rng.uniform(-2e-3, 2e-3);
        const Frame X = pose_near(box, shape, rng, d);
        const ExtremalPair expected = test::from_nothing(box, {}, shape, X);
        ++features[expected.a.dim];
        const Shape mesh = make_mesh(&box_of(i % 2 == 0 ? 1 : 5));
        const std::vector<ExtremalPair> found = places_of(mesh, {}, shape, X, 4e-3);
        // Of a surface that is not convex others may lie deeper that are longer ways out.
        const auto nearer = [&](const ExtremalPair& x, const ExtremalPair& y) {
          return std::abs(x.d - expected.d) < std::abs(y.d - expected.d);
        };
        REQUIRE(!found.empty());
        const ExtremalPair& place = *std::min_element(found.begin(), found.end(), nearer);
        CHECK_WITHIN(place.d - expected.d, 1e-12);
        CHECK_WITHIN((place.nhat_BA_W - expected.nhat_BA_W).norm(), 1e-9);
        CHECK_WITHIN((place.pa_W - expected.pa_W).norm(), 1e-9);
        CHECK_WITHIN((place.pb_W - expected.pb_W).norm(), 1e-9);
        if (!folded) CHECK(found.size() == 1);
      }
      MESSAGE(name_of(shape) << ": " << features[2] << " faces, " << features[1] << " edges, " << features[0]
                             << " corners");
    }
  }
}

TEST_CASE("mesh and smooth: a floor of triangles is a half-space, at all places of a surface that is not convex") {
  const Smooth smooth;
  Random rng(12);
  const test::MeshPtr slab = test::finish_mesh(test::box_mesh({2, 2, 0.25}, 9, 7, 1));
  const Shape mesh = make_mesh(slab.get());
  const Frame X_WM{Mat3::Identity(), {0, 0, -0.25}};
  const Shape floor = make_half_space();
  for (const Shape& shape : smooth.folded) {
    for (int i = 0; i < 100; ++i) {
      CAPTURE(name_of(shape));
      CAPTURE(i);
      Frame X{rng.rotation().toRotationMatrix(), rng.in_cube(0.5)};
      X.p.z() = 0;
      ExtremalSide side_a, side_b;
      X.p.z() = rng.uniform(-2e-3, 2e-3) - extremal_points(floor, {}, shape, X, side_a, side_b).d;
      side_a = side_b = {};
      const ExtremalPair expected = extremal_points(floor, {}, shape, X, side_a, side_b);
      const std::vector<ExtremalPair> found = places_of(mesh, X_WM, shape, X, 4e-3);
      REQUIRE(!found.empty());
      CHECK_WITHIN(found[0].d - expected.d, 1e-12);
      CHECK_WITHIN((found[0].nhat_BA_W - expected.nhat_BA_W).norm(), 1e-12);
    }
  }
}

// The middle of a ball is as far from a face as its radius and the gap say.
TEST_CASE("mesh and smooth: a ball in a corner, in a groove and on a ridge, in closed form") {
  const double r = 0.1;
  const auto surface = make_ellipsoid(Vec3::Constant(r));
  const Shape ball = make_smooth(surface.get());
  const test::MeshPtr corner = test::finish_mesh(test::l_prism_mesh(1, 0.2, 1, 3));
  const Shape mesh = make_mesh(corner.get());
  for (const double depth : {1e-3, 1e-6, -1e-4}) {
    CAPTURE(depth);
    // The inner corner: foot and leg.
    const Frame X{Mat3::Identity(), {0.2 + r - depth, 0.013, 0.2 + r - 2 * depth}};
    const auto both = places_of(mesh, {}, ball, X, 1e-3);
    REQUIRE(both.size() == 2);
    const bool foot_first = std::abs(both[0].nhat_BA_W.z()) > 0.5;
    const ExtremalPair &foot = both[foot_first ? 0 : 1], &leg = both[foot_first ? 1 : 0];
    CHECK_WITHIN(foot.d + 2 * depth, 1e-15);
    CHECK_WITHIN(leg.d + depth, 1e-15);
    CHECK_WITHIN((foot.nhat_BA_W + Vec3::UnitZ()).norm(), 1e-15);
    CHECK_WITHIN((leg.nhat_BA_W + Vec3::UnitX()).norm(), 1e-15);
    // The outer edge of the foot, at 45 degrees: from the edge itself.
    const Vec3 out = Vec3(1, 0, 1).normalized();
    const Frame over{Mat3::Identity(), Vec3(1, 0.2, 0.2) + (r - depth) * out};
    const auto edge = places_of(mesh, {}, ball, over, 1e-3);
    REQUIRE(edge.size() == 1);
    CHECK_WITHIN(edge[0].d + depth, 1e-14);
    CHECK_WITHIN((edge[0].nhat_BA_W + out).norm(), 1e-14);
  }
  // Inside of a groove of any opening, both walls; its valley is no place.
  const test::MeshPtr bowl = test::finish_mesh(test::bowl_mesh(0.5, 0.6, 6, 12));
  const auto at_bottom = places_of(make_mesh(bowl.get()), {}, ball, {Mat3::Identity(), {0, 0, -0.4}}, 0.02);
  for (const ExtremalPair& place : at_bottom) CHECK(place.a.dim == 2);
}

TEST_CASE("mesh and smooth: the order of the two does not matter, nor the tick the bits") {
  const Smooth smooth;
  Random rng(13);
  const Shape box = make_box(kHalf), mesh = make_mesh(&box_of(5));
  for (const Shape& shape : {smooth.convex[0], smooth.folded[0]}) {
    for (int i = 0; i < 100; ++i) {
      CAPTURE(i);
      const Frame X = pose_near(box, shape, rng, rng.uniform(-2e-3, 1e-3));
      const Found one = collide_fresh(mesh, {}, shape, X, 1e-3), two = collide_fresh(shape, X, mesh, {}, 1e-3);
      const Found again = collide_fresh(mesh, {}, shape, X, 1e-3);
      REQUIRE(one.places == two.places);
      REQUIRE(one.places == again.places);
      for (const std::uint32_t k : one.places) {
        REQUIRE(one.points[k].size() == two.points[k].size());
        CHECK_WITHIN((one.normal[k] + two.normal[k]).norm(), 0);
        CHECK(one.normal[k] == again.normal[k]);
        for (std::size_t j = 0; j < one.points[k].size(); ++j) {
          CHECK_WITHIN(one.points[k][j].depth - two.points[k][j].depth, 0);
          CHECK_WITHIN((one.points[k][j].p_WC - two.points[k][j].p_WC).norm(), 1e-15);
          CHECK(one.points[k][j].depth == again.points[k][j].depth);
          CHECK(one.points[k][j].p_WC == again.points[k][j].p_WC);
        }
      }
    }
  }
}

// What is remembered changes the way, not the answer: along a path over faces, edges and corners.
TEST_CASE("mesh and smooth: followed from tick to tick it is what a first meeting finds, and nothing is allocated") {
  const Smooth smooth;
  Random rng(14);
  const Shape box = make_box(kHalf), mesh = make_mesh(&box_of(5));
  for (const Shape& shape : smooth.convex) {
    PairRecord records[kMaxMeshPatches];
    CAPTURE(name_of(shape));
    std::uint64_t allocations = 0;
    WitnessCounts asked;
    for (int i = 0; i < 2000; ++i) {
      CAPTURE(i);
      const double s = 2e-3 * i;
      const Quat q = test::turned(Vec3(1, 0.3, 0.2), 1.7 * s) * test::turned(Vec3(0, 1, 0.5), 2.1 * s);
      Frame X{q.toRotationMatrix(), Vec3(0.8 * std::cos(3 * s), 0.7 * std::sin(3 * s), 0.5 * std::sin(5 * s))};
      const ExtremalPair gap = test::from_nothing(box, {}, shape, X);
      X.p += (gap.d + 1e-3) * gap.nhat_BA_W;
      const ExtremalPair expected = test::from_nothing(box, {}, shape, X);
      std::vector<ContactPoint> room(64 * kMaxMeshPatches);
      PlaceContacts contacts;
      for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) contacts.place[k] = {room.data() + 64 * std::size_t{k}, 64};
      {
        const test::AllocGuard guard;
        collide_mesh_smooth(mesh, {}, shape, X, 0, 0, records, kMaxMeshPatches, contacts);
        allocations += guard.count();
      }
      if (expected.d >= 0) continue;
      double deepest = 0;
      for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) {
        asked += contacts.place[k].witnesses;
        records[k].age = contacts.place[k].count > 0 ? records[k].age + 1 : 0;
        for (std::uint32_t j = 0; j < contacts.place[k].count; ++j) {
          deepest = std::max(deepest, contacts.place[k].points[j].depth);
        }
      }
      CHECK_WITHIN(deepest + expected.d, 1e-11);
    }
    CHECK(allocations == 0);
    MESSAGE(name_of(shape) << ": " << asked.hits << " hits, " << asked.misses << " misses, " << asked.fallbacks
                           << " fallbacks");
    CHECK(asked.fallbacks == 0);
    CHECK(asked.hits > 10 * asked.misses);
  }
}

TEST_CASE("mesh and smooth: whatever is remembered, the contact is found, and nothing is read beyond its end") {
  const Smooth smooth;
  Random rng(15);
  const Shape box = make_box(kHalf), mesh = make_mesh(&box_of(5));
  const double numbers[] = {
      0, -1, 0.3, 1e9, -1e300, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  const std::int32_t features[] = {
      -1, 0, 5, 77, 100000, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
  for (const Shape& shape :
       {smooth.convex[0], smooth.convex[3], smooth.convex[4], smooth.folded[0], smooth.folded[2]}) {
    CAPTURE(name_of(shape));
    for (int i = 0; i < 100; ++i) {
      const Frame X = pose_near(box, shape, rng, -1e-3);
      PairRecord records[kMaxMeshPatches];
      for (PairRecord& record : records) {
        Witness& w = record.witness;
        record.age = rng.below(3);
        w.feature_a = features[rng.below(7)], w.feature_b = features[rng.below(7)];
        for (Vec3* v : {&w.point_a, &w.point_b, &w.step_a, &w.step_b, &w.axis_A}) {
          for (int k = 0; k < 3; ++k) (*v)[k] = numbers[rng.below(7)];
        }
      }
      const Found found = collide_once(mesh, {}, shape, X, 0, records);
      double least = 1;  // of several, the one that a first meeting finds
      for (const std::uint32_t k : found.places) least = std::min(least, std::abs(found.points[k][0].depth - 1e-3));
      CHECK_WITHIN(least, 1e-8);
    }
  }
}

TEST_CASE("mesh and smooth: a torus and a flat pole lie on a floor of triangles at points around, one place") {
  const test::MeshPtr slab = test::finish_mesh(test::box_mesh({1, 1, 0.25}, 13, 11, 1));
  const Shape mesh = make_mesh(slab.get());
  const Frame X_WM{Mat3::Identity(), {0, 0, -0.25}};
  const auto ring = make_torus(0.3, 0.1);
  const auto pebble = make_superellipsoid({0.2, 0.2, 0.1}, 0.3, 0.5);
  for (const SmoothSurface* surface : {ring.get(), pebble.get()}) {
    for (const double depth : {1e-3, 1e-4, 1e-6}) {
      CAPTURE(std::string(to_string(surface->kind())));
      CAPTURE(depth);
      const Shape shape = make_smooth(surface);
      const Frame X{Mat3::Identity(), {0.01, 0.02, 0.1 - depth}};
      const Found found = collide_fresh(mesh, X_WM, shape, X, 1e-4);
      ContactPoint points[64];
      ContactBuffer expected{points, 64};
      Witness witness;
      witness.axis_A = -Vec3::UnitZ();
      collide(make_half_space(), {}, shape, X, 1e-4, witness, expected);
      REQUIRE(found.places.size() == 1);
      const std::uint32_t k = found.places[0];
      CHECK_WITHIN((found.normal[k] + Vec3::UnitZ()).norm(), 1e-15);
      REQUIRE(found.points[k].size() >= expected.count);
      CHECK(expected.count >= (depth > 1e-5 || surface == ring.get() ? 5 : 1));
      const auto deeper = [](const ContactPoint& x, const ContactPoint& y) { return x.depth > y.depth; };
      std::vector<ContactPoint> own = found.points[k];
      std::sort(own.begin(), own.end(), deeper), std::sort(points, points + expected.count, deeper);
      // Where along the ring the place itself lies, nothing says.
      CHECK_WITHIN(own.front().depth - points[0].depth, 1e-12);
      CHECK_WITHIN(own.back().depth - points[expected.count - 1].depth, 1e-12);
    }
  }
}

TEST_CASE("mesh and smooth: a torus around a peg of triangles touches it from within") {
  const double ring = 0.3, tube = 0.1;
  const auto surface = make_torus(ring, tube);
  // A square peg whose half width is as wide as the hole less the gap, on two sides.
  const double half = 0.12, hole = ring - tube;
  const test::MeshPtr peg = test::finish_mesh(test::box_mesh({half, 0.05, 1}));
  for (const double depth : {1e-3, -1e-3}) {
    CAPTURE(depth);
    // Two corners of the peg's section (half, +-0.05) at the hole's circle.
    const double x = std::sqrt((hole + depth) * (hole + depth) - 0.05 * 0.05) - half;
    const auto found =
        places_of(make_mesh(peg.get()), {}, make_smooth(surface.get()), {Mat3::Identity(), {-x, 0, 0}}, 2e-3);
    REQUIRE(found.size() == 2);
    for (const ExtremalPair& place : found) {
      CHECK(place.a.dim == 1);
      CHECK_WITHIN(place.d + depth, 1e-12);
      const Vec3 from_axis = place.pa_W + Vec3(x, 0, 0);
      CHECK_WITHIN((place.nhat_BA_W + from_axis.cwiseProduct(Vec3(1, 1, 0)).normalized()).norm(), 1e-9);
    }
  }
}

TEST_CASE("mesh and smooth: deep in a mesh the shortest way out counts, and a mesh within a surface is a fallback") {
  const auto surface = make_ellipsoid({0.05, 0.04, 0.03});
  const Shape egg = make_smooth(surface.get()), mesh = make_mesh(&box_of(1));
  const Frame X{Mat3::Identity(), {0.1, 0, 0.2}};
  const Found found = collide_fresh(mesh, {}, egg, X, 0);
  REQUIRE(found.places.size() == 1);
  CHECK_WITHIN((found.normal[found.places[0]] + Vec3::UnitZ()).norm(), 1e-12);
  CHECK_WITHIN(found.points[found.places[0]][0].depth - (0.3 - 0.2 + 0.03), 1e-12);
  CHECK(found.witnesses.fallbacks == 1);
  // And beside it there is nothing.
  CHECK(collide_fresh(mesh, {}, egg, {Mat3::Identity(), {0, 0, 0.34}}, 0).places.empty());
  const auto large = make_ellipsoid({1.5, 1.2, 0.9});
  const Found within = collide_fresh(mesh, {}, make_smooth(large.get()), {Mat3::Identity(), {0, 0, 0.2}}, 0);
  REQUIRE(within.places.size() == 1);
  CHECK(within.points[within.places[0]][0].depth > 0.9);
}

}  // namespace tactus
