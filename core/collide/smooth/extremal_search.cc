#include "core/collide/smooth/extremal_search.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/convex/closest_cores.h"

namespace tactus {

namespace {

// Newton's steps from a remembered point, and from a start that a search found.
constexpr std::uint32_t kWarmSteps = 10, kColdSteps = 40;
constexpr std::uint32_t kStepsWithin = 2;  // of a way down, until it is looked at whether it has left the feature
constexpr int kMostFeatures = 24, kMostTrials = 3000;
constexpr double kWidest = 0.3;  // step of a climb over directions [rad]
// An overlap of convex solids below this part of both is the least one wherever the search for it began: across every
// other direction the lens that they share is wider.
constexpr double kShallow = 0.05;
// Nearer than this part of their size, the nearest points of two solids give no direction.
constexpr double kTouching = 1e-5;
// Vertices this much nearer to B than the best, of the size, make an edge or a face of it.
constexpr double kLevel = 1e-4;

Vec3 support_surface(const void* surface, const Vec3& d) noexcept {
  return static_cast<const SmoothSurface*>(surface)->support(d);
}

}  // namespace

void ExtremalSearch::Starts::add(const Start& start) noexcept {
  if (count == most && start.value <= best[count - 1].value) return;
  int i = count < most ? count++ : count - 1;
  for (; i > 0 && best[i - 1].value < start.value; --i) best[i] = best[i - 1];
  best[i] = start;
}

ExtremalSearch::ExtremalSearch(const ExtremalSolid& a, const SmoothSurface& b) noexcept
    : a_(a),
      b_(b),
      scale_(a.bounded() ? std::min(a.size(), b.radius()) : b.radius()),
      convex_(b.convex() && (a.surface() == nullptr || a.surface()->convex())) {
  on_b_.set_surface(b);
}

double ExtremalSearch::gap_along(const Vec3& n) const noexcept {
  return n.dot(a_.support(-n) - support_b(b_.cavity() ? Vec3(-n) : n));
}

// A root with the feature; border: what bounds it, where that was reached first.
bool ExtremalSearch::solve(std::int32_t feature, std::uint32_t most, std::int32_t& border) noexcept {
  TACTUS_DCHECK(a_.valid(feature));
  const bool steps = sought_ == Sought::least && a_.surface() == nullptr && !a_.is_corner(feature);
  for (std::uint32_t done = 0; done < most; done += kStepsWithin) {
    const std::uint32_t now = steps ? std::min(kStepsWithin, most - done) : most;
    const bool solved = solve_extremal(on_a_, on_b_, scale_, now, root_, sought_);
    iterations_ += root_.iterations;
    if (solved) return true;
    // Along a face that a surface nearly fits, the way to a root may leave the face long before it ends.
    if (root_.iterations < now) return false;
    border = steps ? a_.end_beyond(feature, root_.pa) : a_.border_beyond(feature, root_.pa);
    if (border >= 0 || !steps) return false;
  }
  return false;
}

bool ExtremalSearch::walk(std::int32_t feature, const Vec3& start, std::uint32_t most,
                          const SurfaceSeed* back) noexcept {
  Vec3 from = start;
  for (int i = 0; i < kMostFeatures; ++i) {
    a_.set(feature, from, on_a_);
    std::int32_t border = -1;
    const bool solved = solve(feature, most, border);
    if (!solved && border < 0) return false;
    const bool stays = local_ && b_.cavity() && a_.is_corner(feature);
    const std::int32_t next = !solved    ? border
                              : stays    ? feature
                              : corners_ ? a_.towards(-root_.n, 0)
                                         : a_.next(feature, root_);
    if (next < 0) return false;
    if (next == feature) {
      feature_ = feature;
      return true;
    }
    from = root_.pa;
    // Of a way down, what it left the face at is nearer than where it began.
    const bool again = solved || sought_ != Sought::least;
    if (again && back != nullptr && a_.is_face(feature)) from = start, on_b_.place(*back);
    feature = next;
  }
  return false;
}

// Is a root that was found near a remembered one the pair's, whatever was remembered?
bool ExtremalSearch::sure() noexcept {
  if (!convex_) return b_.cavity() ? sure_of_hollow() : sure_within() || sure_folded();
  return root_.least && (root_.d - a_.radius() >= 0 || !a_.bounded() || shallow());
}

bool ExtremalSearch::shallow() const noexcept {
  return a_.radius() - root_.d <= kShallow * std::min(smallest_size(a_.shape()), smallest_half_width(b_));
}

// Is there a proof for such a pair at all? Else Newton's steps from what is remembered would be in vain.
bool ExtremalSearch::followed() const noexcept {
  EllipsoidForm hollow;
  if (!b_.cavity()) return true;
  return b_.is_ellipsoid(hollow);
}

// Both at what is remembered; start: A's point. False: nothing is.
bool ExtremalSearch::place(const ExtremalSide& side_a, const ExtremalSide& side_b, Vec3& start) noexcept {
  if (side_b.feature < 0 || !a_.valid(a_.surface() ? 0 : side_a.feature) || side_a.feature < 0) {
    return false;
  }
  on_b_.place(side_b);
  if (a_.surface() != nullptr) {
    a_.set(0, Vec3::Zero(), on_a_);
    on_a_.place(side_a);
  }
  start = a_.bounded() && a_.surface() == nullptr ? a_.from_own(side_a.p_S) : Vec3(Vec3::Zero());
  return true;
}

bool ExtremalSearch::warm(const ExtremalSide& side_a, const ExtremalSide& side_b) noexcept {
  Vec3 start;
  if (!followed() || !place(side_a, side_b, start)) return false;
  corners_ = b_.cavity() && a_.edges() > 0;
  return walk(a_.surface() ? 0 : side_a.feature, start, kWarmSteps) && sure();
}

void ExtremalSearch::remember(ExtremalSide& side_a, ExtremalSide& side_b) const noexcept {
  on_b_.remember(side_b);
  if (a_.surface() != nullptr) {
    on_a_.remember(side_a);
  } else {
    side_a.p_S = a_.to_own(root_.pa);
    side_a.feature = feature_;
  }
}

// Both sides where they are farthest against n, then Newton.
bool ExtremalSearch::start_at(const Start& start) noexcept {
  std::int32_t feature = 0;
  Vec3 from = a_.centre();
  if (a_.surface() != nullptr) {
    a_.set(0, from, on_a_);
    if (start.seed_a != nullptr) {
      on_a_.place(*start.seed_a);
    } else {
      on_a_.place_towards(-start.n);
    }
  } else if (a_.bounded()) {
    feature = a_.towards(-start.n, corners_ ? 0 : kLevel * a_.size());
    from = start.local ? start.from : a_.support(-start.n);
  }
  if (start.seed != nullptr) {
    on_b_.place(*start.seed);
  } else {
    on_b_.place_towards(start.n);
  }
  return walk(feature, from, kColdSteps, b_.convex() ? nullptr : start.seed);
}

bool ExtremalSearch::cold() noexcept {
  if (!a_.bounded()) return cold_plane();
  if (!convex_) return cold_seeds();
  return cold_apart() || cold_overlap();
}

// The lowest point over a plane: of a surface that is not convex, of its hull, where it is the surface's own.
bool ExtremalSearch::cold_plane() noexcept {
  if (b_.cavity()) return false;
  const Vec3 n = -a_.face_normal(0);
  if (start_at({n, 0, nullptr, nullptr})) return true;
  return fall_back(n);
}

bool ExtremalSearch::cold_apart() noexcept {
  Vec3 n;
  const double gap =
      closest_convex({ExtremalSolid::support_of, &a_}, {support_surface, &b_}, a_.centre() - b_.centre(), 1e-7, n);
  if (gap <= kTouching * scale_) return false;
  if (start_at({n, 0, nullptr, nullptr}) && root_.d > 0) return true;
  ascend(n, 200);
  if (start_at({n, 0, nullptr, nullptr}) && root_.d > 0) return true;
  return fall_back(n);
}

// Steps along the gradient of the gap along n, which is pa - pb in the tangent plane, of Barzilai & Borwein's (1988)
// length; the best direction is kept.
void ExtremalSearch::ascend(Vec3& n, int steps) const noexcept {
  Vec3 best_n = n, x = n, last_x = n, last_g = Vec3::Zero();
  double best = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < steps; ++i) {
    const Vec3 w = a_.support(-x) - support_b(x);
    const double value = x.dot(w);
    const Vec3 g = w - value * x;
    if (value > best) best = value, best_n = x;
    if (g.squaredNorm() <= 1e-24 * scale_ * scale_) break;
    double length = 0.3 / scale_;
    if (i > 0) {
      const Vec3 dx = x - last_x, dg = g - last_g;
      const double bent = -dx.dot(dg);
      if (bent > 0) length = std::min(dx.squaredNorm() / bent, 1.0 / std::sqrt(g.squaredNorm()));
    }
    last_x = x, last_g = g;
    x = (x + length * g).normalized();
  }
  n = best_n;
}

