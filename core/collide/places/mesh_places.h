// Places of a triangle mesh and a smooth shape: the extremal points of the surface and the mesh's faces, its edges and
// its vertices that stick out (Baraff 1990), each a local minimum of the distance or a local shortest way out. Depth
// and normal are those of the surface and the triangles, not of the mesh's distance field.
#pragma once

#include <span>

#include "core/collide/places/extremal_places.h"

namespace tactus {

// A mesh and a smooth shape, in either order; of insides of surfaces (cavity) those of convex ones only, whose walls
// only the mesh's corners touch.
bool is_mesh_smooth_pair(const Shape& a, const Shape& b) noexcept;

// The place near the remembered ones, followed from feature to feature of the mesh. A face that the surface fits holds
// its place anywhere on it. Unknown: there is none there any more; the sides are as before. About 1 us.
ExtremalPair mesh_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, ExtremalSide& side_a,
                        ExtremalSide& side_b) noexcept;

// The two points that the sides remember, as they lie to each other now, with the surface's normal there: for what must
// go on where there is no such place any more. ill_conditioned: it has no rates but those of the bodies.
ExtremalPair held_mesh_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                             const ExtremalSide& side_a, const ExtremalSide& side_b) noexcept;

struct MeshPlaces {
  static constexpr std::uint32_t kMost = 16;
  ExtremalPlace place[kMost];  // nearest or deepest first
  std::uint32_t count = 0;
  std::uint32_t triangles = 0;  // looked at
  std::uint32_t dropped = 0;    // places beyond kMost; 1 more where triangles were left out
};
// Triangles near the surface that are looked at, of one pair: what is beyond is left out.
inline constexpr std::uint32_t kMostNearTriangles = 4096;

// All places nearer than `reach` (d < reach) but the known ones. About 0.1 to 0.4 us a triangle near the surface where
// it is flat there, 1 to 2 us where each triangle is a facet of its own.
void find_mesh_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                      std::span<const ExtremalPair> known, MeshPlaces& out) noexcept;
// Where no place explains it: do the two overlap, and what then separates them? By the deepest of the surface's seeds
// and its centre in the mesh's distance field, along the nearest triangle's normal; a mesh that lies within the surface
// as a whole: by the hulls. fallen_back, or unknown: they do not overlap.
ExtremalPair separate_deep(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept;

// Are the two one place?
bool same_mesh_place(const Shape& a, const Shape& b, const ExtremalPair& pair, const ExtremalPair& other) noexcept;
// Does bringing the two apart along `by`, by its depth, end the overlap at `pair`, too?
bool frees(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& by,
           const ExtremalPair& pair) noexcept;

}  // namespace tactus
