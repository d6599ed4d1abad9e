// Log-linear histograms of times and sizes: written by one thread without allocation, lock or locked instruction, read
// by any. Values below 32 are exact; above, 32 buckets an octave: a percentile is at most 1/32 (3.1 %) too high, never
// too low.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tactus {

inline constexpr int kHistogramSubBits = 5;       // 32 buckets an octave
inline constexpr int kHistogramMaxExponent = 40;  // values from 2^40 on (18 minutes in ns) share the last bucket
inline constexpr std::size_t kHistogramBuckets = (std::size_t{kHistogramMaxExponent - kHistogramSubBits} + 1)
                                                 << kHistogramSubBits;

[[nodiscard]] std::size_t histogram_bucket(std::uint64_t value) noexcept;
// The largest value that falls into the bucket.
[[nodiscard]] std::uint64_t histogram_bucket_top(std::size_t bucket) noexcept;

// A plain copy, for computing with. Not for sharing between threads.
struct HistogramData {
  std::array<std::uint64_t, kHistogramBuckets> counts{};
  std::uint64_t count = 0, sum = 0, max = 0;

  void record(std::uint64_t value) noexcept;
  void merge(const HistogramData& other) noexcept;
  // The smallest recorded value with at least the fraction p (0..1) of all at or below it, rounded up to its bucket's
  // top. 0 when empty.
  [[nodiscard]] std::uint64_t percentile(double p) const noexcept;
  [[nodiscard]] double mean() const noexcept {
    return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
  }
};

// The shared form. record() by one thread; copy() by any: it may miss the record in progress, and its sums are made
// consistent.
class Histogram {
 public:
  void record(std::uint64_t value) noexcept;
  void copy(HistogramData& out) const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, kHistogramBuckets> counts_{};
  std::atomic<std::uint64_t> sum_{0}, max_{0};
};

// What was recorded since the last call, for example in the last second. Belongs to one reader. The maximum of a window
// is known to its bucket only.
class HistogramWindow {
 public:
  void take(const Histogram& source, HistogramData& window) noexcept;

 private:
  HistogramData last_;
};

}  // namespace tactus
