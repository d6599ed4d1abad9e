// The bottom of the overlap (Drumwright III-A) against its definition by brute force: a point is kept when it is a
// corner of its depth level's hull and its projection lies outside the convex hull of all strictly deeper levels.
#include "core/contact/bottom_points.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace tactus {
namespace {

using test::Random;
using Points = std::vector<ContactPoint>;
using Indices = std::vector<std::uint32_t>;

struct Grid {
  long x, y;
  bool operator==(const Grid& o) const { return x == o.x && y == o.y; }
  bool operator<(const Grid& o) const { return x != o.x ? x < o.x : y < o.y; }
};
long turn(const Grid& a, const Grid& b, const Grid& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Strict hull, counter-clockwise, in exact integers.
std::vector<Grid> hull_of(std::vector<Grid> p) {
  std::sort(p.begin(), p.end());
  p.erase(std::unique(p.begin(), p.end()), p.end());
  if (p.size() < 3) return p;
  std::vector<Grid> h;
  for (int side = 0; side < 2; ++side) {
    const std::size_t base = h.size();
    for (const Grid& q : p) {
      while (h.size() >= base + 2 && turn(h[h.size() - 2], h.back(), q) <= 0) h.pop_back();
      h.push_back(q);
    }
    h.pop_back();
    std::reverse(p.begin(), p.end());
  }
  return h;
}

bool outside(const std::vector<Grid>& hull, const Grid& q) {
  if (hull.empty()) return true;
  if (hull.size() == 1) return !(hull[0] == q);
  if (hull.size() == 2) {
    const Grid &a = hull[0], &b = hull[1];
    const bool between = std::min(a.x, b.x) <= q.x && q.x <= std::max(a.x, b.x) && std::min(a.y, b.y) <= q.y &&
                         q.y <= std::max(a.y, b.y);
    return turn(a, b, q) != 0 || !between;
  }
  for (std::size_t i = 0; i < hull.size(); ++i) {
    if (turn(hull[i], hull[(i + 1) % hull.size()], q) < 0) return true;
  }
  return false;
}

// Positions kept, by definition; points of the same position and level count once.
std::set<Grid> by_definition(const Points& points) {
  std::vector<double> levels;
  for (const auto& p : points) levels.push_back(p.depth);
  std::sort(levels.begin(), levels.end(), std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<Grid> deeper;
  std::set<Grid> kept;
  for (const double depth : levels) {
    std::vector<Grid> level;
    for (const auto& p : points) {
      if (p.depth == depth) level.push_back({std::lround(p.p_WC.x()), std::lround(p.p_WC.y())});
    }
    const std::vector<Grid> below = hull_of(deeper);
    for (const Grid& q : hull_of(level)) {
      if (outside(below, q)) kept.insert(q);
    }
    deeper.insert(deeper.end(), level.begin(), level.end());
  }
  return kept;
}

Indices bottom(const Points& points, const Vec3& nhat = Vec3::UnitZ(), double tolerance = 0) {
  const auto n = static_cast<std::uint32_t>(points.size());
  Arena arena(bottom_points_scratch(n));
  Indices out(n);
  out.resize(bottom_points(nhat, points.data(), n, tolerance, out.data(), arena));
  CHECK(arena.used() == 0);
  CHECK(std::is_sorted(out.begin(), out.end()));
  return out;
}

void check_definition(const Points& points) {
  std::set<Grid> found;
  for (const std::uint32_t i : bottom(points)) {
    const Grid q{std::lround(points[i].p_WC.x()), std::lround(points[i].p_WC.y())};
    CHECK_MESSAGE(found.insert(q).second, "(" << q.x << ", " << q.y << ") chosen twice");
  }
  const std::set<Grid> expected = by_definition(points);
  for (const Grid& q : expected) CHECK_MESSAGE(found.count(q) == 1, "missed (" << q.x << ", " << q.y << ")");
  for (const Grid& q : found)
    CHECK_MESSAGE(expected.count(q) == 1, "not on the bottom: (" << q.x << ", " << q.y << ")");
}

Points random_grid(Random& random, std::uint32_t n, std::uint32_t width, std::uint32_t depths) {
  Points points(n);
  for (auto& p : points) {
    const double x = random.below(width), y = random.below(width);
    p = {Vec3(x, y, 0), 1.0 + random.below(depths)};
  }
  return points;
}

TEST_CASE("bottom_points: random points of all different depths") {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    Points points = random_grid(random, 1 + random.below(60), 10000, 1);
    for (auto& p : points) p.depth = random.uniform(0.1, 1);
    check_definition(points);
  }
}

TEST_CASE("bottom_points: levels, columns and points on top of each other") {
  Random random(2);
  for (int i = 0; i < 1000; ++i)
    check_definition(random_grid(random, 1 + random.below(40), 2 + random.below(12), 1 + random.below(4)));
}

TEST_CASE("bottom_points: on a cap of a paraboloid nothing but the deepest point's neighbourhood is inside") {
  // Depth falls with the distance from the middle: every ring is outside the hull of the deeper ones.
  Points points;
  for (int x = -6; x <= 6; ++x) {
    for (int y = -6; y <= 6; ++y) points.push_back({Vec3(x, y, 0), 100.0 - x * x - y * y});
  }
  check_definition(points);
}

TEST_CASE("bottom_points: a plane with Steiner points, tilted along an axis and askew") {
  for (const auto& slope : {std::pair(0.0, 1.0), std::pair(1.0, 0.0), std::pair(2.0, 1.0), std::pair(-3.0, 5.0)}) {
    Points points;
    for (int x = 0; x < 12; ++x) {
      for (int y = 0; y < 9; ++y) points.push_back({Vec3(x, y, 0), 1000 + slope.first * x + slope.second * y});
    }
    check_definition(points);
  }
}

TEST_CASE("bottom_points: a flat face with noise gives its corners, whatever the order of its points") {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Vec3 nhat = random.direction();
    Vec3 t1, t2;
    tangent_basis(nhat, t1, t2);
    const double angle = random.uniform(0, 6), n = 3 + random.below(10);
    const Vec3 u = std::cos(angle) * t1 + std::sin(angle) * t2, v = nhat.cross(u), middle = random.in_cube(10);
    Points points;
    for (int x = 0; x <= n; ++x) {
      for (int y = 0; y <= n; ++y) {
        points.push_back({middle + (x / n) * u + (y / n) * 0.4 * v, 1e-3 * (1 + random.uniform(-4e-4, 4e-4))});
      }
    }
    for (std::size_t i = points.size(); i > 1; --i)
      std::swap(points[i - 1], points[random.below(static_cast<std::uint32_t>(i))]);
    const Indices kept = bottom(points, nhat, 1e-6);
    CHECK(kept.size() == 4);
    for (const std::uint32_t i : kept) {
      const Vec3 d = points[i].p_WC - middle;
      const double x = d.dot(u), y = d.dot(v) / 0.4;
      CHECK(std::min(std::abs(x), std::abs(x - 1)) < 1e-9);
      CHECK(std::min(std::abs(y), std::abs(y - 1)) < 1e-9);
    }
  }
}

TEST_CASE("bottom_points: the choice does not depend on the order, the units or the frame") {
  Random random(4);
  for (int trial = 0; trial < 100; ++trial) {
    Points points = random_grid(random, 50, 10000, 1);
    for (auto& p : points) p.depth = random.uniform(1, 2);
    const Indices kept = bottom(points);
    const Quat R = random.rotation();
    const Vec3 shift = random.in_cube(1e4);
    const double scale = random.log_uniform(1e-7, 1e-3);
    Indices order(points.size());
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    Points moved(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      moved[i] = {scale * (R * (points[order[i]].p_WC + shift)), scale * points[order[i]].depth};
    }
    Indices back;
    for (const std::uint32_t i : bottom(moved, R * Vec3::UnitZ())) back.push_back(order[i]);
    std::sort(back.begin(), back.end());
    CHECK(back == kept);
  }
}

TEST_CASE("bottom_points: one, two and no points") {
  CHECK(bottom({}).empty());
  CHECK(bottom({{Vec3::Zero(), 1}}).size() == 1);
  CHECK(bottom({{Vec3::Zero(), 1}, {Vec3(1, 0, 0), 0.5}}).size() == 2);
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Processor time of one call in units of a sort of the same points through an index, at its best: a sort that reads
// memory in the order of its answer, as the call does, so that clocks, caches and a busy neighbour cancel. (A sort of
// the points themselves reads them in a row: where 2^20 points left the cache, a neighbour changed the ratio by two.)
double time_in_sorts(const Points& points, int repeats) {
  const auto n = static_cast<std::uint32_t>(points.size());
  Arena arena(bottom_points_scratch(n));
  Indices out(n), sorted(n);
  double least = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    bottom_points(Vec3::UnitZ(), points.data(), n, 0, out.data(), arena);
    const double middle = cpu_seconds();
    std::iota(sorted.begin(), sorted.end(), 0u);
    std::sort(sorted.begin(), sorted.end(), [&](auto x, auto y) { return points[x].depth < points[y].depth; });
    least = std::min(least, (middle - start) / (cpu_seconds() - middle));
  }
  return least;
}

// Points of a disc; bowl: depth falls outwards, every point is kept at its turn; otherwise depths are random.
Points disc(std::uint32_t n, bool bowl) {
  Random random(5);
  Points points(n);
  for (auto& p : points) {
    const double r = std::sqrt(random.uniform(0, 1)), a = random.uniform(0, 2 * M_PI);
    p = {Vec3(r * std::cos(a), r * std::sin(a), 0), bowl ? 2 - r * r : random.uniform(1, 2)};
  }
  return points;
}

TEST_CASE("bottom_points: the time grows like that of sorting, N lg N, up to 2^20 points") {
  for (const bool bowl : {true, false}) {
    const double small = time_in_sorts(disc(1u << 13, bowl), 11), large = time_in_sorts(disc(1u << 20, bowl), 3);
    MESSAGE(std::string(bowl ? "bowl" : "random depths") << ": 2^13 points take " << small << " sorts, 2^20 " << large);
    CHECK(large < 4 * small);  // 1 for N lg N, 80 for N^2, 7 for N^1.5
  }
}

// One chain of the hull of the points so far, in exact integers: x -> y, balanced tree. sign +1 lower, -1 upper.
class GridChain {
 public:
  explicit GridChain(long sign) : sign_(sign) {}
  [[nodiscard]] bool outside(const Grid& q) const {
    const auto right = at_.lower_bound(q.x);
    if (right != at_.end() && right->first == q.x) return sign_ * q.y < sign_ * right->second;
    if (right == at_.end() || right == at_.begin()) return true;
    const auto left = std::prev(right);
    return sign_ * turn({left->first, left->second}, {right->first, right->second}, q) < 0;
  }
  void insert(const Grid& q) {
    at_[q.x] = q.y;
    const auto corner = [&](auto a, auto b, auto c) {
      return sign_ * turn({a->first, a->second}, {b->first, b->second}, {c->first, c->second}) > 0;
    };
    const auto it = at_.find(q.x);
    while (it != at_.begin() && std::prev(it) != at_.begin() && !corner(std::prev(it, 2), std::prev(it), it)) {
      at_.erase(std::prev(it));
    }
    while (std::next(it) != at_.end() && std::next(it, 2) != at_.end() &&
           !corner(it, std::next(it), std::next(it, 2))) {
      at_.erase(std::next(it));
    }
  }

