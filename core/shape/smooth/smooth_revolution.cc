// Surfaces of revolution. A ball has two charts of Cartesian kind, one about each pole: with t = |(a, b)| the way from
// the pole along the profile, S = (q a, q b, z(t)), q = rho / t. The profile's mirror image makes rho odd and z even in
// t, so q and z are smooth at the pole, where the usual angle is not. A ring has two charts (w, t) with w the tangent
// of half of the angle about z, so that no sine is needed.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/math/angle.h"
#include "core/shape/smooth/profile_pieces.h"
#include "core/shape/smooth/smooth_profile.h"
#include "core/shape/smooth/smooth_shapes.h"

namespace tactus {

namespace {

constexpr double kPoleReach = 0.6;   // of the profile: where a chart of a ball ends
constexpr double kHalfAngle = 1.25;  // |w| at which a chart of a ring ends

// What balls and rings share.
class Revolution : public ParametricSurface {
 public:
  Revolution(ProfileCurve curve, bool convex, bool closed)
      : curve_(std::move(curve)), convex_(convex), pieces_(curve_, closed) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (const double b : {-1.0, 1.0}) {
      const double z = profile_support(curve_, 0, b).y();
      lo = std::min(lo, z);
      hi = std::max(hi, z);
    }
    middle_ = 0.5 * (lo + hi);
    moments_ = profile_moments(curve_, middle_);
    // Points of the curve, and what it can bulge out between them: h^2 / 8 of its second derivative.
    constexpr int kParts = 16;
    for (int i = 0; i <= kParts * static_cast<int>(curve_.segments.size()); ++i) {
      const ProfileJet jet = curve_.jet(static_cast<double>(i) / kParts);
      radius_ = std::max(radius_, (jet.x - Vec2(0, middle_)).norm() + jet.ddx.norm() / (8.0 * kParts * kParts));
    }
  }
  [[nodiscard]] SmoothKind kind() const noexcept final { return SmoothKind::revolution; }
  [[nodiscard]] bool convex() const noexcept final { return convex_; }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept final {
    const double side = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y());
    const Vec2 x = profile_support(curve_, side, d_S.z());
    return side > 0 ? Vec3(x.x() / side * d_S.x(), x.x() / side * d_S.y(), x.y()) : Vec3(x.x(), 0, x.y());
  }
  [[nodiscard]] Vec3 centre() const noexcept final { return {0, 0, middle_}; }
  [[nodiscard]] double radius() const noexcept final { return radius_; }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept final {
    Aabb box;
    for (int i = 0; i < 3; ++i) {
      const double along = X_WS.R(i, 2), x = X_WS.R(i, 0), y = X_WS.R(i, 1);
      const double side = std::sqrt(x * x + y * y);
      box.hi[i] = X_WS.p[i] + Vec2(side, along).dot(profile_support(curve_, side, along));
      box.lo[i] = X_WS.p[i] - Vec2(side, -along).dot(profile_support(curve_, side, -along));
    }
    return box;
  }
  [[nodiscard]] SolidMoments moments() const noexcept final { return moments_; }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& /*beyond*/) const noexcept final {
    return pieces_.lie_in(e, at.p_S, on_profile(at.where));
  }
  [[nodiscard]] bool on_hull(const SurfaceSeed& at) const noexcept final {
    return convex_ || pieces_.on_hull(on_profile(at.where));
  }
  [[nodiscard]] bool lies_below(const Vec3& n_S, const SurfaceSeed& at, const FarFromHull& far) const noexcept final {
    return pieces_.lie_below(n_S, at.p_S, on_profile(at.where), far);
  }

 protected:
  [[nodiscard]] virtual double on_profile(const SurfacePoint& where) const noexcept = 0;

  ProfileCurve curve_;

 private:
  bool convex_;
  ProfilePieces pieces_;
  double middle_ = 0, radius_ = 0;
  SolidMoments moments_;
};

ProfileCurve reversed(const std::vector<Vec2>& profile) {
  return profile_curve(std::vector<Vec2>(profile.rbegin(), profile.rend()), false);
}

