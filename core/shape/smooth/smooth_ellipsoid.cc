// Ellipsoids: F = L/2 (|D^-1 p|^2 - 1), L the harmonic mean of the radii, so that |grad| is about 1 on the surface.
#include <numbers>

#include "core/check.h"
#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"

namespace tactus {

namespace {

class Ellipsoid final : public ImplicitSurface {
 public:
  explicit Ellipsoid(const Vec3& radii)
      : radii_(radii),
        grad_(3 / radii.cwiseInverse().sum() * radii.cwiseAbs2().cwiseInverse()),
        level_(0.5 * 3 / radii.cwiseInverse().sum()) {
    find_seeds();
  }
  [[nodiscard]] SmoothKind kind() const noexcept override { return SmoothKind::ellipsoid; }
  [[nodiscard]] bool convex() const noexcept override { return true; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override {
    ImplicitJet jet;
    jet.grad = grad_.cwiseProduct(p_S);
    jet.F = 0.5 * jet.grad.dot(p_S) - level_;
    jet.hess = grad_.asDiagonal();
    return jet;
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override {
    const Vec3 s = radii_.cwiseProduct(d_S);
    const double h = s.norm();
    return h > 0 ? Vec3(radii_.cwiseProduct(s) / h) : Vec3(radii_.x(), 0, 0);
  }
  [[nodiscard]] Vec3 centre() const noexcept override { return Vec3::Zero(); }
  [[nodiscard]] double radius() const noexcept override { return radii_.maxCoeff(); }
  [[nodiscard]] double ball_inside(const Vec3& p_S) const noexcept override { return ball(p_S, radii_.minCoeff()); }
  [[nodiscard]] double ball_around(const Vec3& p_S) const noexcept override { return ball(p_S, radii_.maxCoeff()); }
  [[nodiscard]] bool is_ellipsoid(EllipsoidForm& out) const noexcept override {
    out.A = (grad_ / (2 * level_)).asDiagonal();
    out.m.setZero();
    return true;
  }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at,
                             SurfaceSeed& /*beyond*/) const noexcept override {
    EllipsoidForm own;
    return is_ellipsoid(own) && holds_ellipsoid(e, own, at.p_S);
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return seed_at(radii_.cwiseProduct(w)); }
  [[nodiscard]] SolidMoments moments() const noexcept override {
    SolidMoments m;
    m.volume = 4.0 / 3.0 * std::numbers::pi * radii_.prod();
    m.second = (m.volume / 5 * radii_.cwiseAbs2()).asDiagonal();
    return m;
  }

 private:
  // From p = x - s g with g = A x, x on the surface, x is the nearest point while 1 - s / r^2 > 0 for all radii r, and
  // the farthest where it is negative for all.
  [[nodiscard]] double ball(const Vec3& p_S, double r) const noexcept {
    return r * r * implicit(p_S).grad.norm() / (2 * level_);
  }

  Vec3 radii_;
  Vec3 grad_;     // L / radius^2
  double level_;  // L / 2
};

// S = D n(u, v), n the unit sphere's charts.
class PatchedEllipsoid final : public ParametricSurface {
 public:
  explicit PatchedEllipsoid(const Vec3& radii) : radii_(radii), plain_(radii) { find_seeds(); }
  [[nodiscard]] SmoothKind kind() const noexcept override { return SmoothKind::ellipsoid; }
  [[nodiscard]] bool convex() const noexcept override { return true; }
  [[nodiscard]] bool has_implicit() const noexcept override { return true; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override { return plain_.implicit(p_S); }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    PatchJet jet = sphere_patch(where);
    for (Vec3* x : {&jet.S, &jet.Su, &jet.Sv, &jet.Suu, &jet.Suv, &jet.Svv}) *x = radii_.cwiseProduct(*x);
    return jet;
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return sphere_normalise(where);
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override { return plain_.support(d_S); }
  [[nodiscard]] Vec3 centre() const noexcept override { return Vec3::Zero(); }
  [[nodiscard]] double radius() const noexcept override { return plain_.radius(); }
  [[nodiscard]] double ball_inside(const Vec3& p_S) const noexcept override { return plain_.ball_inside(p_S); }
  [[nodiscard]] double ball_around(const Vec3& p_S) const noexcept override { return plain_.ball_around(p_S); }
  [[nodiscard]] bool is_ellipsoid(EllipsoidForm& out) const noexcept override { return plain_.is_ellipsoid(out); }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept override {
    return plain_.lies_in(e, at, beyond);
  }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept override { return plain_.bounds(X_WS); }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return seed_at(sphere_chart_of(w)); }
  [[nodiscard]] SolidMoments moments() const noexcept override { return plain_.moments(); }

 private:
  Vec3 radii_;
  Ellipsoid plain_;
};

}  // namespace

std::unique_ptr<SmoothSurface> make_patched_ellipsoid(const Vec3& radii) {
  TACTUS_ASSERT((radii.array() > 0).all() && radii.allFinite());
  return std::make_unique<PatchedEllipsoid>(radii);
}

std::unique_ptr<SmoothSurface> make_ellipsoid(const Vec3& radii) {
  TACTUS_ASSERT((radii.array() > 0).all() && radii.allFinite());
  return std::make_unique<Ellipsoid>(radii);
}

}  // namespace tactus
