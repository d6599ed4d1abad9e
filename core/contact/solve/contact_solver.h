// Solves the contact problem of a step, island after island, and checks what comes out.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/solve/contact_newton.h"
#include "core/math/lcp.h"

namespace tactus {

// What solving one step took.
struct SolverReport {
  std::uint32_t failures = 0;   // islands whose best impulses leave more than kContactTolerance
  std::uint32_t fallbacks = 0;  // islands that the first method did not solve
  std::uint32_t iterations = 0;
  double residual = 0;  // worst island (island_residual)
};
inline constexpr double kContactTolerance = 1e-9, kRoughTolerance = 1e-6;

// Order (core/contact/README.md): Newton from the guess; sweeps, and Newton from there; the linear complementarity
// problem of four friction directions (exact where those are asked for), and Newton from there, for at most
// Limits::pivot_rows rows; the best seen. Islands that do not fit Newton's memory (Limits::problem_rows) are swept.
class ContactSolver {
 public:
  ContactSolver(const Model& model, const Limits& limits);

  // p: per contact, the guess in, impulses out: finite, in their cones, whatever happened. u: half velocities, out.
  // work: what it may cost; when that is spent, what is left of the order is skipped but for some sweeps. rough: solved
  // is what leaves kRoughTolerance, for those who look for something else first.
  SolverReport solve(const ContactProblem& problem, std::uint32_t friction_directions, Vec3* p, double* u,
                     SolverWork& work, bool rough = false) noexcept;

 private:
  bool pivot(const ContactProblem& problem, const ContactIsland& island, Vec3* p, SolverWork& work) noexcept;
  void load_lcp(const ContactProblem& problem, const ContactIsland& island) noexcept;
  [[nodiscard]] double tolerance() const noexcept { return rough_ ? kRoughTolerance : kContactTolerance; }
  ContactSolution solve_island(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                               Vec3* p, double* u, SolverReport& report, SolverWork& work) noexcept;

  bool rough_ = false;  // of the present call
  ContactIslands islands_;
  ContactNewton newton_;
  LcpSolver lcp_;
  std::vector<Vec3> kept_;
  std::vector<double> A_, b_, lo_, hi_, z_, column_;
  std::vector<std::int32_t> normal_;
};

}  // namespace tactus
