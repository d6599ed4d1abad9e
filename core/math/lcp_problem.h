// Linear complementarity problems: what the solvers of this room take and give. They know nothing of contact.
//   w = A z + b,   0 <= z_i  _|_  w_i >= 0      (standard row)
//   w_i = 0                                     (free row: the first n_free)
//   lo_i <= z_i <= hi_i; w_i >= 0 at lo, <= 0 at hi, 0 between                    (box row)
//   |z_i| <= hi_i max(z_k, 0), k = normal[i]; signs of w_i as in a box; hi_i = mu (friction row; k is a standard row)
// Units are the caller's: w_i z_i must have one unit for all i (work), nothing else is assumed.
#pragma once

#include <cstdint>

namespace tactus {

// A view; the caller keeps the memory. A is n x n, row-major. lo, hi, normal: n each, or null (0, infinity, none);
// those of free rows are not read. A row without any bound belongs among the free ones. normal[i] < 0: no friction row.
struct LcpProblem {
  std::uint32_t n = 0, n_free = 0;
  const double* A = nullptr;
  const double* b = nullptr;
  const double* lo = nullptr;
  const double* hi = nullptr;
  const std::int32_t* normal = nullptr;
};

enum class LcpStatus : std::uint8_t {
  solved,       // residual at most kLcpTolerance
  ray,          // Lemke, Dantzig: an unbounded ray. No solution, where A is positive semidefinite or copositive-plus
  no_solution,  // enumeration: no complementary choice of rows solves it
  work_limit,   // pivots, iterations or flops ran out
  inaccurate,   // ended, but the residual is too large
  singular,     // the free block cannot be eliminated
  not_finite,   // A, b or a bound is not a number; z is 0
  unsupported,  // this method cannot take that kind or number of rows
};
enum class LcpMethod : std::uint8_t { none, guess, lemke, dantzig, newton, pgs, enumeration };

struct LcpResult {
  LcpStatus status = LcpStatus::work_limit;
  LcpMethod method = LcpMethod::none;
  double residual = 0;       // lcp_residual of z, also where it failed
  std::uint32_t pivots = 0;  // Lemke, Dantzig: pivots; Newton: factorisations; PGS: sweeps; enumeration: bases tried
  std::uint64_t flops = 0;   // counted work, about
};

struct LcpOptions {
  bool warm = false;              // z comes in as a guess
  std::uint32_t pivots_max = 0;   // 0: the method's own bound, linear in n
  std::uint64_t flops_max = 0;    // 0: none but the one by pivots
  const double* cover = nullptr;  // Lemke: covering vector d > 0, n, relative to a row's own scale; null: ones
};

inline constexpr double kLcpTolerance = 1e-9;

// Largest violation of all rows, relative: that of w_i to |b_i| + sum_j |A_ij z_j| (what rounding in w_i is relative
// to; plus 1e-4 max_j |A_ij| max |z|, so that 1e-13 of the largest z is none), that of z_i and of its bounds to the
// largest |z| of all rows but the free. A complementary pair violates by the smaller of both. Infinite, where a number
// is not finite. O(n^2).
double lcp_residual(const LcpProblem& problem, const double* z) noexcept;
bool lcp_finite(const LcpProblem& problem) noexcept;
// For checks. Is it a problem at all: bounds in order, normals of friction rows standard rows of it? And is z within
// its bounds?
bool lcp_well_formed(const LcpProblem& problem) noexcept;
bool lcp_within_bounds(const LcpProblem& problem, const double* z) noexcept;

// Bounds of row i for this z (not of a free row).
struct LcpBounds {
  double lo, hi;
};
LcpBounds lcp_bounds(const LcpProblem& problem, std::uint32_t i, const double* z) noexcept;

inline bool is_friction_row(const LcpProblem& problem, std::uint32_t i) noexcept {
  return problem.normal != nullptr && problem.normal[i] >= 0;
}

}  // namespace tactus
