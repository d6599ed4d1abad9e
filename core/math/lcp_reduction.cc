#include "core/math/lcp_reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kRedundant = 1e-12;  // of the largest entry of the free block

// The power of two nearest to 1 / x in logarithm, about.
double inverse_power_of_two(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, -exponent);
}

}  // namespace

LcpReduction::LcpReduction(std::uint32_t n_max)
    : free_(std::size_t{n_max} * (n_max + 1)),
      A_(std::size_t{n_max} * n_max),
      b_(n_max),
      lo_(n_max),
      hi_(n_max),
      scale_(n_max),
      normal_(n_max),
      pivot_row_(n_max) {}

bool LcpReduction::eliminate(const LcpProblem& problem) noexcept {
  const std::uint32_t n = problem.n, n_free = problem.n_free, stride = n + 1;
  double largest_of_all = 0;
  for (std::uint32_t i = 0; i < n_free; ++i) {
    std::copy_n(problem.A + std::size_t{i} * n, n, &free_[std::size_t{i} * stride]);
    free_[std::size_t{i} * stride + n] = problem.b[i];
    for (std::uint32_t j = 0; j < n_free; ++j) {
      largest_of_all = std::max(largest_of_all, std::abs(free_[std::size_t{i} * stride + j]));
    }
  }
  std::fill_n(pivot_row_.begin(), n_free, -1);
  for (std::uint32_t k = 0; k < n_free; ++k) {
    double largest = kRedundant * largest_of_all;
    std::uint32_t best_row = n_free, best_column = 0;
    for (std::uint32_t i = k; i < n_free; ++i) {
      for (std::uint32_t j = 0; j < n_free; ++j) {
        const double size = std::abs(free_[std::size_t{i} * stride + j]);
        if (pivot_row_[j] < 0 && size > largest) largest = size, best_row = i, best_column = j;
      }
    }
    if (best_row == n_free) {  // what is left must say nothing about the rest either
      for (std::uint32_t i = k; i < n_free; ++i) {
        for (std::uint32_t j = n_free; j <= n; ++j) {
          if (std::abs(free_[std::size_t{i} * stride + j]) > 1e-9 * std::max(1.0, largest_of_all)) return false;
        }
      }
      return true;
    }
    double* const row = &free_[std::size_t{k} * stride];
    if (best_row != k) std::swap_ranges(row, row + stride, &free_[std::size_t{best_row} * stride]);
    const double per_pivot = 1 / row[best_column];
    for (std::uint32_t j = 0; j < stride; ++j) row[j] *= per_pivot;
    for (std::uint32_t i = 0; i < n_free; ++i) {
      double* const other = &free_[std::size_t{i} * stride];
      const double factor = other[best_column];
      if (i == k || factor == 0) continue;
      for (std::uint32_t j = 0; j < stride; ++j) other[j] -= factor * row[j];
      other[best_column] = 0;
    }
    pivot_row_[best_column] = static_cast<std::int32_t>(k);
  }
  return true;
}

void LcpReduction::scale(const LcpProblem& problem) noexcept {
  const std::uint32_t m = reduced_.n;
  for (std::uint32_t i = 0; i < m; ++i) {
    const double diagonal = std::abs(A_[std::size_t{i} * m + i]);
    double largest = 0;
    for (std::uint32_t j = 0; j < m; ++j) {
      largest = std::max({largest, std::abs(A_[std::size_t{i} * m + j]), std::abs(A_[std::size_t{j} * m + i])});
    }
    const double size = diagonal > 1e-6 * largest ? std::sqrt(diagonal) : largest;
    scale_[i] = size > 0 ? inverse_power_of_two(size) : 1;
    TACTUS_DCHECK(scale_[i] >= 0);
  }
  double q_largest = 0;
  for (std::uint32_t i = 0; i < m; ++i) {
    double* const row = &A_[std::size_t{i} * m];
    for (std::uint32_t j = 0; j < m; ++j) row[j] *= scale_[i] * scale_[j];
    b_[i] *= scale_[i];
    q_largest = std::max(q_largest, std::abs(b_[i]));
  }
  const double per_size = q_largest > 0 ? inverse_power_of_two(q_largest) : 1;
  size_ = 1 / per_size;
  for (std::uint32_t i = 0; i < m; ++i) {
    b_[i] *= per_size;
    const std::uint32_t source = first_ + i;
    const bool friction = source >= problem.n_free && is_friction_row(problem, source);
    normal_[i] = friction ? problem.normal[source] - static_cast<std::int32_t>(first_) : -1;
    TACTUS_DCHECK(!friction || (normal_[i] >= 0 && normal_[i] < static_cast<std::int32_t>(m)));  // not a free row
    const double per_z = per_size / scale_[i];
    lo_[i] = (problem.lo != nullptr ? problem.lo[source] : 0.0) * per_z;
    hi_[i] = (problem.hi != nullptr ? problem.hi[source] : std::numeric_limits<double>::infinity()) * per_z;
    if (normal_[i] >= 0) hi_[i] = problem.hi[source] * scale_[normal_[i]] / scale_[i];
  }
}

bool LcpReduction::build(const LcpProblem& problem, bool keep_free, std::uint64_t& flops) noexcept {
  const std::uint32_t n = problem.n, n_free = problem.n_free;
  TACTUS_ASSERT(n <= b_.size() && n_free <= n);
  first_ = keep_free ? 0 : n_free;
  if (!keep_free && !eliminate(problem)) return false;
  const std::uint32_t m = n - first_;
  reduced_ = {m, keep_free ? n_free : 0, A_.data(), b_.data(), lo_.data(), hi_.data(), normal_.data()};
  for (std::uint32_t i = 0; i < m; ++i) {
    const double* source = problem.A + std::size_t{first_ + i} * n;
    double* const row = &A_[std::size_t{i} * m];
    std::copy_n(source + first_, m, row);
    b_[i] = problem.b[first_ + i];
    for (std::uint32_t j = 0; j < first_; ++j) {
      if (source[j] == 0 || pivot_row_[j] < 0) continue;
      const double* solved = &free_[std::size_t(pivot_row_[j]) * (n + 1) + n_free];
      for (std::uint32_t k = 0; k < m; ++k) row[k] -= source[j] * solved[k];
      b_[i] -= source[j] * solved[m];
    }
  }
  scale(problem);
  TACTUS_DCHECK(lcp_well_formed(reduced_));
  flops += 2 * std::uint64_t{first_} * n * n + 4 * std::uint64_t{m} * m;
  return true;
}

void LcpReduction::expand(const LcpProblem& problem, const double* z_reduced, double* z) const noexcept {
  TACTUS_DCHECK(problem.n == first_ + reduced_.n);  // of the problem that was built last
  const std::uint32_t n = problem.n, m = reduced_.n;
  for (std::uint32_t i = 0; i < m; ++i) z[first_ + i] = z_reduced[i] * scale_[i] * size_;
  for (std::uint32_t j = 0; j < first_; ++j) {
    z[j] = 0;
    if (pivot_row_[j] < 0) continue;
    const double* solved = &free_[std::size_t(pivot_row_[j]) * (n + 1)];
    double value = -solved[n];
    for (std::uint32_t k = first_; k < n; ++k) value -= solved[k] * z[k];
    z[j] = value;
  }
}

void LcpReduction::restrict(const double* z, double* z_reduced) const noexcept {
  for (std::uint32_t i = 0; i < reduced_.n; ++i) z_reduced[i] = z[first_ + i] / (scale_[i] * size_);
}

}  // namespace tactus
