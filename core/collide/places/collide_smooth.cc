// A smooth shape against everything but meshes (collide_mesh_smooth.h): one point a place, midway between the extremal
// points, and where the surfaces fit each other those around it (fitting_points.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/narrow_table.h"
#include "core/collide/places/collide_places.h"
#include "core/collide/places/fitting_points.h"
#include "core/collide/places/place_records.h"
#include "core/math/checks.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

constexpr double kOneNormal = 0.999;    // cosine
constexpr std::ptrdiff_t kSeveral = 3;  // places
// Of beside_level(): by how much a place of a level curve must be deeper than all that have records to take one.
constexpr double kDeeperOnLevel = 0.01;
constexpr double kSpread = 1.3;  // part by which such a place must be farther from the others than those are

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

// The point of a pair's place, and where its surfaces fit each other those around it.
void add_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair,
                double reach, ContactBuffer& out) noexcept {
  out.nhat_BA_W = pair.nhat_BA_W;
  out.add(0.5 * (pair.pa_W + pair.pb_W), -pair.d);
  add_fitting_points(a, X_WA, b, X_WB, pair, std::max(reach, 0.0), out);
  lead_contact(pair, out);
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
  if (is_within(pair, reach) && !is_buried(a, X_WA, b, X_WB, pair)) {
    add_points(a, X_WA, b, X_WB, pair, reach, out);
  }
  return pair;
}

// Places of a pair, as they are found in one tick.
struct FoundPlaces {
  ExtremalPair pair[kMaxMeshPatches];
  std::uint32_t record[kMaxMeshPatches];  // of each
  std::uint32_t count = 0;
  bool used[kMaxMeshPatches] = {};  // records; the first one also of a place that is apart now

  void add(const ExtremalPair& place, std::uint32_t k) noexcept {
    pair[count] = place;
    record[count++] = k;
    used[k] = true;
  }
  void remove(std::uint32_t i) noexcept {
    used[record[i]] = false;
    --count;
    pair[i] = pair[count], record[i] = record[count];
  }
  // Points lie around one of the places that faces that way: others that do are among them.
  [[nodiscard]] bool covers(const Vec3& nhat_BA_W, const PlaceContacts& out) const noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (out.place[record[i]].count > 1 && pair[i].nhat_BA_W.dot(nhat_BA_W) > kOneNormal) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint32_t shallowest() const noexcept {
    std::uint32_t least = 0;
    for (std::uint32_t i = 1; i < count; ++i) least = pair[i].d > pair[least].d ? i : least;
    return least;
  }
  // Along a level curve places must lie all around, or the body goes over to where none is. The shallower of the two
  // that are nearest to each other, if nothing bears on it and `next` lies farther from the others; count: none.
  [[nodiscard]] std::uint32_t crowded(const ExtremalPair& next) const noexcept {
    if (!on_level_curve(next) || !std::all_of(pair, pair + count, on_level_curve)) return count;
    const auto away = [](const ExtremalPair& a, const ExtremalPair& b) { return (a.pa_W - b.pa_W).squaredNorm(); };
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t out = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t k = 0; k < i; ++k) {
        if (away(pair[i], pair[k]) >= least) continue;
        least = away(pair[i], pair[k]);
        out = pair[i].d > pair[k].d ? i : k;
      }
    }
    if (out == count || pair[out].d < 0) return count;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != out && away(next, pair[i]) < kSpread * kSpread * least) return count;
    }
    return out;
  }
  [[nodiscard]] double deepest() const noexcept {
    double d = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < count; ++i) d = std::min(d, pair[i].d);
    return d;
  }
};

// Each remembered place followed by itself; those that are gone, or have become one, are forgotten.
void follow_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, double margin,
                   PairRecord* records, std::uint32_t place_count, FoundPlaces& found, PlaceContacts& out) noexcept {
  const bool several = several_places(records, place_count);
  for (std::uint32_t k = 0; k < place_count; ++k) {
    Witness& witness = records[k].witness;
    if (witness.feature_b < 0) continue;
    ExtremalSide side_a, side_b;
    to_sides(witness, side_a, side_b);
    look_ahead(side_a), look_ahead(side_b);
    const ExtremalPair pair = extremal_place(a, X_WA, b, X_WB, several, side_a, side_b);
    const double within = place_reach(records[k], reach, margin);
    const bool touching = is_within(pair, within);
    bool stays = (touching || (several && on_level_curve(pair) && pair.d <= beside_level(a, b))) &&
                 !is_buried(a, X_WA, b, X_WB, pair) && !found.covers(pair.nhat_BA_W, out);
    for (std::uint32_t i = 0; i < found.count && stays; ++i) stays = !same_place(a, b, pair, found.pair[i]);
    if (!stays) {
      // The first goes on as the pair's nearest place, apart or not.
      witness = {};
      found.used[k] = k == 0 && pair.known();
      if (found.used[k]) to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
      continue;
    }
    out.place[k].witnesses.add(true);
    to_witness(side_a, side_b, X_WA.R.transpose() * pair.nhat_BA_W, witness);
    if (several && on_level_curve(pair)) out.place[k].motion = nullptr;  // it stays where it is on the curve
    if (touching) add_points(a, X_WA, b, X_WB, pair, within, out.place[k]);
    for (std::uint32_t i = found.count; out.place[k].count > 1 && i-- > 0;) {  // those before that it covers
      if (out.place[found.record[i]].count > 1 || found.pair[i].nhat_BA_W.dot(pair.nhat_BA_W) <= kOneNormal) continue;
      out.place[found.record[i]].count = 0;
      records[found.record[i]].witness = {};
      found.remove(i);
    }
    found.add(pair, k);
  }
}

