#include "core/collide/touching_area.h"

#include <algorithm>
#include <cmath>

#include "core/math/power.h"
#include "core/shape/smooth_surface.h"

namespace tactus {

namespace {

constexpr int kAreaPoints = 6;  // of each ring
// Cosines and sines of sixths, and of twelfths between them.
constexpr double kHalf = 0.5, kRoot = 0.86602540378443865;
constexpr double kTouchingWays[kAreaPoints][2] = {{1, 0},  {kHalf, kRoot},   {-kHalf, kRoot},
                                                  {-1, 0}, {-kHalf, -kRoot}, {kHalf, -kRoot}};
constexpr double kOuterWays[kAreaPoints][2] = {{kRoot, kHalf},   {0, 1},  {-kRoot, kHalf},
                                               {-kRoot, -kHalf}, {0, -1}, {kRoot, -kHalf}};
constexpr int kHeightSteps = 12, kRadiusSteps = 16, kBorderHalvings = 12;
constexpr double kFirstRadius = 0.05;   // of the size
constexpr double kHeightDone = 1e-13;   // of the size: a step of Newton's method that is the last
constexpr double kGrazing = 0.3;        // cosine of normal and line where a surface turns away
constexpr double kRadiusShare = 1e-6;   // of the rise: how exactly a ring is found
constexpr double kAllowedShare = 1.05;  // of the rise: what still touches
constexpr double kLeastArea = 1e-6;     // of the size: rings that are narrower are none
constexpr double kEven = 1e-3;          // difference of the curvatures, of the size, that gives the rings no direction

// How a side lies along n, beside p_WC.
struct AreaHeight {
  double t = 0;      // along n from p_WC [m]
  double slope = 0;  // by the way along u
  bool known = false;
};

class Gap {
 public:
  Gap(const AreaSide& a, const AreaSide& b, const Vec3& n, const Vec3& p, double d, double size) noexcept
      : side_{a, b}, n_(n), p_(p), d_(d), size_(size) {}

  struct At {
    double gap = 0, slope = 0, middle = 0;
    bool known = false;
  };
  [[nodiscard]] At at(const Vec3& u, double r) const noexcept {
    const AreaHeight a = height(side_[0], -1, u, r, 0.5 * d_), b = height(side_[1], 1, u, r, -0.5 * d_);
    return {a.t - b.t, a.slope - b.slope, 0.5 * (a.t + b.t), a.known && b.known};
  }
  [[nodiscard]] double rise(const At& at) const noexcept { return at.gap - d_; }
  // How far along u the gap has risen by `rise`, or the surfaces end; 0: nowhere.
  [[nodiscard]] double radius(const Vec3& u, double rise) const noexcept;
  [[nodiscard]] Vec3 point(const Vec3& u, double r, const At& at) const noexcept { return p_ + r * u + at.middle * n_; }

 private:
  // up: n times the outward normal there. t: near it.
  [[nodiscard]] AreaHeight height(const AreaSide& side, double up, const Vec3& u, double r, double t) const noexcept;

