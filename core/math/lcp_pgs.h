// Projected Gauss-Seidel: one row after the other, each put where its own w is zero or at its bound. For positive
// semidefinite A without much redundancy, from a good guess; it names the active rows, a linear system gives the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/lcp_basis.h"
#include "core/math/lcp_reduction.h"

namespace tactus {

// Free rows are eliminated first. A sweep costs 2 m^2 flops. Every kPgsCheck sweeps the active rows are solved as a
// linear system and taken if that is a solution (a subspace step). Rows without a diagonal entry stay where they are.
inline constexpr std::uint32_t kPgsCheck = 20;

class PgsSolver {
 public:
  explicit PgsSolver(std::uint32_t n_max);
  // options.pivots_max: sweeps, 0: 1000. With warm, z starts it.
  LcpResult solve(const LcpProblem& problem, double* z, const LcpOptions& options = {}) noexcept;

 private:
  double sweep() noexcept;
  bool try_basis(const LcpProblem& problem, double* z, LcpResult& result) noexcept;

  LcpReduction reduction_;
  BasisSolver basis_;
  LcpProblem p_;
  std::vector<double> z_, trial_;
  std::vector<LcpState> states_;
};

}  // namespace tactus
