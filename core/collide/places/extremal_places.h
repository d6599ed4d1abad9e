// Several places of one pair: a surface that is not convex may be near another solid, or overlap it, in more than one,
// each with a normal of its own (a box on its corners in a bowl, a plate across a ring, a link of a chain).
#pragma once

#include <span>

#include "core/collide/smooth/extremal_points.h"

namespace tactus {

// May the two touch in several places? A smooth shape that is not convex, and another of any kind; a smooth shape and a
// mesh (mesh_places.h; not a bowl's).
bool has_places(const Shape& a, const Shape& b) noexcept;

struct ExtremalPlace {
  ExtremalSide a, b;
  ExtremalPair pair;
};

// Does the pair lie over a curve along which the two are about as near (a ball in a ring's hole)? One of its places is
// as good as another, and a body that is held all around by it comes and goes at each.
bool on_level_curve(const ExtremalPair& pair) noexcept;
// How far apart the two may be at places along such a curve, with one that touches, to be followed [m].
double beside_level(const Shape& a, const Shape& b) noexcept;

// Other places than those known that are nearer than `reach` (d < reach), or along a level curve than beside_level(),
// at most `room`; gives their number. Found by Newton's method from corners, rims and the surfaces' seeds, where those
// are lowest among their neighbours: places that are nearer to each other than those count as one. One known place that
// is proved to be the only one within reach (balls that touch there) costs next to nothing, else 2 to 10 us, and up to
// a tenth of a ms of two that are not convex.
std::uint32_t other_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           std::span<const ExtremalPair> known, ExtremalPlace* out, std::uint32_t room) noexcept;
// Are the two pairs' points one place, for shapes of this kind?
bool same_place(const Shape& a, const Shape& b, const ExtremalPair& pair, const ExtremalPair& other) noexcept;

}  // namespace tactus
