// A linear system solved for some of its variables: row i says basic_i = T[i][0] + sum_c T[i][c] nonbasic_c. Lemke and
// Dantzig are walks over such dictionaries.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check.h"

namespace tactus {

class LcpDictionary {
 public:
  LcpDictionary(std::uint32_t rows_max, std::uint32_t columns_max)
      : stride_(columns_max + 1), t_(std::size_t{rows_max} * stride_), line_(stride_) {}

  // columns does not count the constant column 0.
  void resize(std::uint32_t rows, std::uint32_t columns) noexcept {
    TACTUS_ASSERT(columns < line_.size() && std::size_t{rows} * (columns + 1) <= t_.size());
    rows_ = rows;
    stride_ = columns + 1;
  }
  double* row(std::uint32_t i) noexcept { return t_.data() + std::size_t{i} * stride_; }
  [[nodiscard]] const double* row(std::uint32_t i) const noexcept { return t_.data() + std::size_t{i} * stride_; }
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return stride_; }  // with the constant
  double* line() noexcept { return line_.data(); }                        // scratch of one row, for substitute()

  // Nonbasic variable c becomes the line (whose entry c belongs to the variable that takes its column). 2 rows width.
  void substitute(std::uint32_t c) noexcept {
    TACTUS_DCHECK(c > 0 && c < stride_);
    const double* const from = line_.data();
    for (std::uint32_t i = 0; i < rows_; ++i) {
      double* const to = row(i);
      const double factor = to[c];
      if (factor == 0) continue;
      to[c] = 0;
      for (std::uint32_t j = 0; j < stride_; ++j) to[j] += factor * from[j];
    }
  }
  // The variable of row r and that of column c change places. T[r][c] is not zero.
  void pivot(std::uint32_t r, std::uint32_t c) noexcept {
    double* const leaving = row(r);
    TACTUS_DCHECK(r < rows_ && leaving[c] != 0);
    const double per_pivot = 1 / leaving[c];
    for (std::uint32_t j = 0; j < stride_; ++j) line_[j] = -leaving[j] * per_pivot;
    line_[c] = per_pivot;
    leaving[c] = 0;
    substitute(c);
    for (std::uint32_t j = 0; j < stride_; ++j) leaving[j] = line_[j];
  }

 private:
  std::uint32_t rows_ = 0, stride_;
  std::vector<double> t_, line_;
};

}  // namespace tactus
