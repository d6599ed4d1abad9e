// The search for a pair's extremal points: from what is remembered, and from nothing. Work frame: that of the smooth
// surface B; A is a solid of any kind but mesh.
#pragma once

#include "core/collide/smooth/extremal_solid.h"

namespace tactus {

class ExtremalSearch {
 public:
  ExtremalSearch(const ExtremalSolid& a, const SmoothSurface& b) noexcept;

  // From the remembered points. False: no root there, or not one that is certain to be the pair's.
  bool warm(const ExtremalSide& side_a, const ExtremalSide& side_b) noexcept;
  // From the remembered points to the place near them, one of several that the pair may have (extremal_places.h).
  bool near(const ExtremalSide& side_a, const ExtremalSide& side_b, Sought sought) noexcept;
  // From a corner, rim or seed of A and a place of B, to a place; and from a place of B to A's nearest.
  bool look_at(std::int32_t feature_a, const Vec3& p, const SurfaceSeed* seed_a, const SurfaceSeed& seed_b,
               Sought sought) noexcept;
  bool look_from(const SurfaceSeed& seed_b, Sought sought) noexcept;
  // Of a root: certainly no other place is nearer than `reach`, but for the root's own neighbourhood? pa, pb: of the
  // solids themselves.
  [[nodiscard]] bool is_alone(const Vec3& pa, const Vec3& pb, const Vec3& n, double d, double reach) const noexcept;
  // From nothing. False: not solved.
  bool cold() noexcept;

  [[nodiscard]] const ExtremalRoot& root() const noexcept { return root_; }
  [[nodiscard]] bool fallen_back() const noexcept { return fallen_back_; }
  // warm() went on to another place than the remembered one.
  [[nodiscard]] bool left_place() const noexcept { return left_place_; }
  [[nodiscard]] std::uint32_t iterations() const noexcept { return iterations_; }
  void remember(ExtremalSide& side_a, ExtremalSide& side_b) const noexcept;

 private:
  struct Start {
    Vec3 n = Vec3::Zero();              // from B into A
    double value = 0;                   // larger is better
    const SurfaceSeed* seed = nullptr;  // where on B; none: the farthest along n
    const SurfaceSeed* seed_a = nullptr;
    bool local = false;                             // on A's feature that is farthest along -n, begin at `from`
    Vec3 from = Vec3::Zero(), back = Vec3::Zero();  // on A; by how much B is moved back there, out of A
  };
  static constexpr int kStarts = 6, kMostStarts = 20;
  struct Starts {
    Start best[kMostStarts];
    int most = kStarts, count = 0;
    void add(const Start& start) noexcept;
  };

  bool place(const ExtremalSide& side_a, const ExtremalSide& side_b, Vec3& start) noexcept;
  [[nodiscard]] bool is_place() const noexcept;
  bool look_along(const SurfaceSeed& seed_b) noexcept;
  [[nodiscard]] bool fits() const noexcept;
  [[nodiscard]] Vec3 support_b(const Vec3& d) const noexcept { return b_.support(d); }
  [[nodiscard]] double gap_along(const Vec3& n) const noexcept;
  // What the direction that the gap is meant along has most of: gap, or in a bowl what reaches beyond it.
  [[nodiscard]] double worth(const Vec3& n) const noexcept { return b_.cavity() ? -gap_along(n) : gap_along(n); }
  // Newton's method, from feature to feature until one holds its root.
  // back: B's place at the start, where a face that was left hands over to its border: of a surface that is not convex
  // the face's own root may be far away.
  bool walk(std::int32_t feature, const Vec3& start, std::uint32_t most, const SurfaceSeed* back = nullptr) noexcept;
  bool solve(std::int32_t feature, std::uint32_t most, std::int32_t& border) noexcept;
  bool start_at(const Start& start) noexcept;
  [[nodiscard]] bool followed() const noexcept;
  [[nodiscard]] bool sure() noexcept;
  [[nodiscard]] bool shallow() const noexcept;
  [[nodiscard]] bool sure_folded() const noexcept;
  [[nodiscard]] bool sure_beside(bool a_above, bool b_below) const noexcept;
  [[nodiscard]] bool sure_within() const noexcept;
  bool sure_of_hollow() noexcept;
  [[nodiscard]] bool sure_in_hollow(SurfaceSeed& beyond) const noexcept;
  bool start_beyond(const SurfaceSeed& beyond) noexcept;
  bool cold_plane() noexcept;
  bool cold_apart() noexcept;
  bool cold_overlap() noexcept;
  bool cold_seeds() noexcept;
  bool foot(const Vec3& p, ExtremalFeature& on, SurfaceSeed& seed) noexcept;
  bool approach(const Start& start) noexcept;
  bool near_root(const Start& start) noexcept;
  bool cold_hollow() noexcept;
  bool cold_deep() noexcept;
  bool way_out() noexcept;
  bool start_of(const SurfaceSeed& seed, Start& out) const noexcept;
  void seed_starts(Starts& starts) const noexcept;
  [[nodiscard]] const SurfaceSeed* opposed_seed(const SurfaceSeed& seed, double cosine) const noexcept;
  [[nodiscard]] Start hollow_start(const SurfaceSeed& seed) const noexcept;
  void keep(const ExtremalSearch& other) noexcept;
  void ascend(Vec3& n, int steps) const noexcept;
  void climb(Vec3& n, double coarsest, double finest) const noexcept;
  bool fall_back(const Vec3& n) noexcept;
  [[nodiscard]] bool overlaps_there() const noexcept;
  [[nodiscard]] bool overlaps() const noexcept;
  [[nodiscard]] bool a_holds(const Vec3& p) const noexcept;
  [[nodiscard]] bool share_a_point() const noexcept;

  const ExtremalSolid& a_;
  const SmoothSurface& b_;
  double scale_;
  bool convex_;
  ExtremalFeature on_a_, on_b_;
  std::int32_t feature_ = -1;
  ExtremalRoot root_;
  Vec3 nearest_ = Vec3::Zero();  // what foot() found
  Sought sought_ = Sought::root;
  bool local_ = false;    // corners and rims in a hollow are followed as such
  bool corners_ = false;  // from corner to corner: in a convex hollow no edge or face is nearest
  bool fallen_back_ = false, left_place_ = false;
  std::uint32_t iterations_ = 0;
};

// Is p in the solid? By F, or by the side of the surface that p lies on at its nearest place, which is not farther than
// the nearest seed.
bool surface_holds(const SmoothSurface& surface, const Vec3& p) noexcept;
// About how far p is from the surface, and its place there: to first order of F, or by the nearest seed; to second
// order where it may be within `near` (seeds are so far apart that their planes alone miss places).
double gap_to_surface(const SmoothSurface& surface, const Vec3& p_S, double near, SurfaceSeed& foot) noexcept;

// The remembered point, as far ahead as it is said to be. Anything that cannot be one is forgotten.
ExtremalSide advanced(const Shape& shape, const ExtremalSide& side) noexcept;
// What was found, in W.
ExtremalPair pair_of(const ExtremalSearch& search, const ExtremalSolid& a, const Frame& X_WB) noexcept;
// The search wants B smooth; A not convex only if B is not convex either, and a bowl only if B is one. True: a and b
// change places, and what is found is turned round.
bool search_turns(const Shape& a, const Shape& b) noexcept;
void turn_round(ExtremalPair& pair) noexcept;

}  // namespace tactus
