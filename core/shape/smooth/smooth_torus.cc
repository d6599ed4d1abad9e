// The torus as a quartic: F = D E / (8 R^2 r) with D = (rho - R)^2 + z^2 - r^2, E = (rho + R)^2 + z^2 - r^2; |grad| =
// rho / R on the surface.
#include <numbers>

#include "core/check.h"
#include "core/math/angle.h"
#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"

namespace tactus {

namespace {

class Torus final : public ImplicitSurface {
 public:
  Torus(double ring, double tube) : ring_(ring), tube_(tube), scale_(1 / (8 * ring * ring * tube)) { find_seeds(); }
  [[nodiscard]] SmoothKind kind() const noexcept override { return SmoothKind::torus; }
  [[nodiscard]] bool convex() const noexcept override { return false; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override {
    const double rho = std::sqrt(p_S.x() * p_S.x() + p_S.y() * p_S.y()), z2 = p_S.z() * p_S.z();
    const double inner = rho - ring_, outer = rho + ring_, tube2 = tube_ * tube_;
    // Written in differences from the ring, so that a thin tube loses no digits.
    const double D = inner * inner + (z2 - tube2), E = outer * outer + (z2 - tube2);
    const double across = 4 * scale_ * (inner * outer + (z2 - tube2)), along = 2 * scale_ * (D + E);
    ImplicitJet jet;
    jet.F = scale_ * D * E;
    jet.grad = Vec3(across * p_S.x(), across * p_S.y(), along * p_S.z());
    jet.hess = 8 * scale_ * p_S * p_S.transpose();
    jet.hess.diagonal() += Vec3(across, across, along);
    return jet;
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override {
    const double side = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y()), norm = d_S.norm();
    const Vec3 centre = side > 0 ? Vec3(ring_ / side * Vec3(d_S.x(), d_S.y(), 0)) : Vec3(ring_, 0, 0);
    return centre + (norm > 0 ? Vec3(tube_ / norm * d_S) : Vec3(tube_, 0, 0));
  }
  [[nodiscard]] Vec3 centre() const noexcept override { return Vec3::Zero(); }
  [[nodiscard]] double radius() const noexcept override { return ring_ + tube_; }
  // As far as the axis, beyond which the other side is nearer.
  [[nodiscard]] double ball_outside(const Vec3& p_S) const noexcept override {
    const double rho = std::sqrt(p_S.x() * p_S.x() + p_S.y() * p_S.y());
    return rho < ring_ ? rho * tube_ / (ring_ - rho) : std::numeric_limits<double>::infinity();
  }
  // Its centre line lies as much deeper in e as the tube is thick.
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at,
                             SurfaceSeed& /*beyond*/) const noexcept override {
    EllipsoidForm deeper{e.A, e.m};
    CircleBound bound;
    return move_surface(deeper, at.p_S, tube_) &&
           bound_circles(deeper, touching_factor(deeper, at.p_S - tube_ * at.n_S), bound);
  }
  [[nodiscard]] bool on_hull(const SurfaceSeed& at) const noexcept override {
    return at.p_S.x() * at.p_S.x() + at.p_S.y() * at.p_S.y() >= ring_ * ring_;
  }
  [[nodiscard]] bool lies_below(const Vec3& /*n_S*/, const SurfaceSeed& at,
                                const FarFromHull&) const noexcept override {
    return on_hull(at);
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::torus; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override {
    double su, cu, sv, cv;
    sine_cosine(2 * std::numbers::pi * w.x(), su, cu);
    sine_cosine(2 * std::numbers::pi * w.y(), sv, cv);
    const Vec3 n(cv * cu, cv * su, sv);
    return {Vec3(ring_ * cu, ring_ * su, 0) + tube_ * n, n, {}};
  }
  [[nodiscard]] SolidMoments moments() const noexcept override {
    const double r2 = tube_ * tube_, R2 = ring_ * ring_;
    SolidMoments m;
    m.volume = 2 * std::numbers::pi * std::numbers::pi * ring_ * r2;
    const double side = 0.5 * m.volume * (R2 + 0.75 * r2);
    m.second = Vec3(side, side, 0.25 * m.volume * r2).asDiagonal();
    return m;
  }

 private:
  double ring_, tube_, scale_;
};

}  // namespace

std::unique_ptr<SmoothSurface> make_torus(double ring, double tube) {
  TACTUS_ASSERT(tube > 0 && tube < ring && std::isfinite(ring));
  return std::make_unique<Torus>(ring, tube);
}

}  // namespace tactus