 private:
  std::map<long, long> at_;
  long sign_;
};

TEST_CASE("bottom_points: a million points, all depths different, are those of the definition in exact integers") {
  const std::uint32_t n = 1000000;
  Random random(11);
  std::vector<Grid> grid(n);
  Points points(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    grid[i] = {static_cast<long>(random.below(20000)) - 10000, static_cast<long>(random.below(20000)) - 10000};
    // Deep in the middle: a long chain of kept points. Distinct by a share of the index.
    const double depth = 3e8 - static_cast<double>(grid[i].x * grid[i].x + grid[i].y * grid[i].y) + i * 1e-7;
    points[i] = {Vec3(static_cast<double>(grid[i].x), static_cast<double>(grid[i].y), 0), depth};
  }
  std::vector<std::uint32_t> order(n), expected;
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return points[i].depth > points[j].depth; });
  GridChain lower(1), upper(-1);
  for (const std::uint32_t i : order) {
    const bool below = lower.outside(grid[i]), above = upper.outside(grid[i]);
    if (!below && !above) continue;
    expected.push_back(i);
    if (below) lower.insert(grid[i]);
    if (above) upper.insert(grid[i]);
  }
  std::sort(expected.begin(), expected.end());
  Arena arena(2 * bottom_points_scratch(n));
  Indices chosen(n);
  chosen.resize(bottom_points(Vec3::UnitZ(), points.data(), n, 0.0, chosen.data(), arena));
  CHECK(chosen.size() > 1000);
  CHECK(chosen == expected);
}

