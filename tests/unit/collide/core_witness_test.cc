// Witnesses: what they prove is true, contacts do not depend on them, hits and misses are counted and kept.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/collide/broad_phase.h"
#include "core/collide/convex/narrow_witness.h"
#include "core/collide/time/separation.h"
#include "tests/support/motions.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Motion;
using test::Random;

ConvexHull random_hull(Random& random, int n) {
  std::vector<Vec3> points;
  for (int i = 0; i < n; ++i) points.push_back(0.5 * random.direction());
  ConvexHull hull;
  std::string error;
  REQUIRE(build_convex_hull(points, 256, hull, error));
  return hull;
}

struct Solids {
  ConvexHull small, large;
  std::vector<Shape> shapes;
  explicit Solids(Random& random) : small(random_hull(random, 8)), large(random_hull(random, 120)) {
    shapes = {make_box(Vec3(0.4, 0.3, 0.2)), make_convex(&small), make_convex(&large)};
  }
};

// Two bodies that tumble past, towards or into each other.
struct Meeting {
  Motion a, b;
  explicit Meeting(Random& random) : a(test::random_motion(random, 0.5, 3, 0)), b(a) {
    b = test::random_motion(random, 0.5, 3, 0);
    b.c0.setZero();
    a.c0 = random.uniform(0.6, 1.0) * random.direction();
  }
};

TEST_CASE("a witness that says apart is right, after any step, and from any stored numbers") {
  Random random(1);
  const Solids solids(random);
  int proved = 0;
  for (int i = 0; i < 3000; ++i) {
    const Shape &a = solids.shapes[random.below(3)], &b = solids.shapes[random.below(3)];
    const Meeting m(random);
    Witness w;
    const Frame A = m.a.at(0), B = m.b.at(0);
    w.axis_A = (A.R.transpose() * (A.p - B.p).normalized() + 0.2 * random.direction()).normalized();
    if (i % 2 == 0) {  // else the axis alone
      w.feature_a = static_cast<std::int32_t>(random.below(300)) - 150;
      w.feature_b = static_cast<std::int32_t>(random.below(300)) - 150;
    }
    std::uint32_t visited = 0;
    if (!apart_by_witness(a, A, b, B, w, visited)) continue;
    ++proved;
    CHECK(find_separation(a, A, b, B).gap >= 0);
    // The axis that it leaves is one that separates.
    CHECK_WITHIN(std::min(0.0, gap_along(a, A, b, B, A.R * w.axis_A)), 1e-14);
    CHECK_WITHIN(w.axis_A.norm() - 1, 1e-14);
  }
  CHECK(proved > 50);
}

TEST_CASE("a stored feature stands for what it was made of, and none near the ends of its type for anything") {
  for (const std::int32_t vertex : {0, 1, 119}) CHECK(code_of_feature(nearest_vertex_feature(vertex)) == vertex);
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min(), kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t feature : {-1, 0, 7, kMost - 1, kMost}) CHECK(code_of_feature(feature) < 0);
  Random random(7);
  Solids solids(random);
  solids.shapes.push_back(make_capsule(0.1, 0.3));
  std::vector<ContactPoint> storage(512), fresh_storage(512);
  for (int i = 0; i < 400; ++i) {
    const Shape &a = solids.shapes[random.below(4)], &b = solids.shapes[random.below(4)];
    const Meeting m(random);
    Witness wild, nothing;
    wild.axis_A = random.direction();
    wild.feature_a = random.below(2) == 0 ? kLeast : kMost, wild.feature_b = random.below(2) == 0 ? kLeast : kMost;
    ContactBuffer out{storage.data(), 512}, fresh{fresh_storage.data(), 512};
    collide(a, m.a.at(0.2), b, m.b.at(0.2), wild, out);
    collide(a, m.a.at(0.2), b, m.b.at(0.2), nothing, fresh);
    CHECK((out.count > 0) == (fresh.count > 0));
  }
}

