// A capsule against everything but spheres and half-spaces. Shallow contact (the segment inside the capsule is outside
// the other solid): the shortest distance from the segment, exact. Deep: least overlap of the segment, plus the radius.
#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/convex/narrow_feature.h"
#include "core/collide/convex/narrow_witness.h"
#include "core/collide/narrow_table.h"
#include "core/math/checks.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

enum SegmentPart : std::int32_t { kInside = 0, kLowEnd = 1, kHighEnd = 2, kLevel = 3 };

// Nearest point of the segment to a solid in the solid's frame B, when the segment is outside.
struct Nearest {
  double distance = std::numeric_limits<double>::infinity();
  double t = 0;                         // on the segment, -1..1
  Vec3 n = Vec3::Zero();                // unit, from the solid to the segment
  std::int32_t region = -1, part = -1;  // region_of() a box, SegmentPart; -1: not known
};

// Vector from the nearest point of the solid to p; zero inside.
Vec3 away_from_box(const Vec3& half, const Vec3& p) noexcept {
  return p - p.cwiseMax(-half).cwiseMin(half);
}

// Where a point outside a box lies: beside a face, an edge or a corner, by digits to base 3. A witness of a capsule
// near a box: the nearest point is found from it without a search while it lies there. As -2 - region it is no face or
// edge.
std::int32_t region_of(const Vec3& away) noexcept {
  std::int32_t region = 0;
  for (int i = 2; i >= 0; --i) region = 3 * region + (away[i] < 0 ? 1 : away[i] > 0 ? 2 : 0);
  return region;
}

// The point of the segment nearest to that part of the box, if it is some face, edge or corner.
bool nearest_in_region(const Vec3& half, const Vec3& c, const Vec3& u, std::int32_t region, double& t) noexcept {
  double along = 0, square = 0;
  for (int i = 0; i < 3; ++i, region /= 3) {
    const double side = region % 3 == 1 ? -1.0 : region % 3 == 2 ? 1.0 : 0.0;
    if (side == 0) continue;
    along += (c[i] - side * half[i]) * u[i];
    square += u[i] * u[i];
  }
  t = -along / square;
  return square > 0 && t > -1 && t < 1;
}

Vec3 away_from_cylinder(double radius, double half_length, const Vec3& p) noexcept {
  const double rho = std::sqrt(p.x() * p.x() + p.y() * p.y());
  const double k = rho > radius ? 1.0 - radius / rho : 0.0;
  const double z = p.z() - std::clamp(p.z(), -half_length, half_length);
  return {k * p.x(), k * p.y(), z};
}

// Least distance over the segment c + t u from a convex solid given by its closest vector: the distance is convex in t,
// its slope is closest . u. Regula falsi on the slope with bisection in turn, where it is not zero at the guess; a
// level stretch (parallel) gives its middle.
template <typename Away>
Nearest nearest_on_segment(const Vec3& c, const Vec3& u, const Away& away, const double* guess) noexcept {
  const auto slope = [&](double t) noexcept { return away(c + t * u).dot(u); };
  double lo = -1, hi = 1;
  double f_lo = slope(lo), f_hi = slope(hi);
  const double tiny = 1e-15 * (c.squaredNorm() + u.squaredNorm());
  Nearest nearest;
  double t = 0;
  if (f_lo >= -tiny && f_hi <= tiny) {
    nearest.part = kLevel;
  } else if (f_lo >= -tiny) {
    t = -1;
    nearest.part = kLowEnd;
  } else if (f_hi <= tiny) {
    t = 1;
    nearest.part = kHighEnd;
  } else if (guess != nullptr && std::abs(slope(*guess)) <= tiny) {
    t = *guess;
    nearest.part = kInside;
  } else {
    nearest.part = kInside;
    for (int i = 0; i < 80 && hi - lo > 1e-15; ++i) {
      t = (i % 3 == 2) ? 0.5 * (lo + hi) : lo - f_lo * (hi - lo) / (f_hi - f_lo);
      if (!(t > lo && t < hi)) t = 0.5 * (lo + hi);
      const double f = slope(t);
      if (std::abs(f) <= tiny) break;
      if (f < 0) {
        lo = t;
        f_lo = f;
      } else {
        hi = t;
        f_hi = f;
      }
    }
  }
  const Vec3 v = away(c + t * u);
  nearest.t = t;
  nearest.distance = std::sqrt(v.squaredNorm());
  if (nearest.distance > 0) nearest.n = v * (1.0 / nearest.distance);
  return nearest;
}

