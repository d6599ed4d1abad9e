// Least overlap along a circle of directions perpendicular to an edge (or a cylinder's side line) against the rims of a
// cylinder.
#pragma once

#include "core/check.h"
#include "core/math/checks.h"
#include "core/math/spatial.h"

namespace tactus {

// Directions n(phi) = cos(phi) u + sin(phi) v with u, v perpendicular to e and u perpendicular to the cylinder's axis
// too, so that
//   f(phi) = alpha cos(phi) + beta sin(phi) + h delta |sin(phi)| + r sqrt(1 - delta^2 sin^2(phi))
// is the overlap: centre relative to the edge in alpha and beta, delta = v . axis >= 0, half height h, radius r.
struct ArcProblem {
  Vec3 u, v;
  double alpha, beta, delta, h, r;
};

// False when e is parallel to the axis: there are no rims to meet. e and axis are unit vectors, d runs from the edge to
// the centre.
inline bool make_arc(const Vec3& e, const Vec3& axis, const Vec3& d, double r, double h, ArcProblem& arc) noexcept {
  TACTUS_DCHECK(is_unit(e) && is_unit(axis));
  const Vec3 cross = e.cross(axis);
  const double length2 = cross.squaredNorm();
  if (length2 < 1e-12) return false;
  arc.u = cross * (1.0 / std::sqrt(length2));
  arc.v = arc.u.cross(e);
  arc.delta = arc.v.dot(axis);  // = |e x axis| >= 0
  arc.alpha = arc.u.dot(d);
  arc.beta = arc.v.dot(d);
  arc.h = h;
  arc.r = r;
  return true;
}

inline constexpr int kArcMinima = 12;

// Local minima of f between n1 and n2 (unit vectors on the circle, less than half a turn apart; null: the whole circle)
// where the overlap is smooth, that is on the rims: sin(phi) != 0. Bracketed on pieces, then safeguarded Newton to
// rounding. Pieces on which f is proved to stay above the limit are skipped.
int arc_minima(const ArcProblem& arc, const Vec3* n1, const Vec3* n2, double limit,
               Vec3 (&minima)[kArcMinima]) noexcept;

// The local minimum that Newton's method reaches from the direction `start` of the circle without leaving the rim it
// begins on. False: it does not settle within a few steps. The same digits as arc_minima()'s to rounding.
bool arc_minimum_near(const ArcProblem& arc, const Vec3& start, Vec3& n) noexcept;

}  // namespace tactus
