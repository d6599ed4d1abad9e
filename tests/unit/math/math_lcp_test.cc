// The complementarity solvers against each other and against enumeration, on thousands of random problems of known
// kinds: P-matrices (one solution), positive semidefinite with exact ties (w unique), friction, mixed, no solution.
#include "core/math/lcp.h"

#include <algorithm>
#include <initializer_list>

#include "tests/support/alloc_guard.h"
#include "tests/support/lcp_problems.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;
constexpr std::uint32_t kRows = 96;

// All solvers of this room, made once.
struct Solvers {
  LemkeSolver lemke{kRows, 3 * kRows};
  DantzigSolver dantzig{kRows};
  NewtonSolver newton{kRows};
  PgsSolver pgs{kRows};
  LcpSolver chain{kRows, kRows};
  BasisSolver basis{kRows};

  LcpResult solve(LcpMethod method, const OwnedLcp& lcp, Eigen::VectorXd& z, const LcpOptions& options = {}) {
    if (z.size() != lcp.b.size()) z = Eigen::VectorXd::Zero(lcp.b.size());
    switch (method) {
      case LcpMethod::lemke:
        return lemke.solve(lcp.view(), z.data(), options);
      case LcpMethod::dantzig:
        return dantzig.solve(lcp.view(), z.data(), options);
      case LcpMethod::newton:
        return newton.solve(lcp.view(), z.data(), options);
      case LcpMethod::pgs:
        return pgs.solve(lcp.view(), z.data(), options);
      case LcpMethod::enumeration:
        return enumerate_lcp(lcp.view(), basis, z.data());
      default:
        return chain.solve(lcp.view(), z.data(), {options, false});
    }
  }
};

double relative_difference(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  const double size = std::max({a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff(), 1e-300});
  return (a - b).cwiseAbs().maxCoeff() / size;
}

// Counts what a method solves, and the worst residual of what it says is solved (recomputed here).
struct Score {
  int solved = 0, all = 0;
  double residual = 0;
  void add(const LcpResult& result, const OwnedLcp& lcp, const Eigen::VectorXd& z) {
    ++all;
    if (result.status != LcpStatus::solved) return;
    ++solved;
    residual = std::max(residual, lcp_residual(lcp.view(), z.data()));
  }
};

constexpr LcpMethod kPivoting[] = {LcpMethod::lemke, LcpMethod::dantzig};
constexpr LcpMethod kExact[] = {LcpMethod::lemke, LcpMethod::dantzig, LcpMethod::none};  // none: the chain

TEST_CASE("P-matrices: every pivoting method and the chain find the one solution, that of enumeration") {
  Random random(1);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 3000; ++k) {
    const int n = 1 + k % 7;
    const OwnedLcp lcp = k % 3 == 0   ? triangular_p(random, n)
                         : k % 3 == 1 ? positive_definite(random, n, 0)
                                      : positive_definite(random, n, 1);
    Eigen::VectorXd truth, z;
    score.add(solvers.solve(LcpMethod::enumeration, lcp, truth), lcp, truth);
    for (const LcpMethod method : kExact) {
      score.add(solvers.solve(method, lcp, z), lcp, z);
      worst = std::max(worst, relative_difference(z, truth));
    }
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(score.residual, kLcpTolerance);
  CHECK_WITHIN(worst, 1e-9);
}

