// A cube [-1, 1]^3 that is carried along by a tensor product of three uniform cubic B-splines (free-form deformation,
// Sederberg & Parry 1986), and how much it bends there.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/shape/smooth/spline_powers.h"

namespace tactus {

class SplineLattice {
 public:
  // control[(i ny + j) nz + k], at least 4 each way.
  SplineLattice(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n);

  // Where w is carried to, and derivatives by w in units of rate().
  [[nodiscard]] CellJet at(const Vec3& w) const noexcept {
    std::array<std::size_t, 3> cell{};
    Vec3 in;  // of the cell
    for (std::size_t k = 0; k < 3; ++k) {
      const auto axis = static_cast<int>(k);
      const double t = along(axis, w[axis]);
      cell[k] = std::min(static_cast<std::size_t>(t), cells_[k] - 1);
      in[axis] = t - static_cast<double>(cell[k]);
    }
    return jets_[(cell[0] * cells_[1] + cell[1]) * cells_[2] + cell[2]].at(in);
  }
  [[nodiscard]] const Vec3& rate() const noexcept { return rate_; }
  // No first, second or third derivative by w along unit vectors is longer.
  struct Most {
    double first = 0, second = 0, third = 0;
  };
  [[nodiscard]] Most most(const Vec3& lo, const Vec3& hi) const noexcept;  // over a box of w

 private:
  // In cells from the cube's corner on.
  [[nodiscard]] double along(int axis, double w) const noexcept {
    const auto count = static_cast<double>(cells_[static_cast<std::size_t>(axis)]);
    return std::clamp(0.5 * (w + 1) * count, 0.0, count);
  }

  std::array<std::size_t, 3> cells_;
  Vec3 rate_;                       // cells for each unit of w
  std::vector<TricubicCell> jets_;  // [(i ny + j) nz + k]
  std::vector<Most> most_;
};

}  // namespace tactus
