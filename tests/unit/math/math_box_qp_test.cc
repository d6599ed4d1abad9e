// The convex program gives the answers of the complementarity solvers, and of enumeration.
#include <doctest/doctest.h>

#include <Eigen/Core>
#include <limits>
#include <vector>

#include "core/math/box_qp.h"
#include "core/math/lcp.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

// A = Y^T Y of `rank` rows, b in its range (where there is always a solution), bounds 0 .. infinity or a box.
struct Program {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> A;
  Eigen::VectorXd b, lo, hi;

  Program(test::Random& random, int n, int rank, bool boxes) : b(n), lo(n), hi(n) {
    Eigen::MatrixXd Y(rank, n);
    for (int i = 0; i < rank; ++i) {
      for (int j = 0; j < n; ++j) Y(i, j) = random.uniform(-1, 1);
    }
    Eigen::VectorXd v(rank);
    for (int i = 0; i < rank; ++i) v[i] = random.uniform(-1, 1);
    A = Y.transpose() * Y;
    b = Y.transpose() * v;
    for (int i = 0; i < n; ++i) {
      const bool boxed = boxes && i % 2 == 1;
      lo[i] = boxed ? -random.uniform(0, 0.3) : 0;
      hi[i] = boxed ? random.uniform(0, 0.3) : std::numeric_limits<double>::infinity();
    }
  }
  [[nodiscard]] LcpProblem view() const {
    return {static_cast<std::uint32_t>(b.size()), 0, A.data(), b.data(), lo.data(), hi.data(), nullptr};
  }
};

}  // namespace

TEST_CASE("box_qp: the same w as pivoting, also where rows are redundant") {
  test::Random random(3);
  BoxQpSolver qp(60);
  LcpSolver pivots(60);
  double worst = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 1 + trial % 60, rank = trial % 3 == 0 ? std::max(1, n / 2) : n + 2;
    const Program program(random, n, rank, trial % 2 == 1);
    Eigen::VectorXd z = Eigen::VectorXd::Zero(n), x = z;
    const LcpResult result = qp.solve(program.view(), z.data());
    REQUIRE(result.status == LcpStatus::solved);
    REQUIRE(pivots.solve(program.view(), x.data()).status == LcpStatus::solved);
    // The program is convex: its solutions may differ, its gradient may not.
    worst = std::max(worst, (program.A * (z - x)).cwiseAbs().maxCoeff() / (1 + program.b.cwiseAbs().maxCoeff()));
  }
  CHECK_WITHIN(worst, 1e-7);
}

TEST_CASE("box_qp: refuses what is no convex program with bounds, and ends where there is no minimum") {
  BoxQpSolver qp(2);
  const double A[] = {1, 0, 0, 0}, b[] = {-1, -1}, mu[] = {0, 0.5};
  double z[] = {0, 0};
  const std::int32_t normal[] = {-1, 0};
  CHECK(qp.solve({2, 1, A, b, nullptr, nullptr, nullptr}, z).status == LcpStatus::unsupported);
  CHECK(qp.solve({2, 0, A, b, nullptr, mu, normal}, z).status == LcpStatus::unsupported);
  // min z0^2 / 2 - z0 - z1: unbounded along z1.
  CHECK(qp.solve({2, 0, A, b, nullptr, nullptr, nullptr}, z).status != LcpStatus::solved);
  const double nan[] = {std::numeric_limits<double>::quiet_NaN(), 0};
  CHECK(qp.solve({2, 0, A, nan, nullptr, nullptr, nullptr}, z).status == LcpStatus::not_finite);
  CHECK(z[0] == 0);
}

}  // namespace tactus
