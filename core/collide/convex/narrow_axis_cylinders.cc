// Least overlap of two true cylinders. Patches of the difference's surface: cap, side on side, side on rim
// (one-dimensional), rim on rim (two-dimensional, Newton's method on the sphere of directions).
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_arc.h"
#include "core/collide/convex/narrow_axis.h"
#include "core/collide/convex/narrow_core.h"
#include "core/collide/convex/narrow_proof.h"
#include "core/collide/convex/narrow_rims.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr int kSupportPool = 6;

struct TwoCylinderSearch : TwoCylinders {
  const Axis& last;
  Axis best;
  double score = std::numeric_limits<double>::infinity();
  // Points of the difference b - a: no direction n has an overlap below w . n for any of them.
  Vec3 pool[kSupportPool];
  double pool_square[kSupportPool];
  int pool_count = 0;

  TwoCylinderSearch(const Core& first, const Core& second, const Axis& last_axis) noexcept
      : TwoCylinders(first, second), last(last_axis) {}
};

// Points around the direction n, as for polyhedra: what is far from it is dropped at the price of a few products.
void fill_pool(TwoCylinderSearch& s, const Vec3& n) noexcept {
  Vec3 t1, t2;
  tangent_basis(n, t1, t2);
  const Vec3 directions[kSupportPool] = {n, n + 0.7 * t1, n - 0.7 * t1, n + 0.7 * t2, n - 0.7 * t2, -n};
  for (const Vec3& d : directions) {
    s.pool[s.pool_count] = difference_support(s.a, s.b, d) - s.a.p;
    s.pool_square[s.pool_count] = s.pool[s.pool_count].squaredNorm();
    ++s.pool_count;
  }
}

// Can no direction within an angle of the unit n have an overlap below the limit? There w . m is at least w . n cos -
// |w x n| sin.
bool hopeless(const TwoCylinderSearch& s, const Vec3& n, double cosine, double sine, double limit) noexcept {
  for (int k = 0; k < s.pool_count; ++k) {
    const double along = s.pool[k].dot(n), spare = cosine * along - limit;
    const double across2 = s.pool_square[k] - along * along;
    if (spare >= 0 && spare * spare >= sine * sine * across2) return true;
  }
  return false;
}

bool offer(TwoCylinderSearch& s, const Vec3& n, double margin, int feature_a, int feature_b) noexcept {
  TACTUS_DCHECK(is_unit(n) && margin >= 0 && margin < 1);
  const double overlap = overlap_along(s, n);
  const Axis candidate{n, overlap, feature_a, feature_b};
  const bool same = is_same_feature(candidate, s.last, s.best);
  const double score = overlap * (1 + margin - (same ? kHysteresis : 0.0));
  if (score < s.score || overlap <= 0) {
    s.best = candidate;
    s.score = score;
  }
  return overlap > 0;
}

// The solids are symmetric about their centres, so the sign that runs from b to a has the lesser overlap.
bool offer_towards(TwoCylinderSearch& s, const Vec3& n, double margin, int feature_a, int feature_b) noexcept {
  return offer(s, n.dot(s.d) > 0 ? Vec3(-n) : n, margin, feature_a, feature_b);
}

// The circle of directions of a side against the other's rims, in eighths.
bool circle_is_hopeless(const TwoCylinderSearch& s, const ArcProblem& arc) noexcept {
  constexpr double kCos = 0.92387953251128674, kSin = 0.38268343236508977;  // of half an eighth
  constexpr double kDiagonal = 0.70710678118654752;
  const Vec3 diagonal = kDiagonal * (arc.u + arc.v), other = kDiagonal * (arc.u - arc.v);
  for (const Vec3& n : {arc.u, arc.v, diagonal, other}) {
    if (!hopeless(s, n, kCos, kSin, s.score) || !hopeless(s, -n, kCos, kSin, s.score)) return false;
  }
  return true;
}

