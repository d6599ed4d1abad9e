// The envelope factor against dense linear algebra.
#include "core/math/skyline.h"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "tests/support/algebra.h"
#include "tests/support/random.h"

namespace tactus {

TEST_CASE("skyline: solves what dense elimination solves, for envelopes of any width") {
  test::Random random(4);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t n = 1 + random.below(40);
    std::vector<std::uint32_t> first(n), part(n);
    // Rows alone, and panels of any width, some wider than one holds and cut by parts.
    for (std::uint32_t i = 0; i < n;) {
      const std::uint32_t width = round % 2 == 0 ? 1 : 1 + random.below(9), begin = random.below(i + 1);
      for (const std::uint32_t end = std::min(n, i + width); i < end; ++i) first[i] = begin, part[i] = i / 4;
    }
    Skyline sky(40, 40 * 41 / 2);
    REQUIRE(sky.shape(n, first.data(), part.data()));
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
        sky.at(i, j) = A(i, j);
        if (j < i) sky.at(j, i) = A(j, i);
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

TEST_CASE("skyline: a factor from the first changed row on is the whole matrix's, to the bit") {
  test::Random random(5);
  constexpr std::uint32_t kRows = 36;
  std::uint32_t first[kRows], part[kRows];
  for (std::uint32_t i = 0; i < kRows; ++i) part[i] = i / 6 * 6, first[i] = part[i] >= 12 ? part[i] - 12 : 0;
  Skyline some(kRows, kRows * kRows), whole(kRows, kRows * kRows);
  REQUIRE(some.shape(kRows, first, part));
  REQUIRE(whole.shape(kRows, first, part));
  const auto fill = [&](std::uint32_t from) {
    for (std::uint32_t i = from; i < kRows; ++i) {
      for (std::uint32_t j = first[i]; j <= i; ++j) {
        const double below = random.uniform(-1, 1), above = random.uniform(-1, 1);
        some.at(i, j) = whole.at(i, j) = i == j ? 30 : below;
        if (j < i) some.at(j, i) = whole.at(j, i) = above;
      }
    }
  };
  fill(0);
  REQUIRE(some.factor());
  for (const std::uint32_t from : {6U, 18U, 30U, 0U}) {
    some.clear_panel(from);
    fill(from);
    REQUIRE(some.factor(from));
    REQUIRE(whole.factor());
    std::vector<double> x(kRows), y(kRows);
    for (std::uint32_t i = 0; i < kRows; ++i) x[i] = y[i] = random.uniform(-1, 1);
    some.solve(x.data());
    whole.solve(y.data());
    CHECK(x == y);
  }
}

TEST_CASE("skyline: says what does not fit, and what it cannot factor") {
  Skyline sky(4, 6);
  const std::uint32_t wide[] = {0, 0, 0, 0, 0}, narrow[] = {0, 0, 2, 2}, one[] = {0, 0, 0, 0, 0};
  CHECK(!sky.shape(4, wide, one));
  CHECK(!sky.shape(5, wide, one));
  REQUIRE(sky.shape(4, narrow, one));
  CHECK(!sky.factor());  // zero
}

}  // namespace tactus