// The same where faces and edges make the gap a function with kinks: neighbours of n at shrinking distances, in
// directions that turn by a little more than a right angle so that none of a ridge's is left out. Steps that help grow
// again: along a ridge that bends, those of one length were endlessly many.
void ExtremalSearch::climb(Vec3& n, double coarsest, double finest) const noexcept {
  double best = worth(n), c = 1, s = 0;
  int left = kMostTrials;
  for (double step = coarsest; step > finest && left > 0;) {
    Vec3 t1, t2;
    tangent_basis(n, t1, t2);
    bool better = false;
    for (int i = 0; i < 12 && !better; ++i, --left) {
      const Vec3 trial = (n + step * (c * t1 + s * t2)).normalized();
      const double value = worth(trial), turned = -0.28 * c - 0.96 * s;
      s = 0.96 * c - 0.28 * s, c = turned;
      if (value <= best) continue;
      best = value;
      n = trial;
      better = true;
    }
    step = better ? std::min(1.5 * step, kWidest) : 0.5 * step;
  }
}

// What the supports along n say, when Newton's method found nothing: the gap along n is one that they have, only maybe
// not the largest, and the points may lie apart along the contact where both fit each other.
bool ExtremalSearch::fall_back(const Vec3& n) noexcept {
  fallen_back_ = true;
  feature_ = 0;
  if (a_.surface() != nullptr) {
    a_.set(0, Vec3::Zero(), on_a_);
    on_a_.place_towards(-n);
  } else {
    feature_ = a_.bounded() ? a_.towards(-n, 1e-6 * a_.size()) : 0;
    a_.set(feature_, a_.bounded() ? a_.support(-n) : Vec3(Vec3::Zero()), on_a_);
  }
  on_b_.place_towards(b_.cavity() ? Vec3(-n) : n);
  describe_extremal(on_a_, on_b_, scale_, root_);
  if (!a_.bounded()) return std::isfinite(root_.d);
  root_.d = gap_along(n);
  root_.pa = root_.pb + root_.d * root_.n;
  return std::isfinite(root_.d);
}

