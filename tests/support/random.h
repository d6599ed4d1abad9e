// Seeded random numbers, vectors, rotations and shapes for tests; the same on every machine.
#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <random>

#include "core/math/spatial.h"

namespace tactus::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform(double lo, double hi) { return lo + (hi - lo) * (static_cast<double>(engine_() >> 11) * 0x1p-53); }
  // Spread evenly over the decades.
  double log_uniform(double lo, double hi) { return lo * std::pow(hi / lo, uniform(0, 1)); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  Vec3 in_cube(double half) {
    const double x = uniform(-half, half), y = uniform(-half, half), z = uniform(-half, half);
    return {x, y, z};
  }
  Vec3 direction();
  Quat rotation();
  // Inertia of a real body of this mass and about this size [m]: box edges in any ratio up to 30, axes turned.
  Mat3 inertia(double mass, double size);

 private:
  std::mt19937_64 engine_;
};

}  // namespace tactus::test
