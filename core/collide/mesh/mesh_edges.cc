// Edges against solids: what vertices cannot see. Where the edge of a table passes under a box that juts out, or where
// two bars cross, the corners of the overlap are points of edges.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/mesh/mesh_contact.h"
#include "core/shape/mesh/distance_field.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

constexpr std::uint32_t kCrossings = 16;
constexpr double kNudge = 1e-4;  // of the inner part's length: a crossing is looked at from just inside

constexpr double kAcross = 0.3;  // share of the gradient across the edge below which the edge stands upright

// The segment, its distances, and whose it is.
struct Segment {
  int owner;
  Vec3 p, q, unit;
  double length, d_p, d_q;
  [[nodiscard]] Vec3 at(double t) const noexcept { return p + t * (q - p); }
};

void add_point(MeshPair& pair, const Segment& s, double t, double half, MeshPointKind kind) noexcept {
  MeshPoint point{};
  point.p = s.at(t);
  const SolidSample sample = sample_solid(pair.side[1 - s.owner], point.p);
  if (sample.distance >= 0) return;
  Vec3 gradient = sample.gradient;
  double distance = -sample.distance;
  if (kind == MeshPointKind::edge) {
    // The edge passes through from side to side: only across it can it come free.
    const Vec3 across = gradient - gradient.dot(s.unit) * s.unit;
    const double share = across.norm();
    if (share > kAcross) gradient = across / share, distance /= share;
  }
  point.nhat_BA = s.owner == 0 ? gradient : Vec3(-gradient);
  point.along = s.unit;
  point.distance = distance;
  point.half = half * s.length;
  point.facet = sample.facet, point.triangle = sample.triangle;
  point.kind = kind;
  point.of_a = s.owner == 0;
  pair.add(point);
}

// One part between t0 and t1 that is inside.
void add_part(MeshPair& pair, const Segment& s, double t0, double t1) noexcept {
  const double nudge = kNudge * (t1 - t0);
  if (t0 > 0) add_point(pair, s, t0 + nudge, 0, MeshPointKind::crossing);
  if (t1 < 1) add_point(pair, s, t1 - nudge, 0, MeshPointKind::crossing);
  if (t0 > 0 && t1 < 1) add_point(pair, s, 0.5 * (t0 + t1), 0.5 * (t1 - t0), MeshPointKind::edge);
}

void cross_mesh(MeshPair& pair, const Segment& s) noexcept {
  const MeshSide& side = pair.side[1 - s.owner];
  MeshCrossing hits[kCrossings];
  const std::uint32_t found =
      cross_segment(*side.shape->mesh, side.X.to_local(s.p), side.X.to_local(s.q), hits, kCrossings);
  if (found == 0) return;
  double from = 0;
  for (std::uint32_t i = 0; i <= std::min(found, kCrossings); ++i) {
    const double to = i < std::min(found, kCrossings) ? hits[i].t : 1.0;
    if (to - from > 1e-9 && sample_solid(side, s.at(0.5 * (from + to))).distance < 0) add_part(pair, s, from, to);
    from = std::max(from, to);
  }
}

// Where between `out` (outside) and `in` (inside) the edge passes through.
double pass(const MeshSide& side, const Segment& s, double out, double in) noexcept {
  for (int i = 0; i < 40 && std::abs(in - out) > 1e-9; ++i) {
    const double t = 0.5 * (in + out);
    (sample_solid(side, s.at(t)).distance < 0 ? in : out) = t;
  }
  return in;
}

// The distance to a convex solid is a convex function of t: its least value by golden section.
void cross_convex(MeshPair& pair, const Segment& s) noexcept {
  const MeshSide& side = pair.side[1 - s.owner];
  const auto f = [&](double t) { return sample_solid(side, s.at(t)).distance; };
  double best = s.d_p < s.d_q ? 0.0 : 1.0;
  if (std::min(s.d_p, s.d_q) >= 0) {
    constexpr double kGolden = 0.61803398874989485;
    double lo = 0, hi = 1, x = 1 - kGolden, y = kGolden, fx = f(x), fy = f(y);
    for (int i = 0; i < 40 && fx >= 0 && fy >= 0; ++i) {
      if (fx < fy) {
        hi = y, y = x, fy = fx, x = hi - kGolden * (hi - lo), fx = f(x);
      } else {
        lo = x, x = y, fx = fy, y = lo + kGolden * (hi - lo), fy = f(y);
      }
    }
    if (std::min(fx, fy) >= 0) return;
    best = fx < fy ? x : y;
  }
  const double t0 = s.d_p < 0 ? 0.0 : pass(side, s, 0, best), t1 = s.d_q < 0 ? 1.0 : pass(side, s, 1, best);
  if (t1 - t0 > 1e-9) add_part(pair, s, t0, t1);
}

}  // namespace

void add_segment(MeshPair& pair, int owner, const Vec3& p, const Vec3& q) noexcept {
  TACTUS_DCHECK(owner == 0 || owner == 1);
  const MeshSide& side = pair.side[1 - owner];
  if (side.shape->kind == ShapeKind::sphere || side.shape->kind == ShapeKind::half_space) return;
  Segment s{owner, p, q, Vec3::Zero(), (q - p).norm(), 0, 0};
  if (s.length == 0) return;
  if (side.shape->kind == ShapeKind::mesh) {
    const Vec3 a = side.X.to_local(p), b = side.X.to_local(q);
    const TriangleMesh& mesh = *side.shape->mesh;
    if ((mesh.lo - a.cwiseMax(b)).maxCoeff() > 0 || (a.cwiseMin(b) - mesh.hi).maxCoeff() > 0) return;
  }
  s.d_p = sample_solid(side, p).distance;
  s.d_q = sample_solid(side, q).distance;
  if (s.d_p < 0 && s.d_q < 0) return;
  // Distances change by no more than the way: both ends are too far to meet. (Fields may err by some per cent.)
  if (s.d_p + s.d_q > s.length * 1.2) return;
  s.unit = (q - p) / s.length;
  if (side.shape->kind == ShapeKind::mesh) {
    cross_mesh(pair, s);
  } else {
    cross_convex(pair, s);
  }
}

}  // namespace tactus