TEST_CASE("P-matrices of up to 60 rows: Lemke, Dantzig, Newton and the chain agree") {
  Random random(2);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 400; ++k) {
    const OwnedLcp lcp = positive_definite(random, 20 + k % 41, k % 2 == 0 ? 0 : 0.3);
    Eigen::VectorXd truth, z;
    score.add(solvers.solve(LcpMethod::lemke, lcp, truth), lcp, truth);
    for (const LcpMethod method : {LcpMethod::dantzig, LcpMethod::newton, LcpMethod::none}) {
      score.add(solvers.solve(method, lcp, z), lcp, z);
      worst = std::max(worst, relative_difference(z, truth));
    }
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(score.residual, kLcpTolerance);
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("Gauss-Seidel solves symmetric positive definite problems to the last digit, because the rows it names do") {
  Random random(3);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 500; ++k) {
    const OwnedLcp lcp = positive_definite(random, 1 + k % 30, 0);
    Eigen::VectorXd truth, z;
    solvers.solve(LcpMethod::lemke, lcp, truth);
    score.add(solvers.solve(LcpMethod::pgs, lcp, z), lcp, z);
    worst = std::max(worst, relative_difference(z, truth));
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(worst, 1e-9);
}

TEST_CASE("Positive semidefinite with exact ties and repeated rows: all solve, and w is the same for all") {
  Random random(4);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 3000; ++k) {
    const int n = k % 50 == 0 ? 60 : 2 + k % 25;
    const OwnedLcp lcp = degenerate_psd(random, n, 1 + k % 8);
    Eigen::VectorXd truth, z;
    score.add(solvers.solve(LcpMethod::lemke, lcp, truth), lcp, truth);
    for (const LcpMethod method : {LcpMethod::dantzig, LcpMethod::newton, LcpMethod::none}) {
      score.add(solvers.solve(method, lcp, z), lcp, z);
      const double size = lcp.b.cwiseAbs().maxCoeff() + (lcp.A * truth).cwiseAbs().maxCoeff() + 1;
      worst = std::max(worst, (lcp.A * (z - truth)).cwiseAbs().maxCoeff() / size);
    }
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(score.residual, kLcpTolerance);
  // The error of w goes with the root of the residual where a pair is degenerate; pivoting has it at rounding.
  CHECK_WITHIN(worst, 1e-7);
}

TEST_CASE("Stewart and Trinkle's friction, many contacts between few bodies: Lemke never ends in a ray") {
  Random random(5);
  Solvers solvers;
  Score lemke, chain, truth;
  for (int k = 0; k < 1500; ++k) {
    const double mu = random.uniform(0, 2);
    const int count = 1 + k % 5, directions = k % 2 == 0 ? 4 : 8;
    const OwnedLcp lcp = stewart_trinkle(random, count, 1 + k % 3, mu, directions);
    Eigen::VectorXd z;
    lemke.add(solvers.solve(LcpMethod::lemke, lcp, z), lcp, z);
    chain.add(solvers.solve(LcpMethod::none, lcp, z), lcp, z);
    if (lcp.b.size() <= 10 && k < 300) truth.add(solvers.solve(LcpMethod::enumeration, lcp, z), lcp, z);
  }
  CHECK(lemke.solved == lemke.all);
  CHECK(chain.solved == chain.all);
  CHECK(truth.solved == truth.all);
  CHECK_WITHIN(std::max({lemke.residual, chain.residual, truth.residual}), kLcpTolerance);
}

TEST_CASE("Friction boxes: Lemke and the chain solve all; Dantzig 98 %") {
  Random random(6);
  Solvers solvers;
  for (const double mu : {0.0, 0.2, 0.8}) {
    Score lemke, dantzig, chain;
    for (int k = 0; k < 600; ++k) {
      const int count = k % 20 == 0 ? 20 : 1 + k % 6;
      const double mass_ratio = k % 2 == 0 ? 10 : 1e5;
      const OwnedLcp lcp = contacts(random, count, 1 + k % 8, mu, mass_ratio);
      Eigen::VectorXd z;
      lemke.add(solvers.solve(LcpMethod::lemke, lcp, z), lcp, z);
      dantzig.add(solvers.solve(LcpMethod::dantzig, lcp, z), lcp, z);
      chain.add(solvers.solve(LcpMethod::none, lcp, z), lcp, z);
    }
    CAPTURE(mu);
    CHECK(lemke.solved == lemke.all);
    CHECK(chain.solved == chain.all);
    CHECK(dantzig.solved >= 0.98 * dantzig.all);
    CHECK_WITHIN(std::max({lemke.residual, dantzig.residual, chain.residual}), kLcpTolerance);
  }
}

TEST_CASE("Friction boxes that have one solution: all methods give that of enumeration") {
  Random random(7);
  Solvers solvers;
  double worst = 0;
  int unique = 0;
  for (int k = 0; k < 400; ++k) {
    const OwnedLcp lcp = contacts(random, 1 + k % 2, 2 + k % 2, 0.4, 10);
    Eigen::VectorXd truth(lcp.b.size()), z;
    std::uint32_t count = 0;
    enumerate_lcp(lcp.view(), solvers.basis, truth.data(), 1U << 20, &count);
    if (count != 1) continue;  // with an open contact the state of its friction is free: those count several times
    ++unique;
    for (const LcpMethod method : kExact) {
      if (solvers.solve(method, lcp, z).status == LcpStatus::solved) {
        worst = std::max(worst, relative_difference(z, truth));
      }
    }
  }
  CHECK(unique > 40);
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("Boxes of two numbers: the solution is that of enumeration") {
  Random random(8);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 1000; ++k) {
    OwnedLcp lcp = positive_definite(random, 1 + k % 6, 0.2);
    const auto n = lcp.b.size();
    lcp.boxes = true;
    lcp.lo = -random_vector(random, static_cast<int>(n)).cwiseAbs();
    lcp.hi = random_vector(random, static_cast<int>(n)).cwiseAbs();
    lcp.normal.assign(std::size_t(n), -1);
    if (random.chance(0.3)) lcp.lo[0] = -std::numeric_limits<double>::infinity();
    Eigen::VectorXd truth, z;
    score.add(solvers.solve(LcpMethod::enumeration, lcp, truth), lcp, truth);
    for (const LcpMethod method : {LcpMethod::lemke, LcpMethod::dantzig, LcpMethod::newton, LcpMethod::none}) {
      score.add(solvers.solve(method, lcp, z), lcp, z);
      worst = std::max(worst, relative_difference(z, truth));
    }
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("Mixed problems: free velocities and impulses give the velocities of the reduced problem") {
  Random random(9);
  Solvers solvers;
  Score score;
  double worst = 0;
  for (int k = 0; k < 2000; ++k) {
    const int velocities = 3 + k % 10, impulses = 1 + k % 9;
    const OwnedLcp lcp = velocities_and_impulses(random, velocities, impulses);
    Eigen::VectorXd truth, z;
    score.add(solvers.solve(LcpMethod::enumeration, lcp, truth), lcp, truth);
    for (const LcpMethod method : {LcpMethod::lemke, LcpMethod::dantzig, LcpMethod::newton, LcpMethod::none}) {
      score.add(solvers.solve(method, lcp, z), lcp, z);
      worst = std::max(worst, relative_difference(z.head(velocities), truth.head(velocities)));
    }
  }
  CHECK(score.solved == score.all);
  CHECK_WITHIN(score.residual, kLcpTolerance);
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("No solution: Lemke and Dantzig end in a ray, enumeration finds none, the chain trusts the ray") {
  Random random(10);
  Solvers solvers;
  int wrong = 0;
  for (int k = 0; k < 1000; ++k) {
    const int n = 2 + k % 6;
    OwnedLcp lcp = degenerate_psd(random, n, 2);
    // Rows 0 and 1 oppose each other exactly, and both ask for more: A v = 0, b . v < 0 for v = (1, 1, 0, ...).
    lcp.A.row(1) = -lcp.A.row(0);
    lcp.A.col(1) = -lcp.A.col(0);
    lcp.A(1, 1) = lcp.A(0, 0);
    lcp.b[0] = -1 - static_cast<double>(random.below(3));
    lcp.b[1] = random.below(2);
    if (lcp.b[0] + lcp.b[1] >= 0) lcp.b[1] = 0;
    Eigen::VectorXd z(n);
    for (const LcpMethod method : kPivoting) wrong += solvers.solve(method, lcp, z).status != LcpStatus::ray;
    wrong += solvers.solve(LcpMethod::enumeration, lcp, z).status != LcpStatus::no_solution;
    LcpSolverOptions trust;
    trust.trust_ray = true;
    wrong += solvers.chain.solve(lcp.view(), z.data(), trust).status != LcpStatus::ray;
    wrong += solvers.chain.solve(lcp.view(), z.data()).status == LcpStatus::solved;
  }
  CHECK(wrong == 0);
}

TEST_CASE("A warm start gives the same answer with fewer pivots, and with none where no row changes its side") {
  Random random(11);
  Solvers solvers;
  for (const LcpMethod method : kPivoting) {
    std::uint64_t cold = 0, warm = 0;
    double worst = 0;
    int failed = 0;
    for (int k = 0; k < 300; ++k) {
      OwnedLcp lcp = positive_definite(random, 30, 0);
      Eigen::VectorXd before, truth, z;
      solvers.solve(method, lcp, before);
      lcp.b += 0.02 * random_vector(random, 30);
      cold += solvers.solve(method, lcp, truth).pivots;
      z = before;
      LcpOptions options;
      options.warm = true;
      const LcpResult result = solvers.solve(method, lcp, z, options);
      warm += result.pivots;
      failed += result.status != LcpStatus::solved;
      worst = std::max(worst, relative_difference(z, truth));
      z = truth;
      const LcpResult guessed = solvers.chain.solve(lcp.view(), z.data(), {options, false});
      failed += guessed.status != LcpStatus::solved || guessed.method != LcpMethod::guess || guessed.pivots != 0;
    }
    CHECK(failed == 0);
    CHECK(warm < cold);
    CHECK_WITHIN(worst, 1e-9);
  }
}

TEST_CASE("A wild guess, numbers that are none in it included, costs work and not the answer") {
  Random random(12);
  Solvers solvers;
  double worst = 0;
  for (int k = 0; k < 300; ++k) {
    const bool friction = k % 2 == 0;
    const OwnedLcp lcp = friction ? contacts(random, 4, 3, 0.3, 10) : positive_definite(random, 12, 0.3);
    Eigen::VectorXd z = 100 * random_vector(random, static_cast<int>(lcp.b.size()));
    if (k % 10 == 0) z[0] = std::numeric_limits<double>::quiet_NaN();
    LcpOptions options;
    options.warm = true;
    const LcpResult result = solvers.chain.solve(lcp.view(), z.data(), {options, false});
    CHECK(result.status == LcpStatus::solved);
    worst = std::max(worst, lcp_residual(lcp.view(), z.data()));
  }
  CHECK_WITHIN(worst, kLcpTolerance);
}

TEST_CASE("Units do not matter: rows scaled by D give D^-1 z") {
  Random random(13);
  Solvers solvers;
  double worst = 0;
  for (int k = 0; k < 300; ++k) {
    const OwnedLcp lcp = positive_definite(random, 10, 0.3);
    OwnedLcp scaled = lcp;
    Eigen::VectorXd D(10), truth, z;
    for (int i = 0; i < 10; ++i) D[i] = random.log_uniform(1e-4, 1e4);
    scaled.A = D.asDiagonal() * lcp.A * D.asDiagonal();
    scaled.b = D.asDiagonal() * lcp.b * 1e6;
    for (const LcpMethod method : kPivoting) {
      solvers.solve(method, lcp, truth);
      CHECK(solvers.solve(method, scaled, z).status == LcpStatus::solved);
      worst = std::max(worst, relative_difference(D.asDiagonal() * z / 1e6, truth));
    }
  }
  CHECK_WITHIN(worst, 1e-9);
}

TEST_CASE("Nothing is remembered between problems, and nothing is allocated") {
  Random random(14);
  Solvers solvers;
  const OwnedLcp first = contacts(random, 6, 3, 0.5, 10), second = positive_definite(random, 40, 0.3);
  Eigen::VectorXd a(18), b(40), again(18), tiny(3);
  const OwnedLcp small = contacts(random, 1, 1, 0.5, 10);
  std::uint64_t allocations = 0;
  bool same = true;
  {
    const AllocGuard guard;
    for (const LcpMethod method :
         {LcpMethod::lemke, LcpMethod::dantzig, LcpMethod::newton, LcpMethod::pgs, LcpMethod::none}) {
      solvers.solve(method, first, a);
      solvers.solve(method, second, b);
      solvers.solve(method, first, again);
      same = same && (a.array() == again.array()).all();
    }
    solvers.solve(LcpMethod::enumeration, small, tiny);
    allocations = guard.count();
  }
  CHECK(same);
  if (AllocGuard::available()) CHECK(allocations == 0);
}

}  // namespace
}  // namespace tactus
