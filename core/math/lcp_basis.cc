#include "core/math/lcp_basis.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kDependent = 1e-11;  // of a column's largest entry
constexpr int kRefinements = 3;

bool has_equation(const LcpProblem& problem, const LcpState* states, std::uint32_t i) {
  return i < problem.n_free || states[i] == LcpState::active || states[i] == LcpState::both;
}

bool is_unknown(const LcpProblem& problem, const LcpState* states, std::uint32_t i) {
  return i < problem.n_free || states[i] == LcpState::active;
}

// z at its bound is this many times the unknown normal; 0 where the bound is a number.
double slope_at_bound(const LcpProblem& problem, const LcpState* states, std::uint32_t i) {
  if (!is_friction_row(problem, i) || states[i] == LcpState::active) return 0;
  return states[i] == LcpState::upper ? problem.hi[i] : -problem.hi[i];
}

}  // namespace

BasisSolver::BasisSolver(std::uint32_t n_max)
    : lu_(n_max, n_max), r_(n_max), x_(n_max), other_(n_max), rows_(n_max), unknowns_(n_max), column_(n_max) {
  rows_.clear();
  unknowns_.clear();
}

void BasisSolver::fill(const LcpProblem& problem, const LcpState* states) noexcept {
  rows_.clear();
  unknowns_.clear();
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    column_[i] = is_unknown(problem, states, i) ? static_cast<std::int32_t>(unknowns_.size()) : -1;
    if (column_[i] >= 0) unknowns_.push_back(i);
    if (has_equation(problem, states, i)) rows_.push_back(i);
  }
  TACTUS_DCHECK(rows_.size() >= unknowns_.size() && rows_.size() <= r_.size());  // no list has grown
  lu_.resize(static_cast<std::uint32_t>(rows_.size()), static_cast<std::uint32_t>(unknowns_.size()));
  for (std::uint32_t k = 0; k < rows_.size(); ++k) {
    const double* source = problem.A + std::size_t{rows_[k]} * problem.n;
    double* const row = lu_.row(k);
    for (std::uint32_t l = 0; l < unknowns_.size(); ++l) row[l] = source[unknowns_[l]];
    if (problem.normal == nullptr) continue;
    for (std::uint32_t j = problem.n_free; j < problem.n; ++j) {
      const double slope = slope_at_bound(problem, states, j);
      if (slope == 0) continue;
      const std::int32_t c = column_[problem.normal[j]];
      if (c >= 0) row[c] += slope * source[j];
    }
  }
  lu_.factor(kDependent);
}

void BasisSolver::put_bounds(const LcpProblem& problem, const LcpState* states, double* z) const noexcept {
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    if (is_friction_row(problem, i) || states[i] == LcpState::active) continue;
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    z[i] = states[i] == LcpState::upper ? bounds.hi : bounds.lo;
    if (!std::isfinite(z[i])) z[i] = 0;
  }
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    const double slope = slope_at_bound(problem, states, i);
    if (is_friction_row(problem, i) && states[i] != LcpState::active) z[i] = slope * z[problem.normal[i]];
  }
}

void BasisSolver::solve(const LcpProblem& problem, const LcpState* states, double* z, std::uint64_t& flops) noexcept {
  TACTUS_ASSERT(problem.n <= r_.size());
  fill(problem, states);
  flops += lu_.flops();
  std::fill_n(z, problem.n, 0.0);
  put_bounds(problem, states, z);
  for (int round = 0; round < kRefinements; ++round) {
    for (std::uint32_t k = 0; k < rows_.size(); ++k) {
      const double* row = problem.A + std::size_t{rows_[k]} * problem.n;
      double w = problem.b[rows_[k]];
      for (std::uint32_t j = 0; j < problem.n; ++j) w += row[j] * z[j];
      r_[k] = -w;
    }
    lu_.solve(r_.data(), x_.data());
    for (std::uint32_t l = 0; l < unknowns_.size(); ++l) z[unknowns_[l]] += x_[l];
    put_bounds(problem, states, z);
    flops += 4 * std::uint64_t{problem.n} * rows_.size();
  }
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    if (is_friction_row(problem, i)) continue;
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    if (std::isfinite(z[i])) z[i] = std::min(std::max(z[i], bounds.lo), bounds.hi);
  }
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    if (!is_friction_row(problem, i) || !std::isfinite(z[i])) continue;
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    z[i] = std::min(std::max(z[i], bounds.lo), bounds.hi);
  }
}

double BasisSolver::polish(const LcpProblem& problem, const LcpState* states, double* z,
                           std::uint64_t& flops) noexcept {
  const double before = lcp_residual(problem, z);
  flops += 3 * std::uint64_t{problem.n} * problem.n;
  if (before <= kLcpAccurate) return before;
  solve(problem, states, other_.data(), flops);
  const double after = lcp_residual(problem, other_.data());
  if (!(after < before)) return before;
  std::copy_n(other_.begin(), problem.n, z);
  return after;
}

void guess_states(const LcpProblem& problem, const double* z, LcpState* states) noexcept {
  TACTUS_DCHECK(problem.n_free <= problem.n && lcp_well_formed(problem));
  double largest = 0;
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) largest = std::max(largest, std::abs(z[i]));
  const double margin = 1e-12 * largest;
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    states[i] = LcpState::active;
    if (i < problem.n_free) continue;
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    if (z[i] >= bounds.hi - margin) states[i] = LcpState::upper;
    if (z[i] <= bounds.lo + margin) states[i] = LcpState::lower;
  }
}

}  // namespace tactus
