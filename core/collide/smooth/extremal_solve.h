// Newton's method for the extremal points of two given features: eq. 9 and 56, reduced to the tangent plane.
#pragma once

#include "core/collide/smooth/extremal_feature.h"

namespace tactus {

struct ExtremalRoot {
  Vec3 pa, pb, n, t1, t2;  // in the work frame; n: outward normal of b at pb
  double d = 0;
  ExtremalForm a, b;
  double conditioning = 0;
  std::uint32_t iterations = 0;
  double residual = 0;   // [m]
  bool opposed = false;  // lambda_2 > 0: the outward normals of the two surfaces oppose each other
  bool least = false;  // a local minimum of the distance, or of the overlap over directions, not another critical point
  // Overlapping, one surface not convex: moved by -d n, A touches B there without crossing it nearby, and no shorter
  // way nearby does that. How deep it is does not matter, which it does for `least`.
  bool parts = false;
};

// What is sought. Where two surfaces are as near along a curve (a ball in a ring's hole), across: the curve's bottom
// next to b's point, wherever the curve itself is lowest, while it is nearly level there. Least: where the distance has
// no minimum near, first down its slope, as long as Newton's method would go up.
enum class Sought : std::uint8_t { root, least, across };
// From where the features are now; b is a surface. scale: a length of the pair. False: no root was found within `most`
// steps; pa is where they led on A. Each step costs one evaluation of each feature.
bool solve_extremal(ExtremalFeature& a, ExtremalFeature& b, double scale, std::uint32_t most, ExtremalRoot& out,
                    Sought sought = Sought::root) noexcept;

// The root that the features' present points would be, whatever they are.
void describe_extremal(ExtremalFeature& a, ExtremalFeature& b, double scale, ExtremalRoot& out) noexcept;

// Smallest singular value of a 2 x 2 matrix.
double least_singular(double a, double b, double c, double d) noexcept;

}  // namespace tactus
