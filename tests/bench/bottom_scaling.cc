// Cost of choosing the bottom points (Drumwright III-A) over the number of points.
#include <algorithm>
#include <numeric>

#include "core/contact/bottom_points.h"
#include "core/scene/random.h"
#include "tests/bench/bench_cases.h"

namespace tactus::bench {

namespace {

// A bowl: the deeper, the nearer to the centre, so that many points are on the bottom.
std::vector<ContactPoint> cloud(std::uint32_t n, std::uint64_t stream) {
  SceneRandom random(7, stream);
  std::vector<ContactPoint> points(n);
  for (auto& p : points) {
    p.p_WC = Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 0);
    p.depth = 0.01 * (2.1 - p.p_WC.squaredNorm()) + 1e-4 * random.unit();
  }
  return points;
}

// Median time of sorting indices by depth [us].
double sort_time(const std::vector<std::vector<ContactPoint>>& clouds, std::vector<std::uint32_t>& index) {
  StepClock clock(clouds.size());
  for (const auto& points : clouds) {
    std::iota(index.begin(), index.end(), 0u);
    clock.begin();
    std::sort(index.begin(), index.end(),
              [&points](std::uint32_t a, std::uint32_t b) { return points[a].depth > points[b].depth; });
    clock.end();
  }
  return percentiles(clock.finish()).median;
}

}  // namespace

std::vector<BottomRow> bottom_scaling(bool quick) {
  std::vector<BottomRow> rows;
  const std::uint32_t last = quick ? 1u << 14 : 1u << 20;
  Arena arena(2 * bottom_points_scratch(last) + (1u << 20));
  for (std::uint32_t n = 1u << 6; n <= last; n *= 4) {
    // New points each time: the branches of a small cloud would be learnt by heart.
    const auto clouds = std::max(5u, (quick ? 1u << 16 : 1u << 19) / n);
    std::vector<std::vector<ContactPoint>> points(clouds);
    for (std::uint32_t c = 0; c < clouds; ++c) points[c] = cloud(n, c);
    std::vector<std::uint32_t> chosen(n);
    BottomRow row{n, 0, 0, 0};
    StepClock clock(clouds);
    for (const auto& one : points) {
      arena.reset();
      clock.begin();
      row.chosen = bottom_points(Vec3::UnitZ(), one.data(), n, 1e-9, chosen.data(), arena);
      clock.end();
    }
    row.us = percentiles(clock.finish()).median;
    row.sort_us = sort_time(points, chosen);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace tactus::bench
