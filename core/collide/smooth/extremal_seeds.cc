// Surfaces that are not convex, and bowls: every place where the two are near, from the surfaces' coarse meshes.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/collide/convex/closest_cores.h"
#include "core/collide/smooth/extremal_search.h"

namespace tactus {

namespace {

constexpr std::uint32_t kFootSteps = 40;
constexpr int kApproaches = 3;
constexpr double kFootEnough = 1e-6;  // how well a point's nearest is known, of the distance's square
constexpr double kWayBack = 0.02;     // of the size: first step out of A
// How often a followed place is changed for one nearer to a bowl's wall, and Newton's steps from there.
constexpr int kChanges = 3;
constexpr std::uint32_t kChangeSteps = 20;
// Part of a surface's radius that lies between a point of it and the nearest seed, about.
constexpr double kSeedsApart = 0.25;
// Cosines of normals that face each other: near places, and places whose supports are meant.
constexpr double kFacing = -0.3, kOpposed = -0.8;
// Of the size: what a root may miss the hulls' distance by.
constexpr double kHulls = 1e-12;
// Of the largest ball outside of a surface: beyond it the nearest place is not the only one.
constexpr double kWithin = 0.99;
// Steps of a climb over directions [rad]: between them Newton's method tries to take over.
constexpr double kClimbs[] = {0.3, 1e-2, 1e-4, 1e-8};

Vec3 support_point(const void* point, const Vec3&) noexcept {
  return *static_cast<const Vec3*>(point);
}

// By how much the surface bends away from its plane at a seed, on the way to p; the seed's normal turns as it does.
double bend_towards(const SmoothSurface& surface, SurfaceSeed& seed, const Vec3& p_S) noexcept {
  ExtremalFeature on;
  on.set_surface(surface);
  on.place(seed);
  on.evaluate();
  Vec3 t1, t2;
  tangent_basis(on.n(), t1, t2);
  Form2 k;
  Pair2 w;
  on.curvature(t1, t2, k, w);
  const double x = t1.dot(p_S - seed.p_S), y = t2.dot(p_S - seed.p_S);
  seed.n_S = (on.n() + (k.xx * x + k.xy * y) * t1 + (k.xy * x + k.yy * y) * t2).normalized();
  return 0.5 * (k.xx * x * x + k.yy * y * y) + k.xy * x * y;
}

}  // namespace

double gap_to_surface(const SmoothSurface& surface, const Vec3& p_S, double near, SurfaceSeed& foot) noexcept {
  if (!surface.parametric()) {
    const ImplicitJet jet = surface.implicit(p_S);
    const double grad2 = jet.grad.squaredNorm();
    foot = surface.seeds()[0];
    if (!(grad2 > 0)) return surface.cavity() ? surface.radius() : -surface.radius();  // its middle
    foot = {p_S - (jet.F / grad2) * jet.grad, jet.grad / std::sqrt(grad2), {}};
    return jet.F / std::sqrt(grad2);
  }
  const SeedMesh& mesh = surface.seed_mesh();
  const auto far = [&p_S](const SurfaceSeed& seed) { return (seed.p_S - p_S).squaredNorm(); };
  const auto nearer = [&far](const SurfaceSeed& x, const SurfaceSeed& y) { return far(x) < far(y); };
  const auto coarse = std::min_element(mesh.coarse.begin(), mesh.coarse.end(), nearer);
  foot = *coarse;
  const double outside = std::sqrt((p_S - surface.centre()).squaredNorm()) - surface.radius();
  if (outside > near && !surface.cavity()) return outside;
  const auto fine = mesh.fine_of(static_cast<std::size_t>(coarse - mesh.coarse.begin()));
  const auto nearest = std::min_element(fine.begin(), fine.end(), nearer);
  foot = *nearest;
  const double gap = nearest->n_S.dot(p_S - nearest->p_S);
  return gap > near ? gap : gap + bend_towards(surface, foot, p_S);
}

bool surface_holds(const SmoothSurface& surface, const Vec3& p) noexcept {
  if ((p - surface.centre()).squaredNorm() > surface.radius() * surface.radius()) return surface.cavity();
  if (surface.has_implicit()) return surface.implicit(p).F <= 0;
  constexpr int kNearest = 4;
  const SurfaceSeed* nearest[kNearest];
  int count = 0;
  const auto far = [&p](const SurfaceSeed& seed) { return (seed.p_S - p).squaredNorm(); };
  for (const SurfaceSeed& seed : surface.seeds()) {
    if (count == kNearest && far(seed) >= far(*nearest[count - 1])) continue;
    int i = count < kNearest ? count++ : count - 1;
    for (; i > 0 && far(*nearest[i - 1]) > far(seed); --i) nearest[i] = nearest[i - 1];
    nearest[i] = &seed;
  }
  ExtremalFeature point, foot;
  point.set_point(p);
  foot.set_surface(surface);
  double least = std::sqrt(far(*nearest[0]));
  bool inside = nearest[0]->n_S.dot(p - nearest[0]->p_S) <= 0;
  for (int i = 0; i < count; ++i) {
    ExtremalRoot root;
    foot.place(*nearest[i]);
    if (!solve_extremal(point, foot, surface.radius(), kFootSteps, root) || std::abs(root.d) >= least) continue;
    least = std::abs(root.d);
    inside = root.d <= 0;
  }
  return inside;
}

// From a place of B towards A's nearest: of an A that is not convex its nearest seed that faces it. False: A is on the
// other side of the surface there.
bool ExtremalSearch::start_of(const SurfaceSeed& seed, Start& out) const noexcept {
  const SmoothSurface* other = a_.surface();
  if (other != nullptr && !other->convex()) {
    const SurfaceSeed* on_a = opposed_seed(seed, kFacing);
    if (on_a == nullptr) return false;
    out = {seed.n_S, -(a_.from_own(on_a->p_S) - seed.p_S).norm(), &seed, on_a};
    return true;
  }
  Vec3 n, p = seed.p_S;
  double gap = closest_convex({ExtremalSolid::support_of, &a_}, {support_point, &p}, a_.centre() - p, kFootEnough, n);
  if (gap > 0 && n.dot(seed.n_S) < 0) return false;
  // From within A: its nearest to where the way into B leaves it.
  double back = 0;
  for (double step = kWayBack * scale_; gap <= 0 && back < a_.size() + scale_; step *= 2) {
    back += step;
    p = seed.p_S - back * seed.n_S;
    gap = closest_convex({ExtremalSolid::support_of, &a_}, {support_point, &p}, a_.centre() - p, kFootEnough, n);
  }
  if (gap <= 0) return false;
  out = {n, back - gap, &seed, nullptr, true, p + gap * n, seed.p_S - p};
  return true;
}

// Of an A that has no quick support only about where: start_of() is left to those that are used.
void ExtremalSearch::seed_starts(Starts& starts) const noexcept {
  Start start;
  const SmoothSurface* other = a_.surface();
  const bool estimate = other != nullptr && other->convex();
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (!estimate) {
      if (start_of(seed, start)) starts.add(start);
      continue;
    }
    SurfaceSeed on_a;
    const double gap = gap_to_surface(*other, a_.to_own(seed.p_S), kSeedsApart * a_.size(), on_a);
    if (gap <= 0 || a_.turned(on_a.n_S).dot(seed.n_S) < 0) starts.add({seed.n_S, -gap, &seed, nullptr});
  }
}

