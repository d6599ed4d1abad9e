// Ground truth for tiny problems: every choice of active rows.
#pragma once

#include "core/math/lcp_basis.h"

namespace tactus {

inline constexpr std::uint32_t kEnumerateMax = 12;  // rows, the free ones not counted

// Tries every choice of a bound or w = 0 for each row, then also both at once (redundant rows), and takes the first
// whose residual is at most 1e-10, else the best. Exponential: at most 2^n, then 3^n linear systems; tries_max of them.
// basis: made for at least n rows. Counts solutions instead of stopping at the first, where count is not null (only
// choices without both; degenerate solutions count several times).
LcpResult enumerate_lcp(const LcpProblem& problem, BasisSolver& basis, double* z, std::uint32_t tries_max = 1U << 20,
                        std::uint32_t* count = nullptr) noexcept;

}  // namespace tactus
