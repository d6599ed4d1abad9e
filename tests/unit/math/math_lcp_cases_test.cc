// Complementarity problems whose answers are known in closed form or from the literature: cycling, exponential paths,
// one block with friction, redundant and contradicting joints, numbers that are none.
#include <algorithm>
#include <array>
#include <limits>

#include "core/math/lcp.h"
#include "tests/support/lcp_problems.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;

OwnedLcp problem(const RowMatrix& A, const Eigen::VectorXd& b) {
  OwnedLcp lcp;
  lcp.A = A;
  lcp.b = b;
  return lcp;
}

// min c x, A x <= r, x >= 0, and its dual, as one problem: skew, so positive semidefinite.
OwnedLcp linear_program(const RowMatrix& A, const Eigen::VectorXd& r, const Eigen::VectorXd& c) {
  const auto m = A.rows(), n = A.cols();
  OwnedLcp lcp;
  lcp.A = RowMatrix::Zero(m + n, m + n);
  lcp.A.topRightCorner(n, m) = A.transpose();
  lcp.A.bottomLeftCorner(m, n) = -A;
  lcp.b.resize(m + n);
  lcp.b << c, r;
  return lcp;
}

TEST_CASE("Kostreva 1979: the P-matrix on which principal pivoting without a rule cycles") {
  RowMatrix A(3, 3);
  A << 1, 2, 0, 0, 1, 2, 2, 0, 1;
  const OwnedLcp lcp = problem(A, Eigen::VectorXd::Constant(3, -1));
  LemkeSolver lemke(3);
  DantzigSolver dantzig(3);
  Eigen::Vector3d z;
  CHECK(lemke.solve(lcp.view(), z.data()).status == LcpStatus::solved);
  CHECK_WITHIN((z - Eigen::Vector3d::Constant(1.0 / 3)).norm(), 1e-14);
  CHECK(dantzig.solve(lcp.view(), z.data()).status == LcpStatus::solved);
  CHECK_WITHIN((z - Eigen::Vector3d::Constant(1.0 / 3)).norm(), 1e-14);
}

TEST_CASE("Beale 1955: the linear program on which the simplex method cycles; its dual found too") {
  RowMatrix A(3, 4);
  A << 0.25, -8, -1, 9, 0.5, -12, -0.5, 3, 0, 0, 1, 0;
  Eigen::VectorXd c(4), r(3);
  c << -0.75, 20, -0.5, 6;
  r << 0, 0, 1;
  const OwnedLcp lcp = linear_program(A, r, c);
  LcpSolver chain(7);
  LemkeSolver lemke(7);
  Eigen::VectorXd z(7);
  for (const bool alone : {true, false}) {
    const LcpResult result = alone ? lemke.solve(lcp.view(), z.data()) : chain.solve(lcp.view(), z.data());
    CAPTURE(alone);
    CHECK(result.status == LcpStatus::solved);
    CHECK_WITHIN(c.dot(z.head(4)) + 1.25, 1e-12);
    CHECK_WITHIN(r.dot(z.tail(3)) - 1.25, 1e-12);
  }
}

TEST_CASE("Hall and McKinnon 2004: the simplest linear program that cycles has no minimum, so no solution") {
  RowMatrix A(2, 4);
  A << 0.4, 0.2, -1.4, -0.2, -7.8, -1.4, 7.8, 0.4;
  Eigen::VectorXd c(4);
  c << -2.3, -2.15, 13.55, 0.4;
  const OwnedLcp lcp = linear_program(A, Eigen::VectorXd::Zero(2), c);
  LemkeSolver lemke(6);
  Eigen::VectorXd z(6);
  CHECK(lemke.solve(lcp.view(), z.data()).status == LcpStatus::ray);
}

TEST_CASE("Murty 1978, Fathi 1979: paths of exponential length end at the bound, and the chain still solves") {
  constexpr int n = 16;
  RowMatrix L = RowMatrix::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) L(i, j) = 2;
    L(i, i) = 1;
  }
  for (const bool symmetric : {false, true}) {
    const RowMatrix A = symmetric ? RowMatrix(L * L.transpose()) : L;
    Eigen::VectorXd b(n), z(n);
    for (int i = 0; i < n; ++i) b[i] = symmetric ? -std::ldexp(1.0, i) : -1;
    const OwnedLcp lcp = problem(A, b);
    LemkeSolver lemke(n);
    LcpOptions few;
    few.pivots_max = 40;
    const LcpResult bounded = lemke.solve(lcp.view(), z.data(), few);
    CHECK(bounded.pivots <= 40);
    LcpOptions little;
    little.flops_max = 5000;
    LcpSolver chain(n);
    const LcpResult short_of_work = chain.solve(lcp.view(), z.data(), {little, false});
    CHECK(short_of_work.flops < 50000);
    const LcpResult result = chain.solve(lcp.view(), z.data());
    CHECK(result.status == LcpStatus::solved);
    CHECK_WITHIN(lcp_residual(lcp.view(), z.data()), kLcpTolerance);
    if (!symmetric) CHECK_WITHIN((z - Eigen::VectorXd::Unit(n, 0)).norm(), 1e-12);
  }
}

