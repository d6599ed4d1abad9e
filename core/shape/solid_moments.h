// Volume and moments of a region of space: what mass properties are made of.
#pragma once

#include "core/math/spatial.h"

namespace tactus {

// About a point that the user knows, in the axes of S.
struct SolidMoments {
  double volume = 0;           // [m^3]
  Vec3 first = Vec3::Zero();   // int x dV [m^4]
  Mat3 second = Mat3::Zero();  // int x x^T dV [m^5]
};

}  // namespace tactus
