// LU factorisation of a dense matrix of any rank, by rows: redundant columns are found and left out.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check.h"

namespace tactus {

// Partial pivoting, rows weighed by their own largest entry. A column whose remaining entries are below
// tolerance * (largest entry of that column before) depends on those before it; its unknown becomes 0 (a basic
// solution). Memory is taken by the constructor only. factor: about rows * cols * rank flops.
class EchelonLu {
 public:
  EchelonLu(std::uint32_t rows_max, std::uint32_t cols_max);

  // Fill row(0..rows-1)[0..cols-1] before factor; rows >= cols is not needed.
  void resize(std::uint32_t rows, std::uint32_t cols) noexcept;
  double* row(std::uint32_t i) noexcept {
    TACTUS_DCHECK(i < rows_);
    return a_.data() + std::size_t{i} * stride_;
  }
  void factor(double tolerance) noexcept;
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  // x (cols): A x = r where that is possible; rows found redundant are not looked at.
  void solve(const double* r, double* x) noexcept;
  [[nodiscard]] std::uint64_t flops() const noexcept { return std::uint64_t{rows_} * cols_ * rank_; }

 private:
  std::uint32_t stride_, rows_ = 0, cols_ = 0, rank_ = 0;
  std::vector<double> a_, row_scale_, column_scale_, work_;
  std::vector<std::uint32_t> order_, pivot_column_;  // order_: which row of the caller stands at i
};

}  // namespace tactus
