// Lemke's method with the lexicographic ratio test (Cottle, Pang & Stone 1992, algorithms 4.4.5 and 4.9): it cannot
// cycle, and solves every solvable problem whose A is positive semidefinite, a P-matrix or copositive-plus.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/lcp_basis.h"
#include "core/math/lcp_dictionary.h"
#include "core/math/lcp_reduction.h"

namespace tactus {

// Free rows are eliminated first. A friction row becomes three standard ones (two directions and their multiplier, as
// Stewart and Trinkle write them), a box row with two numbers two. 2 m^2 flops a pivot; usually m to 1.6 m pivots.
class LemkeSolver {
 public:
  // n_max: rows of a problem; rows_max: standard rows that it may become, 0: n_max.
  explicit LemkeSolver(std::uint32_t n_max, std::uint32_t rows_max = 0);

  // z: n, out; with warm, in as well: its active rows are pivoted in first, and the walk starts there. A warm start
  // that ends in a ray is followed by a cold one. options.cover: larger entries hold their row's w positive for longer.
  LcpResult solve(const LcpProblem& problem, double* z, const LcpOptions& options = {}) noexcept;

 private:
  enum class Kind : std::uint8_t { plain, mirrored, forward, backward, slip, width };  // of a standard row

  bool make_standard(const LcpProblem& reduced) noexcept;
  void add(std::uint32_t source, Kind kind) noexcept;
  [[nodiscard]] double entry(const LcpProblem& reduced, std::uint32_t i, std::uint32_t j) const noexcept;
  [[nodiscard]] double constant(const LcpProblem& reduced, std::uint32_t i) const noexcept;
  void load(const LcpProblem& reduced) noexcept;
  void start_from(const LcpProblem& reduced, const double* guess) noexcept;
  void swap(std::uint32_t r, std::uint32_t c) noexcept;
  LcpStatus walk(const LcpOptions& options) noexcept;
  [[nodiscard]] std::int32_t first_row() const noexcept;
  [[nodiscard]] std::int32_t leaving_row(std::uint32_t c) noexcept;
  [[nodiscard]] bool lexicographically_less(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept;
  void read_out(const LcpProblem& reduced, double* z_reduced, LcpState* states) const noexcept;

  std::uint32_t m_ = 0, rows_max_;
  LcpReduction reduction_;
  BasisSolver basis_;
  LcpDictionary table_;
  std::vector<std::uint32_t> source_;  // of a standard row: the reduced row it comes from
  std::vector<Kind> kind_;
  std::vector<std::int32_t> partner_;  // of forward, slip: the next two rows; of a mirrored or plain box: width
  std::vector<double> offset_, cover_, z_reduced_;
  std::vector<std::uint32_t> basic_, nonbasic_, start_;  // variables: w_i = i, z_i = m + i, z_0 = 2 m
  std::vector<std::int32_t> place_;                      // of a variable: row, or -1 - column

  std::vector<LcpState> states_;
  std::uint32_t pivots_ = 0;
};

}  // namespace tactus