// The place of the surface nearest to p, from a seed, which becomes that place.
bool ExtremalSearch::foot(const Vec3& p, ExtremalFeature& on, SurfaceSeed& seed) noexcept {
  ExtremalFeature point;
  ExtremalRoot root;
  point.set_point(p);
  on.place(seed);
  const bool solved = solve_extremal(point, on, scale_, kFootSteps, root);
  iterations_ += root.iterations;
  if (!solved || !root.least) return false;
  ExtremalSide side;
  on.remember(side);
  seed = {on.kind() == ExtremalFeature::Kind::patch ? root.pb : side.p_S, root.n, {side.feature, side.p_S.head<2>()}};
  nearest_ = root.pb;
  return true;
}

// A's nearest place to B's point, B's nearest to that, and so on: each is nearer, apart as they are or where B is moved
// back out of A.
bool ExtremalSearch::approach(const Start& start) noexcept {
  SurfaceSeed on_b = *start.seed, on_a;
  if (start.seed_a != nullptr) on_a = *start.seed_a;
  Vec3 n = start.n, p = on_b.p_S - start.back, from = p;
  for (int i = 0; i < kApproaches; ++i) {
    if (start.seed_a != nullptr) {
      a_.set(0, Vec3::Zero(), on_a_);
      if (!foot(p, on_a_, on_a)) return false;
      from = nearest_;
    } else {
      const double gap =
          closest_convex({ExtremalSolid::support_of, &a_}, {support_point, &p}, a_.centre() - p, kFootEnough, n);
      if (gap <= 0) return false;
      from = p + gap * n;
    }
    if (!foot(from + start.back, on_b_, on_b)) return false;
    p = nearest_ - start.back;
  }
  if (start.seed_a != nullptr) return start_at({n, 0, &on_b, &on_a});
  return start_at({n, 0, &on_b, nullptr, true, from, start.back});
}

