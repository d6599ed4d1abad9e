// Histograms: percentiles against sorted samples, windows, and one writer beside one reader.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "server/metrics/counter.h"
#include "server/metrics/histogram.h"

using namespace tactus;

TEST_CASE("server_metrics: buckets tile the numbers without gap or overlap") {
  for (std::size_t i = 0; i + 1 < kHistogramBuckets; ++i) {
    CHECK(histogram_bucket(histogram_bucket_top(i)) == i);
    CHECK(histogram_bucket(histogram_bucket_top(i) + 1) == i + 1);
  }
  CHECK(histogram_bucket(~std::uint64_t{0}) == kHistogramBuckets - 1);
}

TEST_CASE("server_metrics: a percentile is never below the exact one, and at most 1/32 above") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> times(9, 2);
  auto data = std::make_unique<HistogramData>();
  std::vector<std::uint64_t> sorted;
  for (int i = 0; i < 20000; ++i) {
    sorted.push_back(static_cast<std::uint64_t>(times(random)));
    data->record(sorted.back());
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double p : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(p * static_cast<double>(sorted.size()))));
    const double exact = static_cast<double>(sorted[rank - 1]), found = static_cast<double>(data->percentile(p));
    CHECK(found >= exact);
    CHECK(found <= exact * (1 + 1.0 / 32) + 1);
  }
  CHECK(data->max == sorted.back());
  CHECK(HistogramData{}.percentile(0.5) == 0);
}

TEST_CASE("server_metrics: merging is the same as recording everything in one") {
  auto a = std::make_unique<HistogramData>(), b = std::make_unique<HistogramData>(),
       both = std::make_unique<HistogramData>();
  for (std::uint64_t i = 1; i < 5000; i += 3) (i % 2 == 0 ? a : b)->record(i * i), both->record(i * i);
  a->merge(*b);
  CHECK(a->counts == both->counts);
  CHECK(a->count == both->count);
  CHECK(a->sum == both->sum);
  CHECK(a->max == both->max);
}

TEST_CASE("server_metrics: a window holds what was recorded since the last one") {
  auto source = std::make_unique<Histogram>();
  auto reader = std::make_unique<HistogramWindow>();
  auto window = std::make_unique<HistogramData>();
  for (int i = 0; i < 100; ++i) source->record(1000);
  reader->take(*source, *window);
  CHECK(window->count == 100);
  for (int i = 0; i < 10; ++i) source->record(20);
  reader->take(*source, *window);
  CHECK(window->count == 10);
  CHECK(window->max == 20);
  CHECK(window->percentile(0.99) == 20);
  reader->take(*source, *window);
  CHECK(window->count == 0);
}

TEST_CASE("server_metrics: one thread writes while another reads") {
  auto shared = std::make_unique<Histogram>();
  Counter counter;
  constexpr std::uint64_t kTotal = 100000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kTotal; ++i) shared->record(i), counter.add();
  });
  auto copy = std::make_unique<HistogramData>();
  std::uint64_t before = 0;
  while (before < kTotal) {
    shared->copy(*copy);
    REQUIRE(copy->count >= before);
    before = copy->count;
  }
  writer.join();
  CHECK(counter.read() == kTotal);
  CHECK(copy->sum == kTotal * (kTotal - 1) / 2);
}
