// How thin a shape is, and how far it reaches: what continuous detection measures its steps by. At load.
#pragma once

#include "core/shape/shape.h"

namespace tactus {

// Half of its width where it is thinnest, never more; infinite for half-spaces and for the solid around a bowl. Hulls:
// between a face and what lies opposite. Meshes: under the middle of each triangle, to where its normal leaves the
// solid again. Surfaces: their widths along the normals of the coarse mesh, and where they are not convex the distances
// between its points that face away from each other. O(faces * vertices); meshes O(n lg n) expected.
double half_thickness(const Shape& shape);

// No point of the shape's surface is farther from the point q_S. Half-spaces: 0.
double radius_about(const Shape& shape, const Vec3& q_S);

}  // namespace tactus
