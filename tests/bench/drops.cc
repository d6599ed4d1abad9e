// Every shape dropped on every other under every way to step: what holds for all pairs and is seen in none alone. A
// body falls from a random pose on one that is fixed, or into a bowl; on nothing if it rolls off. The overlap is
// measured by points of either surface in the other solid, apart from what found the contacts.
// CSV: fixed, moving, stepper, seed, steps, the deepest overlap of all [m] and of the last third [m], the most that the
// mechanical energy rose [J] (1 kg falls from less than 0.5 m), us a step, steps that the exact stepper did not
// resolve. usage: tactus_bench_drops [SECONDS [SEEDS [FIXED [MOVING [STEPPER [HZ]]]]]], names as in the columns, "" or
// left out: all; HZ: steps a second, 1000. Lines after a `#`: the worst of each column.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/dropped.h"

namespace tactus::test {
namespace {

struct Worst {
  const char* what;
  double Dropped::*of;
  double value = 0;
  std::string where;
};

int drop_all(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 1;
  const double hz = argc > 6 ? std::atof(argv[6]) : 1000;
  const auto named = [&](int i, const std::string& name) { return argc <= i || *argv[i] == '\0' || name == argv[i]; };
  int rows = 0;
  const std::vector<Solid> fixed = fixed_solids(), moving = dropped_solids();
  Worst worst[] = {{"deepest", &Dropped::deepest, 0, {}},
                   {"late", &Dropped::late, 0, {}},
                   {"rise", &Dropped::rise, 0, {}},
                   {"us", &Dropped::us, 0, {}}};
  std::printf("fixed,moving,stepper,seed,steps,deepest_m,late_m,rise_J,us,unresolved\n");
  for (const Solid& f : fixed)
    for (const Solid& m : moving)
      for (const Stepping& stepping : kAllSteppings)
        for (int seed = 1; seed <= seeds; ++seed) {
          std::string name = stepping.name();
          std::replace(name.begin(), name.end(), ',', '+');
          name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
          if (!named(3, f.name) || !named(4, m.name) || !named(5, name)) continue;
          const int steps = static_cast<int>(hz * seconds);
          ++rows;
          const Dropped row = drop(f, m, stepping, seed, steps, 1 / hz);
          const std::string where = f.name + "," + m.name + "," + name + "," + std::to_string(seed);
          std::printf("%s,%d,%.2e,%.2e,%.3g,%.1f,%llu\n", where.c_str(), steps, row.deepest, row.late, row.rise, row.us,
                      static_cast<unsigned long long>(row.unresolved));
          std::fflush(stdout);
          for (Worst& w : worst)
            if (row.*w.of > w.value) w.value = row.*w.of, w.where = where;
        }
  if (rows == 0)
    return std::fprintf(stderr, "no such shapes or stepper: names as in the columns of a run without them\n"), 1;
  for (const Worst& w : worst) std::printf("# worst %s: %.3g, %s\n", w.what, w.value, w.where.c_str());
  return 0;
}

}  // namespace
}  // namespace tactus::test

int main(int argc, char** argv) {
  return tactus::test::drop_all(argc, argv);
}
