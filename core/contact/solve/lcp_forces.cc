#include "core/contact/solve/lcp_forces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kTolerance = kLcpTolerance;
constexpr std::uint32_t kFewRows = 64;    // of a robot's island: pivoting first
constexpr std::uint32_t kCheapRows = 24;  // up to this pivoting decides whether there are forces
constexpr int kTurns = 30;                // of a pyramid's axes
constexpr int kRounds = 8;                // of contacts whose slip turns
constexpr std::uint32_t kFirstSweeps = 30, kSweeps = 400;
constexpr double kTurned = 1e-12;  // slip against its direction that is none, of the velocities there

// n . K (n - mu slip): what a contact's own force does to its normal velocity while it slides.
double sliding_mobility(const ProblemContact& contact) noexcept {
  TACTUS_DCHECK(contact.rows == 3 && is_unit(contact.slip));
  const Vec3 column(1, -contact.mu * contact.slip[0], -contact.mu * contact.slip[1]);
  double sum = 0;
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    for (std::uint32_t k = 0; k < side.size; ++k) {
      const Eigen::Map<const Vec3> y(side.Y + std::size_t{3} * k);
      sum += y[0] * y.dot(column);
    }
  }
  return sum;
}

// Friction that points where it points, whatever the forces: there may be no answer.
bool slides(const ContactProblem& problem, const ContactIsland& island) noexcept {
  return std::any_of(island.contacts.begin(), island.contacts.end(), [&](std::uint32_t i) {
    const ProblemContact& contact = problem.contact(i);
    return contact.rows == 3 && contact.law == ContactLaw::sliding && contact.mu > 0;
  });
}

}  // namespace

LcpForces::LcpForces(const Model& model, const Limits& limits)
    : islands_(problem_contacts_max(model, limits), problem_blocks_max(model)),
      newton_(problem_contacts_max(model, limits), problem_half_max(model), limits.problem_rows),
      rows_(limits.pivot_rows, problem_half_max(model)),
      lcp_(limits.pivot_rows, friction_rows(limits.pivot_rows)),
      qp_(limits.pivot_rows),
      disc_(0),
      kept_(problem_contacts_max(model, limits)),
      guess_(problem_contacts_max(model, limits)),
      z_(limits.pivot_rows) {}

// Sets u and the residual of the job's p: island_residual, or infinity where the forces would give energy.
void LcpForces::judge(Job& job) noexcept {
  sum_impulses(job.problem, job.island, job.p, job.u);
  job.residual = island_residual(job.problem, job.island, disc_, job.p, job.u);
  if (gives_energy(job.problem, job.island, job.p, job.u)) job.residual = std::numeric_limits<double>::infinity();
}

void LcpForces::newton(Job& job, bool may_lack) noexcept {
  NewtonOptions options;
  options.may_lack = may_lack;
  const ContactSolution found = newton_.solve(job.problem, job.island, disc_, job.p, job.u, work_, options);
  job.report.iterations += found.iterations;
  judge(job);
}

// p of the dense problem, where a method solves it; else p stays. A pyramid's answer may lie outside of the cone, at a
// corner: its axes turn to where friction points, and it is solved again from there.
void LcpForces::dense(Job& job, bool qp, bool warm) noexcept {
  for (int turn = 0; turn < kTurns; ++turn) {
    if (work_.spent() || !rows_.load(job.problem, job.island)) return;
    const LcpProblem lcp = rows_.view();
    rows_.to_rows(job.problem, job.island, job.p, z_.data());
    LcpSolverOptions options;
    options.common.warm = warm || turn > 0;
    options.common.flops_max = std::min(kPivotWork, work_.left);
    const LcpResult result = qp ? qp_.solve(lcp, z_.data()) : lcp_.solve(lcp, z_.data(), options);
    job.report.iterations += result.pivots;
    work_.spend(result.flops);
    if (result.status != LcpStatus::solved) return;
    rows_.from_rows(job.problem, job.island, z_.data(), job.p);
    bool outside = false;
    for (const std::uint32_t i : job.island.contacts) {
      ProblemContact& contact = job.problem.contact(i);
      if (contact.rows == 1 || contact.law != ContactLaw::cone) continue;
      const Eigen::Vector2d t = job.p[i].tail<2>();
      const double size = t.norm();
      if (size > contact.mu * job.p[i][0]) contact.slip = t / size, outside = true;
      job.p[i] = project_contact(contact, disc_, job.p[i]);
    }
    judge(job);
    if (!outside || job.residual <= kTolerance) return;
  }
}

