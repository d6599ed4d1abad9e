// Triangles of a smooth surface: for drawing, and for checks that need them. Nothing collides with these.
#pragma once

#include <vector>

#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

struct SmoothTriangles {
  std::vector<Vec3> vertices;                     // on the surface, in S [m]
  std::vector<TriangleMesh::Triangle> triangles;  // counter-clockwise seen from outside (a cavity's: from the hollow)
  double error = 0;                               // largest distance seen at the middles of edges [m]
};

// Of a drawing, as a fraction of the surface's radius; and the most triangles of one.
inline constexpr double kDrawTolerance = 2e-3;
inline constexpr std::size_t kDrawTriangles = 32768;

// Refined until the middle of each edge is within `tolerance` [m] of the surface, measured along its normal, or a finer
// mesh would have more than `most` triangles. At load or on a network thread: it allocates.
SmoothTriangles tessellate(const SmoothSurface& surface, double tolerance, std::size_t most = kDrawTriangles);

}  // namespace tactus
