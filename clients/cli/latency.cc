#include "clients/cli/latency.h"

#include <cstdio>
#include <mutex>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "realtime.pb.h"

namespace tactus::cli {
namespace {

struct Collected {
  std::mutex m;
  std::vector<double> command_us, ping_us, age_us;
};

void collect(client::Client& client, Collected& into) {
  client.on_verdict([&](const client::Verdict& verdict) {
    if (!verdict.applied()) return;
    const std::lock_guard lock(into.m);
    into.command_us.push_back(1e-3 * static_cast<double>(verdict.received_ns - verdict.sent_ns));
  });
  client.on_ping([&](std::int64_t round_trip_ns, std::int64_t) {
    const std::lock_guard lock(into.m);
    into.ping_us.push_back(1e-3 * static_cast<double>(round_trip_ns));
  });
  client.on_state([&client, &into](const client::StatePtr& state) {
    const client::Clock clock = client.clock();
    if (!clock.valid) return;
    const double age = 1e-3 * static_cast<double>(state->receive_ns - (state->tick_start_ns - clock.offset_ns));
    const std::lock_guard lock(into.m);
    into.age_us.push_back(age);
  });
}

void stop_collecting(client::Client& client) {
  client.on_verdict({});
  client.on_ping({});
  client.on_state({});
  // The io thread may be inside one of them: after a request has been answered it no longer is.
  client.list_leases();
}

// Takes the lease of the body asked for, or of the first free one that is free; says what it took.
std::string take_some_body(client::Client& client, const std::string& wanted, std::string& note) {
  if (!wanted.empty()) {
    client.arm({wanted});
    return wanted;
  }
  const auto scene = client.scene();
  int tries = 0;
  for (const auto& body : scene->bodies()) {
    if (body.mode() != "free" || ++tries > 8) continue;
    try {
      client.arm({body.name()});
      return body.name();
    } catch (const client::Error& error) {
      note = error.what();
    }
  }
  note = "no command was timed: " + (note.empty() ? "the scene has no free body" : note);
  return {};
}

}  // namespace

LatencyResult measure_latency(client::Client& client, const LatencyOptions& options) {
  LatencyResult result;
  client.subscribe({options.body.empty() ? std::vector<std::string>{} : std::vector<std::string>{options.body}, false,
                    false, false, true, 1});
  result.commanded = take_some_body(client, options.body, result.note);
  if (!client.next(std::chrono::milliseconds(2000))) {
    client.release();
    throw client::Error(client::Error::Kind::timeout,
                        "no state came within 2 s" + client.why_silent(": in lockstep there is no latency to measure"));
  }
  sleep_until_ns(client::now_ns() + 300'000'000);  // first pings: the clock estimate settles
  Collected collected;
  Echo echo;
  collect(client, collected);
  client::Command zero;
  if (!result.commanded.empty()) zero.force(client.body(result.commanded), {});
  const auto period = static_cast<std::int64_t>(1e9 / options.rate_hz);
  const std::int64_t start = client::now_ns(), end = start + static_cast<std::int64_t>(1e9 * options.seconds);
  // The three take turns within a period, so that none waits for another's wake-up.
  for (std::int64_t due = start; due < end && !interrupted(); due += period) {
    sleep_until_ns(due);
    if (!zero.rows.empty() && client.send(zero)) ++result.sent;
    sleep_until_ns(due + period / 3);
    client.ping();
    sleep_until_ns(due + 2 * period / 3);
    echo.send();
  }
  sleep_until_ns(client::now_ns() + 50'000'000);
  result.link = client.link();
  result.clock = client.clock();
  stop_collecting(client);
  client.release();
  result.command_us = spread_of(std::move(collected.command_us));
  result.ping_us = spread_of(std::move(collected.ping_us));
  result.age_us = spread_of(std::move(collected.age_us));
  result.echo_us = spread_of(echo.stop());
  result.echo_sent = echo.sent();
  return result;
}

void print_row(const char* name, const Spread& s) {
  if (s.count == 0)
    std::printf("%-24s %8s\n", name, "none");
  else
    std::printf("%-24s %8.0f %8.0f %8.0f %8.0f  %zu\n", name, s.p50, s.p99, s.p999, s.max, s.count);
}

namespace {

using ull = unsigned long long;

void print_latency(const LatencyResult& r) {
  std::printf("%-24s %8s %8s %8s %8s  samples\n", "microseconds", "p50", "p99", "p99.9", "max");
  print_row("command to state", r.command_us);
  print_row("state age at arrival", r.age_us);
  print_row("ping, round trip", r.ping_us);
  print_row("bare UDP echo, same rate", r.echo_us);
  const auto& v = r.link.verdicts;
  if (!r.commanded.empty())
    std::printf(
        "commands (zero wrench on %s): %llu sent, %llu applied, %llu superseded, %llu expired, %llu refused, %llu "
        "unanswered\n",
        r.commanded.c_str(), ull{v.sent}, ull{v.applied + v.clamped}, ull{v.superseded}, ull{v.expired}, ull{v.refused},
        ull{v.unanswered});
  if (!r.note.empty()) std::printf("%s\n", r.note.c_str());
  if (r.clock.valid)
    std::printf("server clock - ours: %.3f us, wrong by at most %.1f us (shortest of the last 64 round trips)\n",
                1e-3 * static_cast<double>(r.clock.offset_ns), 0.5e-3 * static_cast<double>(r.clock.round_trip_ns));
  std::printf("%s\n", r.link.explain().c_str());
}

std::string latency_json(const LatencyResult& r) {
  Json json;
  json.open('{').field("command_to_state_us", r.command_us).field("state_age_us", r.age_us);
  json.field("ping_us", r.ping_us).field("bare_echo_us", r.echo_us).field("body", r.commanded);
  json.field("commands_sent", r.sent).field("commands_applied", r.link.verdicts.applied + r.link.verdicts.clamped);
  json.field("commands_superseded", r.link.verdicts.superseded)
      .field("commands_unanswered", r.link.verdicts.unanswered);
  json.field("echoes_sent", r.echo_sent).field("states", r.link.states).field("states_lost", r.link.states_lost);
  json.field("clock_offset_us", 1e-3 * static_cast<double>(r.clock.offset_ns));
  json.field("clock_error_us_max", 0.5e-3 * static_cast<double>(r.clock.round_trip_ns));
  return json.field("note", r.note).close('}').text();
}

}  // namespace

int run_latency(const Common& common, const LatencyOptions& options) {
  watch_signals();
  if (options.lockstep) return run_lockstep_latency(common, options);
  if (!options.device.empty()) return run_device_latency(common, options);
  if (!options.robot.empty()) return run_joint_latency(common, options);
  client::Client client(client_options(common, "latency"));
  const LatencyResult result = measure_latency(client, options);
  if (common.json)
    std::printf("%s\n", latency_json(result).c_str());
  else
    print_latency(result);
  return result.ping_us.count > 0 && result.age_us.count > 0 ? 0 : 1;
}

}  // namespace tactus::cli
