// Lockstep's round trip: a grant of one tick by UDP, the step, its state back; beside a bare UDP echo in the same
// process.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "clients/cli/latency.h"

namespace tactus::cli {
namespace {

constexpr int kBlock = 50;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Second by second, since a processor may change its speed meanwhile and the server tells its steps of the last second.
struct LockstepResult {
  Spread grant_us, echo_us;
  Spread step_us;             // World::step alone, by the server: medians of the seconds' values; the largest maximum
  std::vector<double> ratio;  // of each second: p50 of the grants over those of echo and step together
};

// Puts the world under grants for a while, and back to how it was.
class InLockstep {
 public:
  InLockstep(client::Client& client, bool take_over) : client_(client) {
    claim_world(client, take_over);
    was_on_ = client.statistics().lockstep();
    if (!was_on_) client.set_lockstep(true);
  }
  ~InLockstep() {
    try {
      if (!was_on_) client_.set_lockstep(false);
      client_.release();
    } catch (const client::Error& error) {
      std::fprintf(stderr, "tactus: the server stays in lockstep: %s\n", error.what());
    }
  }
  InLockstep(const InLockstep&) = delete;
  InLockstep& operator=(const InLockstep&) = delete;

 private:
  client::Client& client_;
  bool was_on_ = false;
};

// One after another without a pause, as a program drives a simulation. Grants and echoes take turns in blocks, so that
// both see the same machine.
LockstepResult measure_lockstep(client::Client& client, const LatencyOptions& options) {
  LockstepResult result;
  client.subscribe({options.body.empty() ? std::vector<std::string>{} : std::vector<std::string>{options.body}, true,
                    false, false, true, 1});
  const InLockstep in_lockstep(client, options.take_over);
  Echo echo;
  std::vector<double> grants_us, step_p50, step_p99, step_p999;
  std::size_t grants_seen = 0, echoes_seen = 0;
  const std::int64_t end = client::now_ns() + static_cast<std::int64_t>(1e9 * options.seconds);
  std::int64_t second = client::now_ns() + 1'000'000'000;
  const auto end_second = [&] {
    const v1::Histogram step = client.statistics().step_us();
    step_p50.push_back(step.p50()), step_p99.push_back(step.p99()), step_p999.push_back(step.p999());
    result.step_us.max = std::max(result.step_us.max, step.max());
    result.step_us.count += step.count();
    const double grant = median({grants_us.begin() + static_cast<std::ptrdiff_t>(grants_seen), grants_us.end()});
    const std::vector<double>& echoes = echo.so_far();
    const double bare = median({echoes.begin() + static_cast<std::ptrdiff_t>(echoes_seen), echoes.end()});
    result.ratio.push_back(grant / (bare + step.p50()));
    grants_seen = grants_us.size(), echoes_seen = echoes.size();
    second = client::now_ns() + 1'000'000'000;
  };
  while (client::now_ns() < end && !interrupted()) {
    for (int i = 0; i < kBlock; ++i) {
      const std::int64_t sent = client::now_ns();
      const client::StatePtr state = client.advance(1);
      grants_us.push_back(1e-3 * static_cast<double>(state->receive_ns - sent));
    }
    for (int i = 0; i < kBlock; ++i) {
      echo.send();
      echo.wait();
    }
    if (client::now_ns() >= second) end_second();
  }
  if (result.ratio.empty()) end_second();
  result.step_us.p50 = median(step_p50), result.step_us.p99 = median(step_p99), result.step_us.p999 = median(step_p999);
  result.grant_us = spread_of(std::move(grants_us));
  result.echo_us = spread_of(echo.stop());
  return result;
}

std::string lockstep_json(const LockstepResult& r) {
  Json json;
  json.open('{').field("grant_to_state_us", r.grant_us).field("bare_echo_us", r.echo_us).field("step_us", r.step_us);
  return json.field("ratio_p50", median(r.ratio)).close('}').text();
}

}  // namespace

int run_lockstep_latency(const Common& common, const LatencyOptions& options) {
  client::Client client(client_options(common, "latency"));
  const LockstepResult r = measure_lockstep(client, options);
  if (common.json) {
    std::printf("%s\n", lockstep_json(r).c_str());
    return r.grant_us.count > 0 ? 0 : 1;
  }
  std::printf("%-24s %8s %8s %8s %8s  samples\n", "microseconds", "p50", "p99", "p99.9", "max");
  print_row("grant to state", r.grant_us);
  print_row("bare UDP echo", r.echo_us);
  print_row("step", r.step_us);
  const auto [least, most] = std::minmax_element(r.ratio.begin(), r.ratio.end());
  std::printf("grant to state is %.2f times echo + step (p50; median of %zu s, %.2f to %.2f)\n", median(r.ratio),
              r.ratio.size(), *least, *most);
  return r.grant_us.count > 0 ? 0 : 1;
}

}  // namespace tactus::cli
