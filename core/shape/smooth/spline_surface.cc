#include "core/shape/smooth/spline_surface.h"

#include <algorithm>
#include <cmath>

#include "core/shape/smooth/gauss_rule.h"

namespace tactus {

namespace {

void add_flux(SolidMoments& m, const Vec3& x, const Vec3& area) noexcept {
  m.volume += x.dot(area) / 3;
  m.first += 0.5 * x.cwiseAbs2().cwiseProduct(area);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) m.second(i, k) += x[i] * x[i] * x[k] * area[i] / (i == k ? 3 : 2);
}

}  // namespace

void Spline::look_around(const LaidOutMesh& mesh) {
  for (const Vec3& w : mesh.w) cloud_.push_back(at(w));
  for (const auto& [a, b, c] : mesh.triangles) spacing_ = std::max(spacing_, (cloud_[a].p_S - cloud_[b].p_S).norm());
  gather(0, cloud_.size());
  Vec3 lo, hi;
  for (int i = 0; i < 3; ++i) {
    lo[i] = support(-Vec3::Unit(i))[i];
    hi[i] = support(Vec3::Unit(i))[i];
  }
  centre_ = 0.5 * (lo + hi);
  half_ = (0.5 * (1 + 1e-9)) * (hi - lo);
}

void Spline::add_panel(std::int32_t chart, const Vec2& uv, const Vec2& size) {
  for (std::size_t i = 0; i < kGaussPoints; ++i)
    for (std::size_t k = 0; k < kGaussPoints; ++k) {
      const Vec2 at = uv + size.cwiseProduct(Vec2(kGaussNode[i], kGaussNode[k]));
      const PatchJet jet = patch({chart, at});
      const double weight = kGaussWeight[i] * kGaussWeight[k] * size.prod();
      add_flux(moments_, jet.S - centre_, weight * jet.Su.cross(jet.Sv));
    }
}

// Halves along the widest axis until a group is small enough.
void Spline::gather(std::size_t first, std::size_t end) {
  Vec3 lo = cloud_[first].p_S, hi = lo;
  for (std::size_t i = first; i < end; ++i) lo = lo.cwiseMin(cloud_[i].p_S), hi = hi.cwiseMax(cloud_[i].p_S);
  Group group{0.5 * (lo + hi), 0, first, end, 0};
  for (std::size_t i = first; i < end; ++i)
    group.radius = std::max(group.radius, (1 + 1e-9) * (cloud_[i].p_S - group.centre).norm());
  const std::size_t index = groups_.size();
  groups_.push_back(group);
  if (end - first <= kGroup) return;
  int axis = 0;
  (hi - lo).maxCoeff(&axis);
  std::stable_sort(cloud_.begin() + static_cast<std::ptrdiff_t>(first),
                   cloud_.begin() + static_cast<std::ptrdiff_t>(end),
                   [axis](const SurfaceSeed& a, const SurfaceSeed& b) { return a.p_S[axis] < b.p_S[axis]; });
  const std::size_t middle = first + (end - first) / 2;
  gather(first, middle);
  groups_[index].second = groups_.size();
  gather(middle, end);
}

// The cloud's highest point along d, whose length is given: of those groups only whose balls reach higher than what is
// known, the higher half first.
void Spline::look(const Vec3& d_S, double length, const Group& group, Highest& best) const noexcept {
  if (group.second == 0) {
    for (std::size_t i = group.first; i < group.end; ++i)
      if (const double h = d_S.dot(cloud_[i].p_S); h > best.height) best = {h, &cloud_[i]};
    return;
  }
  const Group *high = &group + 1, *low = &groups_[group.second];
  double top = d_S.dot(high->centre) + length * high->radius, other = d_S.dot(low->centre) + length * low->radius;
  if (other > top) std::swap(high, low), std::swap(top, other);
  if (top > best.height) look(d_S, length, *high, best);
  if (other > best.height) look(d_S, length, *low, best);
}

Vec3 Spline::support(const Vec3& d_S) const noexcept {
  Highest best{.seed = cloud_.data()};
  look(d_S, std::sqrt(d_S.squaredNorm()), groups_[0], best);
  return climb(d_S, best.seed->where);
}

// What is lower than p_S by more than lies between points of the cloud is not looked at.
Vec3 Spline::support_beyond(const Vec3& d_S, const Vec3& p_S) const noexcept {
  const double length = std::sqrt(d_S.squaredNorm()), height = d_S.dot(p_S);
  Highest best{height - length * spacing_ * spacing_ / radius(), nullptr};
  look(d_S, length, groups_[0], best);
  if (best.seed == nullptr) return p_S;
  if (best.height <= height && (p_S - best.seed->p_S).squaredNorm() <= spacing_ * spacing_) return p_S;
  const Vec3 there = climb(d_S, best.seed->where);
  return d_S.dot(there) > height ? there : p_S;
}

// Newton's method where d . S is concave, ascent elsewhere; a step that does not climb is halved, and one that would
// climb by rounding only is not taken.
Vec3 Spline::climb(const Vec3& d_S, SurfacePoint where) const noexcept {
  PatchJet jet = patch(where);
  const double rounding = 1e-17 * std::sqrt(d_S.squaredNorm()) * radius();
  for (int i = 0; i < 30; ++i) {
    const Vec2 g(d_S.dot(jet.Su), d_S.dot(jet.Sv));
    const double uu = d_S.dot(jet.Suu), uv = d_S.dot(jet.Suv), vv = d_S.dot(jet.Svv), det = uu * vv - uv * uv;
    const double slope = std::abs(uu) + std::abs(vv) + std::abs(uv);
    if (!(slope > 0)) break;
    Vec2 step = uu < 0 && det > 1e-12 * slope * slope
                    ? Vec2((uv * g.y() - vv * g.x()) / det, (uv * g.x() - uu * g.y()) / det)
                    : Vec2(g / slope);
    if (g.dot(step) <= rounding) break;
    const double height = d_S.dot(jet.S);
    bool climbs = false;
    for (int k = 0; k < 20 && !climbs; ++k, step *= 0.5) {
      const SurfacePoint next = normalise({where.chart, where.uv + step});
      const PatchJet there = patch(next);
      climbs = d_S.dot(there.S) > height;
      if (!climbs) continue;
      where = next;
      jet = there;
    }
    if (!climbs) break;
  }
  return jet.S;
}

}  // namespace tactus
