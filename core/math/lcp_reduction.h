// The same problem without its free rows and with rows of comparable size: what the pivoting methods work on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/lcp_problem.h"

namespace tactus {

// z_free = -A_ff^-1 (b_f + A_fc z_c) by Gauss-Jordan with complete pivoting (redundant free rows are dropped, and must
// then be consistent: the caller sees it in the residual), the Schur complement of the rest, scaled by powers of two
// (exact): z_i = scale_i z'_i size, w_i = w'_i size / scale_i, so that diagonals and the largest |q| are about 1.
// Friction coefficients stand in hi, scaled likewise. All of size m = n - n_free.
class LcpReduction {
 public:
  explicit LcpReduction(std::uint32_t n_max);

  // False: the free block is singular beyond redundancy. keep_free: no elimination; free rows stay, m = n.
  bool build(const LcpProblem& problem, bool keep_free, std::uint64_t& flops) noexcept;
  [[nodiscard]] const LcpProblem& problem() const noexcept { return reduced_; }
  // z of the caller's problem (n) from z' of the reduced one (m), and back (a guess).
  void expand(const LcpProblem& problem, const double* z_reduced, double* z) const noexcept;
  void restrict(const double* z, double* z_reduced) const noexcept;

 private:
  bool eliminate(const LcpProblem& problem) noexcept;
  void scale(const LcpProblem& problem) noexcept;

  LcpProblem reduced_;
  std::uint32_t first_ = 0;  // row of the caller's problem that is row 0 here
  double size_ = 1;
  std::vector<double> free_, A_, b_, lo_, hi_, scale_;  // free_: n_free x (n + 1), after elimination A_ff^-1 [.., b]
  std::vector<std::int32_t> normal_, pivot_row_;        // of free unknown j: the row that gives it, or -1
};

}  // namespace tactus
