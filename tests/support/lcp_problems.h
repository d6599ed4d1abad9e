// Random complementarity problems of known kinds, for tests, the oracle and the benchmark.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/math/lcp_problem.h"
#include "tests/support/random.h"

namespace tactus::test {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A problem that owns its numbers.
struct OwnedLcp {
  RowMatrix A;
  Eigen::VectorXd b, lo, hi;
  std::vector<std::int32_t> normal;
  std::uint32_t n_free = 0;
  bool boxes = false;  // lo, hi and normal are used

  [[nodiscard]] LcpProblem view() const {
    const auto n = static_cast<std::uint32_t>(b.size());
    if (!boxes) return {n, n_free, A.data(), b.data(), nullptr, nullptr, nullptr};
    return {n, n_free, A.data(), b.data(), lo.data(), hi.data(), normal.data()};
  }
};

inline RowMatrix random_matrix(Random& random, int rows, int columns) {
  RowMatrix matrix(rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) matrix(i, j) = random.uniform(-1, 1);
  }
  return matrix;
}

inline Eigen::VectorXd random_vector(Random& random, int n) {
  return random_matrix(random, n, 1);
}

// x^T A x > 0: symmetric positive definite plus any skew part, so a P-matrix: exactly one solution for every b.
inline OwnedLcp positive_definite(Random& random, int n, double skew) {
  const RowMatrix G = random_matrix(random, n, n), S = random_matrix(random, n, n);
  OwnedLcp lcp;
  lcp.A = G * G.transpose() / n + 0.05 * RowMatrix::Identity(n, n) + skew * (S - S.transpose());
  lcp.b = random_vector(random, n);
  return lcp;
}

// A P-matrix that is not positive definite: triangular of positive diagonal, rows and columns permuted alike.
inline OwnedLcp triangular_p(Random& random, int n) {
  OwnedLcp lcp;
  lcp.A = 2 * random_matrix(random, n, n);
  lcp.b = random_vector(random, n);
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) lcp.A(i, j) = 0;
    lcp.A(i, i) = random.uniform(0.3, 1);
  }
  for (int i = n - 1; i > 0; --i) {
    const int j = static_cast<int>(random.below(static_cast<std::uint32_t>(i + 1)));
    lcp.A.row(i).swap(lcp.A.row(j));
    lcp.A.col(i).swap(lcp.A.col(j));
  }
  return lcp;
}

// A = J J^T of rank at most `rank`, small integers in J, so that ties are exact; solvable by construction, and for
// many rows z and w are both zero in the known solution.
inline OwnedLcp degenerate_psd(Random& random, int n, int rank) {
  RowMatrix J(n, rank);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < rank; ++j) J(i, j) = static_cast<double>(random.below(5)) - 2;
    if (i > 0 && random.chance(0.2)) J.row(i) = J.row(static_cast<int>(random.below(static_cast<std::uint32_t>(i))));
  }
  OwnedLcp lcp;
  lcp.A = J * J.transpose();
  Eigen::VectorXd z = Eigen::VectorXd::Zero(n), w = Eigen::VectorXd::Zero(n);
  for (int i = 0; i < n; ++i) {
    const std::uint32_t kind = random.below(3);
    const double size = 1 + random.below(3);
    if (kind == 0) z[i] = size;
    if (kind == 1) w[i] = size;
  }
  lcp.b = w - lcp.A * z;
  return lcp;
}

