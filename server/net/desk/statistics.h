// What the server measures about itself, over the last second and since start: for GetStatistics and the status line.
#pragma once

#include <string>
#include <vector>

#include "server/metrics/histogram.h"
#include "server/net/desk/requests.h"
#include "server/net/web/scrape.h"
#include "server/solver/exact_watch.h"
#include "server/solver/rate_watch.h"

namespace tactus::net {

// Percentiles in microseconds of a histogram of nanoseconds.
void set_histogram(v1::Histogram* out, const HistogramData& ns);

class NetStatistics {
 public:
  explicit NetStatistics(Hub& hub);
  // Once a second: closes the window. Gives the lines that the log should be told: of a slow model that does not hold
  // its rate, of an exact stepper that did not do what was asked.
  std::vector<std::string> roll();
  // Asks the tick for the present hash (one question at a time for all who wait), then replies.
  void answer(const Exchange& x);
  [[nodiscard]] std::string status_line() const;
  // For the web thread.
  [[nodiscard]] const Scrape& scrape() const { return scrape_; }

 private:
  void fill(v1::Statistics& out, std::uint64_t tick, std::uint64_t hash) const;
  void fill_solvers(v1::Statistics& out) const;
  std::string watch_rate();
  void leave_sample();
  void fill_client(const Session& session, v1::ClientStatistics& out) const;

  Hub& hub_;
  HistogramWindow wake_window_, work_window_, step_window_, solve_window_;
  RateWatch rate_watch_;
  ExactWatch exact_watch_;
  HistogramData wake_, work_, step_;  // of the last full second
  std::uint64_t rolled_ns_ = 0, ticks_seen_ = 0, contacts_seen_ = 0, skipped_seen_ = 0, skipped_ = 0, beats_seen_ = 0;
  double rate_hz_ = 0, contacts_mean_ = 0;
  std::vector<Exchange> waiting_;
  Scrape scrape_;
};

}  // namespace tactus::net
