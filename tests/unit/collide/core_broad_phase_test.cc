// The broad phase against brute force over random motions, what it does when full, and the matching of pair memory.
#include "core/collide/broad_phase.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

#include "tests/support/random.h"

namespace tactus {
namespace {

using test::Random;
using Keys = std::vector<PairKey>;
using BodyPairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct Set {
  std::vector<BroadShape> shapes;
  std::vector<Frame> X_WS;
  std::vector<Vec3> half;
  BodyPairs no_collision;

  [[nodiscard]] std::vector<Aabb> boxes() const {
    const Vec3 infinite = Vec3::Constant(std::numeric_limits<double>::infinity());
    std::vector<Aabb> out;
    for (std::size_t s = 0; s < shapes.size(); ++s) {
      out.push_back(shapes[s].half_space ? Aabb{-infinite, infinite} : Aabb{X_WS[s].p - half[s], X_WS[s].p + half[s]});
    }
    return out;
  }
};

bool overlap(const Set& set, std::size_t s, std::size_t t) {
  if (set.shapes[t].half_space) std::swap(s, t);
  if (set.shapes[t].half_space) return false;
  if (set.shapes[s].half_space) {
    const Vec3 n = set.X_WS[s].R.col(2);
    for (int corner = 0; corner < 8; ++corner) {
      const Vec3 sign((corner & 1) ? 1 : -1, (corner & 2) ? 1 : -1, (corner & 4) ? 1 : -1);
      if (n.dot(set.X_WS[t].p + set.half[t].cwiseProduct(sign) - set.X_WS[s].p) <= 0) return true;
    }
    return false;
  }
  return ((set.X_WS[s].p - set.X_WS[t].p).cwiseAbs() - set.half[s] - set.half[t]).maxCoeff() <= 0;
}

// The definition, O(n^2).
Keys brute_force(const Set& set) {
  Keys out;
  for (std::uint32_t s = 0; s < set.shapes.size(); ++s) {
    for (std::uint32_t t = s + 1; t < set.shapes.size(); ++t) {
      const BroadShape &a = set.shapes[s], &b = set.shapes[t];
      const auto bodies = std::minmax(a.body, b.body);
      const bool barred = std::count(set.no_collision.begin(), set.no_collision.end(),
                                     std::pair<std::uint32_t, std::uint32_t>(bodies.first, bodies.second)) > 0;
      if (a.body == b.body || barred || (!a.free && !b.free)) continue;
      if ((a.group & b.mask) == 0 || (b.group & a.mask) == 0) continue;
      if (overlap(set, s, t)) out.push_back({s, t});
    }
  }
  return out;
}

Set random_set(Random& random, std::uint32_t n) {
  Set set;
  for (std::uint32_t s = 0; s < n; ++s) {
    BroadShape shape;
    shape.body = s > 0 && random.chance(0.2) ? set.shapes.back().body : s;
    if (shape.body == s) {
      shape.free = random.chance(0.8);
      shape.moves = shape.free || random.chance(0.5);
      shape.half_space = !shape.free && random.chance(0.4);
    } else {
      shape.free = set.shapes.back().free, shape.moves = set.shapes.back().moves;
    }
    if (random.chance(0.3)) shape.group = 1u << random.below(3), shape.mask = 1 + random.below(7);
    set.shapes.push_back(shape);
    // A small lattice of sizes and places, so that equal bounds and touching boxes occur.
    const Vec3 half =
        random.chance(0.5) ? Vec3(0.5, 0.5, 0.5) : Vec3(random.log_uniform(0.05, 3), 0.5, random.uniform(0.1, 1));
    set.half.push_back(half);
    set.X_WS.push_back({random.rotation().toRotationMatrix(), random.in_cube(4).array().round().matrix()});
  }
  for (std::uint32_t k = 0; k < n / 4; ++k) {
    const std::uint32_t a = random.below(n), b = random.below(n);
    if (a != b) set.no_collision.emplace_back(std::min(a, b), std::max(a, b));
  }
  std::sort(set.no_collision.begin(), set.no_collision.end());
  return set;
}

TEST_CASE("broad phase: the same pairs as brute force through thousands of random motions") {
  Random random(1);
  PairMemory memory(4096);
  for (int trial = 0; trial < 60; ++trial) {
    Set set = random_set(random, 1 + random.below(40));
    BroadPhase broad(set.shapes, set.no_collision, 4096);
    for (int tick = 0; tick < 60; ++tick) {
      const auto found = broad.find_pairs(set.boxes(), set.X_WS, memory);
      const Keys expected = brute_force(set);
      REQUIRE(Keys(found.begin(), found.end()) == expected);
      CHECK(broad.dropped() == 0);
      // Small moves, now and then a jump or a new direction of largest spread.
      const double stretch = random.chance(0.05) ? 10 : 1;
      for (std::size_t s = 0; s < set.shapes.size(); ++s) {
        const bool jump = random.chance(0.02);
        if (jump)
          set.X_WS[s].p = random.in_cube(4).array().round();
        else
          set.X_WS[s].p += 0.1 * random.in_cube(1);
        set.X_WS[s].p[tick % 3] *= stretch;
        if (set.shapes[s].half_space && random.chance(0.1)) set.X_WS[s].R = random.rotation().toRotationMatrix();
      }
    }
  }
}

// n boxes that all overlap each other.
Set crowd(std::uint32_t n) {
  Set set;
  for (std::uint32_t s = 0; s < n; ++s) {
    set.shapes.push_back({s});
    set.half.push_back(Vec3::Ones());
    set.X_WS.push_back({Mat3::Identity(), Vec3(0.01 * s, 0, 0)});
  }
  return set;
}

PairMemory in_contact(const Keys& keys, std::uint32_t capacity) {
  PairMemory memory(capacity);
  std::vector<PairRecord> scratch(capacity);
  memory.match(keys, scratch.data());
  for (std::uint32_t i = 0; i < memory.size(); ++i) memory[i].phase = ContactPhase::resting;
  return memory;
}

TEST_CASE("broad phase: over capacity, pairs in contact stay, then the first by id; the rest is counted") {
  for (const std::uint32_t capacity : {15u, 10u, 8u, 5u, 2u}) {
    const Set set = crowd(6);  // 15 pairs
    const Keys touching{{3, 5}, {4, 5}};
    const PairMemory memory = in_contact(touching, capacity);
    BroadPhase broad(set.shapes, {}, capacity);
    const auto found = broad.find_pairs(set.boxes(), set.X_WS, memory);
    Keys expected = touching;
    for (const PairKey& key : brute_force(set)) {
      if (expected.size() == capacity) break;
      if (std::count(expected.begin(), expected.end(), key) == 0) expected.push_back(key);
    }
    std::sort(expected.begin(), expected.end());
    CAPTURE(capacity);
    CHECK(Keys(found.begin(), found.end()) == expected);
    CHECK(broad.dropped() == 15 - capacity);
  }
}

TEST_CASE("broad phase: the floor under a crowd is not the first to go") {  // half-spaces are tested last
  Set set = crowd(8);                                                       // 28 pairs among themselves
  BroadShape floor{8};
  floor.free = floor.moves = false;
  floor.half_space = true;
  set.shapes.push_back(floor);
  set.half.push_back(Vec3::Zero());
  set.X_WS.push_back({Mat3::Identity(), Vec3(0, 0, -0.9)});
  Keys standing;
  for (std::uint32_t s = 0; s < 8; ++s) standing.push_back({s, 8});
  const std::uint32_t capacity = 8;
  BroadPhase broad(set.shapes, {}, capacity);
  const PairMemory memory = in_contact(standing, capacity);
  const auto found = broad.find_pairs(set.boxes(), set.X_WS, memory);
  CHECK(Keys(found.begin(), found.end()) == standing);
  CHECK(broad.dropped() == 28);
}

TEST_CASE("pair memory: match keeps records of pairs that stay and empties those that are new") {
  Random random(2);
  PairMemory memory(64);
  std::vector<PairRecord> scratch(64);
  std::map<PairKey, std::uint32_t> model;  // key -> age
  for (int tick = 0; tick < 2000; ++tick) {
    std::set<PairKey> next;
    for (const auto& [key, age] : model) {
      if (random.chance(0.9)) next.insert(key);
    }
    while (next.size() < 64 && random.chance(0.7)) {
      const std::uint32_t a = random.below(20);
      next.insert({a, a + 1 + random.below(20)});
    }
    const Keys keys(next.begin(), next.end());
    memory.match(keys, scratch.data());
    REQUIRE(memory.size() == keys.size());
    std::map<PairKey, std::uint32_t> expected;
    for (const PairKey& key : keys) expected[key] = model.count(key) ? model[key] : 0;
    for (std::uint32_t i = 0; i < memory.size(); ++i) {
      PairRecord& r = memory[i];
      CHECK(r.key == keys[i]);
      CHECK(r.age == expected[r.key]);
      CHECK(r.model[7] == (expected[r.key] ? r.key.shape_a + 0.5 : 0.0));
      CHECK((r.phase == ContactPhase::apart) == (expected[r.key] == 0));
      expected[r.key] = ++r.age;
      r.phase = ContactPhase::resting;
      r.model[7] = r.key.shape_a + 0.5;
    }
    model = expected;
  }
}

}  // namespace
}  // namespace tactus
