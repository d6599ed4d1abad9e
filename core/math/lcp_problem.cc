#include "core/math/lcp_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundingOfZ = 1e-13;  // of the largest

}  // namespace

LcpBounds lcp_bounds(const LcpProblem& problem, std::uint32_t i, const double* z) noexcept {
  TACTUS_DCHECK(i >= problem.n_free && i < problem.n);
  if (is_friction_row(problem, i)) {
    TACTUS_DCHECK(not_below(problem.hi[i], 0) && std::uint32_t(problem.normal[i]) < problem.n);
    const double limit = problem.hi[i] * std::max(z[problem.normal[i]], 0.0);
    return {-limit, limit};
  }
  return {problem.lo != nullptr ? problem.lo[i] : 0.0, problem.hi != nullptr ? problem.hi[i] : kInfinity};
}

double lcp_residual(const LcpProblem& problem, const double* z) noexcept {
  double z_scale = 0, largest = 0, worst = 0;
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    if (!std::isfinite(z[i])) return kInfinity;
    largest = std::max(largest, std::abs(z[i]));
    if (i >= problem.n_free) z_scale = std::max(z_scale, std::abs(z[i]));
  }
  const double per_z = z_scale > 0 ? 1 / z_scale : 1;
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    const double* row = problem.A + std::size_t{i} * problem.n;
    double w = problem.b[i], w_scale = std::abs(w), entry = 0;
    for (std::uint32_t j = 0; j < problem.n; ++j) {
      const double term = row[j] * z[j];
      w += term;
      w_scale += std::abs(term);
      entry = std::max(entry, std::abs(row[j]));
    }
    w_scale += kRoundingOfZ / kLcpTolerance * entry * largest;
    if (!std::isfinite(w)) return kInfinity;
    const double w_relative = w_scale > 0 ? w / w_scale : 0;
    if (i < problem.n_free) {
      worst = std::max(worst, std::abs(w_relative));
      continue;
    }
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    const double above = (z[i] - bounds.lo) * per_z, below = (bounds.hi - z[i]) * per_z;
    worst = std::max({worst, -above, -below, std::min(w_relative, above), std::min(-w_relative, below)});
  }
  return worst;
}

bool lcp_well_formed(const LcpProblem& problem) noexcept {
  if (problem.n_free > problem.n) return false;
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    if (is_friction_row(problem, i)) {
      const auto k = static_cast<std::uint32_t>(problem.normal[i]);
      if (k < problem.n_free || k >= problem.n || is_friction_row(problem, k) || problem.hi == nullptr) return false;
    } else if (problem.lo != nullptr && problem.hi != nullptr && problem.lo[i] > problem.hi[i]) {
      return false;
    }
  }
  return true;
}

bool lcp_within_bounds(const LcpProblem& problem, const double* z) noexcept {
  for (std::uint32_t i = problem.n_free; i < problem.n; ++i) {
    const LcpBounds bounds = lcp_bounds(problem, i, z);
    if (z[i] < bounds.lo || z[i] > bounds.hi) return false;
  }
  return true;
}

bool lcp_finite(const LcpProblem& problem) noexcept {
  const std::size_t entries = std::size_t{problem.n} * problem.n;
  for (std::size_t k = 0; k < entries; ++k) {
    if (!std::isfinite(problem.A[k])) return false;
  }
  for (std::uint32_t i = 0; i < problem.n; ++i) {
    if (!std::isfinite(problem.b[i])) return false;
    if (i < problem.n_free) continue;
    if (problem.lo != nullptr && !is_friction_row(problem, i) && !(problem.lo[i] < kInfinity)) return false;
    if (problem.hi != nullptr && !(problem.hi[i] > -kInfinity)) return false;
    if (is_friction_row(problem, i) && !(problem.hi[i] >= 0 && problem.hi[i] < kInfinity)) return false;
  }
  return true;
}

}  // namespace tactus
