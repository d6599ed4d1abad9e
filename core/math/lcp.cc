#include "core/math/lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace tactus {

LcpSolver::LcpSolver(std::uint32_t n_max, std::uint32_t friction_max)
    : lemke_(n_max, n_max + 2 * friction_max),
      dantzig_(n_max),
      newton_(n_max),
      pgs_(n_max),
      basis_(std::max(n_max, 1U)),
      guess_(n_max),
      trial_(n_max),
      best_(n_max),
      states_(n_max) {}

void LcpSolver::try_guess(const LcpProblem& problem, LcpResult& total) noexcept {
  guess_states(problem, guess_.data(), states_.data());
  basis_.solve(problem, states_.data(), trial_.data(), total.flops);
  total.residual = lcp_residual(problem, trial_.data());
  std::copy_n(trial_.begin(), problem.n, best_.begin());
  if (total.residual > kLcpTolerance) return;
  total.status = LcpStatus::solved;
  total.method = LcpMethod::guess;
}

void LcpSolver::attempt(LcpMethod method, const LcpProblem& problem, const LcpOptions& options,
                        LcpResult& total) noexcept {
  if (total.status == LcpStatus::solved) return;
  LcpOptions left = options;
  if (options.flops_max > 0) {
    if (total.flops >= options.flops_max) return;
    left.flops_max = options.flops_max - total.flops;
  }
  std::copy_n(guess_.begin(), problem.n, trial_.begin());
  LcpResult result;
  switch (method) {
    case LcpMethod::lemke:
      result = lemke_.solve(problem, trial_.data(), left);
      break;
    case LcpMethod::dantzig:
      result = dantzig_.solve(problem, trial_.data(), left);
      break;
    case LcpMethod::newton:
      result = newton_.solve(problem, trial_.data(), left);
      break;
    case LcpMethod::pgs:
      result = pgs_.solve(problem, trial_.data(), left);
      break;
    case LcpMethod::enumeration: {
      // A linear system of n rows costs about n^3.
      const std::uint64_t each = std::uint64_t{problem.n} * problem.n * (problem.n + 8);
      const std::uint64_t tries = left.flops_max > 0 ? left.flops_max / each : 1U << 14;
      result = enumerate_lcp(problem, basis_, trial_.data(), std::uint32_t(std::min<std::uint64_t>(tries, 1U << 14)));
      break;
    }
    case LcpMethod::none:
    case LcpMethod::guess:
      return;
  }
  total.pivots += result.pivots;
  total.flops += result.flops;
  if (result.status == LcpStatus::unsupported) return;
  if (result.residual < total.residual) {
    total.residual = result.residual;
    std::copy_n(trial_.begin(), problem.n, best_.begin());
  }
  if (result.status == LcpStatus::solved) total.method = method;
  if (result.status == LcpStatus::solved || total.status != LcpStatus::ray) total.status = result.status;
}

LcpResult LcpSolver::solve(const LcpProblem& problem, double* z, const LcpSolverOptions& options) noexcept {
  TACTUS_ASSERT(problem.n <= guess_.size() && problem.n_free <= problem.n);
  LcpResult total{LcpStatus::unsupported, LcpMethod::none, std::numeric_limits<double>::infinity(), 0, 0};
  bool finite = lcp_finite(problem), friction = false;
  if (!finite) {
    std::fill_n(z, problem.n, 0.0);
    return {LcpStatus::not_finite, LcpMethod::none, 0, 0, 0};
  }
  TACTUS_DCHECK(lcp_well_formed(problem));
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) friction = friction || is_friction_row(problem, i);
  LcpOptions common = options.common;
  for (std::uint32_t i = 0; i < problem.n && common.warm; ++i) finite = finite && std::isfinite(z[i]);
  common.warm = common.warm && finite;
  std::fill_n(guess_.begin(), problem.n, 0.0);
  if (common.warm) {
    std::copy_n(z, problem.n, guess_.begin());
    try_guess(problem, total);
  }
  if (friction) attempt(LcpMethod::dantzig, problem, common, total);
  if (total.status == LcpStatus::ray) total.status = LcpStatus::unsupported;  // Dantzig's says nothing with friction
  attempt(LcpMethod::lemke, problem, common, total);
  const bool no_solution = total.status == LcpStatus::ray && options.trust_ray;
  if (!no_solution) {
    if (!friction) attempt(LcpMethod::dantzig, problem, common, total);
    attempt(LcpMethod::newton, problem, common, total);
    attempt(LcpMethod::pgs, problem, common, total);
    if (problem.n - problem.n_free <= kEnumerateMax) attempt(LcpMethod::enumeration, problem, common, total);
  }
  TACTUS_DCHECK(total.status != LcpStatus::solved || total.residual <= kLcpTolerance);
  std::copy_n(best_.begin(), problem.n, z);
  return total;
}

}  // namespace tactus
