// Smaller triangles on the same surface (Drumwright, Appendix I-A: "we subdivide the triangle meshes offline using
// Steiner points until all triangles are below a minimum area"), so that large flat faces have enough points of
// contact.
#pragma once

#include <cstddef>
#include <string>

#include "core/shape/mesh/mesh_repair.h"

namespace tactus {

// Triangles that the subdivision makes at least: halving a triangle until its area is at most the limit. Neighbours
// that must be split along add to it (measured: up to 1.5 times in all). A double, because it may be any number.
double predicted_triangles(const MeshSoup& soup, double max_area) noexcept;

// Bisects the longest edge of each triangle over max_area [m^2], and of what lies on its way (Rivara's longest-edge
// propagation path), so that a closed mesh stays closed; new points are midpoints of edges, so volume and mass centre
// stay. Refuses with a reason, soup untouched, when more than max_triangles are predicted; soup is then as it was, also
// when only the propagation exceeds them. Edges must be closed and neighbours agree. O(result lg input).
bool subdivide(MeshSoup& soup, double max_area, std::size_t max_triangles, std::string& error);

}  // namespace tactus
