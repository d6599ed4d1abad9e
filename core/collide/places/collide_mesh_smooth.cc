#include "core/collide/places/collide_mesh_smooth.h"

#include <algorithm>

#include "core/check.h"
#include "core/collide/mesh/mesh_near.h"
#include "core/collide/places/fitting_points.h"
#include "core/collide/places/place_records.h"
#include "core/collide/places/points_ahead.h"

namespace tactus {

namespace {

constexpr double kOneFacetNormal = 0.999, kSameRecord = 0.98;  // cosines
// Of the surface's radius: places less deep than that are no ways out of each other's overlap.
constexpr double kManyWays = 0.01;

// The places of one pair, as they are found in one tick.
class MeshSmoothContacts {
 public:
  MeshSmoothContacts(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, PairRecord* records,
                     std::uint32_t place_count, PlaceContacts& out) noexcept
      : a_(a),
        b_(b),
        X_WA_(X_WA),
        X_WB_(X_WB),
        pair_(a, X_WA, b, X_WB),
        solid_(pair_.solid()),
        records_(records),
        room_(place_count),
        out_(out) {}

  void follow(double reach, double margin) noexcept {
    for (std::uint32_t k = 0; k < room_; ++k) {
      Witness& witness = records_[k].witness;
      lost_[k] = records_[k].age > 0;
      if (witness.feature_a < 0 || witness.feature_b < 0) continue;
      ExtremalPlace place;
      to_sides(witness, place.a, place.b);
      place.pair = mesh_place(a_, X_WA_, b_, X_WB_, place.a, place.b);
      const double within = place_reach(records_[k], reach, margin);
      bool stays = is_within(place.pair, within) && !is_buried(a_, X_WA_, b_, X_WB_, place.pair) && !covered(place);
      for (std::uint32_t i = 0; i < count_ && stays; ++i) stays = !same_mesh_place(a_, b_, place.pair, pairs_[i]);
      if (stays) {
        out_.place[k].witnesses.add(true);
        take(place, k, within);
      } else {
        witness.feature_a = witness.feature_b = -1;
      }
    }
  }

  void add_new(double reach) noexcept {
    MeshPlaces found;
    find_mesh_places(a_, X_WA_, b_, X_WB_, std::max(reach, 0.0), {pairs_, count_}, found);
    if (found.count > 0 && is_buried(a_, X_WA_, b_, X_WB_, found.place[0].pair)) found = {};
    out_.dropped += found.dropped;
    near_ = found.triangles > 0;
    bool other_way[MeshPlaces::kMost] = {};
    for (std::uint32_t i = found.count; i-- > 0;) {  // the shortest ways out first
      const ExtremalPair& pair = found.place[i].pair;
      if (-pair.d <= kManyWays * pair_.surface().radius()) continue;
      for (std::uint32_t j = 0; j < count_ && !other_way[i]; ++j) {
        other_way[i] = frees(a_, X_WA_, b_, X_WB_, pairs_[j], pair);
      }
      for (std::uint32_t j = i + 1; j < found.count && !other_way[i]; ++j) {
        other_way[i] = !other_way[j] && frees(a_, X_WA_, b_, X_WB_, found.place[j].pair, pair);
      }
    }
    for (std::uint32_t i = 0; i < found.count; ++i) {
      if (other_way[i] || covered(found.place[i])) continue;
      const std::uint32_t k = record_for(found.place[i]);
      if (k == room_) {
        ++out_.dropped;
        continue;
      }
      out_.place[k].witnesses.add(false);
      take(found.place[i], k, reach);
    }
  }

  // A deep overlap that no feature explains.
  void fall_back() noexcept {
    if (count_ > 0 || !(near_ || solid_.distance(pair_.surface().centre()) < 0)) return;
    ExtremalPlace place;
    place.pair = separate_deep(a_, X_WA_, b_, X_WB_);
    if (!is_within(place.pair, 0)) return;
    const std::uint32_t k = record_for(place);
    ++out_.place[k].witnesses.misses, ++out_.place[k].witnesses.fallbacks;
    take(place, k, 0);
  }

  // Nothing of another place's past.
  void forget_the_rest() noexcept {
    for (std::uint32_t k = 0; k < room_; ++k) {
      if (!used_[k]) records_[k].witness = {};
    }
  }

 private:
  [[nodiscard]] std::int32_t on_mesh(const ExtremalPlace& place) const noexcept {
    return pair_.turned ? place.b.feature : place.a.feature;
  }
  // Points lie around a place on a facet that it is at, too.
  [[nodiscard]] bool covered(const ExtremalPlace& place) const noexcept {
    const std::int32_t feature = on_mesh(place);
    for (std::uint32_t i = 0; i < count_ && feature >= 0; ++i) {
      if (facets_[i] == kNone || pairs_[i].nhat_BA_W.dot(place.pair.nhat_BA_W) <= kOneFacetNormal) continue;
      if (solid_.is_at_facet(feature, facets_[i])) return true;
    }
    return false;
  }

