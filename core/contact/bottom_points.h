// The bottom of the overlap: Drumwright III-A, Fig. 5, in true O(N lg N).
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/collide/contact_set.h"

namespace tactus {

// Chooses the points on the bottom of the volume of penetration: points are taken in order of falling depth, and a
// point is on the bottom when its projection onto the contact plane (normal nhat) lies outside the convex hull of the
// projections of all deeper points. Chosen instead of the paper's angular array with insertion: that is O(N^2), and
// keeps some points that are not on the bottom (7.6 % on random polytopes). Points whose depths differ by less than
// level_tolerance form one level and are first reduced to their strict hull, so that a flat face gives its corners
// whatever the order of its points. Points of one projection count once, the deepest.
//
// Writes the chosen indices, ascending, to out (room for count) and returns how many (0 only for count 0). Scratch from
// the arena, given back before return. Predecessor search by a bit tree over the x-ranks: O(N lg N) for the sorts, the
// rest nearly linear.
std::uint32_t bottom_points(const Vec3& nhat, const ContactPoint* points, std::uint32_t count, double level_tolerance,
                            std::uint32_t* out, Arena& arena) noexcept;

// At most keep of the chosen points: the deepest first, then always the one farthest (in the plane) from those kept:
// the widest polygon. Rewrites chosen in place, ascending; returns the new number. O(count * keep).
std::uint32_t keep_widest(const Vec3& nhat, const ContactPoint* points, std::uint32_t* chosen, std::uint32_t count,
                          std::uint32_t keep, Arena& arena) noexcept;

// Are the depths those of a plane, within tolerance? Then every point is on the bottom, however little the plane is
// tilted, and only the corners of their outline matter: bottom_points() with an infinite level tolerance gives them.
// For meshes, whose flat faces have points inside. Least squares over the plane's directions; O(count).
bool flat_overlap(const Vec3& nhat, const ContactPoint* points, std::uint32_t count, double tolerance) noexcept;

// At most keep of the chosen points: those farthest along `keep` directions of the plane, fixed in the world, so that
// the choice from a ring of equally deep points is the same in the next tick (keep_widest would start from whichever is
// the deepest by rounding). Rewrites chosen in place, ascending; returns the new number. O(count * keep).
std::uint32_t keep_outermost(const Vec3& nhat, const ContactPoint* points, std::uint32_t* chosen, std::uint32_t count,
                             std::uint32_t keep, Arena& arena) noexcept;

// Bytes of arena that bottom_points needs for count points.
std::size_t bottom_points_scratch(std::uint32_t count) noexcept;

}  // namespace tactus
