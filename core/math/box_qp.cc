#include "core/math/box_qp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {
namespace {

constexpr std::uint32_t kCheckEvery = 16;
constexpr double kNear = 1e-5;  // residual from which the linear system is tried

double dot(const std::vector<double>& a, const std::vector<double>& b, std::uint32_t n) noexcept {
  double sum = 0;
  for (std::uint32_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

bool is_supported(const LcpProblem& problem) noexcept {
  bool friction = false;
  for (std::uint32_t i = 0; i < problem.n; ++i) friction = friction || is_friction_row(problem, i);
  return problem.n_free == 0 && !friction;
}

}  // namespace

BoxQpSolver::BoxQpSolver(std::uint32_t n_max)
    : basis_(std::max(n_max, 1U)),
      z_(n_max),
      gradient_(n_max),
      free_(n_max),
      chopped_(n_max),
      direction_(n_max),
      product_(n_max),
      turned_(n_max),
      states_(n_max) {}

void BoxQpSolver::multiply(const LcpProblem& problem, const std::vector<double>& x) noexcept {
  const std::uint32_t n = problem.n;
  for (std::uint32_t i = 0; i < n; ++i) {
    const double* const row = problem.A + std::size_t{i} * n;
    double sum = 0;
    for (std::uint32_t j = 0; j < n; ++j) sum += row[j] * x[j];
    product_[i] = sum;
  }
  flops_ += 2 * std::uint64_t{n} * n;
}

// The gradient in two parts: of variables between their bounds, and of those that want to leave one.
void BoxQpSolver::find_gradient(const LcpProblem& problem) noexcept {
  multiply(problem, z_);
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    const LcpBounds bounds = lcp_bounds(problem, i, z_.data());
    const double g = gradient_[i] = product_[i] + problem.b[i];
    const bool lower = z_[i] <= bounds.lo, upper = z_[i] >= bounds.hi;
    free_[i] = lower || upper ? 0 : g;
    chopped_[i] = lower && upper ? 0 : lower ? std::min(g, 0.0) : upper ? std::max(g, 0.0) : 0;
  }
}

// The longest step against a direction that keeps all bounds.
double BoxQpSolver::room(const LcpProblem& problem, const std::vector<double>& direction) const noexcept {
  double step = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    const LcpBounds bounds = lcp_bounds(problem, i, z_.data());
    if (direction[i] > 0) step = std::min(step, (z_[i] - bounds.lo) / direction[i]);
    if (direction[i] < 0) step = std::min(step, (z_[i] - bounds.hi) / direction[i]);
  }
  return std::max(step, 0.0);
}

void BoxQpSolver::move(const LcpProblem& problem, double step, const std::vector<double>& direction) noexcept {
  TACTUS_DCHECK(direction.size() >= problem.n);
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    const LcpBounds bounds = lcp_bounds(problem, i, z_.data());
    z_[i] = std::clamp(z_[i] - step * direction[i], bounds.lo, bounds.hi);
  }
}

void BoxQpSolver::leave_bounds(const LcpProblem& problem) noexcept {
  TACTUS_DCHECK(norm_ > 0);
  multiply(problem, chopped_);
  const double curvature = dot(chopped_, product_, problem.n), slope = dot(chopped_, chopped_, problem.n);
  const double wanted = curvature > 0 ? slope / curvature : 1 / norm_;
  move(problem, std::min(wanted, room(problem, chopped_)), chopped_);
  find_gradient(problem);
  direction_ = free_;
}

// A step of conjugate gradients, or, where a variable arrives at its bound, to there and a projected step on.
BoxQpSolver::Step BoxQpSolver::descend(const LcpProblem& problem) noexcept {
  const std::uint32_t n = problem.n;
  multiply(problem, direction_);
  const double curvature = dot(direction_, product_, n), slope = dot(gradient_, direction_, n);
  const double most = room(problem, direction_);
  if (curvature > 0 && slope / curvature <= most) {
    move(problem, slope / curvature, direction_);
    std::copy_n(product_.begin(), n, turned_.begin());
    find_gradient(problem);
    const double beta = dot(free_, turned_, n) / curvature;
    for (std::uint32_t i = 0; i < n; ++i) direction_[i] = free_[i] - beta * direction_[i];
    return Step::inside;
  }
  if (!std::isfinite(most)) return Step::unbounded;
  move(problem, most, direction_);
  find_gradient(problem);
  move(problem, 1 / norm_, free_);
  find_gradient(problem);
  direction_ = free_;
  return Step::arrived;
}

LcpResult BoxQpSolver::solve(const LcpProblem& problem, double* z) noexcept {
  const std::uint32_t n = problem.n;
  LcpResult result;
  if (!lcp_finite(problem) || !is_supported(problem)) {
    std::fill_n(z, n, 0.0);
    result.status = lcp_finite(problem) ? LcpStatus::unsupported : LcpStatus::not_finite;
    return result;
  }
  TACTUS_ASSERT(n <= z_.size());
  TACTUS_DCHECK(is_symmetric(problem.A, n));
  flops_ = 0;
  norm_ = std::numeric_limits<double>::min();
  for (std::uint32_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::uint32_t j = 0; j < n; ++j) sum += std::abs(problem.A[std::size_t{i} * n + j]);
    norm_ = std::max(norm_, sum);
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    z_[i] = std::clamp(std::isfinite(z[i]) ? z[i] : 0.0, bounds.lo, bounds.hi);
  }
  find_gradient(problem);
  direction_ = free_;
  const std::uint32_t most = 40 * n + 100;
  std::uint32_t check = kCheckEvery;
  bool ends = false;
  while (!ends && result.pivots < most) {
    ++result.pivots;
    const double free = dot(free_, free_, n), chopped = dot(chopped_, chopped_, n);
    ends = free + chopped == 0;
    if (!ends && chopped > free) {
      leave_bounds(problem);
    } else if (!ends) {
      ends = descend(problem) == Step::unbounded;
    }
    if (!ends && result.pivots < check) continue;
    check = result.pivots + std::max(kCheckEvery, result.pivots / 4);
    if (lcp_residual(problem, z_.data()) > kNear) continue;
    guess_states(problem, z_.data(), states_.data());
    std::copy_n(z_.begin(), n, z);
    if (basis_.polish(problem, states_.data(), z, flops_) <= 1e-2 * kLcpTolerance) break;
  }
  if (!(lcp_residual(problem, z) <= lcp_residual(problem, z_.data()))) std::copy_n(z_.begin(), n, z);
  TACTUS_DCHECK(lcp_within_bounds(problem, z));
  result.flops = flops_;
  result.residual = lcp_residual(problem, z);
  result.status = result.residual <= kLcpTolerance ? LcpStatus::solved
                  : result.pivots >= most          ? LcpStatus::work_limit
                                                   : LcpStatus::inaccurate;
  return result;
}

}  // namespace tactus
