// Convex quadratic programs with bounds: what a linear complementarity problem with a symmetric positive semidefinite A
// is the optimality condition of, solved by descent instead of pivots.
//   min z^T A z / 2 + b^T z,   lo <= z <= hi
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/lcp_basis.h"

namespace tactus {

// Dostal & Schoeberl's MPRGP (Minimizing quadratic functions subject to bound constraints, 2005): conjugate gradients
// on the variables between their bounds, a projected step where one of them arrives, a step along the chopped gradient
// where a bound has to be left. The value falls with every step, so redundant rows (semidefinite A) do no harm. Once it
// is near, the linear system of the variables between their bounds is tried (lcp_basis.h). Where the program has no
// minimum (b outside of A's range) it ends at its bound on steps. A step costs n^2.
class BoxQpSolver {
 public:
  explicit BoxQpSolver(std::uint32_t n_max);

  // problem: without free or friction rows (else unsupported); A symmetric. z: in, a guess, cut to its bounds; out.
  // result.pivots: steps. solved: lcp_residual at most kLcpTolerance.
  LcpResult solve(const LcpProblem& problem, double* z) noexcept;

 private:
  enum class Step : std::uint8_t { inside, arrived, unbounded };
  void multiply(const LcpProblem& problem, const std::vector<double>& x) noexcept;
  void find_gradient(const LcpProblem& problem) noexcept;
  [[nodiscard]] double room(const LcpProblem& problem, const std::vector<double>& direction) const noexcept;
  void move(const LcpProblem& problem, double step, const std::vector<double>& direction) noexcept;
  void leave_bounds(const LcpProblem& problem) noexcept;
  Step descend(const LcpProblem& problem) noexcept;

  std::uint64_t flops_ = 0;
  double norm_ = 0;  // bound on A's largest eigenvalue
  BasisSolver basis_;
  std::vector<double> z_, gradient_, free_, chopped_, direction_, product_, turned_;
  std::vector<LcpState> states_;
};

}  // namespace tactus
