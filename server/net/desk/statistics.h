// What the server measures about itself, over the last second and since start: for GetStatistics and the status line.
#pragma once

#include <string>
#include <vector>

#include "server/metrics/histogram.h"
#include "server/net/control/client_lines.h"
#include "server/net/control/refusals.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/play_desk.h"
#include "server/net/desk/record_desk.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/client_ways.h"
#include "server/net/web/scrape.h"
#include "server/net/web/web_port.h"
#include "server/realtime/clock.h"
#include "server/solver/exact_watch.h"
#include "server/solver/rate_watch.h"

namespace tactus::net {

class NetStatistics {
 public:
  struct Uses {
    const NetOptions& options;
    const SceneView& scene;
    const WorldStatus& status;
    const SolverState& solvers;
    SessionTable& sessions;
    TickPort& tick;
    const ClientLines& lines;
    const Refusals& refusals;
    const ClientWays& ways;
    const RecordDesk& record;
    Scrape& scrape;
    const WebPort* web;  // null: switched off
  };
  explicit NetStatistics(const Uses& uses);
  // The server serves from now on.
  void start() { started_ns_ = now_ns(); }
  // What is shown is a recording.
  void play(const PlayDesk& desk) { play_ = &desk; }
  // Once a second: closes the window. Gives the lines that the log should be told: of a slow model that does not hold
  // its rate, of an exact stepper that did not do what was asked.
  std::vector<std::string> roll();
  // Asks the tick for the present hash (one question at a time for all who wait), then replies.
  void answer(const Exchange& x);
  [[nodiscard]] std::string status_line() const;

 private:
  void fill(v1::Statistics& out, std::uint64_t tick, std::uint64_t hash) const;
  void fill_solvers(v1::Statistics& out) const;
  std::string watch_rate();
  void leave_sample();
  void fill_client(const Session& session, v1::ClientStatistics& out) const;

  const Uses uses_;
  const PlayDesk* play_ = nullptr;  // null: the world is live
  HistogramWindow wake_window_, work_window_, step_window_, solve_window_;
  RateWatch rate_watch_;
  ExactWatch exact_watch_;
  HistogramData wake_, work_, step_;  // of the last full second
  std::uint64_t started_ns_ = 0, rolled_ns_ = 0, ticks_seen_ = 0, contacts_seen_ = 0, skipped_seen_ = 0, skipped_ = 0,
                beats_seen_ = ~std::uint64_t{0};  // none: the first sample cannot tell
  double rate_hz_ = 0, contacts_mean_ = 0;
  std::vector<Exchange> waiting_;
};

}  // namespace tactus::net
