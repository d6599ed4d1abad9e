// `tactus push`: a force on a body, for a while. `tactus claim`: holds leases until Ctrl-C.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "realtime.pb.h"

namespace tactus::cli {
namespace {

using ull = unsigned long long;

struct PushResult {
  std::map<std::string, std::uint64_t> verdicts;
  std::vector<double> age_us;
  std::uint64_t sent = 0;
  std::string problem;
  client::BodyState from, to;
  double seconds = 0;
};

client::Wrench wrench_of(const PushOptions& options, std::uint32_t body) {
  client::Wrench wrench;
  wrench.body = body;
  wrench.force_n = options.force;
  wrench.torque_n_m = options.torque;
  wrench.frame = options.frame == "body" ? client::Frame::body : client::Frame::world;
  wrench.p_BP = options.at;
  return wrench;
}

// Streams the command on an absolute grid of times. Each outlives two lost ones, so that a lost packet is not felt.
void stream(client::Client& client, const PushOptions& options, const client::Wrench& wrench, PushResult& result) {
  client::Command command;
  command.wrench(wrench);
  command.deadline_us = static_cast<std::uint32_t>(std::clamp(3e6 / options.rate_hz, 20e3, 200e3));
  const auto period = static_cast<std::int64_t>(1e9 / options.rate_hz);
  const std::int64_t start = client::now_ns(), end = start + static_cast<std::int64_t>(1e9 * options.for_s);
  for (std::int64_t due = start; due < end && !interrupted(); due += period) {
    sleep_until_ns(due);
    const client::SendResult sent = client.send(command);
    if (sent || sent.status == client::SendStatus::would_block) continue;
    const std::string reason = client.disarm_reason();
    result.problem = reason.empty() ? client::send_status_name(sent.status) : reason;
    break;
  }
  client.send_zero();  // judged like the others, and counted with them
  result.sent = client.link().verdicts.sent;
  result.seconds = 1e-9 * static_cast<double>(client::now_ns() - start);
}

void collect_verdicts(client::Client& client, PushResult& result) {
  // The last verdicts come within a tick or two; those that never come are told as unanswered after 250 ms.
  const std::int64_t until = client::now_ns() + 400'000'000;
  for (std::uint64_t judged = 0; judged < result.sent && client::now_ns() < until;) {
    for (const client::Verdict& verdict : client.take_verdicts()) {
      ++judged;
      ++result.verdicts[client::verdict_name(verdict.code)];
      if (verdict.applied()) result.age_us.push_back(verdict.age_us);
    }
    sleep_until_ns(client::now_ns() + 2'000'000);
  }
}

int print_push(const Common& common, const PushOptions& options, const PushResult& r, const client::Link& link) {
  client::Vec3 moved;
  for (std::size_t i = 0; i < 3; ++i) moved[i] = r.to.p_WB[i] - r.from.p_WB[i];
  const double distance = std::hypot(moved[0], moved[1], moved[2]);
  const double speed = std::hypot(r.to.v_WB[0], r.to.v_WB[1], r.to.v_WB[2]);
  const Spread age = spread_of(r.age_us);
  const bool refused =
      std::any_of(r.verdicts.begin(), r.verdicts.end(), [](const auto& v) { return v.first.starts_with("refused"); });
  const std::size_t least = refused ? 2 : 1;  // the zero at the end is applied in any case
  const bool good = r.problem.empty() && r.age_us.size() >= least;
  if (common.json) {
    Json json;
    json.open('{').field("body", options.body).field("seconds", r.seconds).field("sent", r.sent);
    json.open('{', "verdicts");
    for (const auto& [name, count] : r.verdicts) json.field(name, count);
    json.close('}').field("age_us", age).field("moved_m", moved).field("distance_m", distance);
    json.field("p_WB", r.to.p_WB).field("v_WB", r.to.v_WB).field("success_rate", link.success_rate);
    if (!r.problem.empty()) json.field("error", r.problem);
    std::printf("%s\n", json.field("ok", good).close('}').text().c_str());
    return good ? 0 : 1;
  }
  std::printf("%s moved %.4f m (%.4f, %.4f, %.4f) in %.2f s; speed now %.3f m/s\n", options.body.c_str(), distance,
              moved[0], moved[1], moved[2], r.seconds, speed);
  std::printf("%llu commands sent (the last one zero):", ull{r.sent});
  const char* comma = " ";
  for (const auto& [name, count] : r.verdicts) {
    std::printf("%s%llu %s", comma, ull{count}, name.c_str());
    comma = ", ";
  }
  if (age.count > 0) std::printf("; age when applied %.0f us p50, %.0f p99", age.p50, age.p99);
  std::printf(".\n%s\n", link.explain().c_str());
  if (!r.problem.empty()) std::fprintf(stderr, "stopped early: %s\n", r.problem.c_str());
  return good ? 0 : 1;
}

client::BodyState body_now(client::Client& client, std::uint32_t body) {
  const client::StatePtr state = client.next(std::chrono::milliseconds(2000));
  if (!state)
    throw client::Error(client::Error::Kind::timeout,
                        "no state came within 2 s" + client.why_silent(": in lockstep, use `tactus step`"));
  if (state->status_bits & v1::STATUS_PAUSED)
    std::fprintf(stderr, "the world is paused: nothing will move (`tactus resume`)\n");
  return state->body(body);
}

}  // namespace

int run_push(const Common& common, const PushOptions& options) {
  watch_signals();
  client::Client client(client_options(common, "push"));
  const std::uint32_t body = client.body(options.body);
  client.subscribe({{options.body}, true, false, false, false, 1});
  client.arm({options.body}, options.take_over);
  PushResult result;
  result.from = body_now(client, body);
  stream(client, options, wrench_of(options, body), result);
  collect_verdicts(client, result);
  const client::StatePtr last = client.latest();
  if (last && last->find(body)) result.to = *last->find(body);
  const client::Link link = client.link();
  client.disarm();
  return print_push(common, options, result, link);
}

int run_claim(const Common& common, const ClaimOptions& options) {
  watch_signals();
  client::Client client(client_options(common, "claim"));
  client.claim(options.channels, options.take_over);
  if (common.json) {
    Json json;
    json.open('{').open('[', "claimed");
    for (const std::string& channel : options.channels) json.field({}, channel);
    std::printf("%s\n", json.close(']').close('}').text().c_str());
  } else {
    for (const std::string& channel : options.channels) std::printf("claimed %s\n", channel.c_str());
    std::printf("held until Ctrl-C\n");
  }
  std::fflush(stdout);
  const std::int64_t start = client::now_ns();
  while (!interrupted()) {
    sleep_until_ns(client::now_ns() + 100'000'000);
    if (options.seconds > 0 && static_cast<double>(client::now_ns() - start) > 1e9 * options.seconds) break;
    const bool all = std::all_of(options.channels.begin(), options.channels.end(),
                                 [&](const std::string& channel) { return client.holds(channel); });
    if (all) continue;
    std::fprintf(stderr, "%s\n",
                 client.connected() ? "a lease was lost: taken over, or it expired"
                                    : "the connection was lost, and the leases with it");
    return 1;
  }
  return 0;
}

}  // namespace tactus::cli
