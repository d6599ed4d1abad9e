#include "core/math/lcp_pgs.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

PgsSolver::PgsSolver(std::uint32_t n_max)
    : reduction_(n_max), basis_(n_max), z_(n_max), trial_(n_max), states_(n_max) {}

// Returns the largest change, relative to the largest z.
double PgsSolver::sweep() noexcept {
  double change = 0, largest = 0;
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    const double* row = p_.A + std::size_t{i} * p_.n;
    double w = p_.b[i];
    for (std::uint32_t j = 0; j < p_.n; ++j) w += row[j] * z_[j];
    const LcpBounds bounds = lcp_bounds(p_, i, z_.data());
    double moved = row[i] > 1e-12 ? z_[i] - w / row[i] : z_[i];
    TACTUS_DCHECK(not_above(bounds.lo, bounds.hi));
    moved = std::min(std::max(moved, bounds.lo), bounds.hi);
    change = std::max(change, std::abs(moved - z_[i]));
    largest = std::max(largest, std::abs(moved));
    z_[i] = moved;
  }
  return largest > 0 ? change / largest : 0;
}

bool PgsSolver::try_basis(const LcpProblem& problem, double* z, LcpResult& result) noexcept {
  guess_states(p_, z_.data(), states_.data() + (problem.n - p_.n));
  reduction_.expand(problem, z_.data(), trial_.data());
  const double residual = basis_.polish(problem, states_.data(), trial_.data(), result.flops);
  if (residual < result.residual) {
    result.residual = residual;
    std::copy_n(trial_.begin(), problem.n, z);
  }
  return result.residual <= kLcpTolerance;
}

LcpResult PgsSolver::solve(const LcpProblem& problem, double* z, const LcpOptions& options) noexcept {
  LcpResult result{LcpStatus::work_limit, LcpMethod::pgs, 0, 0, 0};
  const bool finite = lcp_finite(problem);
  if (!finite || !reduction_.build(problem, false, result.flops)) {
    std::fill_n(z, problem.n, 0.0);
    result.status = finite ? LcpStatus::singular : LcpStatus::not_finite;
    if (finite) result.residual = lcp_residual(problem, z);
    return result;
  }
  p_ = reduction_.problem();
  if (options.warm) {
    reduction_.restrict(z, z_.data());
  } else {
    std::fill_n(z_.begin(), p_.n, 0.0);
    reduction_.expand(problem, z_.data(), z);
  }
  result.residual = lcp_residual(problem, z);
  const std::uint32_t sweeps = options.pivots_max > 0 ? options.pivots_max : 1000;
  bool solved = false;
  while (!solved && result.pivots < sweeps) {
    const double change = sweep();
    result.flops += 2 * std::uint64_t{p_.n} * p_.n;
    const bool still = change < 1e-15;
    if (still || ++result.pivots % kPgsCheck == 0 || result.pivots == sweeps) solved = try_basis(problem, z, result);
    if (still || (options.flops_max > 0 && result.flops > options.flops_max)) break;
  }
  if (solved) result.status = LcpStatus::solved;
  return result;
}

}  // namespace tactus
