#include "core/collide/feature/contact_features.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/places/extremal_places.h"
#include "core/collide/places/mesh_places.h"
#include "core/math/checks.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

constexpr double kAligned = 1e-5;    // a normal this near to a face's is the face's [rad]
constexpr double kAgree = 1e-9;      // features and collision agree in a distance to this [m] ...
constexpr double kAgreeDeep = 1e-3;  // ... and to this of a deep one; normals to its root
constexpr double kLying = 0.02;  // a rim nearer to a plane than this lies on it: its lowest point has no bounds [rad]
// No step follows points that run round a curve along which surfaces nearly fit: below this conditioning rates with a
// normal that turns faster than this are none [rad/s].
constexpr double kAlongCurve = 1e-3, kFastest = 300;
constexpr double kParallel = 1e-4;  // lines nearer than this have no common normal of their own [rad]

FeatureSide point_at(const Vec3& p_S, double radius = 0) noexcept {
  return {FeatureCore::point, p_S, Vec3::UnitZ(), radius, 0, Vec3::UnitX()};
}
FeatureSide line_at(const Vec3& p_S, const Vec3& u_S, double radius = 0) noexcept {
  TACTUS_DCHECK(is_unit(u_S) && radius >= 0);
  return {FeatureCore::line, p_S, u_S, radius, 0, Vec3::UnitX()};
}
FeatureSide plane_at(const Vec3& p_S, const Vec3& u_S) noexcept {
  TACTUS_DCHECK(is_unit(u_S));
  return {FeatureCore::plane, p_S, u_S, 0, 0, Vec3::UnitX()};
}

FeatureSide circle_at(const Vec3& p_S, const Vec3& u_S, double rim, const Vec3& e_S) noexcept {
  TACTUS_DCHECK(is_unit(u_S) && rim > 0);
  return {FeatureCore::circle, p_S, u_S, 0, rim, e_S};
}

FeatureSide side_of_box(const Vec3& half, const Vec3& n, const Vec3& p) noexcept {
  Vec3 corner;
  int across = 0, along = 0;
  for (int i = 0; i < 3; ++i) {
    corner[i] = std::copysign(half[i], n[i]);
    if (std::abs(n[i]) < kAligned) ++across, along = i, corner[i] = std::clamp(p[i], -half[i], half[i]);
  }
  if (across == 0) return point_at(corner);
  if (across == 1) return line_at(corner, Vec3::Unit(along));
  for (int i = 0; i < 3; ++i) {
    if (std::abs(n[i]) >= kAligned) return plane_at(corner, std::copysign(1.0, n[i]) * Vec3::Unit(i));
  }
  return plane_at(corner, n);
}

FeatureSide side_of_hull(const ConvexHull& hull, const Vec3& n, const Vec3& p) noexcept {
  for (const ConvexHull::Face& face : hull.faces) {
    if (face.nhat.cross(n).squaredNorm() < kAligned * kAligned && face.nhat.dot(n) > 0) {
      return plane_at(p - (face.nhat.dot(p) - face.offset) * face.nhat, face.nhat);
    }
  }
  double top = -std::numeric_limits<double>::infinity();
  Vec3 vertex = p;
  for (const Vec3& v : hull.vertices) {
    if (n.dot(v) > top) top = n.dot(v), vertex = v;
  }
  for (const ConvexHull::Edge& edge : hull.edges) {
    const Vec3 &v0 = hull.vertices[edge.vertex_a], u = hull.vertices[edge.vertex_b] - v0;
    const double length = u.norm();
    if (std::abs(n.dot(u)) >= kAligned * length || n.dot(v0) < top - kAligned * hull.radius) continue;
    const double s = std::clamp(u.dot(p - v0) / length, 0.0, length);
    return line_at(v0 + s / length * u, u / length);
  }
  return point_at(vertex);
}

FeatureSide side_of_axis(const Shape& shape, const Vec3& n, const Vec3& p) noexcept {
  const double z = std::clamp(p.z(), -shape.half_length, shape.half_length),
               end = std::copysign(shape.half_length, n.z());
  if (shape.kind == ShapeKind::capsule) {
    if (std::abs(n.z()) > kAligned || shape.half_length == 0) return point_at(Vec3(0, 0, end), shape.radius);
    return line_at(Vec3(0, 0, z), Vec3::UnitZ(), shape.radius);
  }
  if (std::abs(n.z()) < kAligned) return line_at(Vec3(0, 0, z), Vec3::UnitZ(), shape.radius);
  const double radial = std::hypot(n.x(), n.y());
  if (radial < kAligned) return plane_at(Vec3(p.x(), p.y(), end), Vec3(0, 0, std::copysign(1.0, n.z())));
  return circle_at(Vec3(0, 0, end), Vec3::UnitZ(), shape.radius, Vec3(n.x() / radial, n.y() / radial, 0));
}

