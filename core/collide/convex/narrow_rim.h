// Sample points on the rim of a cylinder's cap.
#pragma once

#include "core/math/spatial.h"

namespace tactus {

inline constexpr int kRimPoints = 8;
// Below this tilt [sin of the angle between axis and contact normal] the samples keep a body-fixed phase: the direction
// of the deepest place is noise there, and points that spin on the spot would lose their friction anchors.
inline constexpr double kRimPhaseTilt = 1e-4;

// Eight points of the circle of radius r about the axis (z components are zero), at 45 degrees, the first the farthest
// one along d_S (d_S need not be unit, its x and y part decides); the body's x axis when d_S is within kRimPhaseTilt of
// the axis.
inline void rim_offsets(double r, const Vec3& d_S, Vec3 (&rim)[kRimPoints]) noexcept {
  const double radial2 = d_S.x() * d_S.x() + d_S.y() * d_S.y();
  double c = r, s = 0;
  if (radial2 > kRimPhaseTilt * kRimPhaseTilt * d_S.squaredNorm()) {
    const double k = r / std::sqrt(radial2);
    c = k * d_S.x();
    s = k * d_S.y();
  }
  constexpr double kHalf = 0.70710678118654752440;
  const double sum = kHalf * (c + s);
  const double difference = kHalf * (c - s);
  rim[0] = {c, s, 0};
  rim[1] = {difference, sum, 0};
  rim[2] = {-s, c, 0};
  rim[3] = {-sum, difference, 0};
  rim[4] = {-c, -s, 0};
  rim[5] = {-difference, -sum, 0};
  rim[6] = {s, -c, 0};
  rim[7] = {sum, -difference, 0};
}

}  // namespace tactus
