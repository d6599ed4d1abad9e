// Convex hulls with few vertices, for what is given by many points.
#pragma once

#include <vector>

#include "core/shape/convex_hull.h"

namespace tactus {

struct HullFit {
  double left_out = 0;       // largest distance of a point beyond the hull [m]
  std::size_t vertices = 0;  // of the exact hull
};

// The hull of the points; of a choice of them when it has more than max_vertices: those that lie farthest outside are
// added until there are so many. Lies inside the exact hull. False with an error as build_convex_hull.
bool fit_convex_hull(const std::vector<Vec3>& points, std::size_t max_vertices, ConvexHull& out, HullFit& fit,
                     std::string& error);

}  // namespace tactus
