// Where two convex surfaces are as good as one plane around the place at which they touch: the area over which they are
// nearer to each other than a little more than there.
#pragma once

#include "core/collide/extremal_points.h"
#include "core/collide/extremal_solid.h"
#include "core/collide/narrow_phase.h"

namespace tactus {

// Of the smaller one's size: surfaces that are farther apart by no more than this touch as well as where they are
// nearest. Finer than anything is made.
inline constexpr double kTouchingRise = 5e-6;
// Conditioning from which on that counts for nothing, and rises to the above as it goes to zero: what is round rolls.
inline constexpr double kAreaEnds = 0.3;

// What the area lies between: two surfaces, or one and a face of a solid, whose outward normal is along that of B or
// against that of A.
struct AreaSide {
  const SmoothSurface* surface = nullptr;
  const Frame* X_WS = nullptr;
  const ExtremalSolid* solid = nullptr;  // else
  std::int32_t face = -1;
};

// May the points be found along lines? Surfaces that are convex and have F.
bool has_area(const AreaSide& side) noexcept;

// Adds to `out`, whose normal is nhat_BA_W, points on the border of that area, which touch as well as the place at
// p_WC, and others where the gap is `reach`, each with its depth. d: the gap at p_WC; rise: the area's.
void add_area(const AreaSide& a, const AreaSide& b, const ExtremalPair& pair, const Vec3& nhat_BA_W, const Vec3& p_WC,
              double d, double rise, double reach, double size, ContactBuffer& out) noexcept;

}  // namespace tactus