// Newton's method from a start may end farther away, or at no minimum: then again from nearer.
bool ExtremalSearch::near_root(const Start& start) noexcept {
  const bool found = start_at(start);
  if ((sought_ == Sought::across || start.value >= 0) && found && fits())
    return true;  // a nearer place may be along the curve
  if (found && (root_.d < 0 ? root_.parts : root_.least) && root_.d <= -start.value) return true;
  return approach(start) || (found && start_at(start));
}

// Newton's method from the nearest seeds, and from all that are not farther than the best place by what may lie between
// seeds. Where that proves nothing, from all of them.
bool ExtremalSearch::cold_seeds() noexcept {
  if (b_.cavity()) return cold_hollow();
  Starts starts;
  starts.most = kMostStarts;
  seed_starts(starts);
  double nearest = std::numeric_limits<double>::infinity();
  const bool both = a_.surface() != nullptr && !a_.surface()->convex();
  const double between = kSeedsApart * (b_.radius() + (both ? a_.size() : 0.0));
  ExtremalSearch best(a_, b_);
  bool any = false, deeper = false;
  const auto look = [&](const Start& start) {
    if (!near_root(start)) return false;
    if (!fits() && (!root_.least || (root_.d < 0 && !root_.parts))) {
      deeper = deeper || (root_.parts && overlaps());
      return false;
    }
    if (root_.d < 0 && !overlaps_there()) return false;
    if (!any || root_.d < best.root_.d) best.keep(*this);
    any = true;
    return (root_.pb - start.seed->p_S).squaredNorm() <= between * between;
  };
  for (int i = 0; i < starts.count; ++i) {
    if (i >= kStarts && any && -starts.best[i].value > best.root_.d + between) break;
    Start& start = starts.best[i];
    if (start.seed_a == nullptr && !start.local && !start_of(*start.seed, start)) continue;
    nearest = std::min(nearest, -start.value);
    sought_ = Sought::root;
    if (look(start) || a_.radius() > 0) continue;
    sought_ = Sought::least;  // Newton's method went elsewhere: what is near the seed?
    look(start);
  }
  sought_ = Sought::root;
  // A seed nearer than the place found says that there is another, and so does an overlap.
  if (!any || (best.root_.d > 0 && (best.root_.d > nearest || deeper))) return cold_deep();
  keep(best);
  return true;
}