  void take(const ExtremalPlace& place, std::uint32_t k, double reach) noexcept {
    const ExtremalPair& pair = place.pair;
    ContactBuffer& buffer = out_.place[k];
    buffer.nhat_BA_W = pair.nhat_BA_W;
    buffer.add(0.5 * (pair.pa_W + pair.pb_W), -pair.d);
    std::uint32_t facet = kNone;
    if (on_mesh(place) >= 0) {
      const std::uint32_t t = add_fitting_points(pair_, pair, on_mesh(place), std::max(reach, 0.0), buffer);
      if (t != MeshSolid::kNoTriangle && buffer.count > 1) facet = solid_.mesh().facet[t];
      if (t != MeshSolid::kNoTriangle) add_points_ahead(pair_, t, buffer);
    }
    lead_contact(pair, buffer);
    to_witness(place.a, place.b, X_WA_.R.transpose() * pair.nhat_BA_W, records_[k].witness);
    used_[k] = true;
    lost_[k] = false;
    pairs_[count_] = pair;
    facets_[count_] = facet;
    record_of_[count_++] = k;
    if (facet != kNone) give_up_covered();
  }
  // Places found before that the last one's points cover.
  void give_up_covered() noexcept {
    const std::uint32_t facet = facets_[count_ - 1];
    const Vec3 n = pairs_[count_ - 1].nhat_BA_W;
    for (std::uint32_t i = count_ - 1; i-- > 0;) {
      const Witness& witness = records_[record_of_[i]].witness;
      const std::int32_t feature = pair_.turned ? witness.feature_b : witness.feature_a;
      if (facets_[i] != kNone || pairs_[i].nhat_BA_W.dot(n) <= kOneFacetNormal) continue;
      if (feature < 0 || !solid_.is_at_facet(feature, facet)) continue;
      drop(i);
    }
  }
  void drop(std::uint32_t i) noexcept {
    const std::uint32_t k = record_of_[i];
    out_.place[k].count = 0;
    used_[k] = false;
    --count_;
    std::copy(pairs_ + i + 1, pairs_ + count_ + 1, pairs_ + i);
    std::copy(facets_ + i + 1, facets_ + count_ + 1, facets_ + i);
    std::copy(record_of_ + i + 1, record_of_ + count_ + 1, record_of_ + i);
  }

  // That of a place lost in this tick that faced the same way, with its state; else a free one, or that of the
  // shallowest place if this is deeper than all: with none of another's state. room_: none.
  std::uint32_t record_for(const ExtremalPlace& place) noexcept {
    const Vec3 axis_A = X_WA_.R.transpose() * place.pair.nhat_BA_W;
    double best = kSameRecord;
    std::uint32_t k = room_;
    for (std::uint32_t i = 0; i < room_; ++i) {
      const double c = records_[i].witness.axis_A.dot(axis_A);
      if (!used_[i] && lost_[i] && c > best) best = c, k = i;
    }
    if (k < room_) return k;
    k = 0;
    while (k < room_ && (used_[k] || lost_[k])) ++k;
    if (k == room_) k = static_cast<std::uint32_t>(std::find(used_, used_ + room_, false) - used_);
    if (k == room_ && count_ > 0) {
      const auto deeper = [](const ExtremalPair& x, const ExtremalPair& y) { return x.d < y.d; };
      const auto last = std::max_element(pairs_, pairs_ + count_, deeper);
      if (place.pair.d >= std::min_element(pairs_, pairs_ + count_, deeper)->d) return room_;
      const auto i = static_cast<std::uint32_t>(last - pairs_);
      k = record_of_[i];
      drop(i);
      ++out_.dropped;
    }
    records_[k].phase = ContactPhase::apart;
    records_[k].age = 0;
    records_[k].model.fill(0.0);
    return k;
  }

  static constexpr std::uint32_t kNone = 0xffffffffu;
  const Shape &a_, &b_;
  const Frame &X_WA_, &X_WB_;
  const MeshSmoothPair pair_;
  const MeshSolid solid_;
  PairRecord* records_;
  std::uint32_t room_;
  PlaceContacts& out_;
  ExtremalPair pairs_[kMaxMeshPatches];
  std::uint32_t facets_[kMaxMeshPatches];  // that a place's points lie around on; kNone: it has one point
  std::uint32_t record_of_[kMaxMeshPatches];
  std::uint32_t count_ = 0;
  bool used_[kMaxMeshPatches] = {}, lost_[kMaxMeshPatches] = {};  // records
  bool near_ = false;                                             // triangles are
};

}  // namespace

void collide_mesh_smooth(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                         double margin, PairRecord* records, std::uint32_t place_count, PlaceContacts& out) noexcept {
  TACTUS_ASSERT(place_count >= 1 && place_count <= kMaxMeshPatches && is_mesh_smooth_pair(a, b));
  for (std::uint32_t k = 0; k < place_count; ++k) clear_contacts(out.place[k]);
  out.dropped = 0;
  MeshSmoothContacts contacts(a, X_WA, b, X_WB, records, place_count, out);
  contacts.follow(reach, margin);
  contacts.add_new(reach);
  contacts.fall_back();
  contacts.forget_the_rest();
}

}  // namespace tactus
