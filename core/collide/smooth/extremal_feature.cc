#include "core/collide/smooth/extremal_feature.h"

#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Where on a parametric surface the point p_S is, from the nearest seed by Gauss-Newton.
SurfacePoint locate(const SmoothSurface& surface, const Vec3& p_S) noexcept {
  const SurfaceSeed* nearest = surface.seeds().data();
  for (const SurfaceSeed& seed : surface.seeds()) {
    if ((seed.p_S - p_S).squaredNorm() < (nearest->p_S - p_S).squaredNorm()) nearest = &seed;
  }
  SurfacePoint where = nearest->where;
  const double enough = 1e-18 * surface.radius() * surface.radius();
  double last = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 12; ++i) {
    const PatchJet jet = surface.patch(where);
    const Vec3 miss = p_S - jet.S;
    const double uu = jet.Su.squaredNorm(), uv = jet.Su.dot(jet.Sv), vv = jet.Sv.squaredNorm();
    const double a = jet.Su.dot(miss), b = jet.Sv.dot(miss), det = uu * vv - uv * uv;
    if (det <= 0) break;
    const Vec2 step((vv * a - uv * b) / det, (uu * b - uv * a) / det);
    const double now = (step.x() * jet.Su + step.y() * jet.Sv).squaredNorm();
    if (now <= enough || now >= 2 * last) break;
    last = now;
    where.uv += step;
    where = surface.normalise(where);
  }
  return where;
}

}  // namespace

void ExtremalFeature::set_surface(const SmoothSurface& surface, const Mat3& R, const Vec3& p) noexcept {
  TACTUS_DCHECK(is_rotation(R));
  kind_ = surface.parametric() ? Kind::patch : Kind::implicit;
  surface_ = &surface;
  own_ = false;
  R_ = R, X_p_ = p;
}

void ExtremalFeature::set_surface(const SmoothSurface& surface) noexcept {
  kind_ = surface.parametric() ? Kind::patch : Kind::implicit;
  surface_ = &surface;
  own_ = true;
}

void ExtremalFeature::set_plane(const Vec3& p, const Vec3& nhat) noexcept {
  TACTUS_DCHECK(is_unit(nhat));
  kind_ = Kind::plane;
  c_ = p, axis_ = nhat;
}

void ExtremalFeature::set_side(const Vec3& c, const Vec3& axis, double radius) noexcept {
  TACTUS_DCHECK(is_unit(axis) && radius > 0);
  kind_ = Kind::side;
  c_ = c, axis_ = axis, radius_ = radius;
}

void ExtremalFeature::set_circle(const Vec3& c, const Vec3& axis, double radius) noexcept {
  TACTUS_DCHECK(is_unit(axis) && radius > 0);
  kind_ = Kind::circle;
  c_ = c, axis_ = axis, radius_ = radius;
}

void ExtremalFeature::set_line(const Vec3& p, const Vec3& along, const Vec3& start) noexcept {
  TACTUS_DCHECK(is_unit(along));
  kind_ = Kind::line;
  c_ = p, axis_ = along;
  p_ = start;
}

void ExtremalFeature::set_point(const Vec3& p) noexcept {
  kind_ = Kind::point;
  c_ = p;
}

void ExtremalFeature::place(const ExtremalSide& side) noexcept {
  if (kind_ == Kind::patch) {
    where_.chart = side.feature;
    where_.uv = side.p_S.head<2>();
    where_ = surface_->normalise(where_);
  } else {
    p_S_ = side.p_S;
  }
}

void ExtremalFeature::place(const SurfaceSeed& seed) noexcept {
  p_S_ = seed.p_S;
  where_ = seed.where;
}

void ExtremalFeature::place_towards(const Vec3& n) noexcept {
  TACTUS_DCHECK(surface_ != nullptr);
  p_S_ = surface_->support(to_S(n));
  if (kind_ == Kind::patch) where_ = locate(*surface_, p_S_);
}

Vec3 ExtremalFeature::farthest(const Vec3& n, const Vec3& p) const noexcept {
  if (own_) return surface_->support_beyond(n, p);
  return R_ * surface_->support_beyond(to_S(n), R_.transpose() * (p - X_p_)) + X_p_;
}

void ExtremalFeature::remember(ExtremalSide& side) const noexcept {
  if (kind_ == Kind::patch) {
    side.p_S << where_.uv, 0;
    side.feature = where_.chart;
  } else {
    side.p_S = p_S_;
    side.feature = 0;
  }
}

void ExtremalFeature::place_in_work(const Vec3& p_S) noexcept {
  if (own_) {
    n_ = n_S_, p_ = p_S;
    return;
  }
  n_.noalias() = R_ * n_S_;
  p_.noalias() = R_ * p_S + X_p_;
}

