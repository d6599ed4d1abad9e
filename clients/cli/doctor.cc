// `tactus doctor`: what this machine lacks for real time, how to grant it, and how much room a scene leaves.
#include <cmath>
#include <cstdio>
#include <memory>

#include "clients/cli/json.h"
#include "clients/cli/latency.h"
#include "clients/cli/machine.h"
#include "clients/cpp/src/child_server.h"

namespace tactus::cli {
namespace {

struct Headroom {
  bool known = false;
  std::string scene, where, note;
  double used_p99 = 0;     // share of the period
  double bodies_room = 0;  // in all, at the whole period, if work grows with their number
  std::uint64_t bodies = 0, missed = 0;
  v1::Histogram wake_late_us;
  std::string granted;
  LatencyResult latency;
  std::string sentence;
};

std::string sentence_of(const Headroom& h) {
  char text[200];
  std::snprintf(text, sizeof text, "This scene (%s, %llu bodies) uses %.0f %% of the period at p99", h.scene.c_str(),
                static_cast<unsigned long long>(h.bodies), 100 * h.used_p99);
  std::string sentence = text;
  if (h.latency.command_us.count > 0) {
    std::snprintf(text, sizeof text, "; push-to-seen latency %.1f ms p50", 1e-3 * h.latency.command_us.p50);
    sentence += text;
  }
  if (h.used_p99 >= 1) {
    sentence += "; it is too large for this rate on this machine";
  } else if (h.bodies_room >= 1) {
    std::snprintf(text, sizeof text, "; room for about %.0f such bodies", h.bodies_room);
    sentence += text;
  }
  return sentence + ".";
}

// Statistics after two seconds of commands, states and pings.
Headroom measure(client::Client& client, const std::string& where) {
  Headroom h;
  h.where = where;
  LatencyOptions options;
  options.seconds = 2;
  try {
    h.latency = measure_latency(client, options);
  } catch (const client::Error& error) {
    h.note = error.what();
  }
  const v1::Statistics s = client.statistics();
  h.known = s.rate_hz() > 0 && s.work_us().count() > 0;
  if (!h.known) {
    h.note += h.note.empty() ? "the server has no statistics of its ticks yet" : "";
    return h;
  }
  h.scene = s.scene();
  h.bodies = s.bodies();
  h.missed = s.ticks_missed();
  h.wake_late_us = s.wake_late_us();
  h.granted = one_line(s.granted());
  h.used_p99 = s.work_us().p99() * s.rate_hz() * 1e-6;
  if (h.used_p99 > 0) {
    // Two figures: the estimate is no better than that.
    const double room = static_cast<double>(h.bodies) / h.used_p99;
    const double unit = std::pow(10, std::floor(std::log10(std::max(room, 1.0))) - 1);
    h.bodies_room = unit >= 1 ? std::floor(room / unit) * unit : std::floor(room);
  }
  h.sentence = sentence_of(h);
  return h;
}

Headroom measure_child(const Common& common, const DoctorOptions& options) {
  Headroom h;
  try {
    std::vector<std::string> flags{"--duration-s", "30"};
    if (!options.scene.empty()) flags.insert(flags.end(), {"--scene", options.scene});
    const client::ChildServer server(client::own_directory(options.program) + "/tactusd", flags, interrupted);
    Common here = common;
    here.host = "127.0.0.1:" + std::to_string(server.control_port());
    here.token_file.clear();
    client::Client client(client_options(here, "doctor"));
    return measure(client, "a tactusd started for this");
  } catch (const client::Error& error) {
    h.note = error.what();
    return h;
  }
}

Headroom find_headroom(const Common& common, const DoctorOptions& options) {
  if (!options.scene.empty()) return measure_child(common, options);
  std::unique_ptr<client::Client> running;
  try {
    running = std::make_unique<client::Client>(client_options(common, "doctor"));
  } catch (const client::Error& error) {
    if (error.kind() != client::Error::Kind::connect || common.host != Common{}.host) throw;
  }
  if (running) return measure(*running, "the running server");
  return measure_child(common, options);
}

const char* word(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::good:
      return "ok";
    case Finding::Verdict::lacking:
      return "LACKS";
    case Finding::Verdict::unknown:
      return "note";
  }
  return "?";
}

void print_loop(const char* name, const BareLoop& loop) {
  if (!loop.ran)
    std::printf("  %-22s %s\n", name, loop.note.c_str());
  else
    std::printf("  %-22s woke late %.0f us p50, %.0f p99, %.0f max; %llu of 2000 missed\n", name, loop.wake_late_us.p50,
                loop.wake_late_us.p99, loop.wake_late_us.max, static_cast<unsigned long long>(loop.missed));
}

void print_headroom(const Headroom& h) {
  if (!h.known) {
    std::printf("no headroom measured: %s\n", h.note.c_str());
    return;
  }
  std::printf("measured on %s: wake late %.0f us p50, %.0f p99; %llu ticks missed; granted: %s\n", h.where.c_str(),
              h.wake_late_us.p50(), h.wake_late_us.p99(), static_cast<unsigned long long>(h.missed),
              h.granted.empty() ? "not reported" : h.granted.c_str());
  if (h.latency.echo_us.count > 0)
    std::printf("  ping %.0f us p50, %.0f p99, beside a bare UDP echo of %.0f us p50, %.0f p99\n",
                h.latency.ping_us.p50, h.latency.ping_us.p99, h.latency.echo_us.p50, h.latency.echo_us.p99);
  if (!h.note.empty()) std::printf("  %s\n", h.note.c_str());
  std::printf("%s\n", h.sentence.c_str());
}

void write_loop(Json& json, const char* key, const BareLoop& loop) {
  json.open('{', key).field("ran", loop.ran).field("wake_late_us", loop.wake_late_us).field("missed", loop.missed);
  json.field("note", loop.note).close('}');
}

std::string doctor_json(const std::vector<Finding>& machine, const BareLoop& plain, const BareLoop& fifo,
                        const Headroom& h) {
  Json json;
  json.open('{').open('[', "machine");
  for (const Finding& f : machine)
    json.open('{')
        .field("name", f.name)
        .field("verdict", word(f.verdict))
        .field("value", f.value)
        .field("advice", f.advice)
        .close('}');
  json.close(']');
  write_loop(json, "bare_loop", plain);
  write_loop(json, "bare_loop_fifo", fifo);
  json.open('{', "headroom").field("known", h.known).field("scene", h.scene).field("measured_on", h.where);
  json.field("used_of_period_p99", h.used_p99).field("bodies", h.bodies).field("room_for_bodies", h.bodies_room);
  json.field("wake_late_us", h.wake_late_us).field("ticks_missed", h.missed).field("granted", h.granted);
  json.field("command_to_state_us", h.latency.command_us).field("ping_us", h.latency.ping_us);
  json.field("bare_echo_us", h.latency.echo_us).field("note", h.note);
  return json.field("sentence", h.sentence).close('}').close('}').text();
}

}  // namespace

int run_doctor(const Common& common, const DoctorOptions& options) {
  watch_signals();
  const std::vector<Finding> machine = inspect_machine();
  if (!common.json) {
    for (const Finding& f : machine) {
      std::printf("%-6s %-20s %s\n", word(f.verdict), f.name.c_str(), f.value.c_str());
      if (!f.advice.empty()) std::printf("         %s\n", f.advice.c_str());
    }
    std::printf("a bare loop at 1 kHz, 2 s:\n");
    std::fflush(stdout);
  }
  const BareLoop plain = run_bare_loop(2, false), fifo = run_bare_loop(2, true);
  if (!common.json) {
    print_loop("ordinary scheduling", plain);
    print_loop("SCHED_FIFO 50", fifo);
    std::fflush(stdout);
  }
  const Headroom headroom = find_headroom(common, options);
  if (common.json)
    std::printf("%s\n", doctor_json(machine, plain, fifo, headroom).c_str());
  else
    print_headroom(headroom);
  return headroom.known || options.scene.empty() ? 0 : 1;
}

}  // namespace tactus::cli
