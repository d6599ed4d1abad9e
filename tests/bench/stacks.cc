// How long a step of lcp, st, lnc and peg takes over n: stacks of n cubes, exact and jittered, 10 ms steps, at rest and
// while they settle. CSV: model, stack, n, contacts, median and worst us of a step, factorisations a step, fallbacks,
// failures; then, as comments, the exponent of n of the median that a line through the logarithms gives. usage:
// tactus_bench_stacks [STEPS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/bench/usage.h"
#include "tests/support/scenes.h"

namespace tactus::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Line {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  int n = 0;
  void add(double x, double y) {
    x = std::log(x), y = std::log(y);
    sx += x, sy += y, sxx += x * x, sxy += x * y, ++n;
  }
  double slope() const { return (n * sxy - sx * sy) / (n * sxx - sx * sx); }
};

enum class Pile { aligned, jittered, tower };
constexpr const char* kPileName[] = {"aligned", "jittered", "tower"};

Scene make(Pile pile, int n) {
  if (pile != Pile::tower) return stack(n, pile == Pile::jittered);
  Scene scene;
  scene.add_floor();
  for (int i = 0; i < n; ++i) {
    const double half = 0.5 - 0.01 * i;
    scene.add(make_box(Vec3(half, half, 0.5)), 1, at(0, 0, 0.5 + i));
  }
  return scene;
}

double measure(ContactModelKind kind, Pile pile, int n, int steps) {
  Scene scene = make(pile, n);
  scene.model->contact_model = kind;
  scene.model->step = 0.01;
  scene.limits.problem_contacts = 4096;
  World world = scene.world();
  std::vector<double> us;
  std::uint32_t iterations = 0, fallbacks = 0, failures = 0, contacts = 0;
  for (int i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    const StepReport report = world.step();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    iterations += report.solver_iterations, fallbacks += report.solver_fallbacks, failures += report.solver_failures;
    contacts = world.contacts().point_count;
  }
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2];
  std::printf("%s,%s,%d,%u,%.1f,%.1f,%.2f,%u,%u\n", to_string(kind), kPileName[static_cast<int>(pile)], n, contacts,
              median, us.back(), static_cast<double>(iterations) / steps, fallbacks, failures);
  return median;
}

}  // namespace
}  // namespace tactus::test

int main(int argc, char** argv) {
  using namespace tactus;
  if (bench::tells_usage(argc, argv, "[STEPS]    of each stack; default 200. CSV to the terminal")) return 2;
  const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  std::printf("model,stack,n,contacts,median_us,worst_us,factorisations,fallbacks,failures\n");
  for (const ContactModelKind kind :
       {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::lnc, ContactModelKind::peg}) {
    for (const auto pile : {test::Pile::aligned, test::Pile::jittered, test::Pile::tower}) {
      if (kind == ContactModelKind::lnc && pile != test::Pile::tower) continue;
      test::Line line;
      for (const int n : {1, 2, 5, 10, 20}) {
        const double median = test::measure(kind, pile, n, steps);
        if (n >= 5) line.add(n, median);
      }
      std::printf("# %s %s: n^%.2f (n >= 5)\n", to_string(kind), test::kPileName[static_cast<int>(pile)], line.slope());
      std::fflush(stdout);
    }
  }
  return 0;
}
