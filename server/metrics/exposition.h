// Counters, gauges and histograms as text that Prometheus and its kin scrape (text exposition format 0.0.4), written by
// prometheus-cpp. Not for the tick thread: allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/metrics/histogram.h"

namespace tactus {

// Samples of one family (name) may be added in any order; they come out together, families in the order of their first
// sample. A name is [a-z_:][a-z0-9_:]*; label values and helps may be any UTF-8.
class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Exposition();
  ~Exposition();
  void counter(const std::string& name, const std::string& help, std::uint64_t value, const Labels& labels = {});
  void gauge(const std::string& name, const std::string& help, double value, const Labels& labels = {});
  // Of nanoseconds, as seconds. Bounds are two an octave from 1 us to 1.1 s and lie on edges of the recorded buckets:
  // their counts are exact.
  void histogram(const std::string& name, const std::string& help, const HistogramData& ns, const Labels& labels = {});
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace tactus
