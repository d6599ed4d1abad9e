// How long each complementarity solver takes over n. CSV: kind, n, method, problems, median us, mean pivots, solved
// share; then, as comments, the exponent of n that a line through the logarithms of n >= 20 gives.
// usage: tactus_bench_lcp [PROBLEMS_PER_SIZE]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/math/lcp.h"
#include "tests/bench/usage.h"
#include "tests/support/lcp_problems.h"

namespace tactus::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kRows = 120;

enum class Kind { definite, semidefinite, boxes, standard };
constexpr const char* kKindName[] = {"definite", "semidefinite", "friction_boxes", "stewart_trinkle"};
constexpr const char* kMethodName[] = {"chain", "guess", "lemke", "dantzig", "newton", "pgs"};

OwnedLcp make(Kind kind, Random& random, int n) {
  switch (kind) {
    case Kind::definite:
      return positive_definite(random, n, 0);
    case Kind::semidefinite:
      return degenerate_psd(random, n, std::max(2, n / 3));
    case Kind::boxes:
      return contacts(random, n / 3, std::max(2, n / 8), 0.5, 100);
    case Kind::standard:
      return stewart_trinkle(random, n / 6, std::max(2, n / 16), 0.5, 4);
  }
  return {};
}

struct Solvers {
  LemkeSolver lemke{kRows, 3 * kRows};
  DantzigSolver dantzig{kRows};
  NewtonSolver newton{kRows};
  PgsSolver pgs{kRows};
  LcpSolver chain{kRows, kRows};

  LcpResult solve(LcpMethod method, const LcpProblem& problem, double* z) {
    switch (method) {
      case LcpMethod::lemke:
        return lemke.solve(problem, z);
      case LcpMethod::dantzig:
        return dantzig.solve(problem, z);
      case LcpMethod::newton:
        return newton.solve(problem, z);
      case LcpMethod::pgs:
        return pgs.solve(problem, z);
      default:
        return chain.solve(problem, z);
    }
  }
};

struct Line {
  double sum = 0, x = 0, y = 0, xx = 0, xy = 0;
  void add(double a, double b) {
    sum += 1;
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  [[nodiscard]] double slope() const { return (sum * xy - x * y) / (sum * xx - x * x); }
};

void measure(Solvers& solvers, Kind kind, LcpMethod method, int problems) {
  std::vector<double> z(kRows), times(static_cast<std::size_t>(problems));
  Line line;
  for (const int n : {6, 12, 24, 36, 48, 60, 90, 120}) {
    Random random(static_cast<std::uint64_t>(n));
    std::uint64_t pivots = 0;
    int solved = 0;
    for (double& time : times) {
      const OwnedLcp lcp = make(kind, random, n);
      const auto start = Clock::now();
      const LcpResult result = solvers.solve(method, lcp.view(), z.data());
      time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      pivots += result.pivots;
      solved += result.status == LcpStatus::solved;
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    if (n >= 20) line.add(std::log(n), std::log(median));
    std::printf("%s,%d,%s,%d,%.2f,%.1f,%.3f\n", kKindName[static_cast<int>(kind)], n,
                kMethodName[static_cast<int>(method)], problems, median, static_cast<double>(pivots) / problems,
                static_cast<double>(solved) / problems);
  }
  std::printf("# %s, %s: n^%.2f\n", kKindName[static_cast<int>(kind)], kMethodName[static_cast<int>(method)],
              line.slope());
}

}  // namespace
}  // namespace tactus::test

int main(int count, char** arguments) {
  using namespace tactus;
  using namespace tactus::test;
  if (bench::tells_usage(count, arguments, "[PROBLEMS]    of each size and kind; default 100. CSV to the terminal"))
    return 2;
  const int problems = count > 1 ? std::max(1, std::atoi(arguments[1])) : 100;
  Solvers solvers;
  std::printf("kind,n,method,problems,us,pivots,solved\n");
  for (const Kind kind : {Kind::definite, Kind::semidefinite, Kind::boxes, Kind::standard}) {
    for (const LcpMethod method :
         {LcpMethod::lemke, LcpMethod::dantzig, LcpMethod::newton, LcpMethod::pgs, LcpMethod::none}) {
      if (kind == Kind::standard && method == LcpMethod::pgs) continue;  // its sliding rows have no diagonal
      measure(solvers, kind, method, problems);
    }
  }
  return 0;
}