// The feature of a shape that is farthest along n_S, near p_S.
FeatureSide side_of(const Shape& shape, const Vec3& n_S, const Vec3& p_S) noexcept {
  TACTUS_DCHECK(is_unit(n_S));
  switch (shape.kind) {
    case ShapeKind::sphere:
      return point_at(Vec3::Zero(), shape.radius);
    case ShapeKind::half_space:
      return plane_at(Vec3::Zero(), Vec3::UnitZ());
    case ShapeKind::box:
      return side_of_box(shape.half_S, n_S, p_S);
    case ShapeKind::capsule:
    case ShapeKind::cylinder:
      return side_of_axis(shape, n_S, p_S);
    case ShapeKind::convex:
      return side_of_hull(*shape.hull, n_S, p_S);
    case ShapeKind::smooth:
      return point_at(p_S);  // where surfaces fit each other
    case ShapeKind::mesh:
      break;
  }
  return plane_at(p_S, n_S);
}

// The point of a side that touches. Of a sharp one it is the point found, which need not be the farthest.
FeatureSide as_point(const FeatureSide& side, const Vec3& p_S) noexcept {
  if (side.radius == 0) return point_at(p_S);
  if (side.core == FeatureCore::point) return side;
  return point_at(side.p_S + side.u_S.dot(p_S - side.p_S) * side.u_S, side.radius);
}

struct Turning {
  Vec3 n, n_dot;
};

// Of a vector that is not zero and its rate: unit vector and rate.
Turning normalised(const Vec3& x, const Vec3& x_dot) noexcept {
  const double length = x.norm();
  const Vec3 n = x / length;
  return {n, (x_dot - n.dot(x_dot) * n) / length};
}

struct Placed {  // a core in W; of a circle e as well
  Vec3 c, v, u, u_dot;
  double r, rim;
  Vec3 e, w;
};
Placed place(const FeatureSide& side, const Frame& X_WS, const RigidMotion& body) noexcept {
  const Vec3 c = X_WS * side.p_S, u = X_WS.R * side.u_S;
  return {c, material_velocity(body, c), u, body.w_W.cross(u), side.radius, side.rim, X_WS.R * side.e_S, body.w_W};
}

// A circle's point that is farthest along x, which moves, as a point of its own motion.
Placed farthest_along(const Placed& circle, const Vec3& x, const Vec3& x_dot) noexcept {
  const double up = circle.u.dot(x), up_dot = circle.u_dot.dot(x) + circle.u.dot(x_dot);
  const Turning e = normalised(x - up * circle.u, x_dot - up_dot * circle.u - up * circle.u_dot);
  Placed out = circle;
  out.c = circle.c + circle.rim * e.n, out.v = circle.v + circle.rim * e.n_dot;
  return out;
}

// From cores at xa, xb with their rates, and the normal, the surfaces' points.
ContactJet grow(const Vec3& xa, const Vec3& xa_dot, double ra, const Vec3& xb, const Vec3& xb_dot, double rb,
                const Turning& t) noexcept {
  ContactJet jet;
  jet.pa = xa - ra * t.n, jet.pa_dot = xa_dot - ra * t.n_dot;
  jet.pb = xb + rb * t.n, jet.pb_dot = xb_dot + rb * t.n_dot;
  jet.nhat_BA = t.n, jet.nhat_dot = t.n_dot;
  jet.d = t.n.dot(jet.pa - jet.pb);
  return jet;
}

ContactJet point_plane(const Placed& a, const Placed& b) noexcept {
  const double along = b.u.dot(a.c - b.c);
  const double along_dot = b.u_dot.dot(a.c - b.c) + b.u.dot(a.v - b.v);
  return grow(a.c, a.v, a.r, a.c - along * b.u, a.v - along_dot * b.u - along * b.u_dot, 0, {b.u, b.u_dot});
}

ContactJet point_point(const Placed& a, const Placed& b) noexcept {
  return grow(a.c, a.v, a.r, b.c, b.v, b.r, normalised(a.c - b.c, a.v - b.v));
}

