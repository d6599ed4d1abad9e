// Contacts along a line or over an area: where two surfaces fit each other (a torus that lies, a superellipsoid's flat
// pole on a face or on another one), one point would wander over the contact from tick to tick. Convex ones by
// touching_area.h; the others where normals are a little tilted.
#pragma once

#include "core/collide/mesh/mesh_near.h"
#include "core/collide/narrow_phase.h"
#include "core/collide/smooth/extremal_points.h"

namespace tactus {

// Adds to the point of `pair` that is in `out` those around it that are not farther apart than `reach`, if the surfaces
// fit: where each surface's normal is a little tilted, and where it crosses the border of the other's face. All with
// one normal: with a face its own, which replaces that of `out`. At least one of the shapes is smooth.
void add_fitting_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair,
                        double reach, ContactBuffer& out) noexcept;
// Are several points of the two those of an area? All of it is then as near as the pair.
bool touch_over_area(const Shape& a, const Shape& b) noexcept;

// The same of a mesh and a smooth surface, which touch at the mesh's feature `feature` (mesh_solid.h): points on the
// facet there. Gives the triangle whose normal it is; MeshSolid::kNoTriangle: the surface fits none.
std::uint32_t add_fitting_points(const MeshSmoothPair& shapes, const ExtremalPair& pair, std::int32_t feature,
                                 double reach, ContactBuffer& out) noexcept;

}  // namespace tactus
