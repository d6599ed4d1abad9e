// Corners that a turn within the step brings down: what convex smooth shapes with flat sides and sharp corners need in
// models that look ahead. By its nearest place alone a rounded cube that lands on a corner is held there, and the next
// corner is deep when it is found. Round shapes need none: where they roll to, their nearest place is in time.
#pragma once

#include "core/collide/mesh/mesh_near.h"
#include "core/collide/narrow_phase.h"

namespace tactus {

// `out` holds the pair's points and normal as collide_smooth_within() found them. Adds points, no farther apart than
// out.travel along the normal, at which the bodies meet if they are turned a little against each other about the first
// one, and which such a turn can close. What a third body strikes in the step may turn farther. About 1 us where either
// is round there, up to 200 where both are flat.
void add_points_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                      ContactBuffer& out) noexcept;

// The same of a surface and a mesh, which touch at triangle t: points over its facet.
void add_points_ahead(const MeshSmoothPair& shapes, std::uint32_t t, ContactBuffer& out) noexcept;

}  // namespace tactus