// Contacts between bodies of masses 1 and up (times mass_ratio): A = J M^-1 J^T, rows (normal, t1, t2) a contact, with
// friction boxes. Several contacts share a pair of bodies, so A is singular where there are many.
inline OwnedLcp contacts(Random& random, int count, int bodies, double mu, double mass_ratio) {
  RowMatrix J = RowMatrix::Zero(3 * count, 6 * bodies);
  Eigen::VectorXd per_mass(6 * bodies), v = random_vector(random, 6 * bodies);
  for (int k = 0; k < bodies; ++k) {
    const double mass = random.log_uniform(1, mass_ratio);
    for (int j = 0; j < 6; ++j) per_mass[6 * k + j] = (j < 3 ? 1 : 60) / mass;
  }
  for (int c = 0; c < count; ++c) {
    const Vec3 n = random.direction();
    const Vec3 t1 = n.unitOrthogonal(), t2 = n.cross(t1);
    const int a = static_cast<int>(random.below(static_cast<std::uint32_t>(bodies)));
    const int other = static_cast<int>(random.below(static_cast<std::uint32_t>(bodies + 1)));  // the last is the world
    const Vec3 p_a = random.in_cube(0.1), p_b = random.in_cube(0.1);
    const Vec3 axes[3] = {n, t1, t2};
    for (int k = 0; k < 3; ++k) {
      J.block<1, 3>(3 * c + k, 6 * a) = axes[k].transpose();
      J.block<1, 3>(3 * c + k, 6 * a + 3) = p_a.cross(axes[k]).transpose();
      if (other == a || other == bodies) continue;
      J.block<1, 3>(3 * c + k, 6 * other) = -axes[k].transpose();
      J.block<1, 3>(3 * c + k, 6 * other + 3) = -p_b.cross(axes[k]).transpose();
    }
  }
  OwnedLcp lcp;
  lcp.A = J * per_mass.asDiagonal() * J.transpose();
  lcp.b = J * v;
  lcp.boxes = true;
  lcp.lo = Eigen::VectorXd::Zero(3 * count);
  lcp.hi = Eigen::VectorXd::Constant(3 * count, mu);
  lcp.normal.resize(std::size_t(3 * count), -1);
  for (int c = 0; c < count; ++c) {
    lcp.hi[3 * c] = std::numeric_limits<double>::infinity();
    lcp.normal[std::size_t(3 * c + 1)] = lcp.normal[std::size_t(3 * c + 2)] = 3 * c;
  }
  return lcp;
}

// Stewart and Trinkle's standard form of the same: normal, `directions` (in pairs) and sliding speed of each contact.
// Copositive; b is such that a solution exists.
inline OwnedLcp stewart_trinkle(Random& random, int count, int bodies, double mu, int directions) {
  const OwnedLcp box = contacts(random, count, bodies, mu, 10);
  const int block = directions + 2, n = block * count;
  RowMatrix D = RowMatrix::Zero(n, 3 * count);  // rows of the standard form from those of box
  OwnedLcp lcp;
  lcp.A = RowMatrix::Zero(n, n);
  for (int c = 0; c < count; ++c) {
    D(block * c, 3 * c) = 1;
    for (int k = 0; k < directions; ++k) {
      const double angle = 2 * M_PI * k / directions;
      D(block * c + 1 + k, 3 * c + 1) = std::cos(angle);
      D(block * c + 1 + k, 3 * c + 2) = std::sin(angle);
    }
  }
  lcp.A = D * box.A * D.transpose();
  lcp.b = D * box.b;
  for (int c = 0; c < count; ++c) {
    const int slip = block * c + block - 1;
    lcp.A(slip, block * c) = mu;
    for (int k = 0; k < directions; ++k) {
      lcp.A(slip, block * c + 1 + k) = -1;
      lcp.A(block * c + 1 + k, slip) = 1;
    }
  }
  return lcp;
}

// Free velocities first, then multipliers: [M, -J^T; J, 0], M positive definite, b for M v = M v_0 + J^T z, J v + c.
inline OwnedLcp velocities_and_impulses(Random& random, int velocities, int impulses) {
  const RowMatrix G = random_matrix(random, velocities, velocities), J = random_matrix(random, impulses, velocities);
  const RowMatrix M = G * G.transpose() + RowMatrix::Identity(velocities, velocities);
  OwnedLcp lcp;
  const int n = velocities + impulses;
  lcp.n_free = static_cast<std::uint32_t>(velocities);
  lcp.A = RowMatrix::Zero(n, n);
  lcp.A.topLeftCorner(velocities, velocities) = M;
  lcp.A.topRightCorner(velocities, impulses) = -J.transpose();
  lcp.A.bottomLeftCorner(impulses, velocities) = J;
  lcp.b = Eigen::VectorXd::Zero(n);
  const Eigen::VectorXd v_0 = random_vector(random, velocities);
  lcp.b.head(velocities) = -M * v_0;
  // Gaps that v = v_1 keeps open, so that it is feasible however many rows there are.
  const Eigen::VectorXd v_1 = random_vector(random, velocities), open = random_vector(random, impulses).cwiseAbs();
  lcp.b.tail(impulses) = open - J * v_1;
  return lcp;
}

}  // namespace tactus::test