TEST_CASE("bottom_points: of a flat face of a thousand by a thousand points, its four corners") {
  const std::uint32_t n = 1000;
  Points points(n * n);
  for (std::uint32_t i = 0; i < n * n; ++i) points[i] = {Vec3(i / n, i % n, 0), 1 + 1e-6 * (i % 7)};
  Arena arena(2 * bottom_points_scratch(n * n));
  Indices chosen(n * n);
  chosen.resize(bottom_points(Vec3::UnitZ(), points.data(), n * n, 1e-3, chosen.data(), arena));
  CHECK(chosen == Indices{0, n - 1, n * (n - 1), n * n - 1});
}

TEST_CASE("bottom_points: 200,000 points in a row: all when each is beyond the deeper ones, two when between") {
  const std::uint32_t n = 200000;
  Points row(n);
  for (std::uint32_t i = 0; i < n; ++i) row[i] = {Vec3(i, 0, 0), 1e6 + i};
  CHECK(bottom(row).size() == n);  // falling to one side: each next one extends the segment
  for (std::uint32_t i = 0; i < n; ++i) row[i].depth = 1e6 - std::min(i, n - 1 - i);
  CHECK(bottom(row).size() == 2);  // both ends deepest: all others lie between them
}

Indices widest(const Points& points, Indices chosen, std::uint32_t keep) {
  Arena arena(1 << 20);
  chosen.resize(
      keep_widest(Vec3::UnitZ(), points.data(), chosen.data(), static_cast<std::uint32_t>(chosen.size()), keep, arena));
  CHECK(arena.used() == 0);
  return chosen;
}

