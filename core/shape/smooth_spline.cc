// Closed surfaces of uniform cubic B-splines, twice differentiable everywhere. A torus: the tensor product that is
// periodic both ways. A ball: the unit sphere carried along by a tensor product of three (free-form deformation,
// Sederberg & Parry 1986), which needs no pole.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/shape/gauss_rule.h"
#include "core/shape/mesh_build.h"
#include "core/shape/smooth_base.h"
#include "core/shape/smooth_shapes.h"
#include "core/shape/smooth_tessellate.h"
#include "core/shape/spline_pieces.h"
#include "core/shape/spline_powers.h"

namespace tactus {

namespace {

void add_flux(SolidMoments& m, const Vec3& x, const Vec3& area) noexcept {
  m.volume += x.dot(area) / 3;
  m.first += 0.5 * x.cwiseAbs2().cwiseProduct(area);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) m.second(i, k) += x[i] * x[i] * x[k] * area[i] / (i == k ? 3 : 2);
}

class Spline : public ParametricSurface {
 public:
  [[nodiscard]] SmoothKind kind() const noexcept final { return SmoothKind::spline; }
  [[nodiscard]] bool convex() const noexcept final { return false; }  // not proved
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept final;
  [[nodiscard]] Vec3 support_near(const Vec3& d_S, const SurfacePoint& near) const noexcept final;
  [[nodiscard]] Vec3 centre() const noexcept final { return centre_; }
  [[nodiscard]] double radius() const noexcept final { return half_.norm(); }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept final {
    const Vec3 centre_W = X_WS * centre_, e = X_WS.R.cwiseAbs() * half_;
    return {centre_W - e, centre_W + e};
  }
  [[nodiscard]] SolidMoments moments() const noexcept final { return moments_; }

