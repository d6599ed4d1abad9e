#include "core/collide/places/extremal_places.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/collide/convex/narrow_core.h"
#include "core/collide/places/mesh_places.h"
#include "core/collide/smooth/extremal_search.h"

namespace tactus {

namespace {

constexpr std::uint32_t kNearSteps = 10, kLookSteps = 20;
// Of the smaller one's size: places nearer to each other are one; of the surface's: seeds of one neighbourhood (of B,
// of A, of tips of A), and how much nearer than its seed a place may be.
constexpr double kOnePlace = 0.02, kSeedNeighbours = 0.18, kOwnNeighbours = 0.22, kTipNeighbours = 0.25,
                 kBetweenStarts = 0.25, kBetweenFineSeeds = 0.15;
constexpr double kBallNeighbours = 0.45;   // B's where they may touch along a curve
constexpr double kPlaceNeighbours = 0.85;  // of a seed's: that of a place, which may lie between two seeds
constexpr double kLooseGaps = 1.5;         // how much faster than the distance its estimates may change, at most
// Conditioning of a level curve, and of what a ball or capsule may nearly touch along one.
constexpr double kLevelCurve = 0.02, kNearlyLevel = 0.3;
// Conditioning below which the surfaces nearly fit, and how deep that may be, of the size.
constexpr double kFittingPlace = 0.1, kFittingDepth = 0.1;
// Of the smaller one's size: gap at places of a level curve that touches elsewhere.
constexpr double kBesideLevel = 0.01;
// Nearer than this, of the size, whether points lie in the other solid is a matter of rounding.
constexpr double kRoundingOfTouch = 1e-9;
// What is left of a neighbourhood when one place is proved to be the only one within reach.
constexpr double kAloneCap = 0.05, kAloneWithin = 0.99;
constexpr double kTipSlack = 0.2;  // of what lies between seeds: how much nearer than such a tip a place may be
constexpr int kRimStarts = 8, kClimbs = 4;
// Of the smaller one's size: what is as much nearer than a place that is known is not of its neighbourhood.
constexpr double kNearerThanPlace = 1e-3;
constexpr int kMostCandidates = 128, kMostLooks = 16, kMostLooksOfBall = 8;

bool follows_corners(const SmoothSurface& b) noexcept {
  return b.cavity();
}

// What to begin at: A's feature near p, or its seed, and B's place.
struct Candidate {
  double gap;
  Vec3 p;  // where it is, for telling neighbours apart
  std::int32_t feature_a;
  const SurfaceSeed* seed_a;  // none: its farthest point against B's normal there
  SurfaceSeed seed_b;
  bool of_b;  // a seed of B: A's place is the nearest to it
};

// The nearest ones, sorted.
struct Candidates {
  Candidate at[kMostCandidates];
  int count = 0;

  void add(const Candidate& c) noexcept {
    if (count == kMostCandidates && c.gap >= at[count - 1].gap) return;
    int i = count < kMostCandidates ? count++ : count - 1;
    for (; i > 0 && at[i - 1].gap > c.gap; --i) at[i] = at[i - 1];
    at[i] = c;
  }
};

// All in the frame of B, which is not convex.
class Places {
 public:
  Places(const ExtremalSolid& a, const SmoothSurface& b, double reach, bool along_curves) noexcept
      : a_(a), b_(b), reach_(reach), along_curves_(along_curves) {
    if (follows_corners(b)) {
      if (a.surface() != nullptr) {
        add_seeds_of_a();
      } else {
        add_corners();
      }
    }
    if (!follows_corners(b) && a.radius() == 0) add_deep_corners();
    // A ball, or an end of a capsule, that is wider than the wall bends touches it in several places.
    if (!follows_corners(b) || !b.hollow_is_convex() || a.radius() > 0) add_seeds_of_b();
  }

