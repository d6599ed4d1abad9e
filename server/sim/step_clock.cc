#include "server/sim/step_clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tactus {
namespace {

constexpr std::size_t kBatch = 16;
constexpr double kLong_us = 20;  // the CPU clock's noise of a few 0.1 us does not matter from here on
constexpr double kNoise_us = 2;  // the two clocks of a batch are not read at the same instant

double clock_us(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

#if defined(__x86_64__)
std::uint64_t counter() noexcept {
  _mm_lfence();
  const std::uint64_t count = __rdtsc();
  _mm_lfence();
  return count;
}
#else
std::uint64_t counter() noexcept {
  return static_cast<std::uint64_t>(clock_us(CLOCK_THREAD_CPUTIME_ID) * 1e3);
}
#endif

// The counter against the monotonic clock over 20 ms; the best of three, since a preemption only spoils one.
double measure_rate() noexcept {
#if defined(__x86_64__)
  double best_gap = 1e300, rate = 1;
  for (int i = 0; i < 3; ++i) {
    const double t0 = clock_us(CLOCK_MONOTONIC);
    const std::uint64_t c0 = counter();
    const double t1 = clock_us(CLOCK_MONOTONIC);
    double t2 = t1;
    while (t2 - t1 < 7000) t2 = clock_us(CLOCK_MONOTONIC);
    const std::uint64_t c1 = counter();
    const double t3 = clock_us(CLOCK_MONOTONIC);
    const double gap = (t1 - t0) + (t3 - t2);
    if (gap < best_gap) best_gap = gap, rate = 0.5 * (t2 + t3 - t0 - t1) / static_cast<double>(c1 - c0);
  }
  return rate;
#else
  return 1e-3;
#endif
}

// Median time of measuring nothing.
template <typename Now>
double measure_overhead(Now now_us) {
  std::vector<float> empty(1000);
  for (auto& x : empty) {
    const double start = now_us();
    x = static_cast<float>(now_us() - start);
  }
  return percentiles(empty).median;
}

}  // namespace

Percentiles percentiles(std::vector<float> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double q) {
    const auto i = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    return static_cast<double>(values[std::min(values.size() - 1, i > 0 ? i - 1 : 0)]);
  };
  return {rank(0.5), rank(0.99), values.back()};
}

StepClock::StepClock(std::uint64_t expected) {
  us_.reserve(std::min<std::uint64_t>(expected, 1u << 26));
  us_per_count_ = measure_rate();
  const std::uint64_t zero = counter();
  overhead_us_ = measure_overhead([&] { return static_cast<double>(counter() - zero) * us_per_count_; });
  cpu_overhead_us_ = measure_overhead([] { return clock_us(CLOCK_THREAD_CPUTIME_ID); });
}

void StepClock::begin() noexcept {
  if (long_steps_ || us_.size() == batch_first_) start_cpu_us_ = clock_us(CLOCK_THREAD_CPUTIME_ID);
  if (us_.size() == batch_first_) {
    batch_cpu_us_ = start_cpu_us_;
    batch_start_ = counter();
  }
  start_ = counter();
}

double StepClock::end() {
  const double us = long_steps_ ? clock_us(CLOCK_THREAD_CPUTIME_ID) - start_cpu_us_ - cpu_overhead_us_
                                : static_cast<double>(counter() - start_) * us_per_count_ - overhead_us_;
  us_.push_back(static_cast<float>(std::max(0.0, us)));
  const double seen = us_.back();
  if (us_.size() - batch_first_ == kBatch) close_batch();
  return seen;
}

void StepClock::close_batch() noexcept {
  const double wall = static_cast<double>(counter() - batch_start_) * us_per_count_;
  const double away = wall - (clock_us(CLOCK_THREAD_CPUTIME_ID) - batch_cpu_us_);
  const auto first = us_.begin() + static_cast<std::ptrdiff_t>(batch_first_);
  if (!long_steps_ && away > kNoise_us && first != us_.end()) {
    // Between steps the thread may be off the processor too, so a step never goes below the second longest of its
    // batch.
    const auto longest = std::max_element(first, us_.end());
    float second = 0;
    for (auto it = first; it != us_.end(); ++it)
      if (it != longest) second = std::max(second, *it);
    *longest = std::max({second, static_cast<float>(*longest - away), 0.0f});
  }
  double sum = 0;
  for (auto it = first; it != us_.end(); ++it) sum += *it;
  long_steps_ = sum > kLong_us * static_cast<double>(us_.end() - first);
  batch_first_ = us_.size();
}

const std::vector<float>& StepClock::finish() {
  if (us_.size() > batch_first_) close_batch();
  return us_;
}

}  // namespace tactus
