// A triangle mesh against a smooth shape: one point a place, midway between the extremal points, and where the surface
// fits a facet of the mesh those around it (mesh_places.h, fitting_points.h).
#pragma once

#include "core/collide/places/collide_places.h"
#include "core/collide/places/mesh_places.h"

namespace tactus {

// As collide_places(), of is_mesh_smooth_pair(a, b). A place is followed by its feature of the mesh. Where places seem
// to be several ways out of one overlap, what was there stays, else the shortest. dropped: places beyond place_count,
// and one more where the surface was near more triangles than are looked at. A deep overlap that no feature explains is
// one place, found anew each tick and counted as a fallback.
void collide_mesh_smooth(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                         double margin, PairRecord* records, std::uint32_t place_count, PlaceContacts& out) noexcept;

}  // namespace tactus
