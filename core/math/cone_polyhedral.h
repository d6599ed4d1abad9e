// The polyhedral friction problem as Stewart and Trinkle's (1996) linear complementarity problem: the reference for
// what the time steppers solve (contact/solve/contact_newton.h).
#pragma once

#include <vector>

#include "core/math/cone_problem.h"
#include "core/math/lcp.h"

namespace tactus {

// A contact becomes directions + 2 rows: normal, one for each corner of D, sliding speed. Copositive, so Lemke solves
// it (with b in the range that it needs: no contacts pressed against each other without a way out). Dense, n^2.5.
class PolyhedralCone {
 public:
  PolyhedralCone(std::uint32_t contacts_max, std::uint32_t directions);
  // problem.directions is that of the constructor. r: count, out. residual: that of the LCP.
  LcpResult solve(const ConeProblem& problem, Vec3* r, const LcpSolverOptions& options = {}) noexcept;
  // The LCP of the last solve.
  [[nodiscard]] const LcpProblem& lcp() const noexcept { return lcp_; }

 private:
  FrictionDisc disc_;
  LcpSolver solver_;
  LcpProblem lcp_;
  std::vector<double> A_, b_, z_;
};

}  // namespace tactus
