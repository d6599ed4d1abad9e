// What lets a pair that is not convex be followed instead of searched for.
#pragma once

#include <limits>

namespace tactus {

// Of the last search from nothing: where the surface's frame stood in the other solid's, and the distance below which
// there was no other place. Rigid bodies that have moved by m since then have no other place below others - m: one that
// is followed and is nearer than that is the nearest still. Single precision: what it rounds is added to m.
struct ExtremalPast {
  static constexpr float kNothing = std::numeric_limits<float>::lowest();
  float p[3] = {}, q[3] = {};  // [m]; vector part of the unit quaternion whose scalar is not negative
  float others = kNothing;     // [m]
  [[nodiscard]] bool known() const noexcept { return others > kNothing; }
};

}  // namespace tactus
