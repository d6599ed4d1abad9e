// A complementarity problem whose active rows are known is a linear system: solved here from the problem's own numbers,
// so that what many pivots have rounded away comes back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/echelon_lu.h"
#include "core/math/lcp_problem.h"

namespace tactus {

enum class LcpState : std::uint8_t {
  lower,   // z = lo (friction: -mu z_k)
  active,  // w = 0
  upper,   // z = hi (friction: mu z_k)
  both     // w = 0 and z = lo; enumeration of degenerate problems only
};

class BasisSolver {
 public:
  explicit BasisSolver(std::uint32_t n_max);

  // z for these states (free rows are active whatever states says), refined until rounding; then put back into its
  // bounds. About 2/3 k^3 flops for k active rows, and 2 n^2 for each refinement. Adds to flops.
  void solve(const LcpProblem& problem, const LcpState* states, double* z, std::uint64_t& flops) noexcept;

  // Residual of z. Over kLcpAccurate: solves again with the states, and keeps whichever z is better.
  double polish(const LcpProblem& problem, const LcpState* states, double* z, std::uint64_t& flops) noexcept;

 private:
  void fill(const LcpProblem& problem, const LcpState* states) noexcept;
  void put_bounds(const LcpProblem& problem, const LcpState* states, double* z) const noexcept;

  EchelonLu lu_;
  std::vector<double> r_, x_, other_;
  std::vector<std::uint32_t> rows_, unknowns_;
  std::vector<std::int32_t> column_;  // of each unknown, -1: it is at a bound
};

inline constexpr double kLcpAccurate = 1e-13;

// States that a guess of z suggests.
void guess_states(const LcpProblem& problem, const double* z, LcpState* states) noexcept;

}  // namespace tactus
