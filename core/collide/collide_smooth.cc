// A smooth shape against everything but meshes: one point a place, midway between the extremal points. Where the
// surfaces fit each other (a torus lying flat, a superellipsoid's flat pole on a face) one point would wander over the
// contact from tick to tick: there the surface's lowest points around it are taken too.
#include <algorithm>
#include <cmath>

#include "core/collide/collide_places.h"
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
constexpr std::uint32_t kBorderSteps = 20;

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

// Where the surface crosses the border of the face next to p_W, which lies beyond it. False: nowhere near.
bool at_border(const SmoothSurface& surface, const Frame& X_WS, const ExtremalSolid& flat, std::int32_t face,
               const Vec3& towards_W, const Vec3& p_W, Vec3& out_W) noexcept {
  const std::int32_t border = flat.border_beyond(face, p_W);
  if (border < 0) return false;
  ExtremalFeature edge, on;
  flat.set(border, p_W, edge);
  on.set_surface(surface, X_WS.R, X_WS.p);
  if (surface.parametric()) {
    on.place_towards(towards_W);
  } else {
    on.place(ExtremalSide{X_WS.to_local(p_W), Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), 0});
  }
  ExtremalRoot root;
  if (!solve_extremal(edge, on, surface.radius(), kBorderSteps, root)) return false;
  out_W = root.pb;
  return flat.within_face(face, root.pa) && root.n.dot(towards_W) > 0;
}

// m_W: from the surface into the face; offset: m . p on its plane.
void add_around(const ExtremalPair& pair, const SmoothSurface& surface, const Frame& X_WS, const ExtremalSolid& flat,
                std::int32_t face, const Vec3& m_W, double offset, double reach, ContactBuffer& out) noexcept {
  constexpr double kDirections[kAround][2] = {{1, 0},  {0.7, 0.7},   {0, 1},  {-0.7, 0.7},
                                              {-1, 0}, {-0.7, -0.7}, {0, -1}, {0.7, -0.7}};
  const double apart2 = 1e-4 * surface.radius() * surface.radius();
  for (const auto& direction : kDirections) {
    const Vec3 towards = m_W + kTilt * (direction[0] * pair.t1_W + direction[1] * pair.t2_W);
    Vec3 p_W = valley(surface, X_WS, X_WS * surface.support(X_WS.R.transpose() * towards), m_W);
    if (!flat.within_face(face, p_W) && !at_border(surface, X_WS, flat, face, m_W, p_W, p_W)) continue;
    const double depth = m_W.dot(p_W) - offset;
    if (depth <= -reach) continue;
    const Vec3 p_WC = p_W - (0.5 * depth) * m_W;
    bool known = false;
    for (std::uint32_t i = 0; i < out.count; ++i) known = known || (out.points[i].p_WC - p_WC).squaredNorm() < apart2;
    if (!known) out.add(p_WC, depth);
  }
}

// Does the surface fit a plane at its place along a line or over an area?
bool fits_plane(const ExtremalForm& form, const SmoothSurface& surface) noexcept {
  return form.dim == 2 && surface.radius() * least_singular(form.h11, form.h12, form.h12, form.h22) <= kFits;
}

// What a witness remembers of its extremal points, and back.
void to_sides(const Witness& witness, ExtremalSide& a, ExtremalSide& b) noexcept {
  a = {witness.point_a, witness.step_a, witness.last_step_a, Vec3::Zero(), witness.feature_a};
  b = {witness.point_b, witness.step_b, witness.last_step_b, Vec3::Zero(), witness.feature_b};
}

void to_witness(const ExtremalSide& a, const ExtremalSide& b, const Vec3& axis_A, Witness& witness) noexcept {
  witness = {axis_A, a.feature, b.feature, a.p_S, b.p_S, a.step_S, b.step_S, a.last_step_S, b.last_step_S};
}

void clear(ContactBuffer& out) noexcept {
  out.count = 0;
  out.nhat_BA_W.setZero();
  out.all_on_bottom = true;
  out.truncated = false;
}

bool touches(const ExtremalPair& pair, double reach) noexcept {
  return pair.known() && !(pair.d > reach || (reach <= 0 && pair.d >= 0));
}

// The point of a pair's place, and where its surfaces fit each other those around it.
void add_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair,
                double reach, ContactBuffer& out) noexcept {
  out.nhat_BA_W = pair.nhat_BA_W;
  out.add(0.5 * (pair.pa_W + pair.pb_W), -pair.d);
  const bool round_a = a.kind == ShapeKind::smooth;
  const Shape &round = round_a ? a : b, &flat = round_a ? b : a;
  if (round.kind != ShapeKind::smooth || flat.kind == ShapeKind::smooth || round.smooth->cavity()) return;
  if (!fits_plane(round_a ? pair.a : pair.b, *round.smooth)) return;
  const Frame &X_WF = round_a ? X_WB : X_WA, &X_WS = round_a ? X_WA : X_WB;
  const ExtremalSolid solid(flat, X_WF.R, X_WF.p);
  const Vec3 out_W = round_a ? pair.nhat_BA_W : Vec3(-pair.nhat_BA_W);
  const std::int32_t face = solid.face_along(out_W, 1 - 0.5 * kFits * kFits);
  if (face < 0) return;
  // Where its border or corner is the deepest, the face itself tells the normal.
  const Vec3 m_W = -solid.face_normal_of(face);
  out.nhat_BA_W = round_a ? Vec3(-m_W) : m_W;
  add_around(pair, *round.smooth, X_WS, solid, face, m_W, m_W.dot(round_a ? pair.pb_W : pair.pa_W),
             std::max(reach, 0.0), out);
}