// Not convex: A lies in a ball that touches it at its point, and grown by d that ball touches B at B's point and meets
// it nowhere else. So nothing of A is nearer to B, or reaches further into the wall of a bowl, where this also holds if
// d < 0: the ball's middle is as deep in the hollow as its radius plus d.
bool ExtremalSearch::sure_within() const noexcept {
  if (!a_.bounded() || !root_.opposed || (root_.d < 0 && !b_.cavity())) return false;
  const double most = kWithin * b_.ball_outside(root_.pb);
  if (!(most > 0)) return false;
  const double ball = a_.ball_at(root_.pa, root_.n);
  return std::isfinite(ball) && ball + root_.d <= most;
}

// In an ellipsoid's hollow: A lies in an ellipsoid whose points are all at least d from the wall (or reach at most -d
// beyond it), and which both A and that distance touch at A's point.
bool ExtremalSearch::sure_in_hollow(SurfaceSeed& beyond) const noexcept {
  EllipsoidForm wall;
  if (!root_.opposed || !b_.is_ellipsoid(wall)) return false;
  const SmoothSurface* surface = a_.surface();
  if (surface == nullptr) return move_surface(wall, root_.pb, root_.d) && a_.lies_in(wall, feature_, root_.pa);
  InnerForm e;
  const SurfaceSeed at{a_.to_own(root_.pa), a_.turned_to_own(-root_.n), on_a_.where()};
  return e.set(a_.form_to_own(wall), at.p_S + root_.d * at.n_S, root_.d) && surface->lies_in(e, at, beyond);
}

// Where the proof says what may be nearer to the wall, that is looked at, and so on: places nearer and nearer.
bool ExtremalSearch::sure_of_hollow() noexcept {
  for (int i = 0; i < kChanges; ++i) {
    SurfaceSeed beyond{Vec3::Zero(), Vec3::Zero(), {}};
    if (sure_in_hollow(beyond)) return true;
    const double before = root_.d;
    if (!start_beyond(beyond) || !(root_.d < before)) return false;
    left_place_ = true;
  }
  return false;
}

// From a place of A, in its own frame, and where the wall has its normal.
bool ExtremalSearch::start_beyond(const SurfaceSeed& beyond) noexcept {
  if (beyond.n_S.isZero()) return false;
  on_a_.place(beyond);
  on_b_.place_towards(a_.turned(beyond.n_S));
  return walk(0, a_.centre(), kChangeSteps) && root_.least;
}

// Not convex: the hulls are as far apart along the root's normal as the two points, which a plane between them proves.
// Where they overlap, theirs is a lens no thicker than the root is deep, and no other place is deeper.
bool ExtremalSearch::sure_folded() const noexcept {
  const Vec3& n = root_.n;
  // A point of the hull with its normal is the farthest along that.
  const bool a_known = !a_.bounded() || (a_.surface() != nullptr && a_.surface()->on_hull(on_a_.seed()));
  const bool b_known = b_.on_hull(on_b_.seed());
  const Vec3 low = a_known ? root_.pa : (a_.surface() != nullptr ? on_a_.farthest(-n, root_.pa) : a_.support(-n));
  const Vec3 high = b_known ? root_.pb : on_b_.farthest(n, root_.pb);
  const double rounding = kHulls * scale_;
  if (n.dot(low - high) < root_.d - rounding &&
      !sure_beside(n.dot(root_.pa - low) <= rounding, n.dot(high - root_.pb) <= rounding))
    return false;
  if (!a_.bounded() || root_.d >= 0) return true;
  return root_.parts && shallow() && overlaps_there();
}

// Is a hull of something of one farther from the other's hull than the root's points are? All in the one's own frame.
class FarFromOther : public FarFromHull {
 public:
  FarFromOther(const ExtremalSolid& a, const SmoothSurface& b, bool of_a, double d) noexcept
      : a_(a), b_(b), of_a_(of_a), least_(std::max(d, 0.0)) {}
  [[nodiscard]] bool ball(const Vec3& centre, double radius) const noexcept override {
    const double reach = radius + least_ + (of_a_ ? b_.radius() : a_.size());
    return (centre - other()).squaredNorm() >= reach * reach;
  }
  [[nodiscard]] bool hull(Support support, const void* hull) const noexcept override {
    const ConvexSupport one{support, hull}, two{of_a_ ? support_b : support_a, this};
    return farther_than(two, one, other() - support(hull, other()), least_);
  }

