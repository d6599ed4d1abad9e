// Surfaces that are not convex, and bowls: every place where the two are near, from the surfaces' coarse meshes.
#include <algorithm>
#include <cmath>

#include "core/collide/closest_cores.h"
#include "core/collide/extremal_search.h"

namespace tactus {

namespace {

Vec3 support_point(const void* point, const Vec3&) noexcept {
  return *static_cast<const Vec3*>(point);
}

}  // namespace

void ExtremalSearch::seed_starts(Starts& starts) const noexcept {
  const SmoothSurface* other = a_.surface();
  const bool seeds_only = other != nullptr && !other->convex();
  for (const SurfaceSeed& seed : b_.seeds()) {
    if (seeds_only) {
      for (const SurfaceSeed& on_a : other->seeds()) {
        const Vec3 between = a_.from_own(on_a.p_S) - seed.p_S;
        const double opposed = -a_.turned(on_a.n_S).dot(seed.n_S);
        if (opposed > 0.3) starts.add({seed.n_S, -between.squaredNorm(), &seed, &on_a});
      }
      continue;
    }
    Vec3 n = seed.n_S;
    double gap = n.dot(a_.support(-n) - seed.p_S);
    if (!b_.cavity()) {
      Vec3 towards_a;
      const double apart = closest_convex({ExtremalSolid::support_of, &a_}, {support_point, &seed.p_S},
                                          a_.centre() - seed.p_S, 1e-4, towards_a);
      if (apart > 0) gap = apart, n = towards_a;
      if (apart > 0 && n.dot(seed.n_S) < 0) continue;  // A is on the other side of the surface there
    }
    starts.add({n, -gap, &seed, nullptr});
  }
}

// Does the root's overlap exist: does each point lie in the other solid? Else it is a root on a far side.
bool ExtremalSearch::overlaps_there() const noexcept {
  if (-root_.d > b_.radius() + a_.size()) return false;
  if (b_.has_implicit() && b_.implicit(root_.pa).F > 0) return false;
  const SmoothSurface* other = a_.surface();
  return other == nullptr || !other->has_implicit() || other->implicit(a_.to_own(root_.pb)).F <= 0;
}

bool ExtremalSearch::cold_seeds() noexcept {
  if (b_.cavity() && a_.surface() != nullptr && a_.surface()->cavity()) return false;
  Starts starts;
  seed_starts(starts);
  ExtremalSearch best(a_, b_);
  bool any = false;
  for (int i = 0; i < starts.count; ++i) {
    if (!start_at(starts.best[i]) || !root_.least) continue;
    if (root_.d < 0 && !overlaps_there()) continue;
    if (any && root_.d >= best.root_.d) continue;
    any = true;
    best.root_ = root_;
    best.on_a_ = on_a_, best.on_b_ = on_b_;
    best.feature_ = feature_;
  }
  if (!any) return false;
  root_ = best.root_;
  on_a_ = best.on_a_, on_b_ = best.on_b_;
  feature_ = best.feature_;
  return true;
}

}  // namespace tactus
