#include "core/math/lcp_newton.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {
namespace {

constexpr double kDependentColumn = 1e-12;
constexpr double kArmijo = 1e-4;
constexpr int kHalvings = 14;

double fischer_burmeister(double a, double b) {
  return a + b - std::sqrt(a * a + b * b);
}

struct Pair {
  double a, b;
};
// An element of the generalised gradient; at the kink the direction (1, 1).
Pair gradient_of(double a, double b) {
  const double r = std::sqrt(a * a + b * b);
  if (r < 1e-14) return {1 - std::sqrt(0.5), 1 - std::sqrt(0.5)};
  return {1 - a / r, 1 - b / r};
}

}  // namespace

NewtonSolver::NewtonSolver(std::uint32_t n_max)
    : reduction_(n_max),
      basis_(n_max),
      lu_(n_max, n_max),
      J_(std::size_t{n_max} * n_max),
      z_(n_max),
      w_(n_max),
      phi_(n_max),
      step_(n_max),
      gradient_(n_max),
      trial_z_(n_max),
      trial_w_(n_max),
      trial_phi_(n_max),
      states_(n_max) {}

// phi and w of z (w in trial_w_); returns |phi|^2 / 2.
double NewtonSolver::evaluate(const double* z, double* phi) noexcept {
  double merit = 0;
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    const double* row = p_.A + std::size_t{i} * p_.n;
    double w = p_.b[i];
    for (std::uint32_t j = 0; j < p_.n; ++j) w += row[j] * z[j];
    trial_w_[i] = w;
    if (i < p_.n_free) {
      phi[i] = w;
    } else {
      const LcpBounds bounds = lcp_bounds(p_, i, z);
      const double inner = std::isfinite(bounds.hi) ? -fischer_burmeister(bounds.hi - z[i], -w) : w;
      phi[i] = std::isfinite(bounds.lo) ? fischer_burmeister(z[i] - bounds.lo, inner) : inner;
    }
    merit += phi[i] * phi[i];
  }
  flops_ += 2 * std::uint64_t{p_.n} * p_.n;
  return merit / 2;
}

NewtonSolver::Slopes NewtonSolver::slopes(std::uint32_t i) const noexcept {
  if (i < p_.n_free) return {0, 1, 0};
  const LcpBounds bounds = lcp_bounds(p_, i, z_.data());
  double z = 0, w = 1, hi = 0, inner = w_[i];  // inner = -phi(hi - z, -w)
  if (std::isfinite(bounds.hi)) {
    const Pair g = gradient_of(bounds.hi - z_[i], -w_[i]);
    inner = -fischer_burmeister(bounds.hi - z_[i], -w_[i]);
    z = g.a;
    w = g.b;
    hi = -g.a;
  }
  double lo = 0;
  if (std::isfinite(bounds.lo)) {
    const Pair g = gradient_of(z_[i] - bounds.lo, inner);
    z = g.a + g.b * z;
    w *= g.b;
    hi *= g.b;
    lo = -g.a;
  }
  const bool moves = is_friction_row(p_, i) && z_[p_.normal[i]] > 0;
  return {z, w, moves ? p_.hi[i] * (hi - lo) : 0};
}

void NewtonSolver::linearise() noexcept {
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    const Slopes s = slopes(i);
    const double* source = p_.A + std::size_t{i} * p_.n;
    double* const row = &J_[std::size_t{i} * p_.n];
    for (std::uint32_t j = 0; j < p_.n; ++j) row[j] = s.w * source[j];
    row[i] += s.z;
    if (s.normal != 0) row[p_.normal[i]] += s.normal;
  }
  std::fill_n(gradient_.begin(), p_.n, 0.0);
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    const double* const row = &J_[std::size_t{i} * p_.n];
    for (std::uint32_t j = 0; j < p_.n; ++j) gradient_[j] += row[j] * phi_[i];
  }
}

// False: the Jacobian is singular, or the step does not descend.
bool NewtonSolver::newton_step() noexcept {
  lu_.resize(p_.n, p_.n);
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    std::copy_n(&J_[std::size_t{i} * p_.n], p_.n, lu_.row(i));
    trial_phi_[i] = -phi_[i];
  }
  lu_.factor(kDependentColumn);
  flops_ += lu_.flops();
  lu_.solve(trial_phi_.data(), step_.data());
  double descent = 0, size = 0;
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    descent += gradient_[i] * step_[i];
    size += step_[i] * step_[i];
  }
  return lu_.rank() == p_.n && std::isfinite(size) && descent < -1e-10 * size;
}