 private:
  [[nodiscard]] Vec3 other() const noexcept { return of_a_ ? a_.to_own(b_.centre()) : a_.centre(); }
  static Vec3 support_a(const void* self, const Vec3& d) noexcept {
    return static_cast<const FarFromOther*>(self)->a_.outer_support(d);
  }
  static Vec3 support_b(const void* self, const Vec3& d) noexcept {
    const auto& own = *static_cast<const FarFromOther*>(self);
    return own.a_.to_own(own.b_.outer_support(own.a_.turned(d)));
  }
  const ExtremalSolid& a_;
  const SmoothSurface& b_;
  bool of_a_;
  double least_;
};

// Not convex, and no plane between the hulls: but the one through the root's points is between what of A and B is not
// farther away from the other's hull than they are.
bool ExtremalSearch::sure_beside(bool a_above, bool b_below) const noexcept {
  if (!a_.bounded()) return false;
  if (!b_below && !b_.lies_below(root_.n, {root_.pb, root_.n, on_b_.where()}, FarFromOther(a_, b_, false, root_.d)))
    return false;
  if (a_above) return true;
  const Vec3 n = a_.turned_to_own(-root_.n);
  return a_.surface() != nullptr &&
         a_.surface()->lies_below(n, {a_.to_own(root_.pa), n, on_a_.where()}, FarFromOther(a_, b_, true, root_.d));
}

void ExtremalSearch::keep(const ExtremalSearch& other) noexcept {
  root_ = other.root_;
  on_a_ = other.on_a_, on_b_ = other.on_b_;
  feature_ = other.feature_;
}

// p in the work frame. Of spheres and capsules with their radius.
bool ExtremalSearch::a_holds(const Vec3& p) const noexcept {
  if (a_.surface() != nullptr) return surface_holds(*a_.surface(), a_.to_own(p));
  Vec3 n;
  return closest_convex({ExtremalSolid::support_of, &a_}, {support_point, &p}, a_.centre() - p, 1e-9, n) <= a_.radius();
}

// Does the root's overlap exist: does each point lie in the other solid? Else it is a root on a far side.
bool ExtremalSearch::overlaps_there() const noexcept {
  if (-root_.d > b_.radius() + a_.size() || !surface_holds(b_, root_.pa)) return false;
  return a_.surface() == nullptr || a_holds(root_.pb);
}

// Does one of its points lie in the other solid? That proves an overlap, wherever it is.
bool ExtremalSearch::overlaps() const noexcept {
  return surface_holds(b_, root_.pa) || a_holds(root_.pb);
}

// Is a point known that lies in both?
bool ExtremalSearch::share_a_point() const noexcept {
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (a_holds(seed.p_S)) return true;
  }
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (surface_holds(b_, a_.support(seed.n_S))) return true;
  }
  if (a_.surface() == nullptr) return false;
  return std::any_of(a_.surface()->seeds().begin(), a_.surface()->seeds().end(),
                     [&](const SurfaceSeed& seed) { return surface_holds(b_, a_.from_own(seed.p_S)); });
}

// Of A's seeds whose normals oppose this one's of B: the nearest. None of a convex A, which has its support.
const SurfaceSeed* ExtremalSearch::opposed_seed(const SurfaceSeed& seed, double cosine) const noexcept {
  const SmoothSurface* other = a_.surface();
  if (other == nullptr || other->convex()) return nullptr;
  const SurfaceSeed* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const SurfaceSeed& on_a : other->seeds()) {
    const double miss = (a_.from_own(on_a.p_S) - seed.p_S).squaredNorm();
    if (a_.turned(on_a.n_S).dot(seed.n_S) > cosine || miss >= least) continue;
    least = miss;
    best = &on_a;
  }
  return best;
}

