// The area over which two convex surfaces touch where they nearly fit: flat poles on each other or on a face, sides of
// slight curvature. By itself the place at which they are nearest says that they touch at a point, over which the upper
// body rocks for ever, the faster the flatter the place is.
#pragma once

#include "core/collide/mesh/mesh_solid.h"
#include "core/collide/narrow_phase.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/collide/smooth/extremal_solid.h"

namespace tactus {

// Of the smaller one's size: where surfaces are farther apart by no more than this than at their place they touch as
// well. Finer than what real ones are rough and give way.
inline constexpr double kTouchingRise = 5e-6;
// Curvature of the gap, times the size, up to which that counts along a way, and from which on it counts for nothing:
// what is round rolls. Two surfaces that bend may add up to more than one on a face.
inline constexpr double kFlat = 0.1, kAreaEnds = 0.5, kAreaEndsOnFace = 0.3;

// What is on one side of it: a surface, a face of a solid, or the facet of a mesh's triangle.
struct AreaSide {
  const SmoothSurface* surface = nullptr;
  const Frame* X_WS = nullptr;
  const ExtremalSolid* solid = nullptr;
  std::int32_t face = -1;
  const MeshSolid* mesh = nullptr;
  std::uint32_t triangle = MeshSolid::kNoTriangle;
};

struct AreaPair {
  AreaSide a, b;
  double size = 0;   // of the smaller surface
  double reach = 0;  // [m]
  [[nodiscard]] double ends() const noexcept {
    return a.surface != nullptr && b.surface != nullptr ? kAreaEnds : kAreaEndsOnFace;
  }
};

// May it be found along lines? Of surfaces that are convex and have F.
bool has_area(const SmoothSurface& surface) noexcept;

// `out` holds the pair's place alone, and the contact's normal. If the surfaces nearly fit there, the area's middle
// takes its stead, and points on the area's border are added, four at most, all as deep as the place; and up to eight
// where the gap is a part of the reach, each with its own depth. All with the one normal. About 10 us; where the pair
// is round, nothing.
void add_area(const AreaPair& sides, const ExtremalPair& pair, ContactBuffer& out) noexcept;

}  // namespace tactus