[[gnu::flatten]] void ExtremalFeature::evaluate() noexcept {
  eta_ = 0;
  switch (kind_) {
    case Kind::implicit: {
      const ImplicitJet jet = surface_->implicit(p_S_);
      inv_grad_ = 1.0 / std::sqrt(jet.grad.squaredNorm());
      n_S_ = jet.grad * inv_grad_;
      eta_ = -jet.F * inv_grad_;
      hess_ = jet.hess;
      place_in_work(p_S_);
      return;
    }
    case Kind::patch: {
      jet_ = surface_->patch(where_);
      chart_ = where_.chart;
      const Vec3 normal = jet_.Su.cross(jet_.Sv);
      n_S_ = normal * (1.0 / std::sqrt(normal.squaredNorm()));
      place_in_work(jet_.S);
      return;
    }
    case Kind::plane:
      n_ = axis_;
      p_ = c_;
      return;
    case Kind::side: {
      const Vec3 from = p_ - c_, radial = from - axis_.dot(from) * axis_;
      const double length = std::sqrt(radial.squaredNorm());
      n_ = radial * (1.0 / length);
      eta_ = radius_ - length;
      return;
    }
    case Kind::circle: {
      const Vec3 from = p_ - c_;
      Vec3 radial = from - axis_.dot(from) * axis_;
      radial *= 1.0 / std::sqrt(radial.squaredNorm());
      p_ = c_ + radius_ * radial;
      n_ = axis_.cross(radial);
      return;
    }
    case Kind::line:
      p_ = c_ + axis_.dot(p_ - c_) * axis_;
      n_ = axis_;
      return;
    case Kind::point:
      p_ = c_;
      return;
  }
}

[[gnu::flatten]] void ExtremalFeature::curvature(const Vec3& t1, const Vec3& t2, Form2& k, Pair2& w) noexcept {
  k = {}, w = {};
  if (kind_ == Kind::plane) return;
  if (kind_ == Kind::side) {
    const double z1 = axis_.dot(t1), z2 = axis_.dot(t2), n1 = n_.dot(t1), n2 = n_.dot(t2), c = 1.0 / radius_;
    k = {c * (1 - z1 * z1 - n1 * n1), -c * (z1 * z2 + n1 * n2), c * (1 - z2 * z2 - n2 * n2)};
    return;
  }
  const Vec3 u1 = to_S(t1), u2 = to_S(t2);
  if (kind_ == Kind::implicit) {
    t1_S_ = u1, t2_S_ = u2;
    const Vec3 h1 = hess_ * u1, h2 = hess_ * u2;
    k = {inv_grad_ * u1.dot(h1), inv_grad_ * u1.dot(h2), inv_grad_ * u2.dot(h2)};
    w = {inv_grad_ * h1.dot(n_S_), inv_grad_ * h2.dot(n_S_)};
    return;
  }
  // x = J uv with J = t . (Su, Sv); the outward normal turns by -(second form).
  const double a = u1.dot(jet_.Su), b = u1.dot(jet_.Sv), c = u2.dot(jet_.Su), d = u2.dot(jet_.Sv);
  const double s = 1.0 / (a * d - b * c);
  const double l = -n_S_.dot(jet_.Suu), m = -n_S_.dot(jet_.Suv), n = -n_S_.dot(jet_.Svv);
  const double ux = d * s, uy = -b * s, vx = -c * s, vy = a * s;  // uv = (ux uy; vx vy) x
  du1_ = ux, du2_ = uy, dv1_ = vx, dv2_ = vy;
  k = {l * ux * ux + 2 * m * ux * vx + n * vx * vx, l * ux * uy + m * (ux * vy + uy * vx) + n * vx * vy,
       l * uy * uy + 2 * m * uy * vy + n * vy * vy};
}

void ExtremalFeature::parameters(ExtremalForm& out) const noexcept {
  if (kind_ != Kind::patch || chart_ != where_.chart) return;
  out.u1 = du1_, out.u2 = du2_, out.v1 = dv1_, out.v2 = dv2_;
}

double ExtremalFeature::bend(const Vec3& n) const noexcept {
  return kind_ == Kind::circle ? -(p_ - c_).dot(n) / (radius_ * radius_) : 0.0;
}

[[gnu::flatten]] void ExtremalFeature::move(const Vec3& t1, const Vec3& t2, const Pair2& x) noexcept {
  switch (kind_) {
    case Kind::implicit:
      p_S_ += x.x * t1_S_ + x.y * t2_S_ + eta_ * n_S_;
      return;
    case Kind::patch:
      where_.uv += Vec2(du1_ * x.x + du2_ * x.y, dv1_ * x.x + dv2_ * x.y);
      where_ = surface_->normalise(where_);
      return;
    case Kind::side:
      p_ += x.x * t1 + x.y * t2 + eta_ * n_;
      return;
    case Kind::circle:
    case Kind::line:
      p_ += x.x * n_;
      return;
    case Kind::plane:
    case Kind::point:
      return;
  }
}

}  // namespace tactus
