// Planar cubic B-splines whose segments are known as polynomials: the profiles of surfaces of revolution.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/shape/smooth/smooth_base.h"

namespace tactus {

// (rho, z) and derivatives by the parameter.
struct ProfileJet {
  Vec2 x, dx, ddx;
};

// Segment i over [i, i + 1], with coefficients of powers of t - i.
struct ProfileCurve {
  struct Segment {
    std::array<Vec2, 4> c;
  };
  std::vector<Segment> segments;

  [[nodiscard]] double length() const noexcept { return static_cast<double>(segments.size()); }
  // t is clamped to the end segments, whose polynomials go on.
  [[nodiscard]] std::size_t segment_of(double t) const noexcept;
  [[nodiscard]] ProfileJet jet(double t) const noexcept;
};

// The curve of control points on the way from pole to pole (both with rho = 0), or closed.
ProfileCurve profile_curve(const std::vector<Vec2>& control, bool closed);

// Farthest point along (a, b) with a >= 0: each segment's extrema in closed form.
Vec2 profile_support(const ProfileCurve& curve, double a, double b) noexcept;

// Of the solid about (0, 0, z0), exact: Gauss' rule of 8 points on each segment, degree 15.
SolidMoments profile_moments(const ProfileCurve& curve, double z0) noexcept;

// What cannot be turned into a surface; empty when all is well.
std::string profile_defect(const std::vector<Vec2>& control, const ProfileCurve& curve, bool closed);

}  // namespace tactus
