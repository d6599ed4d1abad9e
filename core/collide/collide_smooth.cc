// A smooth shape against everything but meshes: one point, midway between the extremal points. Where the surfaces fit
// each other (a torus lying flat, a superellipsoid's flat pole on a face) one point would wander over the contact from
// tick to tick: there the surface's lowest points around it are taken too.
#include <algorithm>
#include <cmath>

#include "core/collide/extremal_feature.h"
#include "core/collide/extremal_solid.h"
#include "core/collide/narrow_table.h"

namespace tactus {

namespace {

// Conditioning below which a contact with a plane is a line or an area: about the tilt of a torus [rad].
constexpr double kFits = 0.02;
// By how much the directions of the points around it are tilted [rad], and how many there are.
constexpr double kTilt = 0.05;
constexpr int kAround = 8;

bool is_plane(const ExtremalForm& form) noexcept {
  return form.dim == 2 && form.h11 == 0 && form.h12 == 0 && form.h22 == 0;
}

double gap_of_supports(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& n_W) noexcept {
  const Vec3 p_A = support(a, X_WA.R.transpose() * -n_W), p_B = support(b, X_WB.R.transpose() * n_W);
  return n_W.dot(X_WA * p_A - X_WB * p_B);
}

bool convex(const Shape& shape) noexcept {
  return shape.kind != ShapeKind::smooth || shape.smooth->convex();
}

// Still apart by more than reach along the axis that was remembered?
bool apart(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
           const Witness& witness) noexcept {
  if (witness.axis_A.isZero(0) || !convex(a) || !convex(b)) return false;
  if (a.kind == ShapeKind::half_space || b.kind == ShapeKind::half_space) return false;
  return gap_of_supports(a, X_WA, b, X_WB, X_WA.R * witness.axis_A) > reach;
}

// From a point whose normal is tilted against m to the bottom of the valley that it lies over: along the direction of
// the larger curvature only.
Vec3 valley(const SmoothSurface& surface, const Frame& X_WS, const Vec3& p_W, const Vec3& m_W) noexcept {
  if (surface.parametric()) return p_W;
  ExtremalFeature on;
  on.set_surface(surface, X_WS.R, X_WS.p);
  ExtremalSide side;
  side.p_S = X_WS.to_local(p_W), side.feature = 0;
  on.place(side);
  for (int i = 0; i < 4; ++i) {
    on.evaluate();
    Vec3 t1, t2;
    tangent_basis(on.n(), t1, t2);
    Form2 k;
    Pair2 w;
    on.curvature(t1, t2, k, w);
    const double half = 0.5 * (k.xx - k.yy), large = 0.5 * (k.xx + k.yy) + std::sqrt(half * half + k.xy * k.xy);
    if (large * surface.radius() < 0.1) break;
    Pair2 v = half > 0 ? Pair2{large - k.yy, k.xy} : Pair2{k.xy, large - k.xx};
    const double length2 = v.x * v.x + v.y * v.y;
    if (length2 == 0) break;
    const double x = (t1.dot(m_W) * v.x + t2.dot(m_W) * v.y) / (large * length2);
    on.move(t1, t2, {x * v.x, x * v.y});
  }
  on.evaluate();
  return on.p() + on.eta() * on.n();
}

// m_W: from the surface into the plane; offset: m . p on the plane.
void add_around(const ExtremalPair& pair, const SmoothSurface& surface, const Frame& X_WS, const ExtremalSolid& plane,
                std::int32_t face, const Vec3& m_W, double offset, double reach, ContactBuffer& out) noexcept {
  constexpr double kDirections[kAround][2] = {{1, 0},  {0.7, 0.7},   {0, 1},  {-0.7, 0.7},
                                              {-1, 0}, {-0.7, -0.7}, {0, -1}, {0.7, -0.7}};
  const double apart2 = 1e-4 * surface.radius() * surface.radius();
  for (const auto& direction : kDirections) {
    const Vec3 towards = m_W + kTilt * (direction[0] * pair.t1_W + direction[1] * pair.t2_W);
    const Vec3 p_W = valley(surface, X_WS, X_WS * surface.support(X_WS.R.transpose() * towards), m_W);
    const double depth = m_W.dot(p_W) - offset;
    if (depth <= -reach || !plane.within_face(face, p_W)) continue;
    const Vec3 p_WC = p_W - (0.5 * depth) * m_W;
    bool known = false;
    for (std::uint32_t i = 0; i < out.count; ++i) known = known || (out.points[i].p_WC - p_WC).squaredNorm() < apart2;
    if (!known) out.add(p_WC, depth);
  }
}

}  // namespace

void collide_smooth_within(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           Witness& witness, ContactBuffer& out) noexcept {
  out.count = 0;
  out.nhat_BA_W.setZero();
  out.all_on_bottom = true;
  out.truncated = false;
  if (apart(a, X_WA, b, X_WB, reach, witness)) return out.witnesses.add(true);
  ExtremalSide side_a{witness.point_a, witness.step_a, witness.last_step_a, Vec3::Zero(), witness.feature_a},
      side_b{witness.point_b, witness.step_b, witness.last_step_b, Vec3::Zero(), witness.feature_b};
  look_ahead(side_a), look_ahead(side_b);
  const ExtremalPair pair = extremal_points(a, X_WA, b, X_WB, side_a, side_b);
  out.witnesses.add(pair.warm);
  out.witnesses.fallbacks += pair.status == ExtremalStatus::fallen_back ? 1 : 0;
  out.witnesses.unknown += pair.known() ? 0 : 1;
  witness.step_a = side_a.step_S, witness.step_b = side_b.step_S;
  witness.last_step_a = side_a.last_step_S, witness.last_step_b = side_b.last_step_S;
  witness.point_a = side_a.p_S, witness.point_b = side_b.p_S;
  witness.feature_a = side_a.feature, witness.feature_b = side_b.feature;
  witness.axis_A = X_WA.R.transpose() * pair.nhat_BA_W;
  if (!pair.known() || pair.d > reach || (reach <= 0 && pair.d >= 0)) return;
  if (is_buried(a, X_WA, b, X_WB, pair)) return;
  out.nhat_BA_W = pair.nhat_BA_W;
  out.add(0.5 * (pair.pa_W + pair.pb_W), -pair.d);
  if (pair.conditioning > kFits) return;
  const bool plane_a = is_plane(pair.a);
  const Shape &round = plane_a ? b : a, &flat = plane_a ? a : b;
  if (!(plane_a || is_plane(pair.b)) || round.kind != ShapeKind::smooth || flat.kind == ShapeKind::smooth) return;
  const Frame &X_WF = plane_a ? X_WA : X_WB, &X_WS = plane_a ? X_WB : X_WA;
  const ExtremalSolid solid(flat, X_WF.R, X_WF.p);
  const Vec3 m_W = plane_a ? pair.nhat_BA_W : Vec3(-pair.nhat_BA_W);
  const double offset = m_W.dot(plane_a ? pair.pa_W : pair.pb_W);
  add_around(pair, *round.smooth, X_WS, solid, plane_a ? side_a.feature : side_b.feature, m_W, offset,
             std::max(reach, 0.0), out);
}

void collide_smooth(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                    ContactBuffer& out) noexcept {
  collide_smooth_within(a, X_WA, b, X_WB, 0, witness, out);
}

}  // namespace tactus
