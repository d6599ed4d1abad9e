// The overlap of two true cylinders along a direction, and its minima where a rim of each decides it.
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

struct TwoCylinders {
  const Core& a;
  const Core& b;
  Vec3 axis_a, axis_b, d;  // d: from a's centre to b's

  TwoCylinders(const Core& first, const Core& second) noexcept
      : a(first), b(second), axis_a(first.axis()), axis_b(second.axis()), d(second.p - first.p) {}
  [[nodiscard]] double size() const noexcept { return a.radius + a.half_length + b.radius + b.half_length; }
};

// Along the unit n, from b into a.
double overlap_along(const TwoCylinders& s, const Vec3& n) noexcept;

// The overlap at a direction with its gradient and curvature on the sphere: w is the support point of the difference, a
// rim's Hessian is tau tau^T / |n_perp|.
struct RimExpansion {
  Vec3 n, w;
  double f;
  Vec3 tau_a, tau_b;
  double curve_a, curve_b;
};
RimExpansion expand_rims(const TwoCylinders& s, const Vec3& n) noexcept;

// Local minimum of the overlap from a start; each step must lower it. Gives up where it comes close to `known`, a
// minimum that was found before.
Vec3 descend_rims(const TwoCylinders& s, const Vec3& start, const Vec3& known) noexcept;

}  // namespace tactus