ContactJet point_line(const Placed& a, const Placed& b) noexcept {
  const Vec3 e = a.c - b.c, e_dot = a.v - b.v;
  const double s = b.u.dot(e), s_dot = b.u_dot.dot(e) + b.u.dot(e_dot);
  const Vec3 foot = b.c + s * b.u, foot_dot = b.v + s_dot * b.u + s * b.u_dot;
  return grow(a.c, a.v, a.r, foot, foot_dot, b.r, normalised(a.c - foot, a.v - foot_dot));
}

ContactJet unknown_at(const Vec3& xa, const Vec3& xb) noexcept {
  ContactJet jet = grow(xa, Vec3::Zero(), 0, xb, Vec3::Zero(), 0, {Vec3::UnitZ(), Vec3::Zero()});
  jet.known = false;
  return jet;
}

// xa = ca + s ua and xb = cb + t ub with xa - xb = D n, n along ua x ub.
ContactJet line_line(const Placed& a, const Placed& b, double side) noexcept {
  const Vec3 N = side * a.u.cross(b.u), N_dot = side * (a.u_dot.cross(b.u) + a.u.cross(b.u_dot));
  if (N.squaredNorm() < 0.25 * kParallel * kParallel) {
    ContactJet unknown = grow(a.c, a.v, a.r, b.c, b.v, b.r, {Vec3::UnitZ(), Vec3::Zero()});
    unknown.known = false;
    return unknown;
  }
  const Turning t = normalised(N, N_dot);
  const Vec3 e = a.c - b.c, e_dot = a.v - b.v, across_a = a.u.cross(t.n), across_b = b.u.cross(t.n);
  const double q = a.u.dot(across_b), s = -e.dot(across_b) / q, at = -e.dot(across_a) / q;
  const double D = t.n.dot(e);
  const Vec3 rest = e_dot + s * a.u_dot - at * b.u_dot - D * t.n_dot;
  const double s_dot = -rest.dot(across_b) / q, at_dot = -rest.dot(across_a) / q;
  return grow(a.c + s * a.u, a.v + s_dot * a.u + s * a.u_dot, a.r, b.c + at * b.u, b.v + at_dot * b.u + at * b.u_dot,
              b.r, t);
}

// A point on a line or circle, and how the curve goes on there.
struct OnCurve {
  Vec3 p, v;      // the point, and its velocity as part of the body
  Vec3 t, t_dot;  // tangent, and its rate by the body's turn alone
  Vec3 bend;      // second derivative by length
};
OnCurve on_curve(const Placed& s, double along) noexcept {
  if (s.rim == 0) return {s.c + along * s.u, s.v + along * s.u_dot, s.u, s.u_dot, Vec3::Zero()};
  double sine = along / s.rim, cosine = std::sqrt(std::max(0.0, 1 - sine * sine));
  if (std::abs(sine) > 0.7) sine = std::copysign(0.7, sine), cosine = std::sqrt(1 - 0.49);  // a step is no longer
  const Vec3 e = cosine * s.e + sine * s.u.cross(s.e), t = s.u.cross(e);
  return {s.c + s.rim * e, s.v + s.rim * s.w.cross(e), t, s.w.cross(t), -e / s.rim};
}

// Two curves, at least one of them a circle: Newton's method for pa - pb normal to both, whose derivatives by time give
// the points' rates. Where both are sharp the normal is that of the tangents, which does not end where they touch.
ContactJet curve_curve(Placed a, Placed b, double side) noexcept {
  constexpr int kSteps = 20;
  const double enough = 1e-14 * (a.rim + b.rim) + 4e-15 * (a.c.norm() + b.c.norm());  // rounding of points in W
  OnCurve x = on_curve(a, 0), y = on_curve(b, 0);
  double g_a = 0, g_b = 0, aa = 0, ab = 0, bb = 0, det = 0;
  for (int i = 0;; ++i) {
    const Vec3 gap = x.p - y.p;
    g_a = gap.dot(x.t), g_b = gap.dot(y.t);
    aa = 1 + gap.dot(x.bend), ab = x.t.dot(y.t), bb = 1 - gap.dot(y.bend);  // rows (aa, -ab), (ab, -bb)
    det = ab * ab - aa * bb;
    const bool known = std::abs(det) > kParallel * kParallel && i < kSteps;
    if (!known) return unknown_at(x.p, y.p);
    if (std::abs(g_a) + std::abs(g_b) <= enough) break;
    const double step_a = (bb * g_a - ab * g_b) / det, step_b = (ab * g_a - aa * g_b) / det;
    if (std::abs(step_a) + std::abs(step_b) <= enough) break;
    x = on_curve(a, step_a), y = on_curve(b, step_b);
    // The next step starts there.
    if (a.rim > 0) a.e = (x.p - a.c) / a.rim;
    if (a.rim == 0) a.c = x.p, a.v = x.v;
    if (b.rim > 0) b.e = (y.p - b.c) / b.rim;
    if (b.rim == 0) b.c = y.p, b.v = y.v;
  }
  const Vec3 gap = x.p - y.p, apart = x.v - y.v;
  const double h_a = apart.dot(x.t) + gap.dot(x.t_dot), h_b = apart.dot(y.t) + gap.dot(y.t_dot);
  const double along_a = (bb * h_a - ab * h_b) / det, along_b = (ab * h_a - aa * h_b) / det;
  const Vec3 pa_dot = x.v + along_a * x.t, pb_dot = y.v + along_b * y.t;
  if (a.r + b.r > 0) return grow(x.p, pa_dot, a.r, y.p, pb_dot, b.r, normalised(gap, pa_dot - pb_dot));
  const Vec3 ta_dot = x.t_dot + along_a * x.bend, tb_dot = y.t_dot + along_b * y.bend;
  const Vec3 N = side * x.t.cross(y.t);
  if (N.squaredNorm() < 0.25 * kParallel * kParallel) return unknown_at(x.p, y.p);
  return grow(x.p, pa_dot, 0, y.p, pb_dot, 0, normalised(N, side * (ta_dot.cross(y.t) + x.t.cross(tb_dot))));
}

