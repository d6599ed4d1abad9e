// The envelope factor against dense linear algebra.
#include "core/math/skyline.h"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <vector>

#include "tests/support/algebra.h"
#include "tests/support/random.h"

namespace tactus {

TEST_CASE("skyline: solves what dense elimination solves, for envelopes of any width") {
  test::Random random(4);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t n = 1 + random.below(40);
    std::vector<std::uint32_t> first(n);
    for (std::uint32_t i = 0; i < n; ++i) first[i] = random.below(i + 1);
    Skyline sky(40, 40 * 41 / 2);
    REQUIRE(sky.shape(n, first.data()));
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n, n);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = first[i]; j <= i; ++j) {
        const double below = random.uniform(-1, 1), above = random.uniform(-1, 1);
        A(i, j) = below, A(j, i) = above;
      }
      A(i, i) = 30;  // diagonally dominant: no exchanges needed
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = first[i]; j <= i; ++j) {
        sky.lower(i)[j] = A(i, j);
        if (j < i) sky.upper(i)[j] = A(j, i);
      }
    }
    Eigen::VectorXd b(n);
    for (std::uint32_t i = 0; i < n; ++i) b[i] = random.uniform(-1, 1);
    const Eigen::VectorXd expected = test::solve_lu(A, b);
    REQUIRE(sky.factor());
    sky.solve(b.data());
    CHECK((b - expected).norm() < 1e-12);
  }
}

TEST_CASE("skyline: says what does not fit, and what it cannot factor") {
  Skyline sky(4, 6);
  const std::uint32_t wide[] = {0, 0, 0, 0}, narrow[] = {0, 0, 2, 2};
  CHECK(!sky.shape(4, wide));
  CHECK(!sky.shape(5, wide));
  REQUIRE(sky.shape(4, narrow));
  CHECK(!sky.factor());  // zero
}

}  // namespace tactus
