// What collision finds in one tick: manifolds of contact points. Thrown away each tick; what survives is in
// pair_memory.h.
#pragma once

#include <cstdint>

#include "core/math/spatial.h"

namespace tactus {

struct ContactPoint {
  Vec3 p_WC;     // midway between the two surfaces along the normal, in W [m]
  double depth;  // overlap along the normal, > 0 inside [m]  (gap = -depth)
};

struct Manifold {
  Vec3 nhat_BA_W;                  // unit normal, from B into A
  std::uint32_t pair;              // record in PairMemory
  std::uint32_t shape_a, shape_b;  // shape_a < shape_b
  std::uint32_t body_a, body_b;
  std::uint32_t first, count;  // points
  double depth_max;            // [m]
  bool all_on_bottom;          // every point is on the bottom of the overlap (Drumwright III-A need not look)
  double gap_curve = 0;        // ContactBuffer's [m/s^2]
};

struct ContactSet {
  Manifold* manifolds = nullptr;
  ContactPoint* points = nullptr;
  std::uint32_t manifold_count = 0, point_count = 0;
};

}  // namespace tactus