ContactJet flipped(const ContactJet& jet) noexcept {
  ContactJet out = jet;
  std::swap(out.pa, out.pb);
  std::swap(out.pa_dot, out.pb_dot);
  out.nhat_BA = -jet.nhat_BA, out.nhat_dot = -jet.nhat_dot;
  return out;
}

}  // namespace

namespace {

// Does a rim touch a plane with normal -n at one point?
bool stands(const FeatureSide& side, const Vec3& n_S) noexcept {
  return side.core == FeatureCore::circle && std::hypot(n_S.x(), n_S.y()) > kLying;
}
Vec3 tangent(const FeatureSide& side) noexcept {
  return side.core == FeatureCore::circle ? Vec3(side.u_S.cross(side.e_S)) : side.u_S;
}

// By the features that are farthest along the normal.
ContactFeatures farthest(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& nhat_BA_W,
                         const Vec3& p_A, const Vec3& p_B) noexcept {
  const Vec3 n_A = X_WA.R.transpose() * -nhat_BA_W, n_B = X_WB.R.transpose() * nhat_BA_W;
  ContactFeatures f{side_of(a, n_A, p_A), side_of(b, n_B, p_B)};
  if (f.b.core == FeatureCore::plane) {
    if (!stands(f.a, n_A)) f.a = as_point(f.a, p_A);
    return f;
  }
  if (f.a.core == FeatureCore::plane) {
    if (!stands(f.b, n_B)) f.b = as_point(f.b, p_B);
    return f;
  }
  if (f.a.core != FeatureCore::point && f.b.core != FeatureCore::point) {
    const Vec3 cross = (X_WA.R * tangent(f.a)).cross(X_WB.R * tangent(f.b));
    if (cross.norm() > kParallel) {
      f.side = cross.dot(nhat_BA_W) < 0 ? -1 : 1;
      return f;
    }
    f.a = as_point(f.a, p_A);
  }
  if (f.a.radius + f.b.radius > 0) return f;
  f.a = as_point(f.a, p_A);  // sharp on sharp, without a normal of its own
  f.b = plane_at(p_B, n_B);
  return f;
}

}  // namespace

ContactFeatures find_features(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                              const Vec3& nhat_BA_W, const ContactPoint& point) noexcept {
  TACTUS_DCHECK(is_unit(nhat_BA_W) && is_rotation(X_WA.R) && is_rotation(X_WB.R));
  const Vec3 half_gap = -0.5 * point.depth * nhat_BA_W;
  const Vec3 p_A = X_WA.to_local(point.p_WC + half_gap), p_B = X_WB.to_local(point.p_WC - half_gap);
  const ContactFeatures f = farthest(a, X_WA, b, X_WB, nhat_BA_W, p_A, p_B);
  const ContactJet jet = contact_jet(f, X_WA, {}, X_WB, {});
  const bool agree = jet.known && std::abs(jet.d + point.depth) <= kAgree + kAgreeDeep * std::abs(point.depth) &&
                     jet.nhat_BA.dot(nhat_BA_W) > 1 - kAgreeDeep;
  if (agree) return f;
  return {point_at(p_A), plane_at(p_B, X_WB.R.transpose() * nhat_BA_W)};
}