// A convex polyhedron: both ends against the solid, the segment against each edge that can be seen.
Nearest nearest_to_hull(const ConvexHull& hull, const Vec3& c, const Vec3& u) noexcept {
  Nearest best;
  for (const double t : {-1.0, 1.0}) {
    Vec3 n;
    double distance = 0;
    closest_on_hull(hull, c + t * u, std::numeric_limits<double>::infinity(), -1, n, distance);
    if (distance < best.distance) best = {distance, t, n, -1, -1};
  }
  for (const ConvexHull::Edge& edge : hull.edges) {
    const Vec3& p = hull.vertices[edge.vertex_a];
    const Vec3& q = hull.vertices[edge.vertex_b];
    double s = 0, t = 0;
    const Vec3 half = 0.5 * (q - p);
    const Vec3 d = c - 0.5 * (p + q);
    closest_on_segments(d, u, half, s, t);
    const Vec3 v = d + s * u - t * half;
    const double distance2 = v.squaredNorm();
    if (distance2 >= best.distance * best.distance || distance2 <= 0) continue;
    best.distance = std::sqrt(distance2);
    best.t = s;
    best.n = v * (1.0 / best.distance);
  }
  return best;
}

struct CapsulePair {
  const Shape& capsule;
  const Frame& X_WC;
  const Shape& solid;
  const Frame& X_WS;
  bool capsule_is_a;
};

// The side line of the capsule that faces the solid along -n.
void capsule_line(const Core& segment, double radius, const Vec3& n, Feature& out) noexcept {
  TACTUS_DCHECK(segment.vertex_count == 2 && is_unit(n) && radius > 0);
  out.count = 2;
  out.radius = out.rise = radius;
  for (int i = 0; i < 2; ++i) out.p[i] = segment.R * segment.vertices[i] + segment.p - radius * n;
}

// Points of the contact with normal n (from the solid into the capsule) in the frame S of the solid; p_core: the
// segment's point that would touch last.
void add_points(const CapsulePair& pair, const Core& segment, const Core& solid, const Vec3& n, double depth,
                const Vec3& p_core, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(is_unit(n));
  const double r = pair.capsule.radius;
  PointGatherer points(n, depth, std::min(smallest_size(pair.capsule), smallest_size(pair.solid)));
  const Vec3 axis = segment.R.col(2);
  const double slope = n.dot(axis);
  if (slope * slope <= 0.25) {
    Feature line, face;
    capsule_line(segment, r, n, line);
    if (solid.is_cylinder()) {
      facing_cap(solid, n, face);
      points.intersect(line, face);
      facing_side(solid, n, face);
      points.intersect(line, face);
    } else {
      facing_polygon(solid, n, -1, face);
      points.intersect(line, face);
    }
  }
  points.ensure_deepest(p_core - r * n);
  points.write(pair.X_WS, out);
  out.all_on_bottom = true;
  if (pair.capsule_is_a) return;
  out.nhat_BA_W = -out.nhat_BA_W;
}

Nearest nearest_to_box(const Vec3& half, const Vec3& c, const Vec3& u, std::int32_t last_region) noexcept {
  double guess = 0;
  const bool guessed = last_region > 0 && last_region < 27 && nearest_in_region(half, c, u, last_region, guess);
  Nearest out = nearest_on_segment(
      c, u, [&](const Vec3& p) noexcept { return away_from_box(half, p); }, guessed ? &guess : nullptr);
  out.region = region_of(away_from_box(half, c + out.t * u));
  return out;
}