// q = rho / t and z with derivatives by t, each divided so that it stays finite: one / t, and (two - one / t) / t^2.
struct PoleJet {
  double q, q1, q2, z, z1, z2;
};
PoleJet pole_jet(const ProfileCurve& curve, double t) noexcept {
  if (t < 1) {
    const auto& c = curve.segments[0].c;  // rho = c1 t + c3 t^3, z = c0 + c2 t^2 + c3 t^3
    const double z3 = 3 * c[3].y();
    return {c[1].x() + c[3].x() * t * t, 2 * c[3].x(),      0, c[0].y() + t * t * (c[2].y() + t * c[3].y()),
            2 * c[2].y() + z3 * t,       t > 0 ? z3 / t : 0};
  }
  const ProfileJet jet = curve.jet(t);
  const double q = jet.x.x() / t, dq = (jet.dx.x() - q) / t, ddq = (jet.ddx.x() - 2 * dq) / t;
  const double q1 = dq / t, z1 = jet.dx.y() / t;
  return {q, q1, (ddq - q1) / (t * t), jet.x.y(), z1, (jet.ddx.y() - z1) / (t * t)};
}

class Ball final : public Revolution {
 public:
  Ball(const std::vector<Vec2>& profile, ProfileCurve curve, bool convex)
      : Revolution(std::move(curve), convex, false), from_top_(reversed(profile)) {
    find_seeds();
  }
  // Chart 0 about the lower pole, 1 about the upper one. Below, (a, b) stand for (y, x), so that Su x Sv points out.
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    TACTUS_ASSERT(where.chart == 0 || where.chart == 1);
    const bool top = where.chart == 1;
    const double a = where.uv.x(), b = where.uv.y();
    const PoleJet j = pole_jet(top ? from_top_ : curve_, std::sqrt(a * a + b * b));
    const double qa = j.q1 * a, qb = j.q1 * b, qaa = j.q2 * a * a + j.q1, qbb = j.q2 * b * b + j.q1;
    const double qab = j.q2 * a * b;
    const auto place = [&](double x, double y, double z) { return top ? Vec3(x, y, z) : Vec3(y, x, z); };
    PatchJet jet;
    jet.S = place(j.q * a, j.q * b, j.z);
    jet.Su = place(j.q + qa * a, qa * b, j.z1 * a);
    jet.Sv = place(qb * a, j.q + qb * b, j.z1 * b);
    jet.Suu = place(2 * qa + qaa * a, qaa * b, j.z2 * a * a + j.z1);
    jet.Svv = place(qbb * a, 2 * qb + qbb * b, j.z2 * b * b + j.z1);
    jet.Suv = place(qb + qab * a, qa + qab * b, j.z2 * a * b);
    return jet;
  }
  // Beyond the other pole the way goes on on its far side.
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    const double length = curve_.length(), t = where.uv.norm();
    if (t <= kPoleReach * length) return where;
    if (!std::isfinite(t)) return {where.chart, Vec2::Zero()};
    const double rest = std::max(length - t, -kPoleReach * length);
    return {1 - where.chart, rest / t * Vec2(where.uv.y(), where.uv.x())};
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override {
    const double reach = 0.5 * curve_.length() / (w.norm() + std::abs(w.z()));  // the tangent of half of the angle
    const Vec2 uv = w.z() < 0 ? Vec2(reach * w.y(), reach * w.x()) : Vec2(reach * w.x(), reach * w.y());
    return seed_at({w.z() < 0 ? 0 : 1, uv});
  }

 private:
  [[nodiscard]] double on_profile(const SurfacePoint& where) const noexcept override {
    return where.chart == 0 ? where.uv.norm() : curve_.length() - where.uv.norm();
  }

  ProfileCurve from_top_;
};

