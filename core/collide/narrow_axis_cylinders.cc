// Least overlap of two true cylinders. Patches of the difference's surface: cap, side on side, side on rim
// (one-dimensional), rim on rim (two-dimensional, Newton's method on the sphere of directions).
#include <limits>

#include "core/collide/narrow_arc.h"
#include "core/collide/narrow_axis.h"
#include "core/collide/narrow_core.h"

namespace tactus {

namespace {

struct Search {
  const Core& a;
  const Core& b;
  const Axis& last;
  Vec3 axis_a, axis_b, d;  // d: from a's centre to b's
  Axis best;
  double score = std::numeric_limits<double>::infinity();
};

double height(const Core& core, double z) noexcept {
  return core.half_length * std::abs(z) + core.radius * std::sqrt(std::max(0.0, 1.0 - z * z));
}

double overlap_along(const Search& s, const Vec3& n) noexcept {
  return n.dot(s.d) + height(s.a, n.dot(s.axis_a)) + height(s.b, n.dot(s.axis_b));
}

bool offer(Search& s, const Vec3& n, double margin, int feature_a, int feature_b) noexcept {
  const double overlap = overlap_along(s, n);
  const bool same = feature_a == s.last.feature_a && feature_b == s.last.feature_b;
  const double score = overlap * (1 + margin - (same ? kHysteresis : 0.0));
  if (score < s.score || overlap <= 0) {
    s.best = {n, overlap, feature_a, feature_b};
    s.score = score;
  }
  return overlap > 0;
}

// The solids are symmetric about their centres, so the sign that runs from b to a has the lesser overlap.
bool offer_towards(Search& s, const Vec3& n, double margin, int feature_a, int feature_b) noexcept {
  return offer(s, n.dot(s.d) > 0 ? Vec3(-n) : n, margin, feature_a, feature_b);
}

// Side of one cylinder (axis e) on the other's rims and side.
bool try_side(Search& s, bool side_of_a) noexcept {
  const Vec3& e = side_of_a ? s.axis_a : s.axis_b;
  const Vec3& axis = side_of_a ? s.axis_b : s.axis_a;
  const Core& round = side_of_a ? s.b : s.a;
  ArcProblem arc;
  if (!make_arc(e, axis, s.d, round.radius, round.half_length, arc)) {
    const Vec3 across = s.d - s.d.dot(e) * e;  // parallel axes: out along the line between them
    const double length = across.norm();
    return length <= 1e-12 * round.radius || offer_towards(s, across * (1.0 / length), 0, kSide, kSide);
  }
  if (!offer_towards(s, arc.u, 0, kSide, kSide)) return false;
  Vec3 minima[kArcMinima];
  const int count = arc_minima(arc, nullptr, nullptr, minima);
  for (int k = 0; k < count; ++k) {
    if (!offer(s, minima[k], kEdgeMargin, side_of_a ? kSide : kRim, side_of_a ? kRim : kSide)) return false;
  }
  return true;
}

// Support point of the difference, and the curvature of both rims there: Hess |n_perp| = tau tau^T / |n_perp|.
void expand(const Search& s, const Vec3& n, const Vec3& t1, const Vec3& t2, double (&g)[2], double (&H)[3]) noexcept {
  Vec3 w = s.d;
  H[0] = H[1] = H[2] = 0;
  for (int k = 0; k < 2; ++k) {
    const Core& core = k == 0 ? s.a : s.b;
    const Vec3& axis = k == 0 ? s.axis_a : s.axis_b;
    const double z = n.dot(axis);
    const Vec3 perp = n - z * axis;
    const double length = std::sqrt(std::max(1e-24, perp.squaredNorm()));
    w += std::copysign(core.half_length, z) * axis + (core.radius / length) * perp;
    const Vec3 tau = axis.cross(perp) * (1.0 / length);
    const double x = tau.dot(t1), y = tau.dot(t2), c = core.radius / length;
    H[0] += c * x * x;
    H[1] += c * x * y;
    H[2] += c * y * y;
  }
  const double f = w.dot(n);
  H[0] -= f;
  H[2] -= f;
  g[0] = w.dot(t1);
  g[1] = w.dot(t2);
}

// Local minimum of the overlap from a start: Newton where the Hessian is positive, else along the gradient, with step
// halving.
Vec3 descend(const Search& s, Vec3 n, double size) noexcept {
  double value = overlap_along(s, n);
  for (int i = 0; i < 24; ++i) {
    Vec3 t1, t2;
    tangent_basis(n, t1, t2);
    double g[2], H[3];
    expand(s, n, t1, t2, g, H);
    const double g2 = g[0] * g[0] + g[1] * g[1];
    if (g2 <= 1e-26 * size * size) break;
    const double det = H[0] * H[2] - H[1] * H[1];
    double x = -g[0] / size, y = -g[1] / size;
    if (det > 1e-9 * size * size && H[0] > 0) {
      x = -(H[2] * g[0] - H[1] * g[1]) / det;
      y = -(H[0] * g[1] - H[1] * g[0]) / det;
    }
    const double length = std::sqrt(x * x + y * y);
    double step = length > 0.5 ? 0.5 / length : 1.0;
    bool moved = false;
    for (int k = 0; k < 12 && !moved; ++k, step *= 0.4) {
      const Vec3 trial = (n + step * (x * t1 + y * t2)).normalized();
      const double v = overlap_along(s, trial);
      if (v < value) {
        n = trial;
        value = v;
        moved = true;
      }
    }
    if (!moved) break;
  }
  return n;
}

bool try_rims(Search& s) noexcept {
  constexpr int kKeep = 4;
  const double size = s.a.radius + s.a.half_length + s.b.radius + s.b.half_length;
  Vec3 starts[kKeep];
  double values[kKeep];
  int count = 0;
  for (int i = 0; i < 27; ++i) {
    if (i == 13) continue;
    const Vec3 grid(i % 3 - 1.0, (i / 3) % 3 - 1.0, i / 9 - 1.0);
    const Vec3 n = grid.normalized();
    if (n.dot(s.d) > 0.3 * size) continue;
    const double v = overlap_along(s, n);
    int at = count < kKeep ? count++ : kKeep;
    while (at > 0 && v < values[at - 1]) {
      if (at < kKeep) {
        values[at] = values[at - 1];
        starts[at] = starts[at - 1];
      }
      --at;
    }
    if (at < kKeep) {
      values[at] = v;
      starts[at] = n;
    }
  }
  if (!offer(s, descend(s, s.best.n, size), kEdgeMargin, kRim, kRim)) return false;
  for (int k = 0; k < count; ++k) {
    if (!offer(s, descend(s, starts[k], size), kEdgeMargin, kRim, kRim)) return false;
  }
  return true;
}

}  // namespace

Axis least_overlap_cylinders(const Core& a, const Core& b, const Axis& last) noexcept {
  Search s{a, b, last, a.axis(), b.axis(), b.p - a.p, {}, std::numeric_limits<double>::infinity()};
  if (!offer_towards(s, s.axis_a, 0, kCap, kRound) || !offer_towards(s, s.axis_b, 0, kRound, kCap)) return s.best;
  if (!try_side(s, true) || !try_side(s, false)) return s.best;
  try_rims(s);
  return s.best;
}

}  // namespace tactus
