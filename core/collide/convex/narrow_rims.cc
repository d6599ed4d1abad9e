#include "core/collide/convex/narrow_rims.h"

#include <cmath>

#include "core/check.h"

namespace tactus {

namespace {

double height(const Core& core, double z) noexcept {
  return core.half_length * std::abs(z) + core.radius * std::sqrt(std::max(0.0, 1.0 - z * z));
}

// Newton's step where the Hessian is positive, else along the gradient; in the tangent plane, at most 0.5 rad.
Vec3 step_of(const RimExpansion& x, double size) noexcept {
  Vec3 t1, t2;
  tangent_basis(x.n, t1, t2);
  const double a1 = x.tau_a.dot(t1), a2 = x.tau_a.dot(t2), b1 = x.tau_b.dot(t1), b2 = x.tau_b.dot(t2);
  const double h11 = x.curve_a * a1 * a1 + x.curve_b * b1 * b1 - x.f;
  const double h12 = x.curve_a * a1 * a2 + x.curve_b * b1 * b2;
  const double h22 = x.curve_a * a2 * a2 + x.curve_b * b2 * b2 - x.f;
  const double g1 = x.w.dot(t1), g2 = x.w.dot(t2);
  const double det = h11 * h22 - h12 * h12;
  double u = -g1 / size, v = -g2 / size;
  if (det > 1e-9 * size * size && h11 > 0) {
    u = (h12 * g2 - h22 * g1) / det;
    v = (h12 * g1 - h11 * g2) / det;
  }
  const double length2 = u * u + v * v;
  const double k = length2 > 0.25 ? 0.5 / std::sqrt(length2) : 1.0;
  return (k * u) * t1 + (k * v) * t2;
}

}  // namespace

double overlap_along(const TwoCylinders& s, const Vec3& n) noexcept {
  return n.dot(s.d) + height(s.a, n.dot(s.axis_a)) + height(s.b, n.dot(s.axis_b));
}

RimExpansion expand_rims(const TwoCylinders& s, const Vec3& n) noexcept {
  TACTUS_DCHECK(s.a.radius > 0 && s.b.radius > 0);
  RimExpansion x;
  x.n = n;
  x.w = s.d;
  const auto rim = [&](const Core& core, const Vec3& axis, Vec3& tau, double& curve) noexcept {
    const double z = n.dot(axis);
    const double inverse = 1.0 / std::sqrt(std::max(1e-24, 1.0 - z * z));
    x.w += (std::copysign(core.half_length, z) - core.radius * z * inverse) * axis + (core.radius * inverse) * n;
    tau = axis.cross(n) * inverse;
    curve = core.radius * inverse;
  };
  rim(s.a, s.axis_a, x.tau_a, x.curve_a);
  rim(s.b, s.axis_b, x.tau_b, x.curve_b);
  x.f = n.dot(x.w);
  return x;
}

Vec3 descend_rims(const TwoCylinders& s, const Vec3& start, const Vec3& known) noexcept {
  constexpr double kConverged2 = 1e-20, kSame = 0.9998;  // [rad^2], cos(1 degree)
  const double size = s.size();
  RimExpansion x = expand_rims(s, start);
  for (int i = 0; i < 24; ++i) {
    Vec3 step = step_of(x, size);
    const double length2 = step.squaredNorm();
    if (length2 < kConverged2 || x.n.dot(known) > kSame) break;
    bool moved = false;
    for (int k = 0; k < 8 && !moved; ++k, step *= 0.35) {
      const Vec3 trial = x.n + step;
      const RimExpansion y = expand_rims(s, trial * (1.0 / std::sqrt(trial.squaredNorm())));
      moved = y.f < x.f;
      if (moved) x = y;
      if (length2 < 1e-12) break;  // rounding decides which is lower
    }
    if (!moved) break;
  }
  return x.n;
}

}  // namespace tactus
