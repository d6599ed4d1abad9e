// Cost of choosing the bottom points (Drumwright III-A) over the number of points.
#include <algorithm>

#include "core/contact/bottom_points.h"
#include "core/scene/random.h"
#include "tests/bench/bench_cases.h"

namespace tactus::bench {

std::vector<BottomRow> bottom_scaling(bool quick) {
  std::vector<BottomRow> rows;
  const std::uint32_t last = quick ? 1u << 14 : 1u << 18;
  Arena arena(2 * bottom_points_scratch(last) + (1u << 20));
  for (std::uint32_t n = 1u << 6; n <= last; n *= 4) {
    SceneRandom random(7, n);
    std::vector<ContactPoint> points(n);
    for (auto& p : points) {  // a bowl: the deeper, the nearer to the centre, so that many points are on the bottom
      p.p_WC = Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 0);
      p.depth = 0.01 * (2.1 - p.p_WC.squaredNorm()) + 1e-4 * random.unit();
    }
    std::vector<std::uint32_t> chosen(n);
    BottomRow row{n, 0, 0};
    const int repeats = std::max(5, static_cast<int>((quick ? 1u << 16 : 1u << 20) / n));
    StepClock clock(static_cast<std::uint64_t>(repeats));
    for (int i = 0; i < repeats; ++i) {
      arena.reset();
      clock.begin();
      row.chosen = bottom_points(Vec3::UnitZ(), points.data(), n, 1e-9, chosen.data(), arena);
      clock.end();
    }
    row.us = percentiles(clock.finish()).median;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace tactus::bench
