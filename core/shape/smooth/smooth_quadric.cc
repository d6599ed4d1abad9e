// Quadrics from coefficients: F = s ((p - m)^T A (p - m) - k), an ellipsoid that lies anywhere.
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <numbers>

#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"

namespace tactus {

namespace {

class Quadric final : public ImplicitSurface {
 public:
  // p = m + root w for unit w; root symmetric, its eigenvalues are the principal radii.
  Quadric(const Mat3& root, const Vec3& m, const Vec3& radii)
      : root_(root), inverse_(root * root), m_(m), radii_(radii), scale_(1.5 / radii.cwiseInverse().sum()) {
    const Mat3 A = inverse_.inverse();
    hess_ = scale_ * (A + A.transpose());
    find_seeds();
  }
  [[nodiscard]] SmoothKind kind() const noexcept override { return SmoothKind::quadric; }
  [[nodiscard]] bool convex() const noexcept override { return true; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override {
    const Vec3 r = p_S - m_;
    ImplicitJet jet;
    jet.grad = hess_ * r;
    jet.F = 0.5 * jet.grad.dot(r) - scale_;
    jet.hess = hess_;
    return jet;
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override {
    const Vec3 s = inverse_ * d_S;
    const double h2 = s.dot(d_S);
    return h2 > 0 ? Vec3(m_ + s / std::sqrt(h2)) : support(Vec3::UnitX());
  }
  [[nodiscard]] Vec3 centre() const noexcept override { return m_; }
  [[nodiscard]] double radius() const noexcept override { return radii_.maxCoeff(); }
  [[nodiscard]] double ball_inside(const Vec3& p_S) const noexcept override { return ball(p_S, radii_.minCoeff()); }
  [[nodiscard]] double ball_around(const Vec3& p_S) const noexcept override { return ball(p_S, radii_.maxCoeff()); }
  [[nodiscard]] bool is_ellipsoid(EllipsoidForm& out) const noexcept override {
    out.A = hess_ / (2 * scale_);
    out.m = m_;
    return true;
  }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at,
                             SurfaceSeed& /*beyond*/) const noexcept override {
    EllipsoidForm own;
    return is_ellipsoid(own) && holds_ellipsoid(e, own, at.p_S);
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return seed_at(m_ + root_ * w); }
  [[nodiscard]] SolidMoments moments() const noexcept override {
    SolidMoments m;
    m.volume = 4.0 / 3.0 * std::numbers::pi * radii_.prod();
    m.second = m.volume / 5 * inverse_;
    return m;
  }

 private:
  // From p = x - s g with g = A x, x on the surface, x is the nearest point while 1 - s / r^2 > 0 for all radii r, and
  // the farthest where it is negative for all.
  [[nodiscard]] double ball(const Vec3& p_S, double r) const noexcept {
    return r * r * implicit(p_S).grad.norm() / (2 * scale_);
  }

  Mat3 root_, inverse_;  // inverse_: of A in (p - m)^T A (p - m) = 1
  Vec3 m_, radii_;
  double scale_;  // half of the radii's harmonic mean: |grad| about 1 on the surface
  Mat3 hess_;
};

// What the eigenvalues of the second-degree part, small ones zero, say of a quadric that is not an ellipsoid.
const char* unbounded_name(int positive, int negative) noexcept {
  if (positive + negative == 0) return "a plane or nothing";
  if (positive + negative == 1) return "a parabolic cylinder or parallel planes";
  if (positive + negative == 2)
    return positive == 1 ? "a hyperbolic cylinder or paraboloid" : "an elliptic cylinder or paraboloid";
  return "a hyperboloid or a cone";
}

}  // namespace

std::unique_ptr<SmoothSurface> make_quadric(const std::array<double, 10>& c, std::string& error) {
  Mat3 A;
  A << c[0], 0.5 * c[3], 0.5 * c[4], 0.5 * c[3], c[1], 0.5 * c[5], 0.5 * c[4], 0.5 * c[5], c[2];
  const Vec3 b(c[6], c[7], c[8]);
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(A);
  const Vec3& lambda = eigen.eigenvalues();
  const double zero = 1e-12 * lambda.cwiseAbs().maxCoeff();
  const auto positive = static_cast<int>((lambda.array() > zero).count());
  const auto negative = static_cast<int>((lambda.array() < -zero).count());
  if (positive != 3 && negative != 3) {
    error = std::string("found ") + unbounded_name(positive, negative) + ", expected an ellipsoid (a bounded surface)";
    return nullptr;
  }
  // Through the eigenvectors: A may be badly scaled.
  const Vec3 in_axes = (eigen.eigenvectors().transpose() * b).cwiseQuotient(lambda);
  const Vec3 m = -0.5 * (eigen.eigenvectors() * in_axes);
  const double k = 0.5 * -b.dot(m) - c[9];  // (p - m)^T A (p - m) = k
  const Vec3 radii2 = k * lambda.cwiseInverse();
  if (!((radii2.array() > 0).all() && radii2.allFinite() && m.allFinite())) {
    error = k == 0 ? "found a single point, expected an ellipsoid" : "found no real point, expected an ellipsoid";
    return nullptr;
  }
  const Vec3 radii = radii2.cwiseSqrt();
  const Mat3 root = eigen.eigenvectors() * radii.asDiagonal() * eigen.eigenvectors().transpose();
  return std::make_unique<Quadric>(0.5 * (root + root.transpose()), m, radii);
}

}  // namespace tactus