  // Whose neighbourhood holds none that is nearer; on a level curve, where that is a matter of rounding, none that is
  // nearer and stays. Call once: the others go.
  void keep_lowest(bool level) noexcept {
    bool low[kMostCandidates];
    for (int i = 0; i < candidates_.count; ++i) {
      const Candidate& c = candidates_.at[i];
      low[i] = true;
      const double near = neighbourhood(c);
      for (int k = 0; k < i && low[i]; ++k) {
        const Candidate& nearer = candidates_.at[k];
        if (level && !low[k]) continue;
        low[i] = nearer.of_b != c.of_b || (nearer.p - c.p).squaredNorm() > near * near;
      }
    }
    int kept = 0;
    for (int i = 0; i < candidates_.count; ++i) {
      if (low[i]) candidates_.at[kept++] = candidates_.at[i];
    }
    candidates_.count = kept;
  }
  [[nodiscard]] double neighbourhood(const Candidate& c) const noexcept {
    if (c.of_b) return (along_curves_ ? kBallNeighbours : kSeedNeighbours) * b_.radius();
    if (a_.surface() != nullptr) return (c.seed_a == nullptr ? kTipNeighbours : kOwnNeighbours) * a_.size();
    if (a_.shape().kind == ShapeKind::cylinder) return 0.9 * a_.shape().radius;
    return follows_corners(b_) ? 0.0 : kOwnNeighbours * a_.size();  // many corners make a round hull
  }
  // Of a place that is known.
  [[nodiscard]] double place_neighbourhood(const Candidate& c) const noexcept {
    return (c.of_b && !along_curves_ ? kPlaceNeighbours : 1.0) * neighbourhood(c);
  }
  [[nodiscard]] std::span<const Candidate> candidates() const noexcept {
    return {candidates_.at, static_cast<std::size_t>(candidates_.count)};
  }

 private:
  void add_corner(const Vec3& p, std::int32_t feature, double slack) noexcept {
    Candidate c{0, p, feature, nullptr, {}, false};
    c.gap = gap_to_surface(b_, p, reach_ + slack + a_.radius(), c.seed_b) - a_.radius();
    if (c.gap <= reach_ + slack) candidates_.add(c);
  }
  // Between two seeds a corner may be in B while at all seeds around the gap is less than there.
  void add_deep_corners() noexcept {
    for (int i = 0; i < a_.corners(); ++i) add_corner(a_.corner(i), i, 0);
  }
  void add_corners() noexcept {
    const double slack = kBetweenStarts * std::min(a_.size(), b_.radius());
    for (int i = 0; i < a_.corners(); ++i) add_corner(a_.corner(i), i, slack);
    if (a_.shape().kind == ShapeKind::sphere) add_corner(a_.centre(), 0, slack);
    if (a_.shape().kind != ShapeKind::cylinder) return;
    for (int i = 0; i < 2 * kRimStarts; ++i) {
      const double angle = M_PI / kRimStarts * i;  // every second one on the other rim
      const bool up = i % 2 == 0;
      add_corner(a_.rim_point(up, std::cos(angle), std::sin(angle)), a_.rim(up), slack);
    }
  }
  void add_seeds_of_a() noexcept {
    const double slack = kBetweenStarts * std::min(a_.size(), b_.radius());
    for (const SurfaceSeed& seed : a_.surface()->seeds()) {
      Candidate c{0, a_.from_own(seed.p_S), 0, &seed, {}, false};
      c.gap = gap_to_surface(b_, c.p, reach_ + slack, c.seed_b);
      if (c.gap > reach_ + slack) continue;
      if (!a_.surface()->convex() || !move_farther(c) || c.gap <= reach_ + kTipSlack * slack) candidates_.add(c);
    }
  }
  // Of a convex A: to its farthest point against the wall's normal. Where it is sharp its seeds lie far from its tips.
  // False: it is there.
  bool move_farther(Candidate& c) const noexcept {
    const Vec3 p = a_.support(-c.seed_b.n_S);
    SurfaceSeed foot;
    const double gap = gap_to_surface(b_, p, b_.radius(), foot);
    if (gap >= c.gap) return false;
    c = {gap, p, 0, nullptr, foot, false};
    return true;
  }
  void add_seeds_of_b() noexcept {
    if (along_curves_) return add_coarse_seeds_of_b();
    const double within = reach_ + kBetweenFineSeeds * b_.radius();
    const SeedMesh& mesh = b_.seed_mesh();
    for (std::size_t i = 0; i < mesh.coarse.size(); ++i) {
      const double far = within + kLooseGaps * mesh.cells[i].radius;
      if (gap_to_a(mesh.coarse[i].p_S, far) > far) continue;
      for (const SurfaceSeed& seed : mesh.fine_of(i)) {
        const double gap = gap_to_a(seed.p_S, within);
        if (gap <= within) candidates_.add({gap, seed.p_S, 0, nullptr, seed, true});
      }
    }
  }
  // Where they touch along a curve, or nearly: places close to each other are none of their own.
  void add_coarse_seeds_of_b() noexcept {
    const double within = reach_ + kBetweenStarts * b_.radius();
    for (const SurfaceSeed& seed : b_.seeds()) {
      const double gap = gap_to_a(seed.p_S, within);
      if (gap <= within) candidates_.add({gap, seed.p_S, 0, nullptr, seed, true});
    }
  }
  [[nodiscard]] double gap_to_a(const Vec3& p, double near) const noexcept {
    if (a_.surface() == nullptr) return a_.gap_at(p);
    SurfaceSeed foot;
    return gap_to_surface(*a_.surface(), a_.to_own(p), near, foot);
  }