void NewtonSolver::levenberg_step() noexcept {
  const double lambda = 1e-3 * std::min(1.0, std::sqrt(2 * merit_)) + 1e-12;
  TACTUS_DCHECK(not_below(lambda, 1e-12));  // or J^T J, which is semidefinite, is all there is
  lu_.resize(p_.n, p_.n);
  for (std::uint32_t i = 0; i < p_.n; ++i) std::fill_n(lu_.row(i), p_.n, 0.0);
  for (std::uint32_t k = 0; k < p_.n; ++k) {
    const double* const line = &J_[std::size_t{k} * p_.n];
    for (std::uint32_t i = 0; i < p_.n; ++i) {
      double* const row = lu_.row(i);
      for (std::uint32_t j = 0; j < p_.n; ++j) row[j] += line[i] * line[j];
    }
  }
  for (std::uint32_t i = 0; i < p_.n; ++i) {
    lu_.row(i)[i] += lambda;
    trial_phi_[i] = -gradient_[i];
  }
  lu_.factor(kDependentColumn);
  flops_ += lu_.flops() + 2 * std::uint64_t{p_.n} * p_.n * p_.n;
  lu_.solve(trial_phi_.data(), step_.data());
}

bool NewtonSolver::search() noexcept {
  double descent = 0;
  for (std::uint32_t i = 0; i < p_.n; ++i) descent += gradient_[i] * step_[i];
  double length = 1;
  for (int k = 0; k < kHalvings; ++k, length /= 2) {
    for (std::uint32_t i = 0; i < p_.n; ++i) trial_z_[i] = z_[i] + length * step_[i];
    const double merit = evaluate(trial_z_.data(), trial_phi_.data());
    if (!(merit <= merit_ + kArmijo * length * std::min(descent, 0.0)) || !(merit < merit_)) continue;
    merit_ = merit;
    std::swap(z_, trial_z_);
    std::swap(phi_, trial_phi_);
    std::swap(w_, trial_w_);
    return true;
  }
  return false;
}

// The rows that z and w name as active, solved as a linear system of the caller's problem; else z itself.
bool NewtonSolver::try_basis(const LcpProblem& problem, double* z, LcpResult& result) noexcept {
  for (std::uint32_t i = p_.n_free; i < p_.n; ++i) {
    const LcpBounds bounds = lcp_bounds(p_, i, z_.data());
    states_[i] = LcpState::active;
    if (w_[i] < 0 && bounds.hi - z_[i] < -w_[i]) states_[i] = LcpState::upper;
    if (w_[i] > 0 && z_[i] - bounds.lo < w_[i]) states_[i] = LcpState::lower;
  }
  reduction_.expand(problem, z_.data(), trial_phi_.data());
  const double residual = basis_.polish(problem, states_.data(), trial_phi_.data(), flops_);
  if (residual < result.residual) {
    result.residual = residual;
    std::copy_n(trial_phi_.begin(), problem.n, z);
  }
  return result.residual <= kLcpTolerance;
}

bool NewtonSolver::iterate(const LcpProblem& problem, double* z, std::uint32_t iterations, const LcpOptions& options,
                           LcpResult& result) noexcept {
  merit_ = evaluate(z_.data(), phi_.data());
  std::swap(w_, trial_w_);
  for (std::uint32_t k = 0; k < iterations; ++k) {
    if (options.flops_max > 0 && flops_ > options.flops_max) break;
    if (std::sqrt(2 * merit_) < 1e-5 && try_basis(problem, z, result)) return true;
    if (std::sqrt(2 * merit_) < 1e-14) break;
    if (options.pivots_max > 0 && result.pivots >= options.pivots_max) break;
    linearise();
    ++result.pivots;
    if (newton_step() && search()) continue;
    if (options.pivots_max > 0 && result.pivots >= options.pivots_max) break;
    levenberg_step();
    ++result.pivots;
    if (!search()) break;
  }
  return try_basis(problem, z, result);
}

LcpResult NewtonSolver::solve(const LcpProblem& problem, double* z, const LcpOptions& options) noexcept {
  LcpResult result{LcpStatus::not_finite, LcpMethod::newton, 0, 0, 0};
  if (!lcp_finite(problem)) {
    std::fill_n(z, problem.n, 0.0);
    return result;
  }
  flops_ = 0;
  reduction_.build(problem, true, flops_);
  p_ = reduction_.problem();
  const std::uint32_t iterations = options.pivots_max > 0 ? options.pivots_max : 60;
  bool solved = false;
  for (std::uint32_t start = options.warm ? 0 : 1; start < 3 && !solved; ++start) {
    if (start == 0) {
      reduction_.restrict(z, z_.data());
    } else {
      std::fill_n(z_.begin(), p_.n, start == 1 ? 0.0 : 1.0);
    }
    if (result.pivots == 0) {
      if (start > 0) std::fill_n(z, problem.n, 0.0);
      result.residual = lcp_residual(problem, z);
    }
    const std::uint32_t left = iterations > result.pivots ? iterations - result.pivots : 0;
    if (options.pivots_max > 0 && left == 0) break;
    solved = iterate(problem, z, options.pivots_max > 0 ? left : iterations, options, result);
  }
  result.flops = flops_;
  result.status = solved ? LcpStatus::solved : LcpStatus::work_limit;
  return result;
}

}  // namespace tactus
