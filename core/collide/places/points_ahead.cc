#include "core/collide/places/points_ahead.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/mesh/mesh_solid.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/math/checks.h"
#include "core/math/spatial.h"
#include "core/shape/convex_hull.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

// How far the bodies are turned, in parts of what the step may turn them by, and by which part of that angle's slope
// the gap may have risen where the points lie. On a sphere it has by half of it, on r^k by 1 / k: no point of its own
// for what rolls, even where it turns as far as it may. The smaller turns are for what comes to rest on a side that
// bulges, of which a chord from corner to corner is beneath: with the large one alone it rocks for ever.
struct TurnLevel {
  double turns, rise;
};
constexpr TurnLevel kLevels[] = {{3, 1.0 / 3}, {1, 0.2}, {0.3, 0.2}, {0.1, 0.2}};
constexpr double kMostTurn = 0.2, kLeastTurn = 1e-4;  // of a step [rad]
// Of a step, on an area, whose own points hold what turns by less: more of them, and their choice, rock it.
constexpr double kOnArea = 0.02;              // [rad]
constexpr double kNearRingEnds = 0.05;        // of the travel: gaps (touching_area.h)
constexpr double kNewPoint = 0.03;            // of the size: points nearer to another one are none of their own
constexpr double kLift = 1.5, kApart = 5e-3;  // of what the turn brings down; of the size
constexpr double kFlatSide = 0.02;            // curvature, times the size
constexpr double kLeastFacing = 0.5;          // cosine of the normals, turned and not
constexpr double kDiagonal = 0.70710678118654752;
constexpr double kWays[8][2] = {{1, 0},  {kDiagonal, kDiagonal},   {0, 1},  {-kDiagonal, kDiagonal},
                                {-1, 0}, {-kDiagonal, -kDiagonal}, {0, -1}, {kDiagonal, -kDiagonal}};

bool convex_outside(const Shape& shape) noexcept {
  return shape.kind != ShapeKind::smooth || (shape.smooth->convex() && !shape.smooth->cavity());
}