 protected:
  // First in a constructor: where supports start, and from them the box along S's axes.
  void look_around(const LaidOutMesh& mesh) {
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
  // Adds the flux through [u, u + du] x [v, v + dv] of a chart.
  void add_panel(std::int32_t chart, const Vec2& uv, const Vec2& size) {
    for (std::size_t i = 0; i < kGaussPoints; ++i)
      for (std::size_t k = 0; k < kGaussPoints; ++k) {
        const Vec2 at = uv + size.cwiseProduct(Vec2(kGaussNode[i], kGaussNode[k]));
        const PatchJet jet = patch({chart, at});
        const double weight = kGaussWeight[i] * kGaussWeight[k] * size.prod();
        add_flux(moments_, jet.S - centre_, weight * jet.Su.cross(jet.Sv));
      }
  }

  SolidMoments moments_;

 private:
  static constexpr std::size_t kGroup = 8;
  struct Group {  // points of the cloud that are near each other, and a ball around them
    Vec3 centre = Vec3::Zero();
    double radius = 0;
    std::size_t first = 0, end = 0;  // points
    std::size_t second = 0;          // its other half; the first is the next group; 0: not halved
  };
  struct Highest {
    double height = -std::numeric_limits<double>::infinity();
    const SurfaceSeed* seed = nullptr;
  };
  void gather(std::size_t first, std::size_t end);
  void look(const Vec3& d_S, double length, const Group& group, Highest& best) const noexcept;
  [[nodiscard]] Vec3 climb(const Vec3& d_S, SurfacePoint where, PatchJet jet) const noexcept;

  Vec3 centre_ = Vec3::Zero(), half_ = Vec3::Zero();  // of the box along S's axes
  std::vector<SurfaceSeed> cloud_;                    // where the search for a support starts
  std::vector<Group> groups_;
  double spacing_ = 0;  // between points of the cloud, at most about [m]
};

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
  return climb(d_S, best.seed->where, patch(best.seed->where));
}

// From the given place, and from the cloud's best if that is on another hill: what is lower than the place by more than
// lies between points of the cloud is not looked at.
Vec3 Spline::support_near(const Vec3& d_S, const SurfacePoint& near) const noexcept {
  const PatchJet jet = patch(near);
  const double length = std::sqrt(d_S.squaredNorm());
  Highest best{d_S.dot(jet.S) - length * spacing_ * spacing_ / radius(), nullptr};
  look(d_S, length, groups_[0], best);
  const Vec3 here = climb(d_S, near, jet);
  if (best.seed == nullptr || (jet.S - best.seed->p_S).squaredNorm() <= spacing_ * spacing_) return here;
  const Vec3 there = climb(d_S, best.seed->where, patch(best.seed->where));
  return d_S.dot(there) > d_S.dot(here) ? there : here;
}

// Newton's method where d . S is concave, ascent elsewhere; a step that does not climb is halved, and one that would
// climb by rounding only is not taken.
Vec3 Spline::climb(const Vec3& d_S, SurfacePoint where, PatchJet jet) const noexcept {
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

class SplineTorus final : public Spline {
 public:
  // control[i nv + j]
  SplineTorus(const std::vector<Vec3>& control, std::size_t nu, std::size_t nv)
      : nu_(nu),
        nv_(nv),
        pieces_(control, static_cast<int>(nu), static_cast<int>(nv)),
        hull_cells_(pieces_.hull_cells()) {
    for (std::size_t i = 0; i < nu; ++i)
      for (std::size_t j = 0; j < nv; ++j) {
        std::array<std::array<Vec3, 4>, 4> net;
        for (std::size_t a = 0; a < 4; ++a)
          for (std::size_t b = 0; b < 4; ++b) net[a][b] = control[(i + a + nu - 1) % nu * nv + (j + b + nv - 1) % nv];
        patches_.emplace_back(net);
      }
    look_around(torus_mesh(static_cast<int>(std::min<std::size_t>(4 * nu, 64)),
                           static_cast<int>(std::min<std::size_t>(4 * nv, 64))));
    for (std::size_t i = 0; i < nu; ++i)
      for (std::size_t j = 0; j < nv; ++j)
        add_panel(0, Vec2(static_cast<double>(i), static_cast<double>(j)), Vec2::Ones());
    find_seeds();
  }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    const SurfacePoint in = normalise(where);
    const auto i = static_cast<std::size_t>(in.uv.x()), j = static_cast<std::size_t>(in.uv.y());
    return patches_[i * nv_ + j].at(in.uv.x() - static_cast<double>(i), in.uv.y() - static_cast<double>(j));
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return {0, Vec2(wrapped(where.uv.x(), nu_), wrapped(where.uv.y(), nv_))};
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::torus; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override {
    return seed_at(normalise({0, Vec2(w.x() * static_cast<double>(nu_), w.y() * static_cast<double>(nv_))}));
  }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept override {
    return pieces_.lie_in(e, at, beyond);
  }
  [[nodiscard]] bool on_hull(const SurfaceSeed& at) const noexcept override { return hull_cells_.hold(at.where.uv); }
  [[nodiscard]] Vec3 outer_support(const Vec3& d_S) const noexcept override { return pieces_.farthest(d_S); }
  [[nodiscard]] bool lies_below(const Vec3& n_S, const SurfaceSeed& at,
                                const FarFromHull& far) const noexcept override {
    return pieces_.lie_below(n_S, at.p_S, at.where.uv, far);
  }

 private:
  static double wrapped(double t, std::size_t n) noexcept {
    const auto period = static_cast<double>(n);
    if (t >= 0 && t < period) return t;
    if (!std::isfinite(t)) return 0;
    const double out = t - period * std::floor(t / period);
    return out < period ? out : 0;  // a small negative one is rounded up
  }

  std::size_t nu_, nv_;
  std::vector<BicubicPatch> patches_;  // [i nv + j]
  SplinePieces pieces_;
  SplinePieces::HullCells hull_cells_;
};

class SplineBall final : public Spline {
 public:
  // control[(i ny + j) nz + k]
  SplineBall(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n)
      : cells_{n[0] - 3, n[1] - 3, n[2] - 3} {
    for (std::size_t i = 0; i < cells_[0]; ++i)
      for (std::size_t j = 0; j < cells_[1]; ++j)
        for (std::size_t k = 0; k < cells_[2]; ++k)
          lattice_.emplace_back([&](std::size_t a, std::size_t b, std::size_t c) -> const Vec3& {
            return control[((i + a) * n[1] + j + b) * n[2] + k + c];
          });
    look_around(sphere_mesh(3));
    constexpr int kPanels = 16;  // of each face both ways; smooth_shapes.h says how exact that is
    for (std::int32_t chart = 0; chart < 6; ++chart)
      for (int i = 0; i < kPanels; ++i)
        for (int j = 0; j < kPanels; ++j)
          add_panel(chart, Vec2(-1 + 2.0 * i / kPanels, -1 + 2.0 * j / kPanels), Vec2::Constant(2.0 / kPanels));
    find_seeds();
  }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override;
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return sphere_normalise(where);
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return seed_at(sphere_chart_of(w)); }

 private:
  std::array<std::size_t, 3> cells_;
  std::vector<TricubicCell> lattice_;  // [(i ny + j) nz + k]
};

// Chain rule: S = D(n), Su = D' n_u, Suv = n_u' D'' n_v + D' n_uv.
PatchJet SplineBall::patch(const SurfacePoint& where) const noexcept {
  const PatchJet n = sphere_patch(where);
  std::array<std::size_t, 3> cell{};
  Vec3 in, rate;  // of the cell
  for (std::size_t k = 0; k < 3; ++k) {
    const auto axis = static_cast<int>(k);
    const auto count = static_cast<double>(cells_[k]);
    const double t = std::clamp(0.5 * (n.S[axis] + 1) * count, 0.0, count);
    cell[k] = std::min(static_cast<std::size_t>(t), cells_[k] - 1);
    in[axis] = t - static_cast<double>(cell[k]);
    rate[axis] = 0.5 * count;
  }
  const CellJet D = lattice_[(cell[0] * cells_[1] + cell[1]) * cells_[2] + cell[2]].at(in);
  const Vec3 u = rate.cwiseProduct(n.Su), v = rate.cwiseProduct(n.Sv);
  const auto first_order = [&D](const Vec3& w) { return Vec3(w.x() * D.x + w.y() * D.y + w.z() * D.z); };
  const auto second_order = [&D](const Vec3& p, const Vec3& q) {
    return Vec3(p.x() * q.x() * D.xx + p.y() * q.y() * D.yy + p.z() * q.z() * D.zz +
                (p.x() * q.y() + p.y() * q.x()) * D.xy + (p.x() * q.z() + p.z() * q.x()) * D.xz +
                (p.y() * q.z() + p.z() * q.y()) * D.yz);
  };
  return {D.f,
          first_order(u),
          first_order(v),
          second_order(u, u) + first_order(rate.cwiseProduct(n.Suu)),
          second_order(u, v) + first_order(rate.cwiseProduct(n.Suv)),
          second_order(v, v) + first_order(rate.cwiseProduct(n.Svv))};
}

std::string defect(const SmoothSurface& surface) {
  const double size = surface.radius();
  const SmoothTriangles fine = tessellate(surface, 1e-4 * size);
  LaidOutMesh grid = surface.topology() == SmoothTopology::sphere ? sphere_mesh(4) : torus_mesh(96, 96);
  double flattest = std::numeric_limits<double>::infinity();
  for (const Vec3& w : grid.w) {
    const PatchJet jet = surface.patch(surface.at(w).where);
    const double area = jet.Su.cross(jet.Sv).norm(), sides = jet.Su.squaredNorm() + jet.Sv.squaredNorm();
    flattest = std::min(flattest, sides > 1e-12 * size * size ? area / sides : 0.0);
  }
  if (!(flattest > 1e-4))
    return "found a surface without a normal somewhere (a cusp, a crease or a fold), expected a regular one";
  if (!(surface.moments().volume > 0))
    return "found a surface whose normals point inwards, expected the control points in the other order";
  MeshSoup soup;
  soup.vertices = fine.vertices;
  soup.triangles = fine.triangles;
  for (std::uint32_t i = 0; i < soup.triangles.size(); ++i) soup.origin.push_back(i);
  if (const MeshDefect crossing = check_crossings(finish_mesh(soup)); crossing.kind != MeshDefectKind::none) {
    const Vec3 p = soup.vertices[soup.triangles[crossing.triangle][0]];
    return "found a surface that crosses itself near [" + std::to_string(p.x()) + ", " + std::to_string(p.y()) + ", " +
           std::to_string(p.z()) + "], expected one that does not";
  }
  return {};
}

}  // namespace