// The least overlap over directions: faces' normals, where they have any, and the seeds'; the most promising climb.
bool ExtremalSearch::cold_overlap() noexcept {
  Starts starts;
  const auto add = [&](const Vec3& n) { starts.add({n, gap_along(n), nullptr, nullptr}); };
  const Vec3 between = a_.centre() - b_.centre();
  if (between.squaredNorm() > 1e-24 * scale_ * scale_) add(between.normalized());
  for (int f = 0; f < a_.faces(); ++f) add(-a_.face_normal(f));
  for (int e = 0; e < a_.edges(); ++e) add(-a_.edge_normal(e));
  for (const SurfaceSeed& seed : b_.seeds()) add(seed.n_S);
  if (a_.surface() != nullptr) {
    for (const SurfaceSeed& seed : a_.surface()->seeds()) add(-a_.turned(seed.n_S));
  }
  ExtremalSearch best(a_, b_);
  bool any = false;
  for (int i = 0; i < starts.count; ++i) {
    Start start = starts.best[i];
    bool found = start_at(start) && root_.least;
    if (!found || root_.d < start.value - 1e-12 * scale_) {
      ascend(start.n, 60);
      found = start_at(start) && root_.least;
    }
    if (!found || (any && root_.d <= best.root_.d)) continue;
    any = true;
    best.root_ = root_;
    best.on_a_ = on_a_, best.on_b_ = on_b_;
    best.feature_ = feature_;
  }
  Vec3 n = starts.best[0].n;
  if (a_.faces() > 0 || a_.shape().kind == ShapeKind::capsule) {
    // Kinks hide maxima from Newton's method: the best starts climb without it, too.
    double most = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < std::min(starts.count, 3); ++i) {
      Vec3 top = starts.best[i].n;
      climb(top, kWidest, 1e-9);
      const double value = gap_along(top);
      if (value > most) most = value, n = top;
    }
    if (!any || best.root_.d < most - 1e-9 * scale_) {
      if (start_at({n, 0, nullptr, nullptr}) && root_.least && root_.d >= most - 1e-9 * scale_) return true;
      return fall_back(n);
    }
  }
  if (!any) {
    ascend(n, 200);
    return fall_back(n);
  }
  root_ = best.root_;
  on_a_ = best.on_a_, on_b_ = best.on_b_;
  feature_ = best.feature_;
  return true;
}

}  // namespace tactus
