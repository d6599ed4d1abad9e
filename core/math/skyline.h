// Sparse square systems kept as an envelope: row i of the lower triangle, and column i of the upper one, from the
// column first[i] to the diagonal. No fill outside it, so a chain of bodies costs what its width costs.
#pragma once

#include <cstdint>
#include <vector>

namespace tactus {

// Order of calls: shape, entries through lower() and upper(), factor, solve. Sums are taken in a fixed order. Cost of a
// factor: sum of (i - first[i])^2.
class Skyline {
 public:
  Skyline(std::uint32_t rows_max, std::size_t entries_max);

  // first[i] <= i for n rows. False: more rows or entries than there is room for. Sets all entries to zero.
  [[nodiscard]] bool shape(std::uint32_t n, const std::uint32_t* first) noexcept;
  // lower(i)[j]: entry (i, j), first[i] <= j <= i. upper(i)[j]: entry (j, i), j < i.
  [[nodiscard]] double* lower(std::uint32_t i) noexcept { return lower_.data() + start_[i]; }
  [[nodiscard]] double* upper(std::uint32_t i) noexcept { return upper_.data() + start_[i]; }

  // L U without exchanges. False: a pivot fell below kSkylinePivot of its entry.
  [[nodiscard]] bool factor() noexcept;
  void solve(double* x) const noexcept;

 private:
  std::uint32_t n_ = 0;
  std::vector<std::uint32_t> first_;
  std::vector<std::size_t> start_;  // where column 0 of row i would be; may lie before the row itself
  std::vector<double> lower_, upper_, inv_diagonal_;
};
inline constexpr double kSkylinePivot = 1e-12;

}  // namespace tactus