TEST_CASE("The covering vector decides the path: where ones end in a ray others solve, and never wrongly") {
  Random random(21);
  LemkeSolver lemke(5);
  int rescued = 0, stuck = 0;
  double worst = 0;
  for (int k = 0; k < 1000; ++k) {
    const RowMatrix A = random_matrix(random, 5, 5);
    const OwnedLcp lcp = problem(A, random_vector(random, 5));
    Eigen::VectorXd z(5);
    if (lemke.solve(lcp.view(), z.data()).status == LcpStatus::solved) continue;
    bool found = false;
    for (int row = 0; row < 5 && !found; ++row) {
      Eigen::VectorXd cover = Eigen::VectorXd::Ones(5);
      cover[row] = 100;
      LcpOptions options;
      options.cover = cover.data();
      found = lemke.solve(lcp.view(), z.data(), options).status == LcpStatus::solved;
      if (found) worst = std::max(worst, lcp_residual(lcp.view(), z.data()));
    }
    ++(found ? rescued : stuck);
  }
  CHECK(rescued > 0);
  CHECK(stuck > 0);  // and some problems have no solution at all
  CHECK_WITHIN(worst, kLcpTolerance);
}

// A block of mass m on a floor, pushed along t1 and t2: rows n, t1, t2; w = velocity after the impulse z.
TEST_CASE("One block: friction holds up to mu N, then slides against the push with mu N") {
  DantzigSolver dantzig(3);
  LemkeSolver lemke(3, 9);
  NewtonSolver newton(3);
  for (const double push : {0.0, 0.2, 0.49, 0.51, 3.0}) {
    constexpr double m = 2, mu = 0.5, weight = 1;  // impulses [N s]
    OwnedLcp lcp = problem(RowMatrix::Identity(3, 3) / m, Eigen::Vector3d(-weight / m, push / m, -2 * push / m));
    lcp.boxes = true;
    lcp.lo = Eigen::Vector3d::Zero();
    lcp.hi = Eigen::Vector3d(std::numeric_limits<double>::infinity(), mu, mu);
    lcp.normal = {-1, 0, 0};
    const Eigen::Vector3d truth(weight, std::max(-push, -mu * weight), std::min(2 * push, mu * weight));
    CAPTURE(push);
    Eigen::Vector3d z;
    CHECK(dantzig.solve(lcp.view(), z.data()).status == LcpStatus::solved);
    CHECK_WITHIN((z - truth).norm(), 1e-14);
    CHECK(lemke.solve(lcp.view(), z.data()).status == LcpStatus::solved);
    CHECK_WITHIN((z - truth).norm(), 1e-14);
    CHECK(newton.solve(lcp.view(), z.data()).status == LcpStatus::solved);
    CHECK_WITHIN((z - truth).norm(), 1e-9);
  }
}

// Painleve's rod: sliding friction turns the normal row's own coefficient negative (A_nn - mu A_nt < 0).
TEST_CASE("Painleve: with the slip forced no force is consistent, with sticking allowed there is an impulse") {
  RowMatrix A(2, 2);
  A << 1, 1.5, 1.5, 4;  // positive definite; mu = 1: A_nn - mu A_nt = -0.5
  OwnedLcp lcp = problem(A, Eigen::Vector2d(-1, 0.3));
  lcp.boxes = true;
  lcp.lo = Eigen::Vector2d::Zero();
  lcp.hi = Eigen::Vector2d(std::numeric_limits<double>::infinity(), 1);
  lcp.normal = {-1, 0};
  LcpSolver chain(2, 1);
  Eigen::Vector2d z;
  CHECK(chain.solve(lcp.view(), z.data()).status == LcpStatus::solved);
  CHECK_WITHIN(lcp_residual(lcp.view(), z.data()), kLcpTolerance);
  const OwnedLcp forced = problem(RowMatrix::Constant(1, 1, -0.5), Eigen::VectorXd::Constant(1, -1));
  LemkeSolver lemke(1);
  CHECK(lemke.solve(forced.view(), z.data()).status == LcpStatus::ray);
}

