#include "server/metrics/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tactus {
namespace {
constexpr std::uint64_t kSub = 1u << kHistogramSubBits;
}  // namespace

std::size_t histogram_bucket(std::uint64_t value) noexcept {
  if (value < kSub) return static_cast<std::size_t>(value);
  const int exponent = 63 - std::countl_zero(value);
  if (exponent >= kHistogramMaxExponent) return kHistogramBuckets - 1;
  const int octave = exponent - kHistogramSubBits;
  return (static_cast<std::size_t>(octave + 1) << kHistogramSubBits) + ((value >> octave) & (kSub - 1));
}

std::uint64_t histogram_bucket_top(std::size_t bucket) noexcept {
  if (bucket < kSub) return bucket;
  const std::size_t octave = (bucket >> kHistogramSubBits) - 1;
  return ((kSub + (bucket & (kSub - 1)) + 1) << octave) - 1;
}

void HistogramData::record(std::uint64_t value) noexcept {
  ++counts[histogram_bucket(value)];
  ++count;
  sum += value;
  max = std::max(max, value);
}

void HistogramData::merge(const HistogramData& other) noexcept {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  count += other.count;
  sum += other.sum;
  max = std::max(max, other.max);
}

std::uint64_t HistogramData::percentile(double p) const noexcept {
  if (count == 0) return 0;
  const double clamped = std::clamp(p, 0.0, 1.0);
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(clamped * static_cast<double>(count))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (seen >= wanted) return std::min(histogram_bucket_top(i), max);
  }
  return max;
}

void Histogram::record(std::uint64_t value) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<std::uint64_t>& bucket = counts_[histogram_bucket(value)];
  bucket.store(bucket.load(relaxed) + 1, relaxed);
  sum_.store(sum_.load(relaxed) + value, relaxed);
  if (value > max_.load(relaxed)) max_.store(value, relaxed);
}

void Histogram::copy(HistogramData& out) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  out.count = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    out.counts[i] = counts_[i].load(relaxed);
    out.count += out.counts[i];
  }
  out.sum = sum_.load(relaxed);
  out.max = max_.load(relaxed);
}

void HistogramWindow::take(const Histogram& source, HistogramData& window) noexcept {
  HistogramData now;
  source.copy(now);
  window.max = 0;
  for (std::size_t i = 0; i < now.counts.size(); ++i) {
    window.counts[i] = now.counts[i] - last_.counts[i];
    if (window.counts[i] != 0) window.max = std::min(histogram_bucket_top(i), now.max);
  }
  window.count = now.count - last_.count;
  window.sum = now.sum - last_.sum;
  last_ = now;
}

}  // namespace tactus