// How far from its middle a shape reaches: by the travel over that a body turns. A half-space does not.
double arm_of(const Shape& shape) noexcept {
  switch (shape.kind) {
    case ShapeKind::box:
      return shape.half_S.norm();
    case ShapeKind::capsule:
      return shape.radius + shape.half_length;
    case ShapeKind::cylinder:
      return std::hypot(shape.radius, shape.half_length);
    case ShapeKind::convex:
      return shape.hull->radius;
    case ShapeKind::smooth:
      return shape.smooth->radius();
    case ShapeKind::sphere:
      return shape.radius;
    case ShapeKind::half_space:
    case ShapeKind::mesh:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

bool is_flat(const ExtremalForm& side, double size) noexcept {
  return side.dim == 2 && size * std::max({std::abs(side.h11), std::abs(side.h12), std::abs(side.h22)}) < kFlatSide;
}

// One turn: about p, so that A's side along u comes nearer to B.
struct Tilt {
  Vec3 p, u;
  double angle = 0, rise = 0, depth = 0;  // depth: at p

  // An outward normal on whose surface the turn brings the points down that have it.
  [[nodiscard]] Vec3 tilted(const Vec3& n_W) const noexcept { return std::cos(angle) * n_W + std::sin(angle) * u; }
  // Is what lies at r from p, by `gap` farther apart than there, closed by it?
  [[nodiscard]] bool closes(const Vec3& r, double gap) const noexcept { return gap <= rise * angle * u.dot(r); }
  // How far along u the shape reaches where it is turned that way; 0: its surface falls away more than the turn closes.
  // n_W: out of it.
  [[nodiscard]] double reach(const Shape& shape, const Frame& X_WS, const Vec3& n_W) const noexcept {
    if (shape.kind == ShapeKind::half_space) return std::numeric_limits<double>::infinity();
    const Vec3 r = X_WS * support(shape, X_WS.R.transpose() * tilted(n_W)) - (p + 0.5 * depth * n_W);
    return closes(r, -n_W.dot(r)) ? u.dot(r) : 0;
  }
};

// All turns, the largest first.
template <class F>
void each_tilt(const ContactBuffer& out, double turn, F&& look) noexcept {
  Vec3 t1, t2;
  tangent_basis(out.nhat_BA_W, t1, t2);
  const Vec3 p = out.points[0].p_WC;
  const double depth = out.points[0].depth;
  for (const TurnLevel& level : kLevels) {
    for (const auto& way : kWays) look(Tilt{p, way[0] * t1 + way[1] * t2, level.turns * turn, level.rise, depth});
  }
}

// A turn that is worth looking at; 0: none. On an area that turns far the ring nearest to it makes room.
double turn_of(double arm, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(not_below(out.travel, 0));
  const double turn = std::min(out.travel / arm, kMostTurn);
  if (!(turn > (out.count == 1 ? kLeastTurn : kOnArea))) return 0;
  const double deepest = out.points[0].depth;
  const auto in_ring = [&](const ContactPoint& c) {
    return c.depth < deepest && c.depth > deepest - kNearRingEnds * out.travel;
  };
  out.count = static_cast<std::uint32_t>(std::remove_if(out.points, out.points + out.count, in_ring) - out.points);
  return turn;
}

void add_if_new(const Vec3& p_WC, double depth, double size, ContactBuffer& out) noexcept {
  const double near = kNewPoint * size;
  const bool known = std::any_of(out.points, out.points + out.count,
                                 [&](const ContactPoint& c) { return (c.p_WC - p_WC).squaredNorm() < near * near; });
  if (!known && out.count < out.kept) out.add(p_WC, depth);
}

}  // namespace

void add_points_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                      ContactBuffer& out) noexcept {
  if (out.count == 0 || !convex_outside(a) || !convex_outside(b)) return;
  const double size = std::min(arm_of(a), arm_of(b)), turn = turn_of(size, out);
  if (turn == 0) return;
  const Vec3 n = out.nhat_BA_W;
  const double depth = out.points[0].depth;
  each_tilt(out, turn, [&](const Tilt& tilt) {
    double arm = tilt.reach(a, X_WA, -n);
    if (arm > 0) arm = std::min(arm, tilt.reach(b, X_WB, n));
    if (!(arm > 0)) return;
    // Turned about its own point, brought to the other's, and lifted until they are just apart: an overlap may have
    // another normal, and takes a thousand times as long.
    const Mat3 R = Eigen::AngleAxisd(tilt.angle, n.cross(tilt.u)).toRotationMatrix();
    const Vec3 pa0 = tilt.p - 0.5 * depth * n;
    const Vec3 lifted = pa0 + (depth + kLift * tilt.angle * arm + kApart * size) * n;
    ExtremalSide side_a, side_b;
    const Frame turned{R * X_WA.R, lifted + R * (X_WA.p - pa0)};
    const ExtremalPair pair = extremal_points(a, turned, b, X_WB, side_a, side_b);
    if (!pair.known() || pair.nhat_BA_W.dot(n) < kLeastFacing) return;
    const Vec3 pa = pa0 + R.transpose() * (pair.pa_W - lifted), &pb = pair.pb_W;
    const double gap = n.dot(pa - pb);
    // The turn and the lift leave them beside each other: where one is flat the other's point counts.
    const Vec3 middle = is_flat(pair.b, size)   ? Vec3(pa - 0.5 * gap * n)
                        : is_flat(pair.a, size) ? Vec3(pb + 0.5 * gap * n)
                                                : Vec3(0.5 * (pa + pb));
    if (gap <= out.travel && tilt.closes(middle - tilt.p, gap + depth)) add_if_new(middle, -gap, size, out);
  });
}

void add_points_ahead(const MeshSmoothPair& shapes, std::uint32_t t, ContactBuffer& out) noexcept {
  if (out.count == 0 || !convex_outside(shapes.smooth)) return;
  const double size = shapes.surface().radius(), turn = turn_of(size, out);
  if (turn == 0) return;
  const MeshSolid mesh(*shapes.mesh.mesh, shapes.X_WM.R, shapes.X_WM.p, shapes.solid().near());
  const Vec3 into_mesh_W = shapes.turned ? Vec3(-out.nhat_BA_W) : out.nhat_BA_W;
  const double depth = out.points[0].depth;
  each_tilt(out, turn, [&](const Tilt& tilt) {
    const Vec3 d_S = shapes.X_WS.R.transpose() * tilt.tilted(into_mesh_W);
    const Vec3 ps = shapes.X_WS * shapes.surface().support(d_S);
    const Vec3 face = tilt.p + (0.5 * depth) * -into_mesh_W;
    const double gap = into_mesh_W.dot(face - ps);
    std::uint32_t at = t, border = 0;
    if (gap > out.travel || !tilt.closes(ps - tilt.p, gap + depth) || !mesh.walk_facet(mesh.to_own(ps), at, border))
      return;
    add_if_new(ps + (0.5 * gap) * into_mesh_W, -gap, size, out);
  });
}

}  // namespace tactus
