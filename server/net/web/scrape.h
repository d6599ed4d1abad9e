// GET /metrics and /healthz. Net leaves a sample once a second; the web thread writes the text when it is asked for, so
// that a scrape costs net nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control.pb.h"
#include "server/metrics/histogram.h"
#include "server/net/web/web_policy.h"
#include "server/realtime/tick_loop.h"

namespace tactus::net {

struct ScrapeSample {
  std::uint64_t made_ns = 0;
  bool is_beating = true;     // the tick has beaten since the sample before, or need not: in lockstep grants drive it
  v1::Statistics statistics;  // without the state's hash
  std::vector<HistogramData> ages;  // [ns] of the commands of each of statistics.clients
};

class Scrape {
 public:
  // access: of /metrics, as [web] metrics. The tick's numbers must outlive this.
  Scrape(const TickMetrics& tick, std::string access) : tick_(tick), access_(std::move(access)) {}

  void leave(std::shared_ptr<const ScrapeSample> sample);
  // From any thread but the tick's. Nothing: the path is none of these.
  [[nodiscard]] std::optional<WebPage> page(std::string_view path, bool is_local) const;

 private:
  [[nodiscard]] std::shared_ptr<const ScrapeSample> newest() const;
  [[nodiscard]] WebPage health() const;
  [[nodiscard]] WebPage metrics() const;

  const TickMetrics& tick_;
  std::string access_;
  mutable std::mutex mutex_;  // between net and web; the tick knows nothing of it
  std::shared_ptr<const ScrapeSample> sample_;
};

}  // namespace tactus::net