// A record for a place that is new: none of another place's state. A free one, or that of the shallowest place if this
// is deeper than all, on a level curve also of one too many where it is; place_count: none.
std::uint32_t take_record(const ExtremalPair& pair, double deeper, PairRecord* records, std::uint32_t place_count,
                          FoundPlaces& found, PlaceContacts& out) noexcept {
  std::uint32_t k = 0;
  while (k < place_count && found.used[k]) ++k;
  if (k == place_count && found.count > 0) {
    std::uint32_t i = found.count;
    if (pair.d < found.deepest() - deeper) i = found.shallowest();
    if (i == found.count && deeper > 0) i = found.crowded(pair);
    if (i == found.count) return k;
    k = found.record[i];
    out.place[k].count = 0;
    found.remove(i);
  }
  if (k == place_count) return k;
  records[k].phase = ContactPhase::apart;
  records[k].age = 0;
  records[k].model.fill(0.0);
  found.add(pair, k);
  return k;
}

}  // namespace

void collide_smooth_within(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           Witness& witness, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(is_smooth_pair(a, b) && is_rotation(X_WA.R) && is_rotation(X_WB.R));
  clear_contacts(out);
  if (apart(a, X_WA, b, X_WB, reach, witness)) return out.witnesses.add(true);
  collide_nearest(a, X_WA, b, X_WB, reach, witness, out);
}

bool several_places(const PairRecord* records, std::uint32_t place_count) noexcept {
  TACTUS_DCHECK(place_count >= 1 && place_count <= kMaxMeshPatches);
  const auto known = [](const PairRecord& record) { return record.witness.feature_b >= 0; };
  return std::count_if(records, records + place_count, known) >= kSeveral;
}

void collide_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, double margin,
                    PairRecord* records, std::uint32_t place_count, PlaceContacts& out) noexcept {
  TACTUS_DCHECK(place_count >= 1 && place_count <= kMaxMeshPatches && has_places(a, b));
  for (std::uint32_t k = 0; k < place_count; ++k) clear_contacts(out.place[k]);
  out.dropped = 0;
  FoundPlaces found;
  // What touched is followed by itself: proofs that it is the nearest of all would seldom succeed (links of a chain).
  bool touched = false;
  for (std::uint32_t k = 0; k < place_count; ++k) {
    touched = touched || (records[k].witness.feature_b >= 0 && records[k].age > 0);
  }
  if (touched && place_count > 1) {
    follow_places(a, X_WA, b, X_WB, reach, margin, records, place_count, found, out);
  }
  bool fallen_back = false;
  if (found.count == 0) {
    const double within = place_reach(records[0], reach, margin);
    const ExtremalPair nearest = collide_nearest(a, X_WA, b, X_WB, within, records[0].witness, out.place[0]);
    for (std::uint32_t k = 1; k < place_count; ++k) records[k].witness = {};
    if (out.place[0].count == 0 || place_count == 1) return;
    fallen_back = nearest.status == ExtremalStatus::fallen_back;
    found.add(nearest, 0);
  }
  // A plane has one normal.
  const bool plane = a.kind == ShapeKind::half_space || b.kind == ShapeKind::half_space;
  if (plane && found.covers(found.pair[0].nhat_BA_W, out)) return;
  const std::span<const ExtremalPair> known(found.pair, found.count);
  const bool level = std::any_of(known.begin(), known.end(), on_level_curve);
  // Those that have records may lie on one half of a curve, and the body may have gone over to the other.
  const double deeper = level ? kDeeperOnLevel * beside_level(a, b) : 0;
  ExtremalPlace others[kMaxMeshPatches];
  const std::uint32_t count = other_places(a, X_WA, b, X_WB, std::max(reach, 0.0), known, others, kMaxMeshPatches);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ExtremalPair& pair = others[i].pair;
    if (is_buried(a, X_WA, b, X_WB, pair) || found.covers(pair.nhat_BA_W, out)) continue;
    if (fallen_back) {  // what separates the hulls, where nothing better was known
      fallen_back = false;
      found.remove(0);
      out.place[0].count = 0;
    }
    const std::uint32_t k = take_record(pair, deeper, records, place_count, found, out);
    if (k == place_count) {
      out.dropped += level && on_level_curve(pair) ? 0 : 1;  // none of a curve is missed
      continue;
    }
    to_witness(others[i].a, others[i].b, X_WA.R.transpose() * pair.nhat_BA_W, records[k].witness);
    out.place[k].witnesses.add(false);
    if (level && on_level_curve(pair)) out.place[k].motion = nullptr;
    if (is_within(pair, std::max(reach, 0.0))) add_points(a, X_WA, b, X_WB, pair, reach, out.place[k]);
  }
}

void collide_smooth(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                    ContactBuffer& out) noexcept {
  collide_smooth_within(a, X_WA, b, X_WB, 0, witness, out);
}

}  // namespace tactus
