#include "core/math/echelon_lu.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

EchelonLu::EchelonLu(std::uint32_t rows_max, std::uint32_t cols_max)
    : stride_(cols_max),
      a_(std::size_t{rows_max} * cols_max),
      row_scale_(rows_max),
      column_scale_(cols_max),
      work_(rows_max),
      order_(rows_max),
      pivot_column_(cols_max) {}

void EchelonLu::resize(std::uint32_t rows, std::uint32_t cols) noexcept {
  TACTUS_ASSERT(cols <= stride_ && rows <= order_.size());
  rows_ = rows;
  cols_ = cols;
}

void EchelonLu::factor(double tolerance) noexcept {
  TACTUS_ASSERT(tolerance > 0 && tolerance < 1);
  std::fill_n(column_scale_.begin(), cols_, 0.0);
  for (std::uint32_t i = 0; i < rows_; ++i) {
    double largest = 0;
    for (std::uint32_t j = 0; j < cols_; ++j) {
      const double size = std::abs(row(i)[j]);
      largest = std::max(largest, size);
      column_scale_[j] = std::max(column_scale_[j], size);
    }
    row_scale_[i] = largest > 0 ? 1 / largest : 0;
    order_[i] = i;
  }
  rank_ = 0;
  for (std::uint32_t c = 0; c < cols_ && rank_ < rows_; ++c) {
    std::uint32_t best = rank_;
    double size = 0;
    for (std::uint32_t i = rank_; i < rows_; ++i) {
      const double candidate = std::abs(row(i)[c]) * row_scale_[i];
      if (candidate > size) size = candidate, best = i;
    }
    if (!(std::abs(row(best)[c]) > tolerance * column_scale_[c])) continue;
    if (best != rank_) {
      std::swap_ranges(row(best), row(best) + cols_, row(rank_));
      std::swap(order_[best], order_[rank_]);
      std::swap(row_scale_[best], row_scale_[rank_]);
    }
    const double* pivot_row = row(rank_);
    const double per_pivot = 1 / pivot_row[c];
    for (std::uint32_t i = rank_ + 1; i < rows_; ++i) {
      double* const other = row(i);
      const double factor = other[c] * per_pivot;
      if (factor == 0) continue;
      for (std::uint32_t j = c + 1; j < cols_; ++j) other[j] -= factor * pivot_row[j];
      other[c] = factor;
    }
    pivot_column_[rank_++] = c;
  }
}

void EchelonLu::solve(const double* r, double* x) noexcept {
  TACTUS_DCHECK(rank_ <= std::min(rows_, cols_) && is_ascending<std::uint32_t>({pivot_column_.data(), rank_}));
  for (std::uint32_t k = 0; k < rank_; ++k) {
    double value = r[order_[k]];
    for (std::uint32_t l = 0; l < k; ++l) value -= row(k)[pivot_column_[l]] * work_[l];
    work_[k] = value;
  }
  std::fill_n(x, cols_, 0.0);
  for (std::uint32_t k = rank_; k-- > 0;) {
    double value = work_[k];
    const std::uint32_t c = pivot_column_[k];
    for (std::uint32_t l = k + 1; l < rank_; ++l) value -= row(k)[pivot_column_[l]] * x[pivot_column_[l]];
    TACTUS_DCHECK(row(k)[c] != 0);
    x[c] = value / row(k)[c];
  }
}

}  // namespace tactus
