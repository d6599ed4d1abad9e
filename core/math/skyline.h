// Sparse square systems kept as an envelope: row i of the lower triangle, and column i of the upper one, from the
// column first[i] to the diagonal. No fill outside it, so a chain of bodies costs what its width costs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check.h"

namespace tactus {

// Order of calls: shape, entries, factor, solve. Sums are taken in a fixed order. Cost of a factor:
// sum of (i - first[i])^2. The entries stay as they are, so that some of them may change and rows before the first
// change keep their factor.
//
// Panels: up to kPanel rows that follow each other and have the same `part` and `first`, a rigid body's six. Their
// entries left of the diagonal stand column by column, so that a factor works on all rows of a panel at once; the
// upper triangle's alike, transposed; the square on the diagonal is whole.
class Skyline {
 public:
  static constexpr std::uint32_t kPanel = 6;

  Skyline(std::uint32_t rows_max, std::size_t entries_max);

  // first[i] <= i for n rows; part: rows that belong together. False: more rows or entries than there is room for. Sets
  // all entries to zero.
  [[nodiscard]] bool shape(std::uint32_t n, const std::uint32_t* first, const std::uint32_t* part) noexcept;
  // Entry (i, j), within the envelope.
  [[nodiscard]] double& at(std::uint32_t i, std::uint32_t j) noexcept;
  // Entries (i, column) of a panel's rows from the lower triangle or the square, the next column behind them; entries
  // (column, i) from the upper triangle. row: the panel's first.
  [[nodiscard]] double* lower(std::uint32_t row, std::uint32_t column) noexcept {
    TACTUS_DCHECK(begins_panel(row) && in_envelope(panels_[panel_of_[row]], column));
    return entry(lower_, panels_[panel_of_[row]], column);
  }
  [[nodiscard]] double* upper(std::uint32_t row, std::uint32_t column) noexcept {
    TACTUS_DCHECK(begins_panel(row) && in_envelope(panels_[panel_of_[row]], column));
    return entry(upper_, panels_[panel_of_[row]], column);
  }
  void clear() noexcept;
  // Zero in both triangles: rows from `row` to that panel's end, all of its columns.
  void clear_panel(std::uint32_t row) noexcept;

  // L U without exchanges, of all entries that are not before `row`, a panel's first; those before it have not changed
  // since the last factor. False: a pivot fell below kSkylinePivot of its entry.
  [[nodiscard]] bool factor(std::uint32_t row = 0) noexcept;
  void solve(double* x) const noexcept;

 private:
  struct Panel {
    std::uint32_t row, width, first;
    std::size_t start;  // of its entries
  };
  static std::size_t place(const Panel& p, std::uint32_t column) noexcept {
    return p.start + std::size_t{column - p.first} * p.width;
  }
  [[nodiscard]] static bool in_envelope(const Panel& p, std::uint32_t column) noexcept {
    return column >= p.first && column < p.row + p.width;
  }
  [[nodiscard]] std::uint32_t row_count() const noexcept {
    return panel_count_ > 0 ? panels_[panel_count_ - 1].row + panels_[panel_count_ - 1].width : 0;
  }
  [[nodiscard]] bool begins_panel(std::uint32_t row) const noexcept {
    return row < row_count() && panels_[panel_of_[row]].row == row;
  }
  static double* entry(std::vector<double>& numbers, const Panel& p, std::uint32_t column) noexcept {
    return numbers.data() + place(p, column);
  }
  static const double* entry(const std::vector<double>& numbers, const Panel& p, std::uint32_t column) noexcept {
    return numbers.data() + place(p, column);
  }
  template <std::uint32_t kWidth>
  bool factor_panel(const Panel& p) noexcept;
  template <std::uint32_t kWidth>
  void eliminate(const Panel& p, const Panel& q) noexcept;
  template <std::uint32_t kWidth>
  bool factor_square(const Panel& p) noexcept;

  std::vector<Panel> panels_;
  std::uint32_t panel_count_ = 0;
  std::size_t rows_max_, entries_max_;
  std::vector<std::uint32_t> panel_of_;
  std::vector<double> lower_, upper_;                // the matrix
  std::vector<double> lower_factor_, upper_factor_;  // L has the diagonal, U ones there
  std::vector<double> inv_diagonal_;
};
inline constexpr double kSkylinePivot = 1e-12;

}  // namespace tactus
