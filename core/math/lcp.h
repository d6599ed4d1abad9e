// The front door of the complementarity solvers: one problem in, a solution or the reason why not, by the method that
// is quickest for its kind, and by the next where that fails.
#pragma once

#include "core/math/lcp_dantzig.h"
#include "core/math/lcp_enumerate.h"
#include "core/math/lcp_lemke.h"
#include "core/math/lcp_newton.h"
#include "core/math/lcp_pgs.h"
#include "core/math/lcp_problem.h"

namespace tactus {

struct LcpSolverOptions {
  LcpOptions common;  // pivots_max: of each method; flops_max: of all together
  // A is positive semidefinite or copositive-plus: Lemke's ray proves that there is no solution, nothing else is tried.
  bool trust_ray = false;
};

// Of contacts with friction two rows of three.
[[nodiscard]] constexpr std::uint32_t friction_rows(std::uint32_t rows) noexcept {
  return 2 * rows / 3 + 1;
}

// Order (core/math/README.md says why): the guess's active rows as they are (with warm); then Dantzig and Lemke where
// there are friction rows, Lemke and Dantzig elsewhere; Newton; projected Gauss-Seidel; enumeration of at most
// kEnumerateMax rows. On failure z is the best that any of them left, the status Lemke's ray if it ended so.
class LcpSolver {
 public:
  // n_max: rows; friction_max: how many of them may be friction rows (each three rows of Lemke's table).
  explicit LcpSolver(std::uint32_t n_max, std::uint32_t friction_max = 0);
  // result.method: who solved it; pivots and flops: of all that were tried.
  LcpResult solve(const LcpProblem& problem, double* z, const LcpSolverOptions& options = {}) noexcept;

 private:
  void try_guess(const LcpProblem& problem, LcpResult& total) noexcept;
  void attempt(LcpMethod method, const LcpProblem& problem, const LcpOptions& options, LcpResult& total) noexcept;

  LemkeSolver lemke_;
  DantzigSolver dantzig_;
  NewtonSolver newton_;
  PgsSolver pgs_;
  BasisSolver basis_;
  std::vector<double> guess_, trial_, best_;
  std::vector<LcpState> states_;
};

}  // namespace tactus
