#include "core/shape/smooth/smooth_shapes.h"

namespace tactus {

namespace {

// The solid on the other side: F and the normals change sign, so u and v change places.
class Cavity final : public SmoothSurface {
 public:
  explicit Cavity(std::unique_ptr<SmoothSurface> surface) : base_(std::move(surface)) {
    seeds_ = base_->seed_mesh();
    for (SurfaceSeed& seed : seeds_.coarse) seed = turned(seed);
    for (SurfaceSeed& seed : seeds_.fine) seed = turned(seed);
  }
  [[nodiscard]] SmoothKind kind() const noexcept override { return base_->kind(); }
  [[nodiscard]] bool parametric() const noexcept override { return base_->parametric(); }
  [[nodiscard]] bool convex() const noexcept override { return false; }
  [[nodiscard]] bool cavity() const noexcept override { return true; }
  [[nodiscard]] bool hollow_is_convex() const noexcept override { return base_->convex(); }
  [[nodiscard]] bool has_implicit() const noexcept override { return base_->has_implicit(); }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override {
    const ImplicitJet jet = base_->implicit(p_S);
    return {-jet.F, -jet.grad, -jet.hess};
  }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    PatchJet jet = base_->patch(swapped(where));
    jet.Su.swap(jet.Sv);
    jet.Suu.swap(jet.Svv);
    return jet;
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return swapped(base_->normalise(swapped(where)));
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override { return base_->support(d_S); }
  [[nodiscard]] const SeedMesh& seed_mesh() const noexcept override { return seeds_; }
  [[nodiscard]] Vec3 centre() const noexcept override { return base_->centre(); }
  [[nodiscard]] double radius() const noexcept override { return base_->radius(); }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept override { return base_->bounds(X_WS); }
  [[nodiscard]] double ball_outside(const Vec3& p_S) const noexcept override { return base_->ball_inside(p_S); }
  [[nodiscard]] bool is_ellipsoid(EllipsoidForm& out) const noexcept override { return base_->is_ellipsoid(out); }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return base_->topology(); }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return turned(base_->at(w)); }
  [[nodiscard]] SolidMoments moments() const noexcept override { return base_->moments(); }

 private:
  static SurfacePoint swapped(const SurfacePoint& where) noexcept {
    return {where.chart, Vec2(where.uv.y(), where.uv.x())};
  }
  static SurfaceSeed turned(const SurfaceSeed& seed) noexcept { return {seed.p_S, -seed.n_S, swapped(seed.where)}; }

  std::unique_ptr<SmoothSurface> base_;
  SeedMesh seeds_;
};

}  // namespace

std::unique_ptr<SmoothSurface> make_cavity(std::unique_ptr<SmoothSurface> surface) {
  return std::make_unique<Cavity>(std::move(surface));
}

}  // namespace tactus
