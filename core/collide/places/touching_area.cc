#include "core/collide/places/touching_area.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/check.h"
#include "core/math/power.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

// Ways around, of the area's border and of two rings beyond it. Six border points made the exact stepper's worst step
// ten times as long: the more forces share a load, the more of them end.
constexpr double kRoot2 = 0.70710678118654752;
constexpr double kFourWays[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
constexpr double kFourBetween[4][2] = {{kRoot2, kRoot2}, {-kRoot2, kRoot2}, {-kRoot2, -kRoot2}, {kRoot2, -kRoot2}};
// Of the reach: gaps at the rings beyond. Nearer to one, all that is left between those points and the area overlaps as
// the body rocks over it.
constexpr double kFarRing = 0.1, kNearRing = 0.01;
constexpr double kLeastBeyond = 2;  // areas' rises: rings that are nearer are none
constexpr int kHeightSteps = 12, kRadiusSteps = 24, kOutlineSteps = 40;
constexpr double kFirstRadius = 0.05;   // of the size
constexpr double kHeightDone = 2e-5;    // of the size: a step of Newton's method that is the last, right to its square
constexpr double kGrazing = 0.3;        // cosine of normal and line where a surface turns away
constexpr double kRadiusShare = 1e-3;   // of the rise: from so near a ring is found in one step
constexpr double kAllowedShare = 1.05;  // of the rise: what still touches
constexpr double kLeastArea = 1e-6;     // of the size: rings that are narrower are none
constexpr double kEven = 0.1;           // difference of the curvatures, times the size, that gives the rings no way

// How one side lies, or the gap is, at a point of the tangent plane.
struct AreaHeight {
  double t = 0;  // along n, of a side from the plane [m]
  double slope = 0;
  bool known = false;
};

class AreaGap {
 public:
  AreaGap(const AreaPair& sides, const Vec3& n, const Vec3& p, double d) noexcept
      : sides_(sides), n_(n), p_(p), d_(d) {}

  // r along u from p. middle: where the point between both sides is.
  [[nodiscard]] AreaHeight rise(const Vec3& u, double r, Vec3& middle) const noexcept {
    const AreaHeight a = height(sides_.a, -1, u, r, 0.5 * d_), b = height(sides_.b, 1, u, r, -0.5 * d_);
    middle = p_ + r * u + 0.5 * (a.t + b.t) * n_;
    return {a.t - b.t - d_, a.slope - b.slope, a.known && b.known};
  }
  // How far along u the gap has risen by `rise`, or the sides end. start: about that.
  [[nodiscard]] double radius(const Vec3& u, double rise, double start) const noexcept;

 private:
  // up: sign of the outward normal along n; t: about where it is.
  [[nodiscard]] AreaHeight height(const AreaSide& side, double up, const Vec3& u, double r, double t) const noexcept;
  [[nodiscard]] double border(const Vec3& u) const noexcept;

  const AreaPair& sides_;
  const Vec3 n_, p_;
  const double d_;
};

AreaHeight AreaGap::height(const AreaSide& side, double up, const Vec3& u, double r, double t) const noexcept {
  if (side.surface == nullptr) return {t, 0, true};
  const Frame& X_WS = *side.X_WS;
  const Vec3 n_S = X_WS.R.transpose() * n_, o_S = X_WS.to_local(p_ + r * u);
  for (int i = 0; i < kHeightSteps; ++i) {
    const ImplicitJet jet = side.surface->implicit(o_S + t * n_S);
    const double along = jet.grad.dot(n_S);
    if (!(up * along > kGrazing * std::sqrt(jet.grad.squaredNorm()))) return {};
    const double step = -jet.F / along;
    if (!(std::abs(step) <= sides_.size)) return {};
    t += step;
    if (std::abs(step) <= kHeightDone * sides_.size) {
      return {t, -jet.grad.dot(X_WS.R.transpose() * u) / along, true};
    }
  }
  return {};
}

// Within the face? Of a mesh: on the way over its facet from the place.
bool on_side(const AreaSide& side, const Vec3& p) noexcept {
  if (side.surface != nullptr) return true;
  if (side.solid != nullptr) return side.solid->within_face(side.face, p);
  std::uint32_t t = side.triangle, k = 0;
  return side.mesh->walk_facet(side.mesh->to_own(p), t, k);
}

// How far it is along u to the face's border, at most the size.
double AreaGap::border(const Vec3& u) const noexcept {
  const AreaSide& side = sides_.a.surface == nullptr ? sides_.a : sides_.b;
  double low = 0, high = sides_.size;
  if (on_side(side, p_ + high * u)) return high;
  for (int i = 0; i < kOutlineSteps; ++i) {
    const double middle = 0.5 * (low + high);
    (on_side(side, p_ + middle * u) ? low : high) = middle;
  }
  return low;
}

// The gap rises like a power of the way, the second where it is round and a higher one where it is flat: Newton's
// method in the logarithms.
double AreaGap::radius(const Vec3& u, double rise, double start) const noexcept {
  const double most = border(u);
  double low = 0, high = most, r = std::min(start, most);
  bool ends = false;  // high has been looked at
  Vec3 middle;
  for (int i = 0; i < kRadiusSteps && r > 0; ++i) {
    const AreaHeight there = this->rise(u, r, middle);
    const bool within = there.known && there.t < rise;
    if (within && r == most) return r;
    (within ? low : high) = r;
    ends = ends || !within;
    const double order = there.known && there.t > 0 ? r * there.slope / there.t : 0;
    const double next = order > 1 ? r * power(rise / there.t, 1 / order) : 2 * r;
    if (there.known && order > 1 && std::abs(there.t - rise) <= kRadiusShare * rise) return std::min(next, most);
    r = next > low && next < high ? next : !ends && next >= high ? most : 0.5 * (low + high);
  }
  return low;
}

// The gap's second derivative in the tangent plane. u: where it is least, or t1 where it is the same along all ways.
struct AreaBend {
  Vec3 u, v;
  double uu = 0, uv = 0, vv = 0, least = 0, ends;

  AreaBend(const ExtremalPair& pair, double size, double area_ends) noexcept
      : u(pair.t1_W), v(pair.t2_W), ends(area_ends) {
    const auto add = [&](const ExtremalForm& form, double sign) {
      if (form.dim == 2) uu += sign * form.h11, uv += sign * form.h12, vv += sign * form.h22;
    };
    add(pair.a, 1), add(pair.b, -1);
    const double half = 0.5 * (uu - vv), spread = std::sqrt(half * half + uv * uv), mean = 0.5 * (uu + vv);
    least = mean - spread;
    if (!(2 * spread * size > kEven)) return;
    const double x = half > 0 ? -uv : spread - half, y = half > 0 ? half + spread : -uv;
    const double per = 1 / std::sqrt(x * x + y * y);
    u = per * (x * pair.t1_W + y * pair.t2_W), v = per * (x * pair.t2_W - y * pair.t1_W);
    uu = least, uv = 0, vv = mean + spread;
  }
  // By how much the gap may rise along a way and still be none.
  [[nodiscard]] double rise(const double (&way)[2], double size) const noexcept {
    const double along = way[0] * way[0] * uu + 2 * way[0] * way[1] * uv + way[1] * way[1] * vv;
    const double left = std::clamp((ends - size * along) / (ends - kFlat), 0.0, 1.0);
    return kTouchingRise * size * left * left;
  }
};

// From the place to the area's middle: on flat poles the place runs from side to side of it at the least tilt. r: about
// how far its border is.
Vec3 to_middle(const AreaGap& gap, const AreaBend& bend, double size, double& r) noexcept {
  TACTUS_DCHECK(size > 0);
  Vec3 out = Vec3::Zero();
  for (const int i : {0, 1}) {
    const double rise = bend.rise(kFourWays[i], size);
    const Vec3& along = i == 0 ? bend.u : bend.v;
    if (rise == 0) continue;
    const double ahead = gap.radius(along, rise, r), behind = gap.radius(-along, rise, r);
    out += 0.5 * (ahead - behind) * along;
    r = std::max(0.5 * (ahead + behind), kLeastArea * size);
  }
  return out;
}

}  // namespace

