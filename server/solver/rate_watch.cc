#include "server/solver/rate_watch.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tactus {

namespace {

constexpr std::uint64_t kOneIn = 100;  // steps that may be late

template <typename... Values>
std::string format(const char* text, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, text, values...);
  return line;
}

std::string milliseconds(std::uint64_t ns) {
  const double ms = 1e-6 * static_cast<double>(ns);
  return format(ms < 99.5 ? "%.2g ms" : "%.0f ms", ms);
}

}  // namespace

std::string RateWatch::take(const Model& model, const Counts& now, const Times& times) {
  const bool same = model.name == model_.name && model.ticks_per_step == model_.ticks_per_step &&
                    model.tick_s == model_.tick_s && now.solves >= last_.solves;
  if (!same || model.ticks_per_step <= 1) {
    model_ = model, last_ = now;
    count_ = silent_ = 0;
    return {};
  }
  seen_[count_++ % kSeconds] = {std::exchange(last_, now), times};
  const std::size_t seconds = std::min(count_, kSeconds);
  const Counts& before = seen_[(count_ - seconds) % kSeconds].before;
  const std::uint64_t solves = now.solves - before.solves, late = now.late - before.late,
                      lost = now.ticks_lost - before.ticks_lost;
  if (silent_ > 0) --silent_;
  // Of ten whole seconds, also where fewer have been seen. One step alone may lose time: a reset lets it end unused.
  const double steps = std::max(static_cast<double>(solves), kSeconds / (model.ticks_per_step * model.tick_s));
  if ((static_cast<double>(late * kOneIn) <= steps && (lost == 0 || late < 2)) || silent_ > 0) return {};
  const Times worst = std::max_element(seen_.begin(), seen_.begin() + static_cast<std::ptrdiff_t>(seconds),
                                       [](const Second& a, const Second& b) { return a.times.p99_ns < b.times.p99_ns; })
                          ->times;
  silent_ = kSeconds, count_ = 0;
  const double step_ms = 1e3 * model.ticks_per_step * model.tick_s;
  std::string text = format("model %s does not hold its %g Hz: in the last %zu s %llu of %llu steps were late",
                            model.name.c_str(), 1e3 / step_ms, seconds, static_cast<unsigned long long>(late),
                            static_cast<unsigned long long>(std::max(solves, late)));
  if (lost > 0)
    text += format(" and %g ms of simulated time were lost", 1e3 * static_cast<double>(lost) * model.tick_s);
  text += format(" (a step has %g ms; ", step_ms) +
          (solves == 0 ? std::string("no solve ended")
                       : "in the worst second a solve takes " + milliseconds(worst.p50_ns) + " in the middle and " +
                             milliseconds(worst.p99_ns) + " at the 99th percentile") +
          "). Between steps bodies go on with their velocities.";
  if (solves > 0 && static_cast<double>(worst.p99_ns) < 1e6 * step_ms) {
    return text + " The solves that ended fit: its thread waits for a processor, free one.";
  }
  const char* cheaper = model.name == "st" ? "penalty, which steps with the tick" : "st, the cheapest of the slow ones";
  return text + " Let fewer bodies touch, take another model (" + cheaper + "), or set [model." + model.name +
         "] rate_hz; a longer step is not always the cheaper one (server/README.md, \"Rates that hold\").";
}

}  // namespace tactus
