// tactus_bench: the benchmark scenes with our engine and, in the same run, with the peers that were found.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <regex>

#include "tests/bench/bench_cases.h"

namespace {

using namespace tactus::bench;

constexpr EngineKind kEngines[] = {EngineKind::tactus, EngineKind::bullet, EngineKind::bullet_margin,
                                   EngineKind::ode_quick, EngineKind::ode_step};

std::vector<Row> run_cases(const std::vector<Case>& cases, const std::string& filter,
                           const std::string& engine_filter) {
  std::vector<Row> rows;
  const std::regex wanted(filter), engines(engine_filter);
  for (const Case& c : cases) {
    if (!std::regex_search(c.name, wanted)) continue;
    for (EngineKind e : kEngines) {
      if (!available(e) || !std::regex_search(to_string(e), engines) ||
          (e == EngineKind::ode_step && !c.exact_solver_too))
        continue;
      std::fprintf(stderr, "%s, %s\n", c.name.c_str(), to_string(e));
      rows.push_back(run_case(c, e));
    }
  }
  return rows;
}

// What the comparison with the peers proves; false and a line for each miss. Ratios within one run only.
bool check(const std::vector<Row>& rows) {
  bool good = true;
  int compared = 0;
  for (const auto& r : rows) {
    if (r.engine != EngineKind::tactus) continue;
    const double ratio = ratio_to_best_peer(rows, r.what.name);
    if (r.fell) good = false, std::printf("check: our %s fell\n", r.what.name.c_str());
    if (ratio > 1.5)
      good = false, std::printf("check: %s takes %.2f times the fastest peer's time, expected at most 1.5\n",
                                r.what.name.c_str(), ratio);
    compared += ratio > 0;
  }
  std::printf("check: %d cases compared with peers, %s\n", compared, good && compared ? "all good" : "NOT good");
  return good && compared;
}

}  // namespace

int main(int argc, char** argv) {
  std::string csv, filter, engines;
  bool quick = false, must_hold = false;
  CLI::App app("Runs the benchmark scenes: ours beside Bullet and ODE.", "tactus_bench");
  app.add_option("--csv", csv, "write the rows to this file");
  app.add_option("--only", filter, "cases whose name this regular expression finds");
  app.add_option("--engines", engines, "engines whose name this regular expression finds");
  app.add_flag("--quick", quick, "short stacks, piles up to 100");
  app.add_flag("--check", must_hold,
               "exit 1 when we are slower than 1.5 times the fastest peer, or a stack of ours falls");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code ? 2 : 0;
  }
  try {
    const auto rows = run_cases(all_cases(quick), filter, engines);
    const auto bottom = filter.empty() ? bottom_scaling(quick) : std::vector<BottomRow>{};
    std::cout << table_text(rows, bottom) << std::flush;
    if (!csv.empty() && !(std::ofstream(csv) << csv_text(rows, bottom)))
      throw std::runtime_error("cannot write " + csv);
    return must_hold && !check(rows) ? 1 : 0;
  } catch (const std::exception& e) {
    std::cerr << "tactus_bench: " << e.what() << "\n";
    return 1;
  }
}