// One round with the laws as they are. True: solved.
bool LcpForces::attempt(Job& job) noexcept {
  for (const std::uint32_t i : job.island.contacts) {
    guess_[i] = job.p[i];
    ProblemContact& contact = job.problem.contact(i);
    if (contact.rows == 1 || contact.law != ContactLaw::cone) continue;
    // Friction will point against what would move, or as it did.
    const Eigen::Vector2d last = job.p[i].tail<2>(), tendency = contact.b.tail<2>();
    const Eigen::Vector2d& along = last.norm() > 0 ? last : tendency;
    const double size = along.norm();
    if (size > 0) contact.slip = along / size;
    TACTUS_DCHECK(is_unit(contact.slip));
  }
  job.residual = std::numeric_limits<double>::infinity();
  const bool newton_asked = job.method == ForceMethod::automatic && !job.pivots,
             newton_first = newton_asked && job.fits;
  job.by_first = newton_first || !newton_asked;
  const auto restart = [&] {
    for (const std::uint32_t i : job.island.contacts) job.p[i] = guess_[i];
  };
  if (newton_first) {
    const bool may_lack = slides(job.problem, job.island) && LcpRows::count(job.problem, job.island) > kCheapRows;
    newton(job, may_lack);
    if (job.residual <= kTolerance) return true;
    job.by_first = false;
    if (may_lack && job.residual > kHopeless) return false;
    for (const std::uint32_t i : job.island.contacts) job.p[i].setZero();
    judge(job);
    work_.spend(kLookWork * job.island.contacts.size() * kFirstSweeps);
    sweep_island(job.problem, job.island, disc_, kFirstSweeps, job.p, job.u);
    newton(job, false);
    if (job.residual <= kTolerance) return true;
    restart();
  }
  if (job.method == ForceMethod::qp) {
    dense(job, true, true);
    if (job.residual <= kTolerance) return true;
    job.by_first = false;
    restart();
  }
  job.residual = std::numeric_limits<double>::infinity();
  dense(job, false, !job.painleve);
  if (job.residual <= kTolerance) return true;
  if (job.residual == std::numeric_limits<double>::infinity()) {
    job.by_first = false;
    if (newton_first) return false;  // there is nothing new to start from
  }
  if (!job.fits) return false;
  newton(job, false);  // from the pyramid's answer to the round cone's; or from the guess
  return job.residual <= kTolerance;
}

// Sliding contacts whose slip would turn round (or all) come to rest within the step. False: there are none.
bool LcpForces::stop_turned(const Job& job, bool all) noexcept {
  bool any = false;
  for (const std::uint32_t i : job.island.contacts) {
    ProblemContact& contact = job.problem.contact(i);
    if (contact.rows == 1 || contact.law != ContactLaw::sliding) continue;
    const Vec3 c = velocity(job.problem, contact, job.u) + contact.b;
    const double slip = contact.slip.dot(c.tail<2>());
    if (!all && !contact.stops) continue;
    if (!all && (job.p[i][0] <= 0 || slip >= -kTurned * contact.b.cwiseAbs().maxCoeff())) continue;
    contact.law = all ? ContactLaw::cone : ContactLaw::stopping;
    any = true;
  }
  return any;
}

void LcpForces::settle(Job& job) noexcept {
  TACTUS_DCHECK(!job.island.contacts.empty());
  bool first = true;
  for (const std::uint32_t i : job.island.contacts) kept_[i] = job.p[i];
  for (int round = 0; round < kRounds; ++round) {
    const bool solved = attempt(job);
    first = first && job.by_first;
    if (!solved) break;
    if (!stop_turned(job, false)) {
      if (!first) ++job.report.fallbacks;
      if (job.painleve) ++job.report.indeterminate;
      return;
    }
  }
  // No forces while it slides, or slip that turns in one contact after the other: what is left of it is stopped.
  const bool inconsistent = job.residual > kTolerance;
  if (inconsistent) {
    for (const std::uint32_t i : job.island.contacts) job.p[i] = kept_[i];
  }
  const bool slid = stop_turned(job, true);
  if (slid) {
    job.painleve = false;
    if (inconsistent) ++job.report.inconsistent;
    if (attempt(job)) {
      if (!job.by_first) ++job.report.fallbacks;
      return;
    }
  }
  ++job.report.fallbacks;
}

void LcpForces::solve_island(Job& job) noexcept {
  settle(job);
  if (!(job.residual <= kTolerance)) {
    for (const std::uint32_t i : job.island.contacts) {
      if (!(job.residual < 1)) job.p[i].setZero();
      kept_[i] = job.p[i];
    }
    judge(job);
    const double before = job.residual;
    sweep_island(job.problem, job.island, disc_, kSweeps, job.p, job.u);
    judge(job);
    if (!(job.residual <= before)) {
      for (const std::uint32_t i : job.island.contacts) job.p[i] = kept_[i];
      judge(job);
    }
    if (!(job.residual <= kTolerance)) ++job.report.failures;
  }
  TACTUS_DCHECK(not_below(job.residual, 0));
  job.report.residual = std::max(job.report.residual, job.residual);
}

LcpReport LcpForces::solve(ContactProblem& problem, ForceMethod method, Vec3* p, double* u) noexcept {
  TACTUS_ASSERT(problem.count() <= kept_.size());
  LcpReport report;
  work_ = shares_ ? shared_ : SolverWork{};
  std::fill_n(u, problem.half_size(), 0.0);
  islands_.split(problem);
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    if (!p[i].allFinite()) p[i].setZero();
    p[i] = project_contact(problem.contact(i), disc_, p[i]);
  }
  for (std::uint32_t k = 0; k < islands_.count(); ++k) {
    Job job{problem, islands_.island(k), method, p, u, report, false, false, false, 0, true};
    job.fits = newton_.shape(problem, islands_, job.island);
    for (const std::uint32_t i : job.island.contacts) {
      const ProblemContact& contact = problem.contact(i);
      job.painleve = job.painleve || (contact.rows == 3 && contact.law == ContactLaw::sliding && contact.mu > 0 &&
                                      sliding_mobility(contact) <= 0);
    }
    for (const std::uint32_t b : job.island.blocks) job.pivots = job.pivots || problem.block(b).body == kNoBody;
    job.pivots = job.painleve || (job.pivots && LcpRows::count(problem, job.island) <= kFewRows);
    solve_island(job);
  }
  shared_ = work_;
  return report;
}

}  // namespace tactus