// The pair's nearest place: its points, as collide_smooth_within() says.
ExtremalPair collide_nearest(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                             Witness& witness, ContactBuffer& out) noexcept {
  ExtremalSide side_a, side_b;
  to_sides(witness, side_a, side_b);
  look_ahead(side_a), look_ahead(side_b);
  const ExtremalPair pair = extremal_points(a, X_WA, b, X_WB, side_a, side_b);
  out.witnesses.add(pair.warm);
  out.witnesses.fallbacks += pair.status == ExtremalStatus::fallen_back ? 1 : 0;
  out.witnesses.unknown += pair.known() ? 0 : 1;
  to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
  if (touches(pair, reach) && !is_buried(a, X_WA, b, X_WB, pair)) {
    add_points(a, X_WA, b, X_WB, pair, reach, out);
  }
  return pair;
}

// Places of a pair, as they are found in one tick.
struct FoundPlaces {
  ExtremalPair pair[kMaxMeshPatches];
  std::uint32_t count = 0;
};

double reach_of(const PairRecord& record, double reach, double margin) noexcept {
  return record.phase == ContactPhase::resting ? std::max(reach, margin) : reach;
}

// Each remembered place followed by itself; those that are gone, or have become one, are forgotten.
void follow_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, double margin,
                   PairRecord* records, std::uint32_t place_count, FoundPlaces& found, PlaceContacts& out) noexcept {
  for (std::uint32_t k = 0; k < place_count; ++k) {
    Witness& witness = records[k].witness;
    if (witness.feature_b < 0) continue;
    ExtremalSide side_a, side_b;
    to_sides(witness, side_a, side_b);
    look_ahead(side_a), look_ahead(side_b);
    const ExtremalPair pair = extremal_place(a, X_WA, b, X_WB, side_a, side_b);
    const double within = reach_of(records[k], reach, margin);
    bool stays = touches(pair, within) && !is_buried(a, X_WA, b, X_WB, pair);
    for (std::uint32_t i = 0; i < found.count && stays; ++i) stays = !same_place(a, b, pair, found.pair[i]);
    if (!stays) {
      witness = {};
      continue;
    }
    out.place[k].witnesses.add(true);
    to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
    add_points(a, X_WA, b, X_WB, pair, within, out.place[k]);
    found.pair[found.count++] = pair;
  }
}

}  // namespace

void collide_smooth_within(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           Witness& witness, ContactBuffer& out) noexcept {
  clear(out);
  if (apart(a, X_WA, b, X_WB, reach, witness)) return out.witnesses.add(true);
  collide_nearest(a, X_WA, b, X_WB, reach, witness, out);
}

void collide_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, double margin,
                    PairRecord* records, std::uint32_t place_count, PlaceContacts& out) noexcept {
  for (std::uint32_t k = 0; k < place_count; ++k) clear(out.place[k]);
  FoundPlaces found;
  const auto is_place = [&](std::uint32_t k) { return records[k].witness.feature_b >= 0; };
  bool several = false;
  for (std::uint32_t k = 1; k < place_count; ++k) several = several || is_place(k);
  if (several) follow_places(a, X_WA, b, X_WB, reach, margin, records, place_count, found, out);
  if (found.count == 0) {
    const double within = reach_of(records[0], reach, margin);
    const ExtremalPair nearest = collide_nearest(a, X_WA, b, X_WB, within, records[0].witness, out.place[0]);
    // Apart, or points that lie around it: there is no other.
    if (out.place[0].count != 1) return;
    found.pair[found.count++] = nearest;
  }
  ExtremalPlace others[kMaxMeshPatches];
  const std::uint32_t room = place_count - found.count;
  const std::uint32_t count =
      other_places(a, X_WA, b, X_WB, std::max(reach, 0.0), {found.pair, found.count}, others, room);
  for (std::uint32_t i = 0, k = 0; i < count; ++i) {
    if (is_buried(a, X_WA, b, X_WB, others[i].pair)) continue;
    while (is_place(k)) ++k;
    to_witness(others[i].a, others[i].b, X_WA.R.transpose() * others[i].pair.nhat_BA_W, records[k].witness);
    out.place[k].witnesses.add(false);
    add_points(a, X_WA, b, X_WB, others[i].pair, reach, out.place[k]);
  }
}

void collide_smooth(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                    ContactBuffer& out) noexcept {
  collide_smooth_within(a, X_WA, b, X_WB, 0, witness, out);
}

}  // namespace tactus
