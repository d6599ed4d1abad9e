#include "server/metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

namespace tactus {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr int kFirstOctave = 10, kLastOctave = 30;  // 2^10 ns to 2^30 ns

ClientMetric labelled(const Exposition::Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

// All counts below the bound; a bound is the first value of a bucket, so that none is split.
std::uint64_t count_below(const HistogramData& ns, std::uint64_t bound) {
  std::uint64_t count = 0;
  const std::size_t end = histogram_bucket(bound);
  for (std::size_t i = 0; i < end; ++i) count += ns.counts[i];
  return count;
}

}  // namespace

struct Exposition::Families {
  std::vector<MetricFamily> list;

  void add(const std::string& name, const std::string& help, MetricType type, ClientMetric metric) {
    auto it = std::find_if(list.begin(), list.end(), [&](const MetricFamily& f) { return f.name == name; });
    if (it == list.end()) it = list.insert(list.end(), MetricFamily{name, help, type, {}});
    it->metric.push_back(std::move(metric));
  }
};

Exposition::Exposition() : families_(std::make_unique<Families>()) {}
Exposition::~Exposition() = default;

void Exposition::counter(const std::string& name, const std::string& help, std::uint64_t value, const Labels& labels) {
  ClientMetric metric = labelled(labels);
  metric.counter.value = static_cast<double>(value);
  families_->add(name, help, MetricType::Counter, std::move(metric));
}

void Exposition::gauge(const std::string& name, const std::string& help, double value, const Labels& labels) {
  ClientMetric metric = labelled(labels);
  metric.gauge.value = value;
  families_->add(name, help, MetricType::Gauge, std::move(metric));
}

void Exposition::histogram(const std::string& name, const std::string& help, const HistogramData& ns,
                           const Labels& labels) {
  ClientMetric metric = labelled(labels);
  metric.histogram.sample_count = ns.count;
  metric.histogram.sample_sum = 1e-9 * static_cast<double>(ns.sum);
  for (int octave = kFirstOctave; octave <= kLastOctave; ++octave) {
    for (const std::uint64_t bound : {std::uint64_t{1} << octave, std::uint64_t{3} << (octave - 1)}) {
      // "at most": times are whole nanoseconds
      metric.histogram.bucket.push_back({count_below(ns, bound), 1e-9 * static_cast<double>(bound - 1)});
    }
  }
  families_->add(name, help, MetricType::Histogram, std::move(metric));
}

std::string Exposition::text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families_->list);
  return out.str();
}

}  // namespace tactus
