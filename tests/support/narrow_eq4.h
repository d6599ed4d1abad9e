// The contact normal of Drumwright, "A Fast and Stable Penalty Method for Rigid Body Simulation", Appendix I-B,
// equation (4). Not used by collide(): it looks at facets only, so that edge-edge overlaps get a facet's normal, and
// deep overlaps can get one that does not separate (27 of 1,261 random deep overlaps). The narrow phase takes the exact
// least overlap instead; this function is here to compare with.
#pragma once

#include "core/collide/narrow_phase.h"

namespace tactus::test {

struct Eq4Normal {
  Vec3 nhat_BA_W = Vec3::Zero();  // unit, from B into A
  double depth = 0;  // the minimum over facets of the largest distance of an overlap point to the facet's plane [m]
  bool by_shortcut = false;  // the deepest point alone decided it (Appendix I-B, last paragraph)
};

// Equation (4) for boxes and convex polyhedra: nhat = the facet normal with min_i (max_j |nhat_i . p_j - d_i|) over the
// facets of both solids that touch the other, p_j the corners of the overlap. First with the deepest point only; if
// another point is farther from the facet found, with all points. False when the solids do not overlap or have more
// facets than the work space (256 each) holds. O(facets * points), work on the stack.
bool eq4_normal(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Eq4Normal& out) noexcept;

}  // namespace tactus::test