// Newton's method from every seed. What counts is the shortest way out at a place where one point lies in the other
// solid, which proves that they overlap; else, apart, the least distance; else the shortest way out of any kind.
bool ExtremalSearch::cold_deep() noexcept {
  ExtremalSearch proved(a_, b_), claimed(a_, b_), apart(a_, b_);
  bool any_proved = false, any_claimed = false, any_apart = false;
  const auto better = [&](ExtremalSearch& best, bool& any) {
    if (any && std::abs(root_.d) >= std::abs(best.root_.d)) return;
    any = true;
    best.keep(*this);
  };
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (!start_at({seed.n_S, 0, &seed, opposed_seed(seed, kOpposed)})) continue;
    if (root_.d >= 0) {
      if (root_.least) better(apart, any_apart);
    } else if (root_.parts && overlaps()) {
      better(proved, any_proved);
    } else if (root_.parts) {
      better(claimed, any_claimed);
    }
  }
  if (any_proved) return keep(proved), true;
  if (any_apart && !share_a_point()) return keep(apart), true;
  if (any_claimed) return keep(claimed), true;
  return way_out();
}

// What separates the hulls of both, or the part of A's hull that reaches furthest beyond the hollow's: always there.
bool ExtremalSearch::way_out() noexcept {
  Vec3 n = b_.seeds()[0].n_S;
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (worth(seed.n_S) > worth(n)) n = seed.n_S;
  }
  for (std::size_t i = 1; i < std::size(kClimbs); ++i) {
    climb(n, kClimbs[i - 1], kClimbs[i]);
    if (start_at({n, 0, nullptr, nullptr}) && (b_.cavity() ? root_.least : root_.parts)) return true;
  }
  return fall_back(n);
}

// Where A's points reach furthest into the wall at a seed, or come nearest to it: its farthest point, or of a surface
// that is not convex one of its seeds.
ExtremalSearch::Start ExtremalSearch::hollow_start(const SurfaceSeed& seed) const noexcept {
  const SmoothSurface* other = a_.surface();
  const Vec3& n = seed.n_S;
  if (other == nullptr || other->convex()) return {n, n.dot(seed.p_S - a_.support(-n)), &seed, nullptr};
  const Vec3 n_A = a_.to_own(n) - a_.to_own(Vec3::Zero());
  const SurfaceSeed* lowest = &other->seeds()[0];
  for (const SurfaceSeed& on_a : other->seeds()) {
    if (n_A.dot(on_a.p_S) < n_A.dot(lowest->p_S)) lowest = &on_a;
  }
  return {n, n.dot(seed.p_S - a_.from_own(lowest->p_S)), &seed, lowest};
}

// A in a bowl: how far its points are from the wall, or how far they reach beyond it. Starts are the places of the wall
// where they do so most; of two that are not convex, A's seeds near them, too.
bool ExtremalSearch::cold_hollow() noexcept {
  const SmoothSurface* other = a_.surface();
  if (other != nullptr && other->cavity()) return false;
  Starts starts, inner;
  starts.most = kMostStarts;
  const double between = kSeedsApart * b_.radius();
  for (const SurfaceSeed& seed : b_.seeds()) {
    starts.add(hollow_start(seed));
    const SurfaceSeed* on_a = opposed_seed(seed, kOpposed);
    if (on_a == nullptr) continue;
    inner.add({seed.n_S, -(a_.from_own(on_a->p_S) - seed.p_S).squaredNorm(), &seed, on_a});
  }
  ExtremalSearch best(a_, b_);
  bool any = false;
  const auto look = [&](const Starts& all) {
    for (int i = 0; i < all.count; ++i) {
      if (i >= kStarts && any && -all.best[i].value > best.root_.d + between) break;
      if (!start_at(all.best[i]) || !root_.least || (any && root_.d >= best.root_.d)) continue;
      if (root_.d < 0 && !surface_holds(b_, root_.pa)) continue;
      any = true;
      best.keep(*this);
    }
  };
  corners_ = a_.edges() > 0;
  look(starts);
  corners_ = false;
  if (!any) look(starts);
  look(inner);
  if (any) return keep(best), true;
  return way_out();
}

}  // namespace tactus
