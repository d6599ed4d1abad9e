// Bodies dropped on others, with their overlap measured by points of either surface in the other solid, apart from what
// found the contacts (tests/bench/drops.cc, property/dropped_test.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/shape/smooth/smooth_surface.h"
#include "tests/support/models.h"

namespace tactus::test {

struct SkinPoint {
  Vec3 p, n;  // n: zero where it is not known
};

// A solid as points of its surface, and how deep a point lies in it.
struct Solid {
  std::string name;
  Shape shape;
  std::shared_ptr<SmoothSurface> surface;
  std::vector<SkinPoint> skin, dense;
  bool bowl = false;
  double torus_ring = 0, torus_tube = 0;

  // Distance to the surface of a point within, <= 0 outside. By F to first order; of patches to the nearest point's
  // plane.
  [[nodiscard]] double depth(const Vec3& p) const;
};

// About 0.1 m in size; and what they fall on or into: the same, a half-space, a wide and a thin torus, bowls.
std::vector<Solid> dropped_solids();
std::vector<Solid> fixed_solids();

// The deepest point of either in the other [m].
double overlap(const Solid& a, const Frame& X_WA, const Solid& b, const Frame& X_WB);

struct Dropped {
  double deepest = 0, late = 0;                // overlap at any time, and in the last third [m]
  double rise = 0;                             // of the mechanical energy, the most [J]
  double us = 0;                               // a step
  std::uint64_t unresolved = 0, failures = 0;  // steps of the exact stepper; of solvers
  bool touched = false, finite = true;         // at any time; the energy, at all times
};

// 1 kg falls in steps of `step` [s] from a random pose on what is fixed in a random one, or into a bowl; on nothing if
// it rolls off.
Dropped drop(const Solid& fixed, const Solid& moving, const Stepping& stepping, std::uint64_t seed, int steps,
             double step = 1e-3);

}  // namespace tactus::test
