// Contact forces of a step of the acceleration model: which law each contact obeys, and the solvers in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/solve/contact_newton.h"
#include "core/contact/solve/lcp_rows.h"
#include "core/math/box_qp.h"

namespace tactus {

// What solving one step took.
struct LcpReport {
  std::uint32_t failures = 0;       // islands whose best forces leave more than kLcpTolerance
  std::uint32_t fallbacks = 0;      // islands that the method asked for did not solve
  std::uint32_t iterations = 0;     // factorisations and pivots
  std::uint32_t inconsistent = 0;   // islands without forces that obey Coulomb's law
  std::uint32_t indeterminate = 0;  // solved, where a sliding contact's own mobility is not positive
  double residual = 0;              // worst island (island_residual)
};

// Islands of more rows than Limits::pivot_rows are Newton's alone. Order for an island (core/DECISIONS.md says why and
// with what measured):
//   automatic  Newton from the last forces; from sweeps; pivoting (math/lcp.h) and Newton from its answer. Small
//   islands
//              with a robot: pivoting first
//   pivoting   the same, pivoting first; qp: the convex program first
// Sliding contacts whose slip would turn round within the step come to rest in it, and the island is solved again. An
// island that cannot be solved while its contacts slide is inconsistent (Baraff 1993, 7.1): all that slide are then
// static with mu_dynamic: the forces that this takes within one step are an impulse that stops their slip. Where
// pivoting is dear (more than some 10 contacts) Newton's method, far off after it should be near, is enough to call it
// so. Islands with a sliding contact that its own force would draw nearer (Painleve) are pivoted from zero first, so
// that of several answers the one with fewer contacts is taken, and none that the last step's forces happen to favour.
// What is still not solved: the best seen, swept, and counted.
class LcpForces {
 public:
  LcpForces(const Model& model, const Limits& limits);

  // p: per contact, the last step's forces times h in, this step's out; u: half velocities, sum Y p, out.
  LcpReport solve(ContactProblem& problem, ForceMethod method, Vec3* p, double* u) noexcept;

  // Whoever solves many times a step: what a step may cost holds for all calls from here on together. Once it is spent
  // a call gives its first guess, projected.
  void share_work() noexcept {
    shares_ = true;
    shared_ = {};
  }
  void spend(std::uint64_t work) noexcept { shared_.spend(work); }
  [[nodiscard]] bool spent() const noexcept { return shared_.spent(); }

 private:
  struct Job {
    ContactProblem& problem;
    ContactIsland island;
    ForceMethod method;
    Vec3* p;
    double* u;
    LcpReport& report;
    bool fits;        // Newton's memory
    bool pivots;      // automatic: pivoting first
    bool painleve;    // a sliding contact's own mobility is not positive
    double residual;  // of p
    bool by_first;    // the first method of the order did it
  };

  void solve_island(Job& job) noexcept;
  void settle(Job& job) noexcept;
  bool attempt(Job& job) noexcept;
  void newton(Job& job, bool may_lack) noexcept;
  void dense(Job& job, bool qp, bool warm) noexcept;
  void judge(Job& job) noexcept;
  bool stop_turned(const Job& job, bool all) noexcept;

  ContactIslands islands_;
  ContactNewton newton_;
  LcpRows rows_;
  LcpSolver lcp_;
  BoxQpSolver qp_;
  FrictionDisc disc_;
  std::vector<Vec3> kept_, guess_;
  std::vector<double> z_;
  SolverWork work_;    // of the present call
  SolverWork shared_;  // of share_work()
  bool shares_ = false;
};

}  // namespace tactus
