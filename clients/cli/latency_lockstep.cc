// Lockstep's round trip: a grant of one tick by UDP, the step, its state back; beside a bare UDP echo in the same
// process.
#include <cstdio>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "clients/cli/latency.h"

namespace tactus::cli {
namespace {

constexpr int kBlock = 50;

struct LockstepResult {
  Spread grant_us, echo_us;
  v1::Histogram step_us;  // World::step alone, by the server
  double ratio() const { return grant_us.p50 / (echo_us.p50 + step_us.p50()); }
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
  std::vector<double> grants_us;
  const std::int64_t end = client::now_ns() + static_cast<std::int64_t>(1e9 * options.seconds);
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
  }
  result.step_us = client.statistics().step_us();
  result.grant_us = spread_of(std::move(grants_us));
  result.echo_us = spread_of(echo.stop());
  return result;
}

std::string lockstep_json(const LockstepResult& r) {
  Json json;
  json.open('{').field("grant_to_state_us", r.grant_us).field("bare_echo_us", r.echo_us).field("step_us", r.step_us);
  return json.field("ratio_p50", r.ratio()).close('}').text();
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
  std::printf("%-24s %8.0f %8.0f %8.0f %8.0f  %llu\n", "step, last second", r.step_us.p50(), r.step_us.p99(),
              r.step_us.p999(), r.step_us.max(), static_cast<unsigned long long>(r.step_us.count()));
  std::printf("grant to state is %.2f times echo + step (p50)\n", r.ratio());
  return r.grant_us.count > 0 ? 0 : 1;
}

}  // namespace tactus::cli
