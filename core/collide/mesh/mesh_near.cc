#include "core/collide/mesh/mesh_near.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"
#include "core/shape/mesh/distance_field.h"

namespace tactus {

namespace {

constexpr std::uint32_t kFollowSteps = 10, kFeatureSteps = 20;
constexpr int kMostFeatures = 24, kTurns = 6;
constexpr double kTurnsEnd = 1e-3;  // of the size
// Conditioning below which the surface fits a face, and how deep that may be, of the size.
constexpr double kFittingPlace = 0.02, kFittingDepth = 0.02;
// Nearer than this, of the size, whether points lie in the other solid is a matter of rounding.
constexpr double kRoundingOfTouch = 1e-9;
// Of the sizes: what rounding is in the mesh's positions.
constexpr double kRoundingOfPlace = 1e-12;
// Of the field's tolerance: a point farther outside of the mesh than that, by the field, lies outside.
constexpr double kOutside = 4;

}  // namespace

MeshSolid MeshSmoothPair::solid() const noexcept {
  const double near = kRoundingOfPlace * ((mesh.mesh->hi - mesh.mesh->lo).norm() + surface().radius());
  return {*mesh.mesh, X_WS.R.transpose() * X_WM.R, X_WS.to_local(X_WM.p), near};
}

MeshNear::MeshNear(const MeshSolid& mesh, const SmoothSurface& surface) noexcept
    : mesh_(mesh), surface_(surface), scale_(std::min(mesh.size(), surface.radius())) {
  on_surface_.set_surface(surface);
}

bool MeshNear::solve_here(std::int32_t feature, const Vec3& start) noexcept {
  TACTUS_DCHECK(mesh_.valid(feature));
  mesh_.set(feature, start, on_mesh_);
  solved_ = solve_extremal(on_mesh_, on_surface_, scale_, kFeatureSteps, root_);
  iterations_ += root_.iterations;
  feature_ = feature;
  return solved_;
}

// Its feature, or another triangle of the same facet, whose plane is the same to rounding.
bool MeshNear::holds_root() noexcept {
  const std::int32_t next = mesh_.next(feature_, root_);
  if (next == feature_) return true;
  const auto is_face = [&](std::int32_t f) { return f >= 0 && mesh_.feature(f).kind == MeshSolid::Kind::face; };
  if (!is_face(next) || !is_face(feature_)) return false;
  return solve_here(next, root_.pa);
}

bool MeshNear::solve(std::int32_t feature, const Vec3& start, const SurfaceSeed& seed) noexcept {
  on_surface_.place(seed);
  return solve_here(feature, start);
}

bool MeshNear::solve_towards(std::int32_t feature, const Vec3& start, const Vec3& n) noexcept {
  on_surface_.place_towards(n);
  return solve_here(feature, start);
}

bool MeshNear::look(std::int32_t feature, const Vec3& start, const SurfaceSeed& seed) noexcept {
  return solve(feature, start, seed) && holds_root() && is_place();
}

bool MeshNear::look_towards(std::int32_t feature, const Vec3& start, const Vec3& n) noexcept {
  return solve_towards(feature, start, n) && holds_root() && is_place();
}

bool MeshNear::foot(const Vec3& p, const SurfaceSeed& seed) noexcept {
  on_surface_.place(seed);
  on_mesh_.set_point(p);
  return solve_extremal(on_mesh_, on_surface_, surface_.radius(), kFeatureSteps, root_);  // may be far for a small mesh
}

bool MeshNear::look_in_turn(std::int32_t edge, const Vec3& start, const SurfaceSeed& seed, double most) noexcept {
  TACTUS_DCHECK(mesh_.valid(edge) && mesh_.feature(edge).kind == MeshSolid::Kind::edge);
  on_surface_.place(seed);
  Vec3 q = mesh_.nearest_on_edge(edge, start);
  for (int i = 0; i < kTurns; ++i) {
    on_mesh_.set_point(q);
    if (!solve_extremal(on_mesh_, on_surface_, scale_, kFeatureSteps, root_)) return false;
    const Vec3 last = q;
    q = mesh_.nearest_on_edge(edge, root_.pb);
    if (i > 0 && (q - last).norm() <= kTurnsEnd * scale_) break;
    if (i > 0 && root_.d - (q - last).norm() > most) return false;
  }
  return solve_here(edge, q) && holds_root() && is_place();
}

bool MeshNear::follow(const ExtremalSide& on_mesh, const ExtremalSide& on_surface) noexcept {
  if (!mesh_.valid(on_mesh.feature) || on_surface.feature < 0) return false;
  on_surface_.place(on_surface);
  Vec3 from = mesh_.from_own(on_mesh.p_S);
  std::int32_t feature = on_mesh.feature;
  for (int i = 0; i < kMostFeatures; ++i) {
    mesh_.set(feature, from, on_mesh_);
    const bool solved = solve_extremal(on_mesh_, on_surface_, scale_, kFollowSteps, root_);
    iterations_ += root_.iterations;
    if (!solved && root_.iterations < kFollowSteps) return false;
    const std::int32_t next = mesh_.next(feature, root_);
    if (next < 0) return false;
    if (next == feature) {
      feature_ = feature;
      return solved && is_place();
    }
    from = root_.pa;
    feature = next;
  }
  return false;
}

bool MeshNear::hold(const ExtremalSide& on_mesh, const ExtremalSide& on_surface) noexcept {
  if (!mesh_.valid(on_mesh.feature) || on_surface.feature < 0) return false;
  on_surface_.place(on_surface);
  on_mesh_.set_point(mesh_.from_own(on_mesh.p_S));
  describe_extremal(on_mesh_, on_surface_, scale_, root_);
  return std::isfinite(root_.d);
}

bool MeshNear::fits() const noexcept {
  return on_mesh_.kind() == ExtremalFeature::Kind::plane && root_.conditioning <= kFittingPlace &&
         std::abs(root_.d) <= kFittingDepth * scale_;
}

bool MeshNear::is_place() const noexcept {
  if (!root_.opposed || !std::isfinite(root_.d)) return false;
  const bool touches = std::abs(root_.d) <= kRoundingOfTouch * scale_;
  if (root_.d >= 0 || touches) return touches || root_.least || fits();
  if (!(surface_.convex() ? root_.least : root_.parts) && !fits()) return false;
  return overlaps_there();
}

// Does the root's overlap exist: does the surface's point lie in the mesh that it is to leave by a face, or the mesh's
// edge or vertex in the surface? Else it is a root on a far side.
bool MeshNear::overlaps_there() const noexcept {
  if (-root_.d > surface_.radius() + mesh_.size()) return false;
  const double outside = kOutside * mesh_.mesh().field->tolerance + kRoundingOfTouch * scale_;
  if (on_mesh_.kind() == ExtremalFeature::Kind::plane) return mesh_.distance(root_.pb) <= outside;
  return surface_holds(surface_, root_.pa);
}

void MeshNear::remember(ExtremalSide& on_mesh, ExtremalSide& on_surface) const noexcept {
  on_surface_.remember(on_surface);
  on_mesh.p_S = mesh_.to_own(root_.pa);
  on_mesh.feature = feature_;
}

ExtremalPair MeshNear::pair(const Frame& X_WS) const noexcept {
  TACTUS_DCHECK(is_rotation(X_WS.R) && is_unit(root_.n));
  ExtremalPair out;
  out.iterations = iterations_;
  out.nhat_BA_W = X_WS.R * root_.n;
  out.t1_W = X_WS.R * root_.t1, out.t2_W = X_WS.R * root_.t2;
  out.pa_W = X_WS * root_.pa, out.pb_W = X_WS * root_.pb;
  out.d = root_.d;
  out.a = root_.a, out.b = root_.b;
  out.conditioning = root_.conditioning;
  out.status = root_.conditioning < kLeastConditioning ? ExtremalStatus::ill_conditioned : ExtremalStatus::solved;
  return out;
}

}  // namespace tactus
