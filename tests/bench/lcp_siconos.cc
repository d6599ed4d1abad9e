// Our complementarity solvers beside those of Siconos (INRIA) on the same random problems. Exit 1, where Siconos has a
// solution and our chain has none, where the two differ although there is only one, or a residual is over its bound.
#include <SiconosConfig.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

extern "C" {
#include <numerics/LCP_Solvers.h>
#include <numerics/LinearComplementarityProblem.h>
#include <numerics/MLCP_Solvers.h>
#include <numerics/MixedLinearComplementarityProblem.h>
#include <numerics/NonSmoothDrivers.h>
#include <numerics/NumericsMatrix.h>
#include <numerics/NumericsVerbose.h>
#include <numerics/SolverOptions.h>
#include <numerics/lcp_cst.h>
#include <numerics/mlcp_cst.h>
}

#include "core/math/lcp.h"
#include "tests/support/lcp_problems.h"

namespace tactus::test {
namespace {

// Siconos keeps dense matrices by columns.
bool siconos_lcp(const OwnedLcp& lcp, int method, Eigen::VectorXd& z) {
  Eigen::MatrixXd columns = lcp.A;
  Eigen::VectorXd q = lcp.b, w = Eigen::VectorXd::Zero(lcp.b.size());
  const int n = static_cast<int>(lcp.b.size());
  LinearComplementarityProblem problem{};
  problem.size = n;
  problem.M = NM_create_from_data(NM_DENSE, n, n, columns.data());
  problem.q = q.data();
  SolverOptions* options = solver_options_create(method);
  z = Eigen::VectorXd::Zero(n);
  const int info = linearComplementarity_driver(&problem, z.data(), w.data(), options);
  solver_options_delete(options);
  free(problem.M);  // not its numbers, which are columns'
  return info == 0 && z.allFinite() && lcp_residual(lcp.view(), z.data()) <= 1e-6;
}

bool siconos_mixed(const OwnedLcp& lcp, Eigen::VectorXd& z) {
  Eigen::MatrixXd columns = lcp.A;
  Eigen::VectorXd q = lcp.b, w = Eigen::VectorXd::Zero(lcp.b.size());
  const int n = static_cast<int>(lcp.b.size()), n_free = static_cast<int>(lcp.n_free);
  MixedLinearComplementarityProblem problem{};
  int rows[3] = {0, n_free, n}, complementary[2] = {0, 1};
  problem.isStorageType1 = 1;
  problem.n = n_free;
  problem.m = n - n_free;
  problem.blocksRows = rows;
  problem.blocksIsComp = complementary;
  problem.M = NM_create_from_data(NM_DENSE, n, n, columns.data());
  problem.q = q.data();
  SolverOptions* options = solver_options_create(SICONOS_MLCP_ENUM);
  mlcp_driver_init(&problem, options);
  z = Eigen::VectorXd::Zero(n);
  const int info = mlcp_driver(&problem, z.data(), w.data(), options);
  mlcp_driver_reset(&problem, options);
  solver_options_delete(options);
  free(problem.M);
  return info == 0 && z.allFinite() && lcp_residual(lcp.view(), z.data()) <= 1e-6;
}

// Box friction |f| <= mu f_n as a standard problem of three rows a friction row: f = x - mu f_n with x >= 0 and
// 2 mu f_n - x >= 0, whose multiplier takes the slip's negative part.
bool siconos_boxes(const OwnedLcp& box, Eigen::VectorXd& z) {
  const Eigen::Index n = box.b.size(), contacts = n / 3, friction = 2 * contacts;
  OwnedLcp lcp;
  lcp.A = RowMatrix::Zero(n + friction, n + friction);
  lcp.b = Eigen::VectorXd::Zero(n + friction);
  RowMatrix from = RowMatrix::Identity(n, n);  // f of (f_n, x)
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::int32_t normal = box.normal[static_cast<std::size_t>(i)];
    if (normal >= 0) from(i, normal) = -box.hi[i];
  }
  lcp.A.topLeftCorner(n, n) = box.A * from;
  lcp.b.head(n) = box.b;
  for (Eigen::Index i = 0, k = n; i < n; ++i) {
    const std::int32_t normal = box.normal[static_cast<std::size_t>(i)];
    if (normal < 0) continue;
    lcp.A(i, k) = 1, lcp.A(k, i) = -1, lcp.A(k, normal) = 2 * box.hi[i], ++k;
  }
  Eigen::VectorXd standard;
  if (!siconos_lcp(lcp, SICONOS_LCP_LEMKE, standard)) return false;
  z = from * standard.head(n);
  return lcp_residual(box.view(), z.data()) <= 1e-6;
}

struct Tally {
  int all = 0, ours = 0, theirs = 0, lost = 0;
  double residual = 0, difference = 0;
};

// compared: how many leading unknowns are unique (in A z, where w is what is unique).
enum class Unique { z, w, velocities, nothing };

struct Enumeration {
  BasisSolver basis;
  explicit Enumeration(std::uint32_t n_max) : basis(n_max) {}
  LcpResult solve(const LcpProblem& problem, double* z) { return enumerate_lcp(problem, basis, z); }
};

template <typename Solver>
Solver make_solver() {
  if constexpr (std::is_same_v<Solver, LcpSolver>) {
    return Solver(64, 64);
  } else if constexpr (std::is_same_v<Solver, LemkeSolver>) {
    return Solver(64, 192);
  } else {
    return Solver(64);
  }
}

template <typename Solver>
void compare(Tally& tally, Solver& solver, const OwnedLcp& lcp, Unique unique, int method) {
  Eigen::VectorXd ours = Eigen::VectorXd::Zero(lcp.b.size()), theirs;
  const bool they_do = lcp.boxes         ? siconos_boxes(lcp, theirs)
                       : lcp.n_free > 0 ? siconos_mixed(lcp, theirs)
                                        : siconos_lcp(lcp, method, theirs);
  const bool we_do = solver.solve(lcp.view(), ours.data()).status == LcpStatus::solved;
  ++tally.all;
  tally.ours += we_do;
  tally.theirs += they_do;
  tally.lost += they_do && !we_do;
  if (we_do) tally.residual = std::max(tally.residual, lcp_residual(lcp.view(), ours.data()));
  if (!we_do || !they_do || unique == Unique::nothing) return;
  Eigen::VectorXd difference = ours - theirs;
  double size = ours.cwiseAbs().maxCoeff() + 1e-3;
  if (unique == Unique::w) {
    difference = (lcp.A * difference).eval();
    size = lcp.b.cwiseAbs().maxCoeff() + (lcp.A * ours).cwiseAbs().maxCoeff();
  }
  const auto compared = unique == Unique::velocities ? Eigen::Index(lcp.n_free) : difference.size();
  tally.difference = std::max(tally.difference, difference.head(compared).cwiseAbs().maxCoeff() / size);
}

bool report(const char* name, const Tally& tally, bool may_fail) {
  const bool good = (may_fail ? tally.ours > tally.all / 2 : tally.lost == 0) && tally.residual <= kLcpTolerance && tally.difference <= 1e-6;
  std::printf("%-40s %5d problems, solved: ours %5d, Siconos %5d; residual %.1e, difference %.1e%s\n", name, tally.all,
              tally.ours, tally.theirs, tally.residual, tally.difference, good ? "" : "   FAILED");
  return good;
}

// may_fail: a method that does not promise to solve this kind; what it solves must be right all the same.
template <typename Solver = LcpSolver, typename Make>
bool kind(const char* name, int count, Unique unique, int method, const Make& make, bool may_fail = false) {
  Random random(77);
  Solver solver = make_solver<Solver>();
  Tally tally;
  for (int k = 0; k < count; ++k) compare(tally, solver, make(random, k), unique, method);
  return report(name, tally, may_fail);
}

// Each method by itself, where there is one solution, and on contacts with boxes of friction.
template <typename Solver>
bool method(const char* name, bool friction, bool may_fail) {
  const std::string text = name;
  bool good = kind<Solver>((text + ", P-matrices").c_str(), 1000, Unique::z, SICONOS_LCP_LEMKE,
                           [](Random& r, int k) { return positive_definite(r, 1 + k % 10, 0.3); }, may_fail);
  good &= kind<Solver>((text + ", semidefinite with ties").c_str(), 1000, Unique::w, SICONOS_LCP_LEMKE,
                       [](Random& r, int k) { return degenerate_psd(r, 2 + k % 9, 1 + k % 8); }, may_fail);
  if (!friction) return good;
  return good & kind<Solver>((text + ", friction boxes").c_str(), 1000, Unique::nothing, 0,
                             [](Random& r, int k) { return contacts(r, 1 + k % 4, 1 + k % 3, 0.3, 10); }, may_fail);
}

int run() {
  numerics_set_verbose(0);
  const int lemke = SICONOS_LCP_LEMKE, all = SICONOS_LCP_ENUM;
  bool good = true;
  good &= kind("P-matrices, Lemke", 3000, Unique::z, lemke, [](Random& r, int k) {
    return k % 2 == 0 ? positive_definite(r, 1 + k % 40, 0.3) : triangular_p(r, 1 + k % 12);
  });
  good &= kind("P-matrices, enumeration", 500, Unique::z, all,
               [](Random& r, int k) { return positive_definite(r, 1 + k % 8, 0.3); });
  good &= kind("semidefinite with ties, Lemke", 2000, Unique::w, lemke,
               [](Random& r, int k) { return degenerate_psd(r, 2 + k % 25, 1 + k % 8); });
  good &= kind("Stewart-Trinkle friction, Lemke", 1000, Unique::nothing, lemke,
               [](Random& r, int k) { return stewart_trinkle(r, 1 + k % 5, 1 + k % 3, 0.5, 4); });
  good &= kind("mixed, enumeration", 500, Unique::velocities, 0,
               [](Random& r, int k) { return velocities_and_impulses(r, 3 + k % 6, 1 + k % 6); });
  good &= kind("friction boxes, Lemke", 1000, Unique::nothing, lemke,
               [](Random& r, int k) { return contacts(r, 1 + k % 6, 1 + k % 3, 0.5, 10); });
  good &= method<LemkeSolver>("Lemke alone", true, false);
  good &= method<DantzigSolver>("Dantzig alone", true, true);
  good &= method<NewtonSolver>("Newton alone", true, true);
  good &= method<PgsSolver>("Gauss-Seidel alone", true, true);
  good &= method<Enumeration>("enumeration alone", false, false);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tactus::test

int main() {
  return tactus::test::run();
}