// Side of one cylinder (axis e) on the other's rims and side.
bool try_side(TwoCylinderSearch& s, bool side_of_a) noexcept {
  const Vec3& e = side_of_a ? s.axis_a : s.axis_b;
  const Vec3& axis = side_of_a ? s.axis_b : s.axis_a;
  const Core& round = side_of_a ? s.b : s.a;
  const double side_radius = side_of_a ? s.a.radius : s.b.radius;  // a constant on the whole circle
  ArcProblem arc;
  if (!make_arc(e, axis, s.d, round.radius, round.half_length, arc)) {
    const Vec3 across = s.d - s.d.dot(e) * e;  // parallel axes: out along the line between them
    const double length = across.norm();
    return length <= 1e-12 * round.radius || offer_towards(s, across * (1.0 / length), 0, kSide, kSide);
  }
  if (!offer_towards(s, arc.u, 0, kSide, kSide)) return false;
  if (circle_is_hopeless(s, arc)) return true;
  Vec3 minima[kArcMinima];
  const int count = arc_minima(arc, nullptr, nullptr, s.score - side_radius, minima);
  for (int k = 0; k < count; ++k) {
    if (!offer(s, minima[k], kEdgeMargin, side_of_a ? kSide : kRim, side_of_a ? kRim : kSide)) return false;
  }
  return true;
}

// Starts: the best axis so far, and the directions of a grid whose neighbourhood may hold a lesser overlap: within the
// angle delta of n the overlap is at least w . n cos(delta) - |w - (w . n) n| sin(delta).
bool try_rims(TwoCylinderSearch& s) noexcept {
  constexpr int kKeep = 3;
  constexpr double kCos = 0.9, kSin = 0.436;  // about half the spacing of the grid
  const double size = s.size();
  const Vec3 rim = descend_rims(s, s.best.n, Vec3::Zero());
  if (!offer(s, rim, kEdgeMargin, kRim, kRim)) return false;
  Vec3 starts[kKeep];
  double values[kKeep];
  int count = 0;
  constexpr double kLength[4] = {0, 1, 0.70710678118654752440, 0.57735026918962576451};
  for (int i = 0; i < 27; ++i) {
    if (i == 13) continue;
    const Vec3 grid(i % 3 - 1.0, (i / 3) % 3 - 1.0, i / 9 - 1.0);
    const Vec3 n = grid * kLength[static_cast<int>(grid.squaredNorm())];
    if (n.dot(s.d) > 0.5 * size || hopeless(s, n, kCos, kSin, s.best.overlap)) continue;
    const RimExpansion x = expand_rims(s, n);
    const double across = std::sqrt(std::max(0.0, x.w.squaredNorm() - x.f * x.f));
    const double bound = kCos * x.f - kSin * across;
    if (bound >= s.best.overlap) continue;
    int at = count < kKeep ? count++ : kKeep;
    for (; at > 0 && x.f < values[at - 1]; --at) {
      if (at == kKeep) continue;
      values[at] = values[at - 1];
      starts[at] = starts[at - 1];
    }
    if (at == kKeep) continue;
    values[at] = x.f;
    starts[at] = n;
  }
  for (int k = 0; k < count; ++k) {
    if (!offer(s, descend_rims(s, starts[k], rim), kEdgeMargin, kRim, kRim)) return false;
  }
  return true;
}

}  // namespace

Axis least_overlap_cylinders(const Core& a, const Core& b, const Axis& last) noexcept {
  TACTUS_DCHECK(a.is_cylinder() && b.is_cylinder());
  Axis same;
  same.proved = same_axis_cylinders(a, b, last, same);
  if (same.proved) return same;
  TwoCylinderSearch s(a, b, last);
  if (!offer_towards(s, s.axis_a, 0, kCap, kRound) || !offer_towards(s, s.axis_b, 0, kRound, kCap)) return s.best;
  const double norm2 = last.n.squaredNorm();
  fill_pool(s, norm2 > 0.25 ? Vec3(last.n / std::sqrt(norm2)) : s.best.n);
  if (!try_side(s, true) || !try_side(s, false)) return s.best;
  try_rims(s);
  return s.best;
}

}  // namespace tactus
