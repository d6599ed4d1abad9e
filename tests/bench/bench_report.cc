#include <algorithm>
#include <cstdio>
#include <map>

#include "tests/bench/bench_cases.h"

namespace tactus::bench {
namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// (n, median us) of the piles of one engine.
std::vector<std::pair<double, double>> piles(const std::vector<Row>& rows, EngineKind engine) {
  std::vector<std::pair<double, double>> out;
  for (const auto& r : rows)
    if (r.engine == engine && r.what.scene == "pile") out.emplace_back(r.what.n, r.cpu_us.median);
  return out;
}

std::vector<std::string> names(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  for (const auto& r : rows)
    if (out.empty() || out.back() != r.what.name) out.push_back(r.what.name);
  return out;
}

constexpr EngineKind kEngines[] = {EngineKind::tactus, EngineKind::bullet, EngineKind::bullet_margin,
                                   EngineKind::ode_quick, EngineKind::ode_step};

std::string bottom_text(const std::vector<BottomRow>& bottom, const char* prefix) {
  std::string out;
  for (const auto& b : bottom)
    out += format("%sbottom points of %6u: %10.1f us, %u chosen; %.2f times one sort of them\n", prefix, b.points, b.us,
                  b.chosen, b.us / b.sort_us);
  return out;
}

}  // namespace

std::string csv_text(const std::vector<Row>& rows, const std::vector<BottomRow>& bottom) {
  std::string out = "# " + machine_line() +
                    "\nscene,n,engine,steps,cpu_us_median,cpu_us_p99,penetration_mean_m,penetration_max_m,energy_final_"
                    "j,fell,ratio_to_best_peer\n";
  for (const auto& r : rows) {
    const double ratio = r.engine == EngineKind::tactus ? ratio_to_best_peer(rows, r.what.name) : 0;
    out += format("%s,%d,%s,%llu,%.4g,%.4g,%.4g,%.4g,%.4g,%d,", r.what.scene.c_str(), r.what.n, to_string(r.engine),
                  static_cast<unsigned long long>(r.what.steps), r.cpu_us.median, r.cpu_us.p99, r.depth_mean,
                  r.depth_max, r.energy_final, r.fell ? 1 : 0);
    out += (ratio > 0 ? format("%.3g", ratio) : "") + "\n";
  }
  for (EngineKind e : kEngines)
    if (const auto p = piles(rows, e); p.size() > 2)
      out += format("# growth of the pile, n = %.0f to %.0f: %s n^%.2f\n", p.front().first, p.back().first,
                    to_string(e), growth_exponent(p));
  out += bottom_text(bottom, "# ");
  return out;
}

std::string table_text(const std::vector<Row>& rows, const std::vector<BottomRow>& bottom) {
  std::string out = machine_line() + "\nMedian us a step / mean depth in mm (! a stack fell)\n" + format("%-16s", "");
  for (EngineKind e : kEngines)
    if (available(e)) out += format("%20s", to_string(e));
  out += "   ours / fastest peer\n";
  for (const auto& name : names(rows)) {
    out += format("%-16s", name.c_str());
    for (EngineKind e : kEngines) {
      if (!available(e)) continue;
      const auto r = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return row.what.name == name && row.engine == e; });
      out += r == rows.end()
                 ? format("%20s", "-")
                 : format("%20s",
                          format("%s%.4g / %.2g", r->fell ? "! " : "", r->cpu_us.median, 1e3 * r->depth_mean).c_str());
    }
    const double ratio = ratio_to_best_peer(rows, name);
    out += ratio > 0 ? format("   %.2f\n", ratio) : "   -\n";
  }
  for (EngineKind e : kEngines)
    if (const auto p = piles(rows, e); p.size() > 2)
      out += format("pile grows with n^%.2f: %s\n", growth_exponent(p), to_string(e));
  out += bottom_text(bottom, "");
  return out;
}

}  // namespace tactus::bench
