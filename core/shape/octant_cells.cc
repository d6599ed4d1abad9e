#include "core/shape/octant_cells.h"

#include <algorithm>
#include <cmath>

#include "core/shape/white_form.h"

namespace tactus {

OctantCells::OctantCells(const SmoothSurface& surface, const Vec3& radii) {
  for (int axis = 0; axis < 3; ++axis) divide(surface, radii, axis, Vec2::Zero(), 1, 0);
}

// Directions whose coordinate along the axis is the largest: 1; [lo, lo + side] of the others.
void OctantCells::divide(const SmoothSurface& surface, const Vec3& radii, int axis, const Vec2& lo, double side,
                         int depth) {
  const auto direction = [&](double s, double t) {
    Vec3 y;
    y[axis] = 1;
    y[(axis + 1) % 3] = lo.x() + s * side;
    y[(axis + 2) % 3] = lo.y() + t * side;
    return Vec3(radii.cwiseProduct(y));
  };
  // F = L / 2 (gauge^2 - 1).
  const double half = -surface.implicit(Vec3::Zero()).F;
  const auto gauge = [&](const Vec3& y) { return std::sqrt(surface.implicit(y).F / half + 1); };
  const Vec3 middle = direction(0.5, 0.5), p = middle / gauge(middle), n = surface.implicit(p).grad;
  Cell cell;
  double most = 0, beyond = 0;
  cell.least = direction(0, 0);
  for (std::size_t k = 0; k < 4; ++k) {
    const Vec3 y = direction(k % 2 == 0 ? 0 : 1, k / 2 == 0 ? 0 : 1), v = n.dot(p) / n.dot(y) * (1 + 1e-14) * y;
    cell.x[k] = v.x(), cell.y[k] = v.y(), cell.z[k] = v.z();
    most = std::max(most, gauge(y));
    beyond = std::max(beyond, gauge(v) - 1);
  }
  // The gauge is convex, so the largest at a corner.
  cell.least *= (1 - 1e-14) / most;
  const std::size_t index = cells_.size();
  cells_.push_back(cell);
  if (depth < kDepth && beyond > kEnough) {
    cells_[index].whole = false;
    for (int k = 0; k < 4; ++k)
      divide(surface, radii, axis, lo + 0.5 * side * Vec2(k % 2, k / 2), 0.5 * side, depth + 1);
  }
  cells_[index].end = static_cast<std::int32_t>(cells_.size());
}

namespace {

Two max_two(const Two& a, const Two& b) noexcept {
  return a > b ? a : b;
}

}  // namespace

bool OctantCells::lie_in(const InnerForm& e, const Vec3& p, double known) const noexcept {
  const WhiteForm white(e);
  if (!white.finite() || !(e.at(Vec3::Zero()) <= 1)) return false;
  const Vec3 least = known * p.cwiseAbs();
  const auto count = static_cast<std::int32_t>(cells_.size());
  for (int octant = 0; octant < 8; ++octant) {
    const Vec3 sign(octant % 2 == 0 ? 1 : -1, octant / 2 % 2 == 0 ? 1 : -1, octant / 4 == 0 ? 1 : -1);
    const bool same = (sign.cwiseProduct(p).array() >= 0).all();
    const WhiteForm form = white.mirrored(sign);
    for (std::int32_t i = 0; i < count;) {
      const Cell& cell = cells_[static_cast<std::size_t>(i)];
      const Two high = max_two(form.at(load_two(&cell.x[0]), load_two(&cell.y[0]), load_two(&cell.z[0])),
                               form.at(load_two(&cell.x[2]), load_two(&cell.y[2]), load_two(&cell.z[2])));
      if ((high[0] <= 1 && high[1] <= 1) || (same && (cell.least.array() >= least.array()).all())) {
        i = cell.end;
        continue;
      }
      if (cell.whole) {
        // What e is too narrow for, another of its kind may hold.
        const Vec3 middle(cell.x[0] + cell.x[3], cell.y[0] + cell.y[3], cell.z[0] + cell.z[3]);
        EllipsoidForm other;
        if (!e.near(0.5 * sign.cwiseProduct(middle), other) || !(other.at(Vec3::Zero()) <= 1)) return false;
        const WhiteForm wider = WhiteForm(other).mirrored(sign);
        for (std::size_t k = 0; k < 4; ++k)
          if (!(wider.at(cell.x[k], cell.y[k], cell.z[k]) <= 1)) return false;
      }
      ++i;
    }
  }
  return true;
}

}  // namespace tactus
