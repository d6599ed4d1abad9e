#include "core/math/cone_polyhedral.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

PolyhedralCone::PolyhedralCone(std::uint32_t contacts_max, std::uint32_t directions)
    : disc_(directions), solver_(contacts_max * (directions + 2)) {
  const std::size_t n = std::size_t{contacts_max} * (directions + 2);
  A_.resize(n * n);
  b_.resize(n);
  z_.resize(n);
}

LcpResult PolyhedralCone::solve(const ConeProblem& problem, Vec3* r, const LcpSolverOptions& options) noexcept {
  const std::uint32_t directions = disc_.directions(), block = directions + 2, n = problem.count * block;
  TACTUS_ASSERT(problem.directions == directions && n <= b_.size());
  TACTUS_ASSERT(directions > 0);  // a round cone has no corners
  // Row k of a contact's block as a combination of (n, t1, t2).
  const auto along = [&](std::uint32_t k) -> Vec3 {
    if (k == 0) return {1, 0, 0};
    return {0, disc_.corner(k - 1).x(), disc_.corner(k - 1).y()};
  };
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    for (std::uint32_t j = 0; j < problem.count; ++j) {
      const Mat3 A = cone_block(problem.contacts[i], problem.contacts[j]);
      for (std::uint32_t k = 0; k <= directions; ++k) {
        double* const row = &A_[std::size_t{i * block + k} * n + j * block];
        const Vec3 left = A.transpose() * along(k);
        for (std::uint32_t l = 0; l <= directions; ++l) row[l] = left.dot(along(l));
        row[directions + 1] = i == j && k > 0 ? 1 : 0;
      }
      double* const slip = &A_[std::size_t{i * block + directions + 1} * n + j * block];
      for (std::uint32_t l = 0; l < block; ++l) slip[l] = 0;
      if (i != j) continue;
      slip[0] = problem.contacts[i].mu;
      for (std::uint32_t l = 1; l <= directions; ++l) slip[l] = -1;
    }
    for (std::uint32_t k = 0; k <= directions; ++k) b_[i * block + k] = along(k).dot(problem.contacts[i].b);
    b_[i * block + directions + 1] = 0;
  }
  lcp_ = {n, 0, A_.data(), b_.data(), nullptr, nullptr, nullptr};
  std::fill(z_.begin(), z_.end(), 0.0);
  LcpSolverOptions cold = options;
  cold.common.warm = false;
  const LcpResult result = solver_.solve(lcp_, z_.data(), cold);
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    r[i] = Vec3::Zero();
    for (std::uint32_t k = 0; k <= directions; ++k) r[i] += z_[i * block + k] * along(k);
    // What rounding leaves outside the cone, above all where the normal impulse is zero.
    const double limit = problem.contacts[i].mu * r[i][0];
    r[i].tail<2>() = limit > 0 ? Eigen::Vector2d(limit * disc_.project(r[i].tail<2>() / limit, nullptr))
                               : Eigen::Vector2d(Eigen::Vector2d::Zero());
  }
  return result;
}

}  // namespace tactus
