// The seeded generator of scenes: SplitMix64 (Steele, Lea, Flood 2014). Written out here because the distributions of
// the standard library differ between implementations; this gives the same bits everywhere.
#pragma once

#include <cstdint>

#include "core/math/spatial.h"

namespace tactus {

class SceneRandom {
 public:
  // stream: a number per use (the line-up of generators in a file), so that one more draw in one does not change the
  // others.
  SceneRandom(std::uint64_t seed, std::uint64_t stream) noexcept : state_(seed) {
    state_ = next() + 0x632be59bd9b4e019ull * (stream + 1);
  }

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // [0, 1), 53 random bits.
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // [lo, hi).
  double uniform(double lo, double hi) noexcept { return lo + (hi - lo) * unit(); }
  // Uniform on the unit sphere: Marsaglia 1972, which needs only a square root (correctly rounded on every machine).
  Vec3 direction() noexcept {
    for (;;) {
      const double x = uniform(-1, 1), y = uniform(-1, 1), s = x * x + y * y;
      if (s >= 1) continue;
      const double r = 2 * std::sqrt(1 - s);
      return Vec3(x * r, y * r, 1 - 2 * s);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace tactus
