#include "core/math/lcp_enumerate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kGood = 1e-10;
constexpr std::uint32_t kTotalMax = 64;  // with the free rows

struct Choices {
  std::array<LcpState, 4> of{};
  std::uint32_t count = 0;
  void add(LcpState state) {
    TACTUS_DCHECK(count < of.size());
    of[count++] = state;
  }
};

Choices choices_of(const LcpProblem& problem, std::uint32_t i, bool both) {
  Choices choices;
  const bool friction = is_friction_row(problem, i);
  if (friction || problem.lo == nullptr || std::isfinite(problem.lo[i])) choices.add(LcpState::lower);
  choices.add(LcpState::active);
  if (friction || (problem.hi != nullptr && std::isfinite(problem.hi[i]))) choices.add(LcpState::upper);
  if (both) choices.add(LcpState::both);
  return choices;
}

}  // namespace

LcpResult enumerate_lcp(const LcpProblem& problem, BasisSolver& basis, double* z, std::uint32_t tries_max,
                        std::uint32_t* count) noexcept {
  LcpResult result{LcpStatus::unsupported, LcpMethod::enumeration, 0, 0, 0};
  std::fill_n(z, problem.n, 0.0);
  if (count != nullptr) *count = 0;
  if (!lcp_finite(problem)) result.status = LcpStatus::not_finite;
  if (result.status == LcpStatus::not_finite || problem.n > kTotalMax || problem.n - problem.n_free > kEnumerateMax) {
    return result;
  }
  std::array<LcpState, kTotalMax> states{};
  std::array<double, kTotalMax> trial{};
  std::array<Choices, kTotalMax> choices{};
  std::array<std::uint32_t, kTotalMax> at{};
  TACTUS_DCHECK(lcp_well_formed(problem));
  result.status = LcpStatus::no_solution;
  result.residual = std::numeric_limits<double>::infinity();
  for (const bool both : {false, true}) {
    if (both && count != nullptr) break;
    for (std::uint32_t i = problem.n_free; i < problem.n; ++i) choices[i] = choices_of(problem, i, both);
    at.fill(0);
    for (bool more = true; more;) {
      if (result.pivots >= tries_max) {
        if (result.residual > kLcpTolerance) result.status = LcpStatus::work_limit;
        return result;
      }
      ++result.pivots;
      for (std::uint32_t i = problem.n_free; i < problem.n; ++i) states[i] = choices[i].of[at[i]];
      basis.solve(problem, states.data(), trial.data(), result.flops);
      const double residual = lcp_residual(problem, trial.data());
      if (residual < result.residual) {
        result.residual = residual;
        std::copy_n(trial.begin(), problem.n, z);
      }
      if (residual <= kGood && count != nullptr) ++*count;
      if (result.residual <= kLcpTolerance) result.status = LcpStatus::solved;
      if (result.residual <= kGood && count == nullptr) return result;
      more = false;
      for (std::uint32_t i = problem.n_free; i < problem.n && !more; ++i) {
        if (++at[i] < choices[i].count) {
          more = true;
        } else {
          at[i] = 0;
        }
      }
    }
    if (result.status == LcpStatus::solved) return result;
  }
  return result;
}

}  // namespace tactus