  const ExtremalSolid& a_;
  const SmoothSurface& b_;
  double reach_;
  bool along_curves_;
  Candidates candidates_;
};

double size_of_pair(const Shape& a, const Shape& b) noexcept {
  double size = std::numeric_limits<double>::infinity();
  for (const Shape* shape : {&a, &b}) {
    if (shape->kind == ShapeKind::smooth) size = std::min(size, shape->smooth->radius());
    if (shape->kind != ShapeKind::smooth && shape->kind != ShapeKind::half_space)
      size = std::min(size, smallest_size(*shape));
  }
  return size;
}

bool near_each_other(double size, const Vec3& pa, const Vec3& pb, const ExtremalPair& known) noexcept {
  const double near = kOnePlace * size;
  return (known.pa_W - pa).squaredNorm() < near * near && (known.pb_W - pb).squaredNorm() < near * near;
}

}  // namespace

bool ExtremalSearch::near(const ExtremalSide& side_a, const ExtremalSide& side_b, Sought sought) noexcept {
  Vec3 start;
  if (!place(side_a, side_b, start)) return false;
  local_ = true;
  sought_ = sought;
  return walk(a_.surface() ? 0 : side_a.feature, start, kNearSteps) && is_place();
}

// Is the root a place where the two are near, and none on a far side?
bool ExtremalSearch::is_place() const noexcept {
  const bool touches = std::abs(root_.d) <= kRoundingOfTouch * scale_;
  if (b_.cavity()) return root_.least && (touches || root_.d >= 0 || surface_holds(b_, root_.pa));
  if (fits()) return root_.d >= 0 || touches || overlaps_there();
  return root_.d >= 0 ? root_.least : root_.parts && (touches || overlaps_there());
}

// Along a curve or over an area the surfaces lie as near, or nearly: whether a place is the nearest there is a matter
// of little, and in a shallow overlap (a ball in a ring's hole) none is a way out by itself.
bool ExtremalSearch::fits() const noexcept {
  return root_.conditioning <= kFittingPlace && std::abs(root_.d - a_.radius()) <= kFittingDepth * scale_;
}

bool ExtremalSearch::look_at(std::int32_t feature_a, const Vec3& p, const SurfaceSeed* seed_a,
                             const SurfaceSeed& seed_b, Sought sought) noexcept {
  local_ = true;
  sought_ = sought;
  if (a_.surface() != nullptr) {
    a_.set(0, Vec3::Zero(), on_a_);
    if (seed_a != nullptr) {
      on_a_.place(*seed_a);
    } else {
      on_a_.place_towards(-seed_b.n_S);
    }
  }
  on_b_.place(seed_b);
  return (walk(feature_a, p, kLookSteps) && is_place()) || (b_.cavity() && look_along(seed_b));
}

// From where Newton's method found a saddle or nothing (a sharp corner between two seeds): A's farthest point against
// B's normal, B there, and so on. In a hollow each lies nearer to the wall.
bool ExtremalSearch::look_along(const SurfaceSeed& seed_b) noexcept {
  if (a_.surface() == nullptr || !a_.surface()->convex()) return false;
  SurfaceSeed wall = seed_b, refined;
  Vec3 n = wall.n_S;
  for (int i = 0; i < kClimbs; ++i) {
    n = wall.n_S;
    const Vec3 p = a_.support(-n);
    gap_to_surface(b_, p, b_.radius(), wall);
    refined = wall;  // of patches it is the nearest seed only
    if (b_.parametric() && foot(p, on_b_, refined)) wall = refined;
  }
  a_.set(0, Vec3::Zero(), on_a_);
  on_a_.place_towards(-n);
  on_b_.place(wall);
  return walk(0, a_.support(-n), kLookSteps) && is_place();
}

// From a place of B: A's nearest to it.
bool ExtremalSearch::look_from(const SurfaceSeed& seed_b, Sought sought) noexcept {
  local_ = false;
  sought_ = sought;
  Start start{-a_.turned(Vec3::UnitZ()), 0, &seed_b, nullptr};  // a half-space has one normal
  if (a_.bounded() && !start_of(seed_b, start)) return false;
  const bool found = a_.bounded() ? near_root(start) : start_at(start);
  local_ = true;
  return (found && is_place()) || look_along(seed_b);
}

// A lies in a ball that touches it at its point, and B outside of one that touches B there. If the first, grown by the
// reach, leaves the second in a small cap only, no other place is within reach.
bool ExtremalSearch::is_alone(const Vec3& pa, const Vec3& pb, const Vec3& n, double d, double reach) const noexcept {
  if (!a_.bounded()) return false;
  const double beyond = std::max(reach - d, 0.0), outside = kAloneWithin * b_.ball_outside(pb);
  const double ball = a_.ball_at(pa + a_.radius() * n, n) + a_.radius();
  if (!(ball + reach < outside)) return false;
  const double bend = 1 / (ball + reach) - 1 / outside, cap = kAloneCap * scale_;
  return 2 * beyond <= bend * cap * cap;
}

bool has_places(const Shape& a, const Shape& b) noexcept {
  if (a.kind == ShapeKind::mesh || b.kind == ShapeKind::mesh) return is_mesh_smooth_pair(a, b);
  const auto folded = [](const Shape& s) { return s.kind == ShapeKind::smooth && !s.smooth->convex(); };
  return folded(a) || folded(b);
}

bool on_level_curve(const ExtremalPair& pair) noexcept {
  return pair.known() && pair.conditioning <= kLevelCurve && pair.a.dim != 1 && pair.b.dim != 1;
}

double beside_level(const Shape& a, const Shape& b) noexcept {
  return kBesideLevel * size_of_pair(a, b);
}

bool same_place(const Shape& a, const Shape& b, const ExtremalPair& pair, const ExtremalPair& other) noexcept {
  return near_each_other(size_of_pair(a, b), pair.pa_W, pair.pb_W, other);
}

namespace {

// In the order that the search takes; known: as they stand, or turned round.
std::uint32_t find_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                          std::span<const ExtremalPair> known, bool turned, ExtremalPlace* out,
                          std::uint32_t room) noexcept {
  const ExtremalSolid solid(a, X_WB.R.transpose() * X_WA.R, X_WB.R.transpose() * (X_WA.p - X_WB.p));
  ExtremalSearch search(solid, *b.smooth);
  const auto on_a = [&](const ExtremalPair& pair) { return X_WB.to_local(turned ? pair.pb_W : pair.pa_W); };
  const auto on_b = [&](const ExtremalPair& pair) { return X_WB.to_local(turned ? pair.pa_W : pair.pb_W); };
  if (known.size() == 1 && known[0].status != ExtremalStatus::fallen_back) {
    const Vec3 n = X_WB.R.transpose() * (turned ? Vec3(-known[0].nhat_BA_W) : known[0].nhat_BA_W);
    if (search.is_alone(on_a(known[0]), on_b(known[0]), n, known[0].d, reach)) return 0;
  }
  // Along a level curve several places are sought, not its lowest one again and again.
  const bool level = std::any_of(known.begin(), known.end(), on_level_curve);
  const Sought sought = level ? Sought::across : solid.radius() > 0 ? Sought::root : Sought::least;
  const Sought at_a = follows_corners(*b.smooth) ? Sought::root : sought;
  if (level) reach = std::max(reach, beside_level(a, b));
  const auto nearly_level = [](const ExtremalPair& pair) { return pair.conditioning <= kNearlyLevel; };
  const bool along_curves = level || (solid.radius() > 0 && std::any_of(known.begin(), known.end(), nearly_level));
  Places places(solid, *b.smooth, reach, along_curves);
  places.keep_lowest(level);
  const double size = size_of_pair(a, b), same2 = kOnePlace * kOnePlace * size * size;
  Vec3 found_a[kMostLooks], found_b[kMostLooks];  // in the frame of B
  std::uint32_t count = 0;
  int looks = 0;
  for (const Candidate& c : places.candidates()) {
    if (count == room || looks == (level || solid.radius() > 0 ? kMostLooksOfBall : kMostLooks)) break;
    const double near = places.place_neighbourhood(c), near2 = std::max(near * near, same2);
    const auto covers = [&](const Vec3& pa, const Vec3& pb) {
      // A corner's own place lies its radius away from it.
      const double away = std::sqrt(((c.of_b ? pb : pa) - c.p).squaredNorm()) - (c.of_b ? 0.0 : solid.radius());
      return away * away <= near2;
    };
    const double nearer = c.gap + kNearerThanPlace * size;
    bool taken = false;
    for (const ExtremalPair& k : known) taken = taken || (k.d <= nearer && covers(on_a(k), on_b(k)));
    for (std::uint32_t i = 0; i < count; ++i)
      taken = taken || (out[i].pair.d <= nearer && covers(found_a[i], found_b[i]));
    if (taken) continue;
    ++looks;
    const bool found =
        c.of_b ? search.look_from(c.seed_b, sought) : search.look_at(c.feature_a, c.p, c.seed_a, c.seed_b, at_a);
    if (!found) continue;
    ExtremalPair pair = pair_of(search, solid, X_WB);
    if (!(pair.d < reach)) continue;
    const Vec3 pa = turned ? pair.pb_W : pair.pa_W, pb = turned ? pair.pa_W : pair.pb_W;
    bool same = false;
    for (const ExtremalPair& k : known) same = same || near_each_other(size, pa, pb, k);
    for (std::uint32_t i = 0; i < count; ++i) same = same || near_each_other(size, pair.pa_W, pair.pb_W, out[i].pair);
    if (same) continue;
    out[count] = {};
    found_a[count] = X_WB.to_local(pair.pa_W), found_b[count] = X_WB.to_local(pair.pb_W);
    search.remember(out[count].a, out[count].b);
    out[count++].pair = pair;
  }
  return count;
}

}  // namespace

std::uint32_t other_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           std::span<const ExtremalPair> known, ExtremalPlace* out, std::uint32_t room) noexcept {
  if (!search_turns(a, b)) return find_places(a, X_WA, b, X_WB, reach, known, false, out, room);
  const std::uint32_t count = find_places(b, X_WB, a, X_WA, reach, known, true, out, room);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::swap(out[i].a, out[i].b);
    turn_round(out[i].pair);
  }
  return count;
}

}  // namespace tactus
