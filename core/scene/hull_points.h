// Convex hulls with few vertices, for what is given by many points.
#pragma once

#include <vector>

#include "core/shape/convex_hull.h"

namespace tactus {

struct HullFit {
  bool approximate = false;  // not all extreme points are vertices
  double left_out = 0;       // then: largest distance of a point beyond the hull [m]
};

// The hull of the points. When it has more than max_vertices, or cannot be decided because points lie in one plane but
// for rounding, the hull of a choice of them, inside the exact one: those that lie farthest outside are added until
// there are so many, or none is farther out than 1e-6 of the size. False with an error as build_convex_hull.
bool fit_convex_hull(const std::vector<Vec3>& points, std::size_t max_vertices, ConvexHull& out, HullFit& fit,
                     std::string& error);

}  // namespace tactus
