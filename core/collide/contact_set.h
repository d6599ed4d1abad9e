// What collision finds in one tick: manifolds of contact points. Thrown away each tick; what survives is in
// pair_memory.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/math/checks.h"
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

// For checks: what contact models count on. O(manifolds).
inline bool is_well_formed(const ContactSet& contacts, std::size_t bodies, std::size_t pairs) noexcept {
  for (std::uint32_t i = 0; i < contacts.manifold_count; ++i) {
    const Manifold& m = contacts.manifolds[i];
    const bool points = m.count > 0 && m.first + m.count <= contacts.point_count;
    const bool between = m.shape_a < m.shape_b && m.body_a != m.body_b && m.body_a < bodies && m.body_b < bodies;
    if (!points || !between || m.pair >= pairs || !is_unit(m.nhat_BA_W)) return false;
  }
  return true;
}

}  // namespace tactus
