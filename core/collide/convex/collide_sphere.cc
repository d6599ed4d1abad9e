// A sphere against everything: one point, on the line from the centre to the nearest surface point of the other solid.
// Closed forms, O(1), but O(faces + edges) against a convex polyhedron.
#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/narrow_table.h"
#include "core/math/checks.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

// Adds the point of a sphere with centre p_WA, given the unit normal from the other body towards the sphere and the
// signed distance of the centre from the other's surface.
void add_sphere_point(double radius, const Frame& X_WA, const Vec3& nhat_BA_W, double distance, Witness& witness,
                      ContactBuffer& out) noexcept {
  TACTUS_DCHECK(radius > 0 && is_unit(nhat_BA_W));
  witness.axis_A.noalias() = X_WA.R.transpose() * nhat_BA_W;
  const double depth = radius - distance;
  if (depth <= 0) return;
  out.nhat_BA_W = nhat_BA_W;
  out.all_on_bottom = true;
  out.add(X_WA.p - (radius - 0.5 * depth) * nhat_BA_W, depth);
}

// The unit vector along v, or the fallback when v is too short to have a direction.
double unit_or(const Vec3& v, const Vec3& fallback, Vec3& nhat) noexcept {
  TACTUS_DCHECK(is_unit(fallback));
  const double length = std::sqrt(v.squaredNorm());
  nhat = length > 1e-150 ? Vec3(v * (1.0 / length)) : fallback;
  return length;
}

}  // namespace

void collide_sphere_sphere(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                           ContactBuffer& out) noexcept {
  const Vec3 v = X_WA.p - X_WB.p;
  const double reach = a.radius + b.radius;
  if (v.squaredNorm() >= reach * reach) return;
  Vec3 nhat;
  // Concentric: any direction is minimal; up, so that it is the same every time.
  const double length = unit_or(v, Vec3::UnitZ(), nhat);
  add_sphere_point(a.radius, X_WA, nhat, length - b.radius, witness, out);
}

void collide_sphere_half_space(const Shape& a, const Frame& X_WA, const Shape&, const Frame& X_WB, Witness& witness,
                               ContactBuffer& out) noexcept {
  const Vec3 nhat_W = X_WB.R.col(2);
  add_sphere_point(a.radius, X_WA, nhat_W, nhat_W.dot(X_WA.p - X_WB.p), witness, out);
}

void collide_sphere_box(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                        ContactBuffer& out) noexcept {
  const Vec3 c_B = X_WB.to_local(X_WA.p);
  const Vec3 v_B = c_B - c_B.cwiseMax(-b.half_S).cwiseMin(b.half_S);
  const double distance2 = v_B.squaredNorm();
  if (distance2 >= a.radius * a.radius) return;
  if (distance2 > 0) {
    const double distance = std::sqrt(distance2);
    add_sphere_point(a.radius, X_WA, X_WB.R * (v_B * (1.0 / distance)), distance, witness, out);
    return;
  }
  int axis = 0;  // centre inside: out through the nearest face
  const Vec3 margin = b.half_S - c_B.cwiseAbs();
  margin.minCoeff(&axis);
  const double side = c_B[axis] < 0 ? -1.0 : 1.0;
  add_sphere_point(a.radius, X_WA, side * X_WB.R.col(axis), -margin[axis], witness, out);
}

void collide_sphere_capsule(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                            ContactBuffer& out) noexcept {
  const Vec3 d = X_WA.p - X_WB.p;
  const Vec3 axis = X_WB.R.col(2);
  const double t = std::clamp(axis.dot(d), -b.half_length, b.half_length);
  const Vec3 v = d - t * axis;
  const double reach = a.radius + b.radius;
  if (v.squaredNorm() >= reach * reach) return;
  Vec3 nhat;
  const double length = unit_or(v, X_WB.R.col(0), nhat);
  add_sphere_point(a.radius, X_WA, nhat, length - b.radius, witness, out);
}

void collide_sphere_cylinder(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                             ContactBuffer& out) noexcept {
  const Vec3 c_B = X_WB.to_local(X_WA.p);
  const double rho = std::sqrt(c_B.x() * c_B.x() + c_B.y() * c_B.y());
  const Vec3 radial = rho > 1e-150 ? Vec3(c_B.x() / rho, c_B.y() / rho, 0) : Vec3(1, 0, 0);
  const double over_side = rho - b.radius;
  const double over_cap = std::abs(c_B.z()) - b.half_length;
  const Vec3 cap(0, 0, c_B.z() < 0 ? -1.0 : 1.0);
  if (over_side <= 0 || over_cap <= 0) {  // inside, or beside one of the two surfaces only
    const bool through_side = over_side > over_cap;
    add_sphere_point(a.radius, X_WA, X_WB.R * (through_side ? radial : cap), std::max(over_side, over_cap), witness,
                     out);
    return;
  }
  const double distance = std::sqrt(over_side * over_side + over_cap * over_cap);
  const Vec3 n_B = (over_side * radial + over_cap * cap) * (1.0 / distance);
  add_sphere_point(a.radius, X_WA, X_WB.R * n_B, distance, witness, out);
}

void collide_sphere_convex(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                           ContactBuffer& out) noexcept {
  const ConvexHull& hull = *b.hull;
  const Vec3 c_B = X_WB.to_local(X_WA.p);
  double distance = 0;
  Vec3 n_B;
  const std::int32_t hint = witness.feature_b;
  witness.feature_b = closest_on_hull(hull, c_B, a.radius, hint, n_B, distance);
  out.witnesses.add(witness.feature_b == hint);
  add_sphere_point(a.radius, X_WA, X_WB.R * n_B, distance, witness, out);
}

}  // namespace tactus
