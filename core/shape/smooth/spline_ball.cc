#include "core/shape/smooth/spline_ball.h"

#include "core/shape/smooth/spline_ball_cells.h"
#include "core/shape/smooth/spline_lattice.h"

namespace tactus {

namespace {

class SplineBall final : public Spline {
 public:
  SplineBall(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n) : lattice_(control, n) {
    look_around(sphere_mesh(3));
    constexpr int kPanels = 16;  // of each face both ways; smooth_shapes.h says how exact that is
    for (std::int32_t chart = 0; chart < 6; ++chart)
      for (int i = 0; i < kPanels; ++i)
        for (int j = 0; j < kPanels; ++j)
          add_panel(chart, Vec2(-1 + 2.0 * i / kPanels, -1 + 2.0 * j / kPanels), Vec2::Constant(2.0 / kPanels));
    find_seeds();
    cells_ = SplineBallCells(*this, lattice_);
  }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override;
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return sphere_normalise(where);
  }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return SmoothTopology::sphere; }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return seed_at(sphere_chart_of(w)); }
  [[nodiscard]] bool on_hull(const SurfaceSeed& at) const noexcept override { return cells_.on_hull(at.where); }
  [[nodiscard]] bool lies_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept override {
    return cells_.lie_in(lattice_, e, at, beyond);
  }

 private:
  SplineLattice lattice_;
  SplineBallCells cells_;
};

// Chain rule: S = D(n), Su = D' n_u, Suv = n_u' D'' n_v + D' n_uv.
PatchJet SplineBall::patch(const SurfacePoint& where) const noexcept {
  const PatchJet n = sphere_patch(where);
  const CellJet D = lattice_.at(n.S);
  const Vec3& rate = lattice_.rate();
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

}  // namespace

std::unique_ptr<Spline> make_spline_ball(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n) {
  return std::make_unique<SplineBall>(control, n);
}

}  // namespace tactus