TEST_CASE("Joints told twice are redundant, joints that contradict each other are named singular") {
  // A mass on two equal rails v = 0 (free rows), pressed on a floor (standard row); unknowns v_x, v_y, rails, floor.
  RowMatrix A = RowMatrix::Zero(5, 5);
  A(0, 0) = A(1, 1) = 2;
  A(2, 0) = A(3, 0) = 1;
  A(0, 2) = A(0, 3) = -1;
  A(4, 1) = 1;
  A(1, 4) = -1;
  Eigen::VectorXd b(5), z(5);
  b << 3, 4, 0, 0, 0;
  OwnedLcp lcp = problem(A, b);
  lcp.n_free = 4;
  LcpSolver chain(5);
  CHECK(chain.solve(lcp.view(), z.data()).status == LcpStatus::solved);
  CHECK_WITHIN(z[0], 1e-14);
  CHECK_WITHIN(z[2] + z[3] - 3, 1e-13);
  CHECK_WITHIN(z[4] - 4, 1e-13);
  lcp.b[3] = 1;  // the second rail wants another velocity
  LemkeSolver lemke(5);
  CHECK(lemke.solve(lcp.view(), z.data()).status == LcpStatus::singular);
  CHECK(chain.solve(lcp.view(), z.data()).status != LcpStatus::solved);
}

TEST_CASE("Free rows that only the impulses determine go to Newton") {
  // Free row 0 says z_1 = 2 and has no diagonal; w_1 = z_0 + z_1 - 3 = 0 gives z_0 = 1.
  RowMatrix A(2, 2);
  A << 0, -1, 1, 1;
  OwnedLcp lcp = problem(A, Eigen::Vector2d(2, -3));
  lcp.n_free = 1;
  LcpSolver chain(2);
  Eigen::Vector2d z;
  const LcpResult result = chain.solve(lcp.view(), z.data());
  CHECK(result.status == LcpStatus::solved);
  CHECK(result.method == LcpMethod::newton);
  CHECK_WITHIN((z - Eigen::Vector2d(1, 2)).norm(), 1e-9);
}

TEST_CASE("A number that is none is named, wherever it stands; nothing is solved") {
  Random random(22);
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  LemkeSolver lemke(6, 18);
  DantzigSolver dantzig(6);
  NewtonSolver newton(6);
  PgsSolver pgs(6);
  LcpSolver chain(6, 4);
  BasisSolver basis(6);
  for (int place = 0; place < 6; ++place) {
    OwnedLcp lcp = contacts(random, 2, 2, 0.5, 10);
    if (place < 2) lcp.A(4, place) = bad[place];
    if (place == 2 || place == 3) lcp.b[2] = bad[place - 2];
    if (place == 4) lcp.hi[1] = bad[0];
    if (place == 5) lcp.hi[1] = -0.5;  // a friction coefficient
    std::array<double, 6> z{};
    CAPTURE(place);
    CHECK(lemke.solve(lcp.view(), z.data()).status == LcpStatus::not_finite);
    CHECK(dantzig.solve(lcp.view(), z.data()).status == LcpStatus::not_finite);
    CHECK(newton.solve(lcp.view(), z.data()).status == LcpStatus::not_finite);
    CHECK(pgs.solve(lcp.view(), z.data()).status == LcpStatus::not_finite);
    CHECK(enumerate_lcp(lcp.view(), basis, z.data()).status == LcpStatus::not_finite);
    CHECK(chain.solve(lcp.view(), z.data()).status == LcpStatus::not_finite);
    CHECK(std::all_of(z.begin(), z.end(), [](double value) { return value == 0; }));
  }
}

TEST_CASE("Overflow on the way is no answer and no endless loop") {
  Random random(23);
  LcpSolver chain(6, 4);
  for (int k = 0; k < 200; ++k) {
    OwnedLcp lcp = k % 2 == 0 ? contacts(random, 2, 2, 0.5, 10) : positive_definite(random, 6, 0.3);
    for (int i = 0; i < 6; ++i) lcp.A.row(i) *= random.log_uniform(1e-290, 1e290);
    Eigen::VectorXd z(6);
    const LcpResult result = chain.solve(lcp.view(), z.data());
    if (result.status == LcpStatus::solved) CHECK(lcp_residual(lcp.view(), z.data()) <= kLcpTolerance);
  }
}

TEST_CASE("The residual is the violation that was put in") {
  const OwnedLcp lcp = problem(RowMatrix::Identity(2, 2), Eigen::Vector2d(-1, 1));  // z = (1, 0), w = (0, 1)
  const auto residual = [&](double a, double b) { return lcp_residual(lcp.view(), Eigen::Vector2d(a, b).data()); };
  CHECK(residual(1, 0) == 0);
  CHECK_WITHIN(residual(1 + 1e-6, 0) / 5e-7 - 1, 1e-3);  // w_0 = 1e-6 of |b| + |A z| = 2 (and 1e-4 max |z|)
  CHECK_WITHIN(residual(1, -1e-6) / 1e-6 - 1, 1e-3);     // z_1 = -1e-6 of max |z| = 1
  CHECK_WITHIN(residual(1, 1e-6) / 1e-6 - 1, 1e-3);      // z_1 = 1e-6 while w_1 is far from zero
  CHECK(residual(std::numeric_limits<double>::quiet_NaN(), 0) == std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tactus
