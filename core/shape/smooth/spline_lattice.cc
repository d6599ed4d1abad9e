#include "core/shape/smooth/spline_lattice.h"

#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

using Net64 = std::array<Vec3, 64>;  // [16 i + 4 j + k]

// Bezier points of a cell from its control points, one axis after the other.
Net64 bezier_of(Net64 d) {
  static constexpr double kWeights[4][4] = {{1, 4, 1, 0}, {0, 4, 2, 0}, {0, 2, 4, 0}, {0, 1, 4, 1}};  // times 6
  for (const std::size_t step : {16, 4, 1}) {
    Net64 out;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t at = i / step % 4, first = i - at * step;
      out[i].setZero();
      for (std::size_t a = 0; a < 4; ++a) out[i] += kWeights[at][a] / 6 * d[first + a * step];
    }
    d = out;
  }
  return d;
}

// The longest of the Bezier points of a derivative, so often along each axis: none of its values is longer.
double longest(Net64 d, const std::array<std::size_t, 3>& orders, const Vec3& rate) {
  static constexpr std::array<std::size_t, 3> kSteps{16, 4, 1};
  double scale = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t order = 0; order < orders[axis]; ++order) {
      scale *= static_cast<double>(3 - order) * rate[static_cast<int>(axis)];
      for (std::size_t i = 0; i < 64; ++i)
        if (i / kSteps[axis] % 4 + order < 3) d[i] = d[i + kSteps[axis]] - d[i];
    }
  double most = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    bool valid = true;
    for (std::size_t axis = 0; axis < 3; ++axis) valid = valid && i / kSteps[axis] % 4 + orders[axis] <= 3;
    if (valid) most = std::max(most, d[i].norm());
  }
  return (1 + 1e-12) * scale * most;
}

// Of all derivatives of an order together, as a tensor's norm, which its values along unit vectors do not exceed.
double longest(const Net64& bezier, std::size_t order, const Vec3& rate) {
  static constexpr double kFactorial[4] = {1, 1, 2, 6};
  double sum = 0;
  for (std::size_t a = 0; a <= order; ++a)
    for (std::size_t b = 0; a + b <= order; ++b) {
      const std::size_t c = order - a - b;
      const double length = longest(bezier, {a, b, c}, rate);
      sum += kFactorial[order] / (kFactorial[a] * kFactorial[b] * kFactorial[c]) * length * length;
    }
  return std::sqrt(sum);
}

}  // namespace

SplineLattice::SplineLattice(const std::vector<Vec3>& control, const std::array<std::size_t, 3>& n)
    : cells_{n[0] - 3, n[1] - 3, n[2] - 3} {
  for (std::size_t axis = 0; axis < 3; ++axis) rate_[static_cast<int>(axis)] = 0.5 * static_cast<double>(cells_[axis]);
  for (std::size_t i = 0; i < cells_[0]; ++i)
    for (std::size_t j = 0; j < cells_[1]; ++j)
      for (std::size_t k = 0; k < cells_[2]; ++k) {
        const auto net = [&](std::size_t a, std::size_t b, std::size_t c) -> const Vec3& {
          return control[((i + a) * n[1] + j + b) * n[2] + k + c];
        };
        jets_.emplace_back(net);
        Net64 points;
        for (std::size_t at = 0; at < 64; ++at) points[at] = net(at / 16, at / 4 % 4, at % 4);
        const Net64 bezier = bezier_of(points);
        most_.push_back({longest(bezier, 1, rate_), longest(bezier, 2, rate_), longest(bezier, 3, rate_)});
      }
}

SplineLattice::Most SplineLattice::most(const Vec3& lo, const Vec3& hi) const noexcept {
  std::array<std::size_t, 3> first{}, last{};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto axis = static_cast<int>(k);
    first[k] = std::min(static_cast<std::size_t>(along(axis, lo[axis])), cells_[k] - 1);
    last[k] = std::min(static_cast<std::size_t>(along(axis, hi[axis])), cells_[k] - 1);
  }
  Most out;
  for (std::size_t i = first[0]; i <= last[0]; ++i)
    for (std::size_t j = first[1]; j <= last[1]; ++j)
      for (std::size_t k = first[2]; k <= last[2]; ++k) {
        const Most& cell = most_[(i * cells_[1] + j) * cells_[2] + k];
        out = {std::max(out.first, cell.first), std::max(out.second, cell.second), std::max(out.third, cell.third)};
      }
  return out;
}

}  // namespace tactus