TEST_CASE("contacts from a witness are those found from nothing; each call counts once") {
  Random random(2);
  const Solids solids(random);
  std::vector<ContactPoint> storage(512), fresh_storage(512);
  WitnessCounts total, apart, shallow;
  std::uint32_t calls = 0, contacts = 0;
  for (int pair = 0; pair < 60; ++pair) {
    const Shape &a = solids.shapes[random.below(3)], &b = solids.shapes[random.below(3)];
    const Meeting m(random);
    Witness witness;
    for (int i = 0; i < 300; ++i, ++calls) {
      const Frame A = m.a.at(1e-3 * i), B = m.b.at(1e-3 * i);
      ContactBuffer buffer{storage.data(), 512}, fresh{fresh_storage.data(), 512};
      collide(a, A, b, B, witness, buffer);
      total += buffer.witnesses;
      Witness nothing;
      collide(a, A, b, B, nothing, fresh);
      REQUIRE((buffer.count == 0) == (fresh.count == 0));
      if (buffer.count == 0) {
        apart += buffer.witnesses;
        continue;
      }
      ++contacts;
      // The overlap is that of least translation, but for the preference of the last features (kHysteresis).
      const double depth = -gap_along(a, A, b, B, buffer.nhat_BA_W), least = -gap_along(a, A, b, B, fresh.nhat_BA_W);
      CHECK_WITHIN((depth - least) / least, 4e-3);
      if (depth < 0.01) shallow += buffer.witnesses;
    }
  }
  CHECK(total.hits + total.misses == calls);
  CHECK(contacts > 1000);
  CHECK(total.misses >= 60);  // the first meetings
  // A step of 1 ms apart nearly always finds its witness again, the first meeting aside; in shallow contact nine times
  // out of ten. Deep overlaps, of which the last features cannot always be proved the least, are searched for.
  CHECK(apart.hits > 0.98 * (apart.hits + apart.misses));
  CHECK(shallow.hits > 0.85 * (shallow.hits + shallow.misses));
}

TEST_CASE("what proves an overlap is the least: the search from nothing finds none that is less") {
  Random random(3);
  const Solids solids(random);
  int proved = 0;
  for (int i = 0; i < 4000; ++i) {
    const Meeting m(random);
    const Shape &sa = solids.shapes[random.below(3)], &sb = solids.shapes[random.below(3)];
    const Frame A = m.a.at(0), B = m.b.at(0);
    CoreStorage storage_a, storage_b;
    const Core a = make_core(sa, Mat3::Identity(), Vec3::Zero(), storage_a);
    const Core b = make_core(sb, A.R.transpose() * B.R, 0.7 * (A.R.transpose() * (B.p - A.p)), storage_b);
    const Axis found = least_overlap_polyhedra(a, b, {});
    if (found.overlap <= 0) continue;
    Axis last = found, same;
    if (i % 2 == 1) {  // another pair of features: never proved, unless it is as good
      last.feature_a = static_cast<std::int32_t>(random.below(12)) - 1;
      last.feature_b = static_cast<std::int32_t>(random.below(12)) - 1;
    }
    if (!same_axis_polyhedra(a, b, last, same)) continue;
    ++proved;
    CHECK_WITHIN((same.overlap - found.overlap) / found.overlap, 2e-3);  // kEdgeMargin
  }
  CHECK(proved > 100);
}

test::Scene tumbling(int n) {
  test::Scene scene;
  scene.add_floor();
  for (int i = 0; i < n; ++i) {
    const Pose at{test::turned(Vec3(1, 2, 3), 0.3 * i), Vec3(0.3 * (i % 4), 0.3 * (i / 4), 0.4 + 0.2 * (i % 3))};
    scene.add(make_box(Vec3(0.1, 0.12, 0.14)), 1, at, {Vec3(1, 0, 0), Vec3::Zero()});
  }
  return scene;
}

TEST_CASE("totals are the sums of the steps' reports, and part of State in a snapshot and as bytes") {
  World world = tumbling(12).world();
  WitnessTotals sum;
  for (int i = 0; i < 500; ++i) sum += world.step().witnesses;
  CHECK(sum.hits > 0);
  CHECK(sum.misses > 0);
  CHECK(world.state().witnesses.hits == sum.hits);
  CHECK(world.state().witnesses.misses == sum.misses);
  const std::vector<std::uint8_t> bytes = world.serialise(world.state());
  State kept = world.initial();
  REQUIRE(world.deserialise(bytes, kept));
  CHECK(kept.witnesses.hits == sum.hits);
  CHECK(kept.witnesses.misses == sum.misses);
  test::run(world, 10);
  REQUIRE(world.restore(kept));
  CHECK(world.state().witnesses.hits == sum.hits);
  world.reset();
  CHECK(world.state().witnesses.hits == 0);
}

