#include "core/collide/time/swept_pair.h"

#include "core/check.h"
#include "core/collide/narrow_phase.h"
#include "core/collide/places/mesh_places.h"
#include "core/collide/time/sweep.h"
#include "core/math/checks.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

// How fast the shape can move against n, per step. arm: of the points that matter about the mass centre.
double speed_along(const SweptShape& s, const Vec3& n_W, double t, double arm) noexcept {
  TACTUS_DCHECK(not_below(arm, 0));
  if (t >= s.stopped) return 0;
  return n_W.dot(s.travel_W) + s.turn_W.cross(n_W).norm() * arm;
}

double speed(const SweptShape& s) noexcept {
  // A ball's own turning moves its centre only.
  const double arm = s.shape.kind == ShapeKind::sphere ? (s.X_WS.p - s.centre_W).norm() : s.radius;
  return s.turn_W.norm() * arm;
}

// From b into a, of a pair that touches at these poses; zero: not known.
Vec3 contact_axis(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Separation& d) noexcept {
  if (!d.n_W.isZero(0)) return d.n_W;
  ContactPoint points[4];
  ContactBuffer buffer{points, 4};
  Witness witness;
  collide(a, X_WA, b, X_WB, witness, buffer);
  return buffer.count > 0 ? buffer.nhat_BA_W : Vec3(X_WA.R * witness.axis_A);
}

}  // namespace

bool is_bowl(const Shape& shape) noexcept {
  return shape.kind == ShapeKind::smooth && shape.smooth->cavity();
}

Separation Sweep::separation() noexcept {
  if (!searched_) return find_separation(a.shape, X_WA, b.shape, X_WB);
  const ExtremalPair pair = extremal_points(a.shape, X_WA, b.shape, X_WB, side_a_, side_b_);
  known = pair.known();
  Separation out;
  out.gap = out.apart = pair.d;
  out.n_W = pair.nhat_BA_W;
  return out;
}

bool Sweep::advance(double left, double rate) noexcept {
  double end = 1;
  for (const double stop : {a.stopped, b.stopped}) {
    if (stop > t) end = std::min(end, stop);
  }
  if (rate <= 0 || left >= rate * (end - t)) {
    t = end;
  } else {
    t += left / rate;
  }
  return t < until && !(a.stopped <= t && b.stopped <= t);
}

double Sweep::closing(const Vec3& n_W, double arm_b) const noexcept {
  return speed_along(a, -n_W, t, a.radius) + speed_along(b, n_W, t, arm_b);
}

double Sweep::fastest() const noexcept {
  const Vec3 none = Vec3::Zero();
  const bool moves_a = t < a.stopped, moves_b = t < b.stopped;
  return ((moves_a ? a.travel_W : none) - (moves_b ? b.travel_W : none)).norm() + (moves_a ? speed(a) : 0) +
         (moves_b ? speed(b) : 0);
}

bool Sweep::leaves(double depth) const noexcept {
  const Frame X_WA1 = a.at(1), X_WB1 = b.at(1);
  return gap_along(a.shape, X_WA1, b.shape, X_WB1, X_WB1.R * n_B) >= -depth;
}

// Of a's points in the frame of b, per step.
double Sweep::most_acceleration() const noexcept {
  const double turn_a = a.turn_W.norm(), turn_b = b.turn_W.norm(), own = turn_a * turn_a * a.radius;
  if (turn_b == 0) return own;
  const double speed = (a.travel_W - b.travel_W).norm() + turn_a * a.radius;
  return own + turn_b * (turn_b * arm_of_axis() + 2 * speed);
}

// In b's frame a point's way over some time is nowhere farther from the line between its ends than an eighth of its
// acceleration by that time's square: of all points together the gap is not less than at both ends, less that.
bool Sweep::advance_along(const Vec3& n_W, double least, double left, double rate) noexcept {
  const double here = gap(n_W), shortest = rate > 0 ? left / rate : 1;
  if (a.stopped < 1 || b.stopped < 1 || !(here > least)) return advance(left, rate);
  const double most = most_acceleration();
  const Vec3 axis_B = X_WB.R.transpose() * n_W;
  for (double dt = 1 - t; dt > shortest; dt *= 0.25) {
    const double enough = least + 0.125 * most * dt * dt;
    if (!(here > enough)) continue;
    const double then = t + dt;
    const Frame X_WA1 = a.at(then), X_WB1 = b.at(then);
    if (!(gap_along(a.shape, X_WA1, b.shape, X_WB1, X_WB1.R * axis_B) > enough)) continue;
    const bool ends = dt == 1 - t;
    t = then;
    return !ends && t < until;
  }
  return advance(left, rate);
}

double Sweep::arm_of_axis() const noexcept {
  const Vec3 d = a.centre_W - b.centre_W;
  return d.norm() + a.travel_W.norm() + b.travel_W.norm() + a.radius;
}

Frame SweptShape::at(double t) const noexcept {
  const double s = std::min(t, stopped);
  const Vec3 centre = centre_W + s * travel_W;
  if (turn_W.isZero(0)) return {X_WS.R, centre + (X_WS.p - centre_W)};
  const Mat3 R = rotate_by(s * turn_W, Quat::Identity()).toRotationMatrix();
  return {R * X_WS.R, centre + R * (X_WS.p - centre_W)};
}

bool is_swept_pair(const Shape& a, const Shape& b) noexcept {
  const bool plane_a = a.kind == ShapeKind::half_space, plane_b = b.kind == ShapeKind::half_space;
  if (plane_a && plane_b) return false;
  if ((is_bowl(a) && (plane_b || is_bowl(b))) || (is_bowl(b) && plane_a)) return false;
  const bool mesh = a.kind == ShapeKind::mesh || b.kind == ShapeKind::mesh;
  return !(mesh && (is_bowl(a) || is_bowl(b))) || is_mesh_smooth_pair(a, b);
}

SweptTouch first_touch(const SweptShape& a, const SweptShape& b, double slack, double deepest, double until) noexcept {
  TACTUS_DCHECK(not_below(slack, 0));
  const bool plane = b.shape.kind == ShapeKind::half_space;  // meets a hull where it is the surface's own
  const bool folded = is_folded(a.shape) || is_folded(b.shape) || is_mesh_smooth_pair(a.shape, b.shape);
  if (!plane && folded) return first_touch_folded(a, b, slack, deepest, until);
  Sweep sweep(a, b, until);
  const auto begin = [slack, deepest](Sweep& s, const Separation& d, const Vec3& /*last*/) noexcept {
    const Vec3 n_W = contact_axis(s.a.shape, s.X_WA, s.b.shape, s.X_WB, d);
    if (n_W.isZero(0)) return false;
    s.touching = true;
    s.n_B = s.X_WB.R.transpose() * n_W;
    const double depth = -s.gap(n_W);
    s.limit = s.t == 0 ? std::max(deepest, depth + kSweepCreep * slack) : slack;
    return !(s.t == 0 && depth >= deepest && s.leaves(depth));
  };
  const auto still = [slack](Sweep& s) noexcept { return !(s.separation().gap > kSweepNear * slack); };
  return follow(sweep, slack, begin, still);
}

}  // namespace tactus
