// A proof that an axis of the last tick is still the axis of least overlap, for a twentieth of the price of the search:
// resting pairs, most of all there are, need nothing more.
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

constexpr int kRingMax = 16;          // points of a flat patch
constexpr double kSameHeight = 1e-6;  // of the overlap: vertices this close in height lie on one patch

// The overlap along the unit m is the height of the difference b - a along m, and the least of all is the distance from
// the origin to its boundary. Where the boundary has a flat patch with normal n (a face, a cap, edge on edge, side on
// side), the cone from points of that patch to the lowest point against n is part of the difference. If the origin is
// at least the overlap away from all sides of that cone, no direction has a lesser overlap. `ring`: 3 to 16 points of
// b - a with n . w = overlap, in convex order around n. False proves nothing. O(ring).
bool proves_least(const Core& a, const Core& b, const Vec3& n, double overlap, const Vec3* ring, int count) noexcept;

// The axis of the last tick's features, where it is proved to be the least of this tick: flat patches by the cone, rims
// and sides by how the boundary bends (narrow_proof.cc).
// Features as in least_overlap_cylinder() and least_overlap_cylinders(). True: `out` is what those would return.
bool same_axis_cylinder(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept;
bool same_axis_cylinders(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept;

}  // namespace tactus
