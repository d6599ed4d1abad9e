// Surfaces that are not convex, and bowls; smooth surfaces and meshes. Between such a pair there need not be a plane,
// so a gap along one direction proves nothing: the distance itself is followed, which shrinks no faster than the
// bodies' points move. It costs more looks than a plane does (each leaves the part 1 - cos of the angle between the way
// and the normal), and a search from nothing at each; what balls around both prove needs none.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/collide/convex/narrow_core.h"
#include "core/collide/mesh/mesh_near.h"
#include "core/collide/places/mesh_places.h"
#include "core/collide/time/passes_by.h"
#include "core/collide/time/sweep.h"
#include "core/shape/mesh/triangle_tree.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

// Of the thinner one's half width: up to there the plane at the nearest place is the surface's; overlap that is a
// touch.
constexpr double kThin = 0.25, kGraze = 1e-3;
// Of a surface's radius: how far from it places at a mesh are looked for, nearer ones first.
constexpr double kPlaceReaches[] = {0.1, 1.0};

// Between balls around both; of a bowl's solid there is none.
double gap_of_balls(const Sweep& s) noexcept {
  if (is_bowl(s.a.shape) || is_bowl(s.b.shape)) return 0;
  const Vec3 a = s.a.centre_W + std::min(s.t, s.a.stopped) * s.a.travel_W;
  const Vec3 b = s.b.centre_W + std::min(s.t, s.b.stopped) * s.b.travel_W;
  return (a - b).norm() - s.a.radius - s.b.radius;
}

// From the mesh to the middle of the surface's ball.
double distance_of_middle(const MeshSmoothPair& pair) noexcept {
  const Vec3 middle_W = pair.X_WS * pair.surface().centre();
  return closest_on_mesh(*pair.mesh.mesh, pair.X_WM.to_local(middle_W)).distance;
}

// How far the nearest place of a mesh and a surface is, or how deep the deepest; where that is far, a lower bound: the
// nearest few triangles first. None is farther away than the surface's middle and its radius. Unknown: too many
// triangles.
ExtremalPair nearest_at_mesh(const Sweep& s, double reach, double middle) noexcept {
  const MeshSmoothPair shapes(s.a.shape, s.X_WA, s.b.shape, s.X_WB);
  const double radius = shapes.surface().radius();
  ExtremalPair out;
  for (const double part : kPlaceReaches) {
    const double within = std::min(reach, part * radius);
    MeshPlaces found;
    find_mesh_places(s.a.shape, s.X_WA, s.b.shape, s.X_WB, within, {}, found);
    if (found.triangles >= kMostNearTriangles) return out;
    if (found.count > 0) return found.place[0].pair;
    out.status = ExtremalStatus::solved;
    out.d = within;
    if (within >= reach) break;
  }
  if (middle < 0) {
    const ExtremalPair deep = separate_deep(s.a.shape, s.X_WA, s.b.shape, s.X_WB);
    if (deep.known()) return deep;
  }
  return out;
}

// Does the place where they touch at t = 0 open, by its two points and its normal?
bool opens(const Sweep& s, const ExtremalPair& pair) noexcept {
  const Frame X_WA1 = s.a.at(1), X_WB1 = s.b.at(1);
  const Vec3 pa = X_WA1 * s.X_WA.to_local(pair.pa_W), pb = X_WB1 * s.X_WB.to_local(pair.pb_W);
  return (X_WB1.R * (s.X_WB.R.transpose() * pair.nhat_BA_W)).dot(pa - pb) >= pair.d;
}

}  // namespace

bool is_folded(const Shape& shape) noexcept {
  return shape.kind == ShapeKind::smooth && !shape.smooth->convex();
}

SweptTouch first_touch_folded(const SweptShape& a, const SweptShape& b, double slack, double deepest,
                              double until) noexcept {
  Sweep s(a, b, until);
  SweptTouch out;
  ExtremalSide side_a, side_b;
  const bool mesh = is_mesh_smooth_pair(a.shape, b.shape);
  for (double limit = slack; out.looks < kSweepLooks; ++out.looks) {
    s.look();
    double gap = gap_of_balls(s), middle = 0;
    if (mesh && !is_bowl(a.shape) && !is_bowl(b.shape) && gap <= slack) {
      const MeshSmoothPair shapes(a.shape, s.X_WA, b.shape, s.X_WB);
      middle = distance_of_middle(shapes);
      gap = middle - shapes.surface().radius();
    }
    if (gap <= slack) {
      const double reach = slack + s.fastest() * (1 - s.t);
      const ExtremalPair pair =
          mesh ? nearest_at_mesh(s, reach, middle) : extremal_points(a.shape, s.X_WA, b.shape, s.X_WB, side_a, side_b);
      if (!pair.known()) {
        ++out.unknown;
        if (s.t == 0) return out;
        break;
      }
      if (s.t == 0 && is_buried(a.shape, s.X_WA, b.shape, s.X_WB, pair)) return out;
      gap = pair.d;
      if (s.t == 0 && gap <= kSweepNear * slack) {
        limit = std::max(deepest, -gap);
        if (-gap >= deepest && opens(s, pair)) return out;
      }
    }
    if (gap + limit <= kSweepNear * slack) break;
    if (!s.advance(gap + limit, s.fastest())) return out;
  }
  out.found = true;
  out.t = s.t;
  return out;
}

bool passes_by(const SweptShape& a, const SweptShape& b, const ContactPoint* points, std::uint32_t count) noexcept {
  if (count == 0 || !(is_folded(a.shape) || is_folded(b.shape)) || !is_swept_pair(a.shape, b.shape)) return false;
  if (a.shape.kind == ShapeKind::half_space || b.shape.kind == ShapeKind::half_space) return false;
  if (is_mesh_smooth_pair(a.shape, b.shape)) return false;  // would cost more than it tells
  const double size = std::min(smallest_size(a.shape), smallest_size(b.shape));
  const auto near = [size](const ContactPoint& point) { return point.depth > -kThin * size; };
  if (std::any_of(points, points + count, near)) return false;
  return !first_touch(a, b, kGraze * size, kGraze * size).found;
}

}  // namespace tactus
