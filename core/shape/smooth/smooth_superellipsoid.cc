// Superellipsoids. With squares X, Y, Z of the scaled coordinates the gauge's square is N(N(X, Y; 1/e2), Z; 1/e1), N(s,
// t; k) = (s^k + t^k)^(1/k); F = L/2 (that - 1). It is convex, homogeneous of degree 2, and finite wherever N's own
// derivatives are not (s = 0 with 1 < k < 2), because the chain rule brings a factor s.
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/math/one_plus.h"
#include "core/shape/smooth/normal_cells.h"
#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/shape/smooth/white_form.h"

namespace tactus {

namespace {

// N(s, t; k) for s, t >= 0, and what its derivatives are made of.
struct PowerSum {
  double value = 0;
  double ds = 0, dt = 0;            // first derivatives: (s/N)^(k-1), (t/N)^(k-1)
  double share_s = 0, share_t = 0;  // s/N, t/N
};

constexpr double kClear = 1e-3;     // of its radius: a coordinate that may be divided by
constexpr double kLeast = 1e-300;   // below it a coordinate's square is zero
constexpr double kNothing = -1000;  // logarithm of a ratio to such a square: every power is zero

// k = 1/e other than 1 and 2. ratio: of the smaller to the larger, and its logarithm; log_sum: ln(1 + ratio^k), so that
// the next power need not wait for a logarithm of N.
[[gnu::always_inline]] inline PowerSum power_sum(double s, double t, double ratio, double k, const OnePlusPower& root,
                                                 double log_ratio, double& log_sum) noexcept {
  const double term = exponential(k * log_ratio), sum = 1 + term;
  const OnePlus split(std::min(term, 1.0));  // by rounding the smaller may have the larger logarithm
  log_sum = logarithm(split);
  const double n = root(split), inverse = 1 / (n * sum), share = sum * inverse;
  const double d_large = n * n * inverse, d_small = term > 0 ? term / ratio * d_large : 0.0;
  if (s < t) return {t * n, d_small, d_large, ratio * share, share};
  return {s * n, d_large, d_small, share, ratio * share};
}

// k = 1, a plain sum, and k = 2, whose powers are squares and roots.
PowerSum plain_sum(double s, double t, double k) noexcept {
  PowerSum out;
  if (k == 1) {
    out.value = s + t;
    out.ds = out.dt = 1;
  } else {
    const double large = std::max(s, t);
    if (large == 0) return out;
    const double ratio = std::min(s, t) / large;
    out.value = large * std::sqrt(1 + ratio * ratio);
    out.ds = s / out.value, out.dt = t / out.value;
  }
  if (out.value > 0) out.share_s = s / out.value, out.share_t = t / out.value;
  return out;
}

// One of the two exponents.
struct Exponent {
  explicit Exponent(double exponent) noexcept : e(exponent), k(1 / e), plain(k == 1 || k == 2), root(e) {}
  double e, k;
  bool plain;
  OnePlusPower root;
};

// N(N(X, Y; k2), Z; k1), both sums.
struct NestedSum {
  PowerSum R, G;
};
NestedSum nested_sum(const Vec3& square, const Exponent& second, const Exponent& first) noexcept {
  NestedSum out;
  const double X = square.x(), Y = square.y(), Z = square.z();
  const double large = std::max(X, Y), small = std::min(X, Y);
  double log_ratio = kNothing;  // ln(R / Z)
  if (second.plain) {
    out.R = plain_sum(X, Y, second.k);
    if (!first.plain && out.R.value >= kLeast && Z >= kLeast) log_ratio = logarithm(out.R.value / Z);
  } else if (large >= kLeast) {
    const double ratio = small / large;
    double log_sum = 0;
    out.R = power_sum(X, Y, ratio, second.k, second.root, ratio >= kLeast ? logarithm(ratio) : kNothing, log_sum);
    if (!first.plain && Z >= kLeast) log_ratio = logarithm(large / Z) + second.e * log_sum;
  }
  const double R = out.R.value, larger = std::max(R, Z);
  if (first.plain) {
    out.G = plain_sum(R, Z, first.k);
  } else if (larger >= kLeast) {
    double log_sum = 0;
    out.G = power_sum(R, Z, std::min(R, Z) / larger, first.k, first.root, -std::abs(log_ratio), log_sum);
  }
  return out;
}

// |x|^p/(|x|^p + |y|^p)^..: the support's weights, (s/h)^(q-1) with h = (s^q + t^q)^(1/q), q - 1 = e / (2 - e).
struct DualSum {
  double value = 0, ds = 0, dt = 0;
};
DualSum dual_sum(double s, double t, double e) noexcept {
  const double q = 2 / (2 - e), large = std::max(s, t), small = std::min(s, t);
  if (large == 0) return {0, 1, 0};
  const double ratio = small / large, w = power(ratio, q - 1), sum = 1 + w * ratio;
  const double h = 1 / power(1 / sum, 1 / q), d = h / sum;
  return {large * h, s < t ? w * d : d, s < t ? d : w * d};
}

// Largest |p|^2 of the unit gauge's set: the dual norm of the squared radii.
double dual_of_squares(double s, double t, double e) noexcept {
  if (e == 1) return std::max(s, t);
  const double large = std::max(s, t), ratio = std::min(s, t) / large, k = 1 / (1 - e);
  return large / power(1 / (1 + power(ratio, k)), 1 / k);
}

double beta(double a, double b) noexcept {
  return std::exp(std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b));
}

class Superellipsoid final : public ImplicitSurface {
 public:
  Superellipsoid(const Vec3& radii, double e1, double e2)
      : radii_(radii), inverse_(radii.cwiseInverse()), first_(e1), second_(e2), scale_(3 / inverse_.sum()) {
    const Vec3 r2 = radii.cwiseAbs2();
    radius_ = std::sqrt(dual_of_squares(dual_of_squares(r2.x(), r2.y(), e2), r2.z(), e1));
    find_seeds();
    hull_ = NormalCells(AsHull(*this));
  }
  [[nodiscard]] SmoothKind kind() const noexcept override { return SmoothKind::superellipsoid; }
  [[nodiscard]] bool convex() const noexcept override { return true; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override;
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override;
  [[nodiscard]] Vec3 centre() const noexcept override { return Vec3::Zero(); }
  [[nodiscard]] double radius() const noexcept override { return radius_; }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override {
    const Vec3 p = radii_.cwiseProduct(w);
    return seed_at(p / std::sqrt(2 * implicit(p).F / scale_ + 1));
  }
  [[nodiscard]] SolidMoments moments() const noexcept override;
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept override;

 private:
  struct AsHull final : NormalCells::Body {
    explicit AsHull(const Superellipsoid& of) : Body(of.radius_, 1e-4, true), body(of) {}
    [[nodiscard]] double highest(const Vec3& n) const override { return (1 + 1e-12) * n.dot(body.support(n)); }
    [[nodiscard]] NormalCells::Place place(const std::array<Vec3, 3>& corners) const override {
      return body.least_touched(corners);
    }
    const Superellipsoid& body;
  };

  [[nodiscard]] NormalCells::Place least_touched(const std::array<Vec3, 3>& corners) const noexcept;
  [[nodiscard]] bool hull_lies_in(const InnerForm& e, const SurfaceSeed& at, const Vec3& least,
                                  SurfaceSeed& beyond) const noexcept;

  Vec3 radii_, inverse_;
  Exponent first_, second_;  // e1, e2
  double scale_, radius_ = 0;
  NormalCells hull_;
};

// With x_i scaled, R = N(X, Y; k2) and G = N(R, Z; k1):
// R_xy = -4 (k-1) R_X R_Y x y / R,  R_xx = 2 R_X + 4 (k-1) R_X R_Y Y / R;
// G_ij = G_R R_ij + 4 (k-1) G_R G_Z (Z / G) r_i r_j  with r = grad R / (2 sqrt R), and so on.
ImplicitJet Superellipsoid::implicit(const Vec3& p_S) const noexcept {
  const Vec3 x = p_S.cwiseProduct(inverse_);
  const NestedSum sums = nested_sum(x.cwiseAbs2(), second_, first_);
  const PowerSum &R = sums.R, &G = sums.G;
  ImplicitJet jet;
  jet.F = 0.5 * scale_ * (G.value - 1);
  if (G.value == 0) return jet;
  const double root = std::sqrt(R.value), inverse_root = root > 0 ? 1 / root : 0;
  const double rx = R.ds * x.x() * inverse_root, ry = R.dt * x.y() * inverse_root;
  const double bend2 = 2 * (second_.k - 1) * R.ds * R.dt, bend1 = 2 * (first_.k - 1) * G.ds * G.dt;
  // Halves of G's derivatives, as F has the factor 1/2.
  const double R_xx = R.ds + bend2 * R.share_t, R_yy = R.dt + bend2 * R.share_s;
  const double R_xy = -bend2 * (x.x() * inverse_root) * (x.y() * inverse_root);
  const double across = bend1 * G.share_t, cross = -bend1 * root * x.z() / G.value;
  const double sx = inverse_.x(), sy = inverse_.y(), sz = inverse_.z(), cx = scale_ * sx, cy = scale_ * sy,
               cz = scale_ * sz;
  Mat3& H = jet.hess;
  H(0, 0) = cx * sx * (G.ds * R_xx + across * rx * rx);
  H(1, 1) = cy * sy * (G.ds * R_yy + across * ry * ry);
  H(2, 2) = cz * sz * (G.dt + bend1 * G.share_s);
  H(0, 1) = H(1, 0) = cx * sy * (G.ds * R_xy + across * rx * ry);
  H(0, 2) = H(2, 0) = cx * sz * (cross * rx);
  H(1, 2) = H(2, 1) = cy * sz * (cross * ry);
  jet.grad = Vec3(cx * G.ds * R.ds * x.x(), cy * G.ds * R.dt * x.y(), cz * G.dt * x.z());
  return jet;
}

Vec3 Superellipsoid::support(const Vec3& d_S) const noexcept {
  const Vec3 s = radii_.cwiseProduct(d_S), a = s.cwiseAbs();
  const DualSum side = dual_sum(a.x(), a.y(), second_.e), whole = dual_sum(side.value, a.z(), first_.e);
  return {std::copysign(radii_.x() * whole.ds * side.ds, s.x()), std::copysign(radii_.y() * whole.ds * side.dt, s.y()),
          std::copysign(radii_.z() * whole.dt, s.z())};
}

// The gauge's square is convex in the squares, so it lies above its tangent there: the superellipsoid in an ellipsoid W
// that touches it where it is meant to, of which F's gradient tells the axes. Where that is too wide, the gauge's p1-th
// power, p = 2 / e, has second derivatives of at least p1 W (p - 1), which grow with each coordinate: e lies above it
// where they are larger than its own, from some part of p on, and elsewhere cells must lie in e.
bool Superellipsoid::lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept {
  const Vec3& p = at.p_S;
  const double p1 = 2 * first_.k, p2 = 2 * second_.k, grows = std::max(p1, p2) - 2;
  double sum = 1;  // of the powers of x and y
  EllipsoidForm around;
  if (p1 >= p2 && p.cwiseProduct(inverse_).cwiseAbs().minCoeff() > kClear) {
    around.A = (at.n_S / p.dot(at.n_S)).cwiseQuotient(p).asDiagonal();  // W p is along the normal, p W p is 1
  } else {
    const NestedSum sums = nested_sum(p.cwiseProduct(inverse_).cwiseAbs2(), second_, first_);
    const Vec3 weights(sums.G.ds * sums.R.ds, sums.G.ds * sums.R.dt, sums.G.dt);
    around.A = inverse_.cwiseAbs2().cwiseProduct(weights).asDiagonal();
    sum = sums.R.value;
  }
  if (holds_ellipsoid(e, around, p)) return true;
  if (!(grows > 0)) return false;
  // (x^p2 + y^p2)^(p1/p2), p1 < p2: its derivatives shrink with the sum, which is at most 1.
  const double shrunk = p1 < p2 ? power(std::sqrt(sum), p2 - p1) : 1;
  const Vec3 outside = e.A * (p - e.m), inside = around.A * p;
  const double ratio = outside.dot(inside) / inside.squaredNorm(), side = (std::min(p1, p2) - 1) * shrunk;
  const Vec3 bend = ratio * Vec3(side, side, p1 - 1).cwiseProduct(around.A.diagonal());
  if (!(bend.minCoeff() > 0)) return false;
  const Vec3 root = bend.cwiseSqrt().cwiseInverse();
  const double most = most_eigenvalue(root.asDiagonal() * e.A * root.asDiagonal());
  const double known = most < 1 ? power(most, 1 / grows) : std::numeric_limits<double>::infinity();
  return hull_lies_in(e, at, known * p.cwiseAbs(), beyond);
}

// Each coordinate of the farthest point grows with its own of the direction, and shrinks with that of z, or of x and y;
// those of x and y shrink with each other's but for what makes z smaller.
NormalCells::Place Superellipsoid::least_touched(const std::array<Vec3, 3>& corners) const noexcept {
  const Vec3 low = radii_.cwiseProduct(corners[0].cwiseMin(corners[1]).cwiseMin(corners[2])),
             high = radii_.cwiseProduct(corners[0].cwiseMax(corners[1]).cwiseMax(corners[2]));
  const double side_low = dual_sum(low.x(), low.y(), second_.e).value,
               side_high = dual_sum(high.x(), high.y(), second_.e).value;
  const double across = dual_sum(side_low, high.z(), first_.e).ds, along = dual_sum(side_high, low.z(), first_.e).dt;
  const auto below = [](double x) { return -NormalCells::above(-x); };
  return {below(radii_.x() * across * dual_sum(low.x(), high.y(), second_.e).ds),
          below(radii_.y() * across * dual_sum(high.x(), low.y(), second_.e).dt), below(radii_.z() * along), 0};
}

// The same of all directions, by cells of normals: those that touch where each coordinate is at least as large as
// `least` are known.
bool Superellipsoid::hull_lies_in(const InnerForm& e, const SurfaceSeed& at, const Vec3& least,
                                  SurfaceSeed& beyond) const noexcept {
  InnerForm deeper;
  if (!e.deeper(hull_.radius(), deeper)) return false;
  const WhiteForm white(deeper);
  if (!white.finite()) return false;
  const FourForm form(white, hull_.farthest());
  const std::uint32_t beyond_any = hull_.octants_beyond(form);
  // That of p is the last.
  const int of_p = (at.p_S.x() < 0 ? 1 : 0) + (at.p_S.y() < 0 ? 2 : 0) + (at.p_S.z() < 0 ? 4 : 0);
  for (int i = 1; i <= 8; ++i) {
    const int octant = of_p ^ (i % 8);
    if ((beyond_any >> octant & 1) == 0) continue;
    const Vec3 sign(octant % 2 == 0 ? 1 : -1, octant / 2 % 2 == 0 ? 1 : -1, octant / 4 == 0 ? 1 : -1);
    const bool same = (sign.cwiseProduct(at.p_S).array() >= 0).all();
    NormalCells::Open open;
    if (!hull_.find_open(form.mirrored(sign), open)) return false;
    if (same) {
      std::size_t left = 0;
      for (std::size_t k = 0; k < open.count; ++k) {
        const NormalCells::Place& place = hull_.place(open.cells[k]);
        const bool known = place[0] >= least.x() && place[1] >= least.y() && place[2] >= least.z();
        if (!known) open.cells[left++] = open.cells[k];
      }
      open.count = left;
    }
    if (hull_.others_hold(e, deeper, sign, open)) continue;
    const Vec3 centre = sign.cwiseProduct(hull_.centre(open.cells[0]));
    beyond.n_S = (deeper.A * (centre - deeper.m)).normalized();
    beyond.p_S = support(beyond.n_S);
    return false;
  }
  return true;
}

// Jaklic, Leonardis & Solina 2000, section 2.3.
SolidMoments Superellipsoid::moments() const noexcept {
  const double product = radii_.prod() * first_.e * second_.e;
  SolidMoments m;
  m.volume = 2 * product * beta(0.5 * first_.e + 1, first_.e) * beta(0.5 * second_.e, 0.5 * second_.e);
  const double side = 0.5 * product * beta(1.5 * second_.e, 0.5 * second_.e) * beta(0.5 * first_.e, 2 * first_.e + 1);
  const double axial = 2 * product * beta(0.5 * second_.e, 0.5 * second_.e + 1) * beta(1.5 * first_.e, first_.e + 1);
  m.second = Vec3(side, side, axial).cwiseProduct(radii_.cwiseAbs2()).asDiagonal();
  return m;
}

}  // namespace

const char* superellipsoid_defect(double e1, double e2) noexcept {
  if (!(e1 >= kExponentMin && e2 >= kExponentMin)) return "edges too sharp to be computed with";
  if (e1 > 1 || e2 > 1) return "not twice differentiable, and not convex above 2";
  if (e1 == 1 && e2 < 1) return "not twice differentiable at the poles on z";
  return nullptr;
}

std::unique_ptr<SmoothSurface> make_superellipsoid(const Vec3& radii, double e1, double e2) {
  TACTUS_ASSERT((radii.array() > 0).all() && radii.allFinite() && superellipsoid_defect(e1, e2) == nullptr);
  return std::make_unique<Superellipsoid>(radii, e1, e2);
}

}  // namespace tactus
