// Closed surfaces of uniform cubic B-splines, twice differentiable everywhere. A torus: the tensor product that is
// periodic both ways. A ball: spline_ball.cc.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/shape/mesh/mesh_build.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/shape/smooth/smooth_tessellate.h"
#include "core/shape/smooth/spline_ball.h"
#include "core/shape/smooth/spline_pieces.h"
#include "core/shape/smooth/spline_powers.h"

namespace tactus {

namespace {

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
    surface = make_spline_ball(control, {grid[0], grid[1], grid[2]});
  error = defect(*surface);
  if (!error.empty()) return nullptr;
  return surface;
}

}  // namespace tactus