Nearest nearest_to_solid(const Shape& solid, const Vec3& c, const Vec3& u, std::int32_t last_region) noexcept {
  switch (solid.kind) {
    case ShapeKind::box:
      return nearest_to_box(solid.half_S, c, u, last_region);
    case ShapeKind::cylinder:
      return nearest_on_segment(
          c, u, [&](const Vec3& p) noexcept { return away_from_cylinder(solid.radius, solid.half_length, p); },
          nullptr);
    case ShapeKind::convex:
    case ShapeKind::sphere:
    case ShapeKind::capsule:
    case ShapeKind::half_space:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  TACTUS_DCHECK(solid.kind == ShapeKind::convex);
  return nearest_to_hull(*solid.hull, c, u);
}

// What one call of collide_capsule_solid works on; the work frame is the solid's.
struct Setup {
  const CapsulePair& pair;
  Mat3 R;     // of the capsule
  Vec3 c, u;  // centre and half vector of its segment
  CoreStorage storage_segment, storage_solid;
  Core segment, solid;

  explicit Setup(const CapsulePair& p) noexcept : pair(p) {
    R.noalias() = p.X_WS.R.transpose() * p.X_WC.R;
    c.noalias() = p.X_WS.R.transpose() * (p.X_WC.p - p.X_WS.p);
    u = p.capsule.half_length * R.col(2);
    segment = make_core(p.capsule, R, c, storage_segment);
    solid = make_core(p.solid, Mat3::Identity(), Vec3::Zero(), storage_solid);
  }

  // The witness as axis from the solid into the capsule; feature_a is the solid's.
  [[nodiscard]] Axis last(const Witness& witness) const noexcept {
    if (pair.capsule_is_a) return {R * witness.axis_A, 0, witness.feature_b, witness.feature_a, false};
    return {-witness.axis_A, 0, witness.feature_a, witness.feature_b, false};
  }
  void remember(const Axis& axis, Witness& witness) const noexcept {
    witness.axis_A = pair.capsule_is_a ? Vec3(R.transpose() * axis.n) : Vec3(-axis.n);
    witness.feature_a = pair.capsule_is_a ? axis.feature_b : axis.feature_a;
    witness.feature_b = pair.capsule_is_a ? axis.feature_a : axis.feature_b;
  }
};

// Least overlap of the segment and a polyhedron, from the solid into the segment; also the segment's point that would
// touch last.
Axis deep_in_polyhedron(const Setup& s, const Axis& last, Vec3& p_core) noexcept {
  Axis axis = least_overlap_polyhedra(s.solid, s.segment, {-last.n, 0, last.feature_a, last.feature_b, false});
  axis.n = -axis.n;
  p_core = core_support(s.segment, -axis.n);
  if (axis.feature_b >= 0) p_core = edge_crossing(s.solid, axis.feature_a, s.c, s.u) - axis.overlap * axis.n;
  return axis;
}

// The same in a cylinder, whose search wants the segment as a, in the segment's own frame.
Axis deep_in_cylinder(const Setup& s, const Axis& last, Vec3& p_core) noexcept {
  CoreStorage storage_a, storage_b;
  const Core segment = make_core(s.pair.capsule, Mat3::Identity(), Vec3::Zero(), storage_a);
  const Core cylinder = make_core(s.pair.solid, s.R.transpose(), -(s.R.transpose() * s.c), storage_b);
  Axis axis =
      least_overlap_cylinder(segment, cylinder, {s.R.transpose() * last.n, 0, last.feature_b, last.feature_a, false});
  Vec3 p = core_support(segment, -axis.n);
  if (axis.feature_b == kSide) p = segment.vertices[axis.feature_a];
  if (axis.feature_b == kSideLine) p = edge_crossing(segment, 0, cylinder.p, cylinder.half_length * cylinder.axis());
  if (axis.feature_b == kRim) p = core_support(cylinder, axis.n) - axis.overlap * axis.n;
  p_core = s.R * p + s.c;
  return {s.R * axis.n, axis.overlap, axis.feature_b, axis.feature_a, axis.proved};
}

void collide_capsule_solid(const CapsulePair& pair, Witness& witness, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(out.count == 0 && out.points != nullptr);
  const double r = pair.capsule.radius;
  const Setup s(pair);
  const Axis last = s.last(witness);
  // A polyhedron's own search tells outside from inside and often proves the pair apart; else the distance comes first.
  const bool hull = pair.solid.kind == ShapeKind::convex;
  Axis axis;
  Vec3 p_core;
  if (hull) {
    axis = deep_in_polyhedron(s, last, p_core);
    if (axis.overlap + r <= 0) {
      out.witnesses.add(false);
      return s.remember({axis.n, 0, -1, -1, false}, witness);
    }
  }
  if (!hull || axis.overlap <= 0) {
    const Nearest nearest = nearest_to_solid(pair.solid, s.c, s.u, code_of_feature(last.feature_a));
    if (nearest.distance > 1e-10 * (r + pair.capsule.half_length)) {
      axis = {nearest.n, -nearest.distance, -1, -1, false};
      if (nearest.region > 0) {  // of other solids distances are searched for anew each time
        axis.feature_a = -2 - nearest.region, axis.feature_b = -2 - nearest.part;
        // An end, or all of a level segment, is looked at without a search: on the same face it does not matter which.
        const bool looked_at = nearest.part != kInside && last.feature_b < -2 - kInside;
        axis.proved = axis.feature_a == last.feature_a && (looked_at || axis.feature_b == last.feature_b);
      }
      p_core = s.c + nearest.t * s.u;
    } else if (!hull) {
      const bool cylinder = pair.solid.kind == ShapeKind::cylinder;
      axis = cylinder ? deep_in_cylinder(s, last, p_core) : deep_in_polyhedron(s, last, p_core);
    }
  }
  s.remember(axis, witness);
  out.witnesses.add(axis.proved);
  if (axis.overlap + r > 0) add_points(pair, s.segment, s.solid, axis.n, axis.overlap + r, p_core, out);
}

}  // namespace