class Ring final : public Revolution {
 public:
  explicit Ring(ProfileCurve curve) : Revolution(std::move(curve), false, true) { find_seeds(); }
  // Chart 0 about +x, 1 about -x; uv = (w, t).
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    TACTUS_ASSERT(where.chart == 0 || where.chart == 1);
    const double w = where.uv.x(), g = 2 / (1 + w * w), side = where.chart == 0 ? 1 : -1;
    const ProfileJet j = curve_.jet(wrapped(where.uv.y()));
    const Vec3 radial(side * (g - 1), side * g * w, 0), tangent(-radial.y(), radial.x(), 0);
    PatchJet jet;
    jet.S = j.x.x() * radial + Vec3(0, 0, j.x.y());
    jet.Su = j.x.x() * g * tangent;
    jet.Sv = j.dx.x() * radial + Vec3(0, 0, j.dx.y());
    jet.Suu = -j.x.x() * g * g * (radial + w * tangent);
    jet.Suv = j.dx.x() * g * tangent;
    jet.Svv = j.ddx.x() * radial + Vec3(0, 0, j.ddx.y());
    return jet;
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    SurfacePoint out = where;
    if (!out.uv.allFinite()) out.uv.setZero();
    out.uv.y() = wrapped(out.uv.y());
    if (std::abs(out.uv.x()) <= kHalfAngle) return out;
    out.uv.x() = -1 / out.uv.x();
    out.chart = 1 - out.chart;
    return out;
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::torus; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override {
    double s, c;
    sine_cosine(2 * std::numbers::pi * w.x(), s, c);
    const double side = c >= 0 ? 1 : -1;
    const double turns = w.y() - std::floor(w.y());
    return seed_at({c >= 0 ? 0 : 1, Vec2(side * s / (1 + side * c), turns * curve_.length())});
  }

 private:
  [[nodiscard]] double on_profile(const SurfacePoint& where) const noexcept override { return where.uv.y(); }
  [[nodiscard]] double wrapped(double t) const noexcept {
    const double length = curve_.length();
    if (t >= 0 && t < length) return t;
    const double out = t - length * std::floor(t / length);
    return out < length ? out : 0;  // a small negative one is rounded up
  }
};

// Of the polygon that goes on as its mirror image: then the curve is convex, too.
bool is_convex(const std::vector<Vec2>& profile) {
  std::vector<Vec2> all = profile;
  for (std::size_t i = profile.size() - 1; i-- > 1;) all.emplace_back(-profile[i].x(), profile[i].y());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Vec2 a = all[(i + 1) % all.size()] - all[i], b = all[(i + 2) % all.size()] - all[(i + 1) % all.size()];
    if (!(a.x() * b.y() - a.y() * b.x() >= 0)) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<SmoothSurface> make_revolution(const std::vector<Vec2>& profile, std::string& error) {
  const auto refuse = [&](const std::string& why) -> std::unique_ptr<SmoothSurface> {
    error = why;
    return nullptr;
  };
  const auto on_axis = std::count_if(profile.begin(), profile.end(), [](const Vec2& p) { return p.x() == 0; });
  const bool closed = on_axis == 0;
  if (profile.size() < (closed ? 4u : 3u) || profile.size() > kProfileMax)
    return refuse("found " + std::to_string(profile.size()) + " points, expected " + (closed ? "4" : "3") + " to " +
                  std::to_string(kProfileMax));
  if (std::any_of(profile.begin(), profile.end(), [](const Vec2& p) { return !(p.x() >= 0 && p.allFinite()); }))
    return refuse("found a point with rho < 0, expected rho >= 0: the distance from the axis");
  if (!closed && (on_axis != 2 || profile.front().x() != 0 || profile.back().x() != 0))
    return refuse(
        "found " + std::to_string(on_axis) +
        " points on the axis (rho = 0), expected the first and the last to be there, which closes the surface, "
        "or none, of a ring");
  ProfileCurve curve = profile_curve(profile, closed);
  if (std::string why = profile_defect(profile, curve, closed); !why.empty()) return refuse(why);
  if (closed) return std::make_unique<Ring>(std::move(curve));
  return std::make_unique<Ball>(profile, std::move(curve), is_convex(profile));
}

}  // namespace tactus