std::unique_ptr<SmoothSurface> make_spline(const std::vector<Vec3>& control, const std::vector<std::size_t>& grid,
                                           std::string& error) {
  std::size_t count = grid.empty() ? 0 : 1;
  for (const std::size_t n : grid) {
    if (n < 4 || n > kSplineMax) {
      error = "found " + std::to_string(n) + " control points one way, expected 4 to " + std::to_string(kSplineMax);
      return nullptr;
    }
    count *= n;
  }
  if (grid.size() < 2 || grid.size() > 3 || count > kSplineMax || count != control.size()) {
    error = "found " + std::to_string(control.size()) + " control points, expected " + std::to_string(count) +
            ", the product of the grid's 2 (a torus) or 3 numbers (a ball), at most " + std::to_string(kSplineMax);
    return nullptr;
  }
  double size = 0, reach = 0;
  for (const Vec3& p : control) {
    size = std::max(size, (p - control[0]).norm());
    reach = std::max(reach, p.norm());
  }
  if (!(size > 1e-9 * reach) || !std::isfinite(size)) {
    error = "found control points of no size, expected finite points that differ";
    return nullptr;
  }
  std::unique_ptr<Spline> surface;
  if (grid.size() == 2)
    surface = std::make_unique<SplineTorus>(control, grid[0], grid[1]);
  else
    surface = std::make_unique<SplineBall>(control, std::array<std::size_t, 3>{grid[0], grid[1], grid[2]});
  error = defect(*surface);
  if (!error.empty()) return nullptr;
  return surface;
}

}  // namespace tactus