TEST_CASE("keep_widest: keeps the deepest; no dropped point is farther from the kept ones than they are apart") {
  Random random(6);
  for (int trial = 0; trial < 300; ++trial) {
    Points points = random_grid(random, 5 + random.below(60), 1000000, 1);
    for (auto& p : points) p.depth = random.uniform(1, 2), p.p_WC.z() = random.uniform(-1e6, 1e6);
    Indices all(points.size());
    std::iota(all.begin(), all.end(), 0u);
    const std::uint32_t keep = 1 + random.below(static_cast<std::uint32_t>(points.size()) + 3);
    const Indices kept = widest(points, all, keep);
    CHECK(kept.size() == std::min<std::size_t>(keep, all.size()));
    CHECK(std::is_sorted(kept.begin(), kept.end()));
    CHECK(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
    std::uint32_t deepest = 0;
    for (const std::uint32_t i : all) deepest = points[i].depth > points[deepest].depth ? i : deepest;
    CHECK(std::count(kept.begin(), kept.end(), deepest) == 1);
    const auto distance = [&](std::uint32_t i, std::uint32_t j) {
      return (points[i].p_WC - points[j].p_WC).head<2>().norm();
    };
    double apart = 1e300, farthest = 0;
    for (const std::uint32_t i : all) {
      double nearest = 1e300;
      for (const std::uint32_t k : kept) nearest = k == i ? nearest : std::min(nearest, distance(i, k));
      const bool is_kept = std::count(kept.begin(), kept.end(), i) > 0;
      if (is_kept) apart = std::min(apart, nearest);
      if (!is_kept) farthest = std::max(farthest, nearest);
    }
    CHECK(farthest <= apart * (1 + 1e-12));
  }
}

TEST_CASE("keep_widest: of a square with a filled inside, four points are its corners") {
  Points points;
  for (int x = 0; x <= 8; ++x) {
    for (int y = 0; y <= 8; ++y) points.push_back({Vec3(x, y, 0), x == 0 && y == 8 ? 2.0 : 1.0});
  }
  Indices all(points.size());
  std::iota(all.begin(), all.end(), 0u);
  CHECK(widest(points, all, 4) == Indices{0, 8, 72, 80});
}

}  // namespace
}  // namespace tactus