ContactJet contact_jet(const ContactFeatures& f, const Frame& X_WA, const RigidMotion& A, const Frame& X_WB,
                       const RigidMotion& B) noexcept {
  const Placed a = place(f.a, X_WA, A), b = place(f.b, X_WB, B);
  const FeatureCore on_a = f.a.core, on_b = f.b.core;
  if (on_b == FeatureCore::plane) {
    return point_plane(on_a == FeatureCore::circle ? farthest_along(a, -b.u, -b.u_dot) : a, b);
  }
  if (on_a == FeatureCore::plane) {
    return flipped(point_plane(on_b == FeatureCore::circle ? farthest_along(b, -a.u, -a.u_dot) : b, a));
  }
  if (on_a == FeatureCore::line && on_b == FeatureCore::line) return line_line(a, b, f.side);
  if (on_a != FeatureCore::point && on_b != FeatureCore::point) return curve_curve(a, b, f.side);
  if (on_a == FeatureCore::circle) return point_point(farthest_along(a, b.c - a.c, b.v - a.v), b);
  if (on_b == FeatureCore::circle) return point_point(a, farthest_along(b, a.c - b.c, a.v - b.v));
  if (on_b == FeatureCore::line) return point_line(a, b);
  if (on_a == FeatureCore::line) return flipped(point_line(b, a));
  return point_point(a, b);
}

ContactJet extremal_jet(const Shape& a, const Frame& X_WA, const RigidMotion& A, const Shape& b, const Frame& X_WB,
                        const RigidMotion& B, bool one_of_several, ExtremalSide& side_a,
                        ExtremalSide& side_b) noexcept {
  ExtremalPair pair;
  if (is_mesh_smooth_pair(a, b)) {
    pair = mesh_place(a, X_WA, b, X_WB, side_a, side_b);
    if (!pair.known()) pair = held_mesh_place(a, X_WA, b, X_WB, side_a, side_b);
  } else {
    if (has_places(a, b)) pair = extremal_place(a, X_WA, b, X_WB, one_of_several, side_a, side_b);
    if (!pair.known()) pair = extremal_points(a, X_WA, b, X_WB, side_a, side_b);
  }
  ContactJet jet;
  jet.known = pair.known();
  if (!jet.known) return jet;
  jet.pa = pair.pa_W, jet.pb = pair.pb_W, jet.nhat_BA = pair.nhat_BA_W, jet.d = pair.d;
  jet.on_edge = pair.a.dim == 1 || pair.b.dim == 1;
  if (!jet.on_edge) jet.conditioning = pair.conditioning;
  if (pair.has_rates()) {
    const ExtremalRates rates = extremal_rates(pair, A, B);
    jet.pa_dot = rates.pa_dot_W, jet.pb_dot = rates.pb_dot_W, jet.nhat_dot = rates.nhat_dot_W;
    const bool followed = jet.conditioning > kAlongCurve || jet.nhat_dot.norm() < kFastest;
    if (followed) return jet;
  }
  jet.nhat_dot = B.w_W.cross(jet.nhat_BA);
  jet.pa_dot = material_velocity(A, jet.pa);
  jet.pb_dot = jet.pa_dot - gap_rate(jet, A, B) * jet.nhat_BA - jet.d * jet.nhat_dot;
  return jet;
}

Vec3 material_velocity(const RigidMotion& body, const Vec3& p_W) noexcept {
  return body.v_W + body.w_W.cross(p_W - body.c_W);
}

Vec3 material_acceleration(const RigidMotion& body, const Vec3& p_W, const Vec3& p_dot_W) noexcept {
  return body.a_W + body.alpha_W.cross(p_W - body.c_W) + body.w_W.cross(p_dot_W - body.v_W);
}

double gap_rate(const ContactJet& jet, const RigidMotion& A, const RigidMotion& B) noexcept {
  TACTUS_DCHECK(!jet.known || is_unit(jet.nhat_BA));
  return jet.nhat_BA.dot(material_velocity(A, jet.pa) - material_velocity(B, jet.pb));
}

double gap_acceleration(const ContactJet& jet, const RigidMotion& A, const RigidMotion& B) noexcept {
  return jet.nhat_BA.dot(material_acceleration(A, jet.pa, jet.pa_dot) - material_acceleration(B, jet.pb, jet.pb_dot)) +
         jet.nhat_dot.dot(material_velocity(A, jet.pa) - material_velocity(B, jet.pb));
}

}  // namespace tactus
