#include "core/contact/solve/contact_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr std::uint32_t kFewSweeps = 30, kManySweeps = 400;

// For checks: impulses are finite, and what their laws say of them alone.
bool obeys_laws(const ContactProblem& problem, const FrictionDisc& disc, const Vec3* p) noexcept {
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    const Vec3 moved = project_contact(problem.contact(i), disc, p[i]) - p[i];
    if (!p[i].allFinite() || moved.norm() > kRoundingCheck * p[i].norm() + 1e-300) return false;
  }
  return true;
}

}  // namespace

ContactSolver::ContactSolver(const Model& model, const Limits& limits)
    : islands_(problem_contacts_max(model, limits), problem_blocks_max(model)),
      newton_(problem_contacts_max(model, limits), problem_half_max(model), limits.problem_rows),
      lcp_(limits.pivot_rows, friction_rows(limits.pivot_rows)),
      kept_(problem_contacts_max(model, limits)),
      A_(std::size_t{limits.pivot_rows} * limits.pivot_rows),
      b_(limits.pivot_rows),
      lo_(limits.pivot_rows),
      hi_(limits.pivot_rows),
      z_(limits.pivot_rows),
      column_(problem_half_max(model)),
      normal_(limits.pivot_rows) {}

// Rows (n, s1, s2) a contact: the pyramid of corners mu p_n along +-t1, +-t2 is the box |s| <= mu p_n / sqrt(2) along
// the diagonals s1 = (t1 + t2) / sqrt(2), s2 = (t2 - t1) / sqrt(2).
void ContactSolver::load_lcp(const ContactProblem& problem, const ContactIsland& island) noexcept {
  const double half = std::sqrt(0.5);
  const auto impulse = [half](const ProblemContact& contact, std::uint32_t k) -> Vec3 {
    if (contact.rows == 1 || k == 0) return Vec3::UnitX();
    return k == 1 ? Vec3(0, half, half) : Vec3(0, -half, half);
  };
  std::uint32_t n = 0;
  for (const std::uint32_t i : island.contacts) n += problem.contact(i).rows;
  std::uint32_t row = 0;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    const std::uint32_t first = row;
    for (std::uint32_t k = 0; k < contact.rows; ++k, ++row) {
      const Vec3 e = impulse(contact, k);
      b_[row] = e.dot(contact.b);
      lo_[row] = contact.rows == 1 ? contact.lo : 0;
      hi_[row] = contact.rows == 1 ? contact.hi : k == 0 ? std::numeric_limits<double>::infinity() : contact.mu * half;
      normal_[row] = k == 0 ? -1 : static_cast<std::int32_t>(first);
      std::fill(column_.begin(), column_.end(), 0.0);
      push(problem, contact, e, column_.data());
      std::uint32_t other = 0;
      for (const std::uint32_t j : island.contacts) {
        const Vec3 c = velocity(problem, problem.contact(j), column_.data());
        for (std::uint32_t l = 0; l < problem.contact(j).rows; ++l, ++other) {
          A_[std::size_t{other} * n + row] = impulse(problem.contact(j), l).dot(c);
        }
      }
      A_[std::size_t{row} * n + row] += contact.compliance;
    }
  }
  TACTUS_DCHECK(row == n && n <= b_.size());
}

bool ContactSolver::pivot(const ContactProblem& problem, const ContactIsland& island, Vec3* p,
                          SolverWork& work) noexcept {
  std::uint32_t n = 0;
  for (const std::uint32_t i : island.contacts) n += problem.contact(i).rows;
  if (n > b_.size() || work.spent()) return false;
  load_lcp(problem, island);
  const LcpProblem lcp{n, 0, A_.data(), b_.data(), lo_.data(), hi_.data(), normal_.data()};
  LcpSolverOptions options;
  options.common.flops_max = std::min(kPivotWork, work.left);
  const LcpResult result = lcp_.solve(lcp, z_.data(), options);
  work.spend(result.flops);
  if (result.status != LcpStatus::solved) return false;
  const double half = std::sqrt(0.5);
  std::uint32_t row = 0;
  for (const std::uint32_t i : island.contacts) {
    const double* const z = z_.data() + row;
    row += problem.contact(i).rows;
    p[i] = problem.contact(i).rows == 1 ? Vec3(z[0], 0, 0) : Vec3(z[0], half * (z[1] - z[2]), half * (z[1] + z[2]));
  }
  return true;
}

ContactSolution ContactSolver::solve_island(const ContactProblem& problem, const ContactIsland& island,
                                            const FrictionDisc& disc, Vec3* p, double* u, SolverReport& report,
                                            SolverWork& work) noexcept {
  const bool fits = newton_.shape(problem, islands_, island);
  NewtonOptions soft, hard;
  if (rough_) soft.enough = kRoughTolerance;
  hard = soft;
  hard.softly = false;
  ContactSolution best;
  best.residual = std::numeric_limits<double>::infinity();
  const auto keep = [&](const ContactSolution& found) {
    best.iterations += found.iterations;
    if (!(found.residual < best.residual)) return;
    best.residual = found.residual;
    for (const std::uint32_t i : island.contacts) kept_[i] = p[i];
  };
  if (fits) {
    keep(newton_.solve(problem, island, disc, p, u, work, soft));
    if (best.residual <= tolerance()) return best;
  }
  ++report.fallbacks;
  for (const std::uint32_t i : island.contacts) p[i].setZero();
  sum_impulses(problem, island, p, u);
  work.spend(kLookWork * island.contacts.size() * (fits ? kFewSweeps : kManySweeps));
  keep({sweep_island(problem, island, disc, fits ? kFewSweeps : kManySweeps, p, u), 0});
  if (fits && best.residual > tolerance()) keep(newton_.solve(problem, island, disc, p, u, work, hard));
  if (fits && best.residual > tolerance() && pivot(problem, island, p, work)) {
    keep(newton_.solve(problem, island, disc, p, u, work, soft));
  }
  if (best.residual > tolerance()) {
    for (const std::uint32_t i : island.contacts) p[i] = best.residual < 1 ? kept_[i] : Vec3::Zero();
    sum_impulses(problem, island, p, u);
    work.spend(kLookWork * island.contacts.size() * kManySweeps);
    keep({sweep_island(problem, island, disc, kManySweeps, p, u), 0});
  }
  TACTUS_DCHECK(not_below(best.residual, 0));
  const bool usable = best.residual < std::numeric_limits<double>::infinity();
  for (const std::uint32_t i : island.contacts) p[i] = usable ? kept_[i] : Vec3::Zero();
  sum_impulses(problem, island, p, u);
  if (best.residual > tolerance()) ++report.failures;
  return best;
}

SolverReport ContactSolver::solve(const ContactProblem& problem, std::uint32_t friction_directions, Vec3* p, double* u,
                                  SolverWork& work, bool rough) noexcept {
  SolverReport report;
  rough_ = rough;
  const FrictionDisc disc(friction_directions);
  std::fill_n(u, problem.half_size(), 0.0);
  islands_.split(problem);
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    if (!p[i].allFinite()) p[i].setZero();
    p[i] = project_contact(problem.contact(i), disc, p[i]);
  }
  for (std::uint32_t k = 0; k < islands_.count(); ++k) {
    const ContactSolution found = solve_island(problem, islands_.island(k), disc, p, u, report, work);
    report.iterations += found.iterations;
    report.residual = std::max(report.residual, found.residual);
  }
  TACTUS_DCHECK(obeys_laws(problem, disc, p));
  return report;
}

}  // namespace tactus
