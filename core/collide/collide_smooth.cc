// A smooth shape against everything but meshes: one point a place, midway between the extremal points, and where the
// surfaces fit each other those around it (fitting_points.h).
#include <algorithm>
#include <cmath>

#include "core/collide/collide_places.h"
#include "core/collide/fitting_points.h"
#include "core/collide/narrow_table.h"

namespace tactus {

namespace {

constexpr double kOneNormal = 0.999;  // cosine

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
  add_fitting_points(a, X_WA, b, X_WB, pair, std::max(reach, 0.0), out);
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
  bool fits = false;  // one has points around it: those that face its way are among them

  void add(const ExtremalPair& place, const ContactBuffer& points) noexcept {
    pair[count++] = place;
    fits = fits || points.count > 1;
  }
  [[nodiscard]] bool covers(const Vec3& nhat_BA_W) const noexcept {
    return fits && std::any_of(pair, pair + count,
                               [&](const ExtremalPair& p) { return p.nhat_BA_W.dot(nhat_BA_W) > kOneNormal; });
  }
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
    stays = stays && !found.covers(pair.nhat_BA_W);
    for (std::uint32_t i = 0; i < found.count && stays; ++i) stays = !same_place(a, b, pair, found.pair[i]);
    if (!stays) {
      // The first goes on as the pair's nearest place, apart or not.
      witness = {};
      if (k == 0 && pair.known()) to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
      continue;
    }
    out.place[k].witnesses.add(true);
    to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
    add_points(a, X_WA, b, X_WB, pair, within, out.place[k]);
    found.add(pair, out.place[k]);
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
  // What touched is followed by itself: proofs that it is the nearest of all would seldom succeed (links of a chain).
  bool touched = false;
  for (std::uint32_t k = 0; k < place_count; ++k) touched = touched || (is_place(k) && records[k].age > 0);
  if (touched) follow_places(a, X_WA, b, X_WB, reach, margin, records, place_count, found, out);
  if (found.count == 0) {
    const double within = reach_of(records[0], reach, margin);
    const ExtremalPair nearest = collide_nearest(a, X_WA, b, X_WB, within, records[0].witness, out.place[0]);
    if (out.place[0].count == 0) return;
    found.add(nearest, out.place[0]);
  }
  if (found.fits) return;
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