  const AreaSide side_[2];
  const Vec3 n_, p_;
  const double d_, size_;
};

AreaHeight Gap::height(const AreaSide& side, double up, const Vec3& u, double r, double t) const noexcept {
  if (side.surface == nullptr) return {t, 0, side.solid->within_face(side.face, p_ + r * u + t * n_)};
  const Frame& X_WS = *side.X_WS;
  const Vec3 n_S = X_WS.R.transpose() * n_, o_S = X_WS.to_local(p_ + r * u);
  for (int i = 0; i < kHeightSteps; ++i) {
    const ImplicitJet jet = side.surface->implicit(o_S + t * n_S);
    const double along = jet.grad.dot(n_S);
    if (!(up * along > kGrazing * std::sqrt(jet.grad.squaredNorm()))) return {};
    const double step = -jet.F / along;
    t += step;
    if (!(std::abs(step) <= size_)) return {};
    if (std::abs(step) <= kHeightDone * size_) return {t, -jet.grad.dot(X_WS.R.transpose() * u) / along, true};
  }
  return {};
}

// Gaps rise like powers of the radius, of 2 where the surfaces are round and of more where they are flat: Newton's
// method in the logarithms.
double Gap::radius(const Vec3& u, double rise) const noexcept {
  double low = 0, high = size_, r = kFirstRadius * size_;
  for (int i = 0; i < kRadiusSteps; ++i) {
    const At there = at(u, r);
    const double risen = this->rise(there);
    if (there.known && std::abs(risen - rise) <= kRadiusShare * rise) return r;
    (there.known && risen < rise ? low : high) = r;
    const double ways = there.known && risen > 0 ? r * there.slope / risen : 0;
    double next = ways > 1 ? r * power(rise / risen, 1 / ways) : 0;
    if (!(next > low && next < high)) next = high < size_ ? 0.5 * (low + high) : std::min(2 * r, 0.5 * (r + high));
    r = next;
  }
  return low;
}

// In the tangent plane, where the gap rises slowest; t1 and t2 where it rises alike.
void slowest(const ExtremalPair& pair, Vec3& u, Vec3& v, double size) noexcept {
  u = pair.t1_W, v = pair.t2_W;
  const ExtremalForm &a = pair.a, &b = pair.b;
  const double xx = (a.dim == 2 ? a.h11 : 0) - (b.dim == 2 ? b.h11 : 0);
  const double xy = (a.dim == 2 ? a.h12 : 0) - (b.dim == 2 ? b.h12 : 0);
  const double yy = (a.dim == 2 ? a.h22 : 0) - (b.dim == 2 ? b.h22 : 0);
  const double half = 0.5 * (xx - yy), spread = std::sqrt(half * half + xy * xy);
  if (!(2 * spread * size > kEven)) return;
  const double x = half > 0 ? -xy : spread - half, y = half > 0 ? half + spread : -xy;
  const double length = std::sqrt(x * x + y * y);
  u = (x * pair.t1_W + y * pair.t2_W) / length;
  v = (x * pair.t2_W - y * pair.t1_W) / length;
}

// The area's middle: on flat places the lowest one runs from side to side at the least tilt.
Vec3 middle(const Gap& gap, const Vec3& u, const Vec3& v, const Vec3& p_WC, double rise) noexcept {
  const double along = 0.5 * (gap.radius(u, rise) - gap.radius(-u, rise));
  const double across = 0.5 * (gap.radius(v, rise) - gap.radius(-v, rise));
  return p_WC + along * u + across * v;
}

}  // namespace

bool has_area(const AreaSide& side) noexcept {
  if (side.surface == nullptr) return side.face >= 0;
  return side.surface->convex() && !side.surface->cavity() && side.surface->has_implicit();
}

void add_area(const AreaSide& a, const AreaSide& b, const ExtremalPair& pair, const Vec3& nhat_BA_W, const Vec3& p_WC,
              double d, double rise, double reach, double size, ContactBuffer& out) noexcept {
  Vec3 u, v;
  slowest(pair, u, v, size);
  u = (u - u.dot(nhat_BA_W) * nhat_BA_W).normalized(), v = nhat_BA_W.cross(u);
  const Vec3 middle_W = middle(Gap(a, b, nhat_BA_W, p_WC, d, size), u, v, p_WC, rise);
  const Gap gap(a, b, nhat_BA_W, middle_W, d, size);
  const Gap::At here = gap.at(u, 0);
  if (here.known && gap.rise(here) <= kAllowedShare * rise) out.points[0].p_WC = gap.point(u, 0, here);
  const double allowed = kAllowedShare * rise;
  const auto ring = [&](const double (&ways)[kAreaPoints][2], double risen) {
    for (const auto& way : ways) {
      const Vec3 along = way[0] * u + way[1] * v;
      const double r = gap.radius(along, risen);
      if (!(r > kLeastArea * size)) continue;
      const Gap::At there = gap.at(along, r);
      if (!there.known) continue;
      const double depth = -(d + std::max(0.0, gap.rise(there) - allowed));
      if (depth > -reach || depth == -d) out.add(gap.point(along, r, there), depth);
    }
  };
  ring(kTouchingWays, rise);
  const double outer = 0.9 * (reach - d);
  if (outer > 10 * rise) ring(kOuterWays, outer);
}

}  // namespace tactus