void collide_capsule_capsule(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                             ContactBuffer& out) noexcept {
  const Vec3 u_a = a.half_length * X_WA.R.col(2);
  const Vec3 u_b = b.half_length * X_WB.R.col(2);
  const Vec3 d = X_WA.p - X_WB.p;
  double s = 0, t = 0;
  closest_on_segments(d, u_a, u_b, s, t);
  const Vec3 v = d + s * u_a - t * u_b;
  const double reach = a.radius + b.radius;
  const double distance2 = v.squaredNorm();
  if (distance2 >= reach * reach) return;
  const double distance = std::sqrt(distance2);
  Vec3 n_W;
  if (distance > 1e-12 * reach) {
    n_W = v * (1.0 / distance);
  } else {  // the segments cross: out along their common perpendicular, on the side of the last tick
    Vec3 cross = u_a.cross(u_b);
    if (cross.squaredNorm() < 1e-24 * u_a.squaredNorm() * u_b.squaredNorm() || cross.isZero(0)) cross = X_WB.R.col(0);
    n_W = cross.normalized();
    const double side = n_W.dot(X_WA.R * witness.axis_A);
    if (side != 0 ? side < 0 : n_W.dot(d) < 0) n_W = -n_W;
  }
  witness.axis_A = X_WA.R.transpose() * n_W;
  PointGatherer points(n_W, reach - distance, std::min(smallest_size(a), smallest_size(b)));
  Feature line_a, line_b;
  line_a.count = line_b.count = 2;
  line_a.radius = line_a.rise = a.radius;
  line_b.radius = line_b.rise = b.radius;
  for (int i = 0; i < 2; ++i) {
    const double end = i == 0 ? -1.0 : 1.0;
    line_a.p[i] = d + end * u_a - a.radius * n_W;
    line_b.p[i] = end * u_b + b.radius * n_W;
  }
  const double slope_a = n_W.dot(X_WA.R.col(2)), slope_b = n_W.dot(X_WB.R.col(2));
  if (slope_a * slope_a < 0.25 && slope_b * slope_b < 0.25) points.intersect(line_a, line_b);
  points.ensure_deepest(d + s * u_a - a.radius * n_W);
  points.write(Frame{Mat3::Identity(), X_WB.p}, out);
  out.all_on_bottom = true;
}

void collide_box_capsule(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                         ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  collide_capsule_solid({b, X_WB, a, X_WA, false}, witness, out);
}

void collide_capsule_cylinder(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                              ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  collide_capsule_solid({a, X_WA, b, X_WB, true}, witness, out);
}

void collide_capsule_convex(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                            ContactBuffer& out) noexcept {
  if (apart_along_witness(a, X_WA, b, X_WB, witness)) return out.witnesses.add(true);
  collide_capsule_solid({a, X_WA, b, X_WB, true}, witness, out);
}

}  // namespace tactus