bool has_area(const SmoothSurface& surface) noexcept {
  return surface.convex() && !surface.cavity() && surface.has_implicit();
}

void add_area(const AreaPair& sides, const ExtremalPair& pair, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(pair.known() && sides.size > 0 && out.count > 0);
  const double size = sides.size, d = pair.d;
  AreaBend bend(pair, size, sides.ends());
  if (!(bend.least * size < bend.ends) || pair.status == ExtremalStatus::fallen_back) return;
  const Vec3& n = out.nhat_BA_W;
  bend.u = (bend.u - bend.u.dot(n) * n).normalized(), bend.v = n.cross(bend.u);
  const Vec3 p = out.points[0].p_WC;
  double r = kFirstRadius * size;
  const Vec3 middle = p + to_middle(AreaGap(sides, n, p, d), bend, size, r);
  const AreaGap gap(sides, n, middle, d);
  Vec3 point;
  const AreaHeight here = gap.rise(bend.u, 0, point);
  if (here.known && here.t <= kAllowedShare * bend.rise(kFourWays[0], size)) out.points[0].p_WC = point;
  const auto ring = [&](std::span<const double[2]> ways, double beyond) {
    for (const auto& way : ways) {
      const double rise = bend.rise(way, size);
      if (rise == 0 || (beyond > 0 && beyond < kLeastBeyond * rise)) continue;
      const Vec3 along = way[0] * bend.u + way[1] * bend.v;
      r = gap.radius(along, std::max(rise, beyond), std::max(r, kLeastArea * size));
      const AreaHeight there = gap.rise(along, r, point);
      if (!there.known || !(r > kLeastArea * size)) continue;
      const double depth = -d - std::max(0.0, there.t - kAllowedShare * rise);
      if (depth > -sides.reach || depth == -d) out.add(point, depth);
    }
  };
  ring(kFourWays, 0);
  ring(kFourWays, kFarRing * (sides.reach - d));
  ring(kFourBetween, kNearRing * (sides.reach - d));
}

}  // namespace tactus