TEST_CASE("coherence off: all is searched for anew, to the same contacts") {
  World with = tumbling(12).world(), without = tumbling(12).world();
  Parameters p = without.parameters();
  REQUIRE(World::parse_parameter("coherence", "off", p));
  CHECK_FALSE(p.coherence);
  without.set_parameters(p);
  CHECK_FALSE(World::parse_parameter("coherence", "sometimes", p));
  std::uint64_t hits = 0, misses = 0, kept = 0, searched = 0;
  for (int i = 0; i < 300; ++i) {
    without.adopt(with.state());  // the same poses, so that contacts can be compared
    const StepReport a = with.step(), b = without.step();
    hits += b.witnesses.hits, misses += b.witnesses.misses;
    kept += a.witnesses.hits, searched += a.witnesses.misses;
    REQUIRE(a.manifolds == b.manifolds);
    CHECK_WITHIN(a.depth_max - b.depth_max, 2e-3 * a.depth_max + 1e-12);
  }
  CHECK(kept + searched == hits + misses);
  CHECK(kept > 10 * searched);
  CHECK(misses > 10 * hits);
}

struct SweepWork {  // per box and step, after the first steps
  double moves = 0, tests = 0, pairs = 0;
};

// n boxes of 0.5 m at one per cubic (on a floor: square) metre, at up to 1 m/s in each direction, steps of 1 ms.
SweepWork sweep_work(std::uint32_t n, bool on_floor) {
  Random rng(7);
  std::vector<BroadShape> shapes(n);
  for (std::uint32_t i = 0; i < n; ++i) shapes[i].body = i;
  BroadPhase broad(shapes, {}, 8 * n);
  const double side = on_floor ? std::sqrt(static_cast<double>(n)) : std::cbrt(static_cast<double>(n));
  const Vec3 room(side, side, on_floor ? 0.5 : side);
  std::vector<Vec3> p, v;
  for (std::uint32_t i = 0; i < n; ++i) {
    p.push_back(0.5 * room.cwiseProduct(rng.in_cube(1)));
    v.push_back(rng.in_cube(1));
  }
  std::vector<Aabb> boxes(n);
  const std::vector<Frame> frames(n);
  const PairMemory memory(8 * n);
  SweepWork out;
  for (int step = 0; step < 60; ++step) {
    for (std::uint32_t i = 0; i < n; ++i) {
      p[i] += 1e-3 * v[i];
      boxes[i] = {p[i] - Vec3::Constant(0.25), p[i] + Vec3::Constant(0.25)};
    }
    const std::size_t pairs = broad.find_pairs(boxes, frames, memory).size();
    if (step < 10) continue;  // the first sorts
    CHECK_FALSE(broad.work().sorted_anew);
    const double each = 1 / (50.0 * n);
    out.moves += each * static_cast<double>(broad.work().moves);
    out.tests += each * static_cast<double>(broad.work().tests), out.pairs += each * static_cast<double>(pairs);
  }
  return out;
}

// Counted, not timed. Pairs are O(n), and so are tests: what is not swept is cut into columns. Moves of the insertion
// sort are far fewer than one a box: what grows with n in them are boxes that go to the next row, past all of one row;
// beyond 8 n the sort gives up (sorted_anew).
TEST_CASE("sort and sweep: with coherence about O(n) a step: moves, pairs and tests") {
  for (const bool on_floor : {true, false}) {
    const SweepWork few = sweep_work(250, on_floor), more = sweep_work(1000, on_floor),
                    most = sweep_work(16000, on_floor);
    for (const SweepWork& work : {few, more, most}) {
      MESSAGE((on_floor ? std::string("floor") : std::string("cube"))
              << ", per box: moves " << work.moves << ", tests " << work.tests << ", pairs " << work.pairs);
      CHECK(work.moves < 0.6);
    }
    // Boxes at the rim have fewer neighbours, so few boxes have fewer each.
    CHECK(most.pairs < 1.25 * few.pairs);
    CHECK(most.pairs < 1.1 * more.pairs);
    const double slope = std::log(most.tests / more.tests) / std::log(16.0);
    CHECK(slope < 0.05);
  }
}

}  // namespace
}  // namespace tactus
