// `tactus watch`: the beat, live. On a terminal a block that redraws ten times a second; otherwise one line a second.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "clients/cli/watch_tools.h"
#include "realtime.pb.h"

#ifdef _WIN32
#include <io.h>
#define TACTUS_ISATTY _isatty(1)
#else
#include <unistd.h>
#define TACTUS_ISATTY isatty(1)
#endif

namespace tactus::cli {
namespace {

// `value` of `full` as a bar of 30 characters.
std::string bar(double value, double full) {
  constexpr int kWidth = 30;
  const int n = full > 0 ? static_cast<int>(std::lround(kWidth * std::clamp(value / full, 0.0, 1.0))) : 0;
  std::string text(kWidth + 2, '.');
  text.front() = '[';
  text.back() = ']';
  std::fill_n(text.begin() + 1, n, '#');
  return text;
}

std::string status_words(std::uint32_t bits) {
  static constexpr std::pair<std::uint32_t, const char*> kWords[] = {{v1::STATUS_PAUSED, "paused"},
                                                                     {v1::STATUS_LOCKSTEP, "lockstep"},
                                                                     {v1::STATUS_CONTACTS_DROPPED, "contacts dropped"},
                                                                     {v1::STATUS_UNCONVERGED, "solver unconverged"},
                                                                     {v1::STATUS_BODY_FROZEN, "body frozen"},
                                                                     {v1::STATUS_LATE_TICK, "late tick"},
                                                                     {v1::STATUS_COMMANDS_DROPPED, "commands dropped"},
                                                                     {v1::STATUS_EXTRAPOLATED, "between solver steps"},
                                                                     {v1::STATUS_SOLVE_LATE, "solver late"},
                                                                     {v1::STATUS_RECORD_LOST, "recorder behind"},
                                                                     {v1::STATUS_ROBOT_FAULT, "robot fault"},
                                                                     {v1::STATUS_FAULT, "FAULT"}};
  std::string out;
  for (const auto& [bit, word] : kWords)
    if (bits & bit) out.append(out.empty() ? "" : ", ").append(word);
  return out.empty() ? "running" : out;
}

// The worst of what was seen since the last line, so that a spike between two lines shows.
struct Peak {
  double wake_late_us = 0, work_us = 0;
  std::uint32_t bits = 0;
  std::uint32_t comparisons = 0;  // with the shadow model
  client::ShadowRow apart;        // largest of each, of any body; id: whose position
  void take(const client::Shadow& shadow) {
    ++comparisons;
    for (const client::ShadowRow& row : shadow.bodies) {
      if (row.position_m >= apart.position_m) apart.id = row.id;
      apart.position_m = std::max(apart.position_m, row.position_m);
      apart.angle_rad = std::max(apart.angle_rad, row.angle_rad);
      apart.velocity_m_per_s = std::max(apart.velocity_m_per_s, row.velocity_m_per_s);
      apart.force_n = std::max(apart.force_n, row.force_n);
    }
  }
  void take(const client::State& state) {
    wake_late_us = std::max(wake_late_us, state.wake_late_us);
    work_us = std::max(work_us, state.work_us);
    bits |= state.status_bits;
  }
};

// What is asked for once a second: the scene, the model, who drives, and how many look on.
struct Around {
  std::string scene, model, world_holder = "nobody", pushers, witnesses;
  int clients = 0;
};

// How many pairs kept what decided them in the step before.
std::string witness_words(const v1::WitnessStatistics& w) {
  const double pairs = static_cast<double>(w.hits() + w.misses());
  if (pairs == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, ", %.4g %% of witnesses kept", 100 * static_cast<double>(w.hits()) / pairs);
  return text;
}

Around look_around(client::Client& client) {
  Around out;
  const v1::Statistics statistics = client.statistics();
  out.scene = statistics.scene();
  out.model = statistics.model();
  out.clients = statistics.clients_size();
  out.witnesses = witness_words(statistics.solver().witnesses());
  const v1::LeaseList leases = client.list_leases();
  for (const auto& lease : leases.leases()) {
    if (lease.channel() == "world")
      out.world_holder = lease.client();
    else
      out.pushers.append(out.pushers.empty() ? "" : ", ").append(lease.channel()).append(" by ").append(lease.client());
  }
  return out;
}

// What a bar is full at: the most seen so far, so that a bar tells how things stand beside how they were.
struct Full {
  double contacts = 1, depth_mm = 1e-3, energy_j = 1e-6;
  void take(const client::State& s) {
    contacts = std::max(contacts, static_cast<double>(s.contact_count));
    depth_mm = std::max(depth_mm, 1e3 * s.penetration_max_m);
    energy_j = std::max(energy_j, s.kinetic_energy_j);
  }
};

std::string shadow_words(const Peak& peak) {
  if (peak.comparisons == 0) return "no comparison";
  char text[160];
  std::snprintf(text, sizeof text, "%.3g mm (body %u), %.3g rad, %.3g m/s, %.3g N apart at most, %u comparisons",
                1e3 * peak.apart.position_m, peak.apart.id, peak.apart.angle_rad, peak.apart.velocity_m_per_s,
                peak.apart.force_n, peak.comparisons);
  return text;
}

void print_block(const client::State& s, const client::Link& link, const Peak& peak, const Full& full,
                 const Around& around, const ToolWatch& tools, double period_us, bool first) {
  if (!first) std::printf("\x1b[14A");
  std::printf("\x1b[?7l");  // a line that is too long is cut: wrapped, it would not be found again
  const char* clear = "\x1b[K\n";
  std::printf("%s   model %s   %d client%s   world held by %s%s", around.scene.c_str(), around.model.c_str(),
              around.clients, around.clients == 1 ? "" : "s", around.world_holder.c_str(), clear);
  std::printf("tick %llu   %.3f s simulated   %s%s", static_cast<unsigned long long>(s.tick), s.sim_time_s,
              status_words(peak.bits).c_str(), clear);
  std::printf("real time  %s %5.3f times%s", bar(s.real_time_factor, 1).c_str(), s.real_time_factor, clear);
  std::printf("work       %s %5.0f us (worst %.0f)%s", bar(s.work_us, period_us).c_str(), s.work_us, peak.work_us,
              clear);
  std::printf("wake late  %s %5.0f us (worst %.0f)%s", bar(s.wake_late_us, period_us).c_str(), s.wake_late_us,
              peak.wake_late_us, clear);
  std::printf("state age  %s %5.0f us%s", bar(link.age_us, period_us).c_str(), link.age_us, clear);
  std::printf("contacts   %s %5u (%u dropped%s)%s", bar(s.contact_count, full.contacts).c_str(), s.contact_count,
              s.contacts_dropped, around.witnesses.c_str(), clear);
  std::printf("deepest    %s %5.3g mm (most %.3g)%s", bar(1e3 * s.penetration_max_m, full.depth_mm).c_str(),
              1e3 * s.penetration_max_m, full.depth_mm, clear);
  std::printf("energy     %s %5.3g J (most %.3g)%s", bar(s.kinetic_energy_j, full.energy_j).c_str(), s.kinetic_energy_j,
              full.energy_j, clear);
  std::printf(
      "link       %.0f %% of the last 100 states, %llu lost, %u in a row at most, %llu ticks missed by the server%s",
      100 * link.received_rate, static_cast<unsigned long long>(link.states_lost), link.lost_in_a_row_max,
      static_cast<unsigned long long>(s.ticks_missed), clear);
  std::printf("           %s%s", link.explain().c_str(), clear);
  std::printf("leases     %s%s", around.pushers.empty() ? "no body is driven" : around.pushers.c_str(), clear);
  std::printf("shadow     %s%s", shadow_words(peak).c_str(), clear);
  const std::string held = tools.words();
  std::printf("devices    %s%s\x1b[?7h", held.empty() ? "none" : held.c_str(), clear);
}

void print_line(const client::State& s, const client::Link& link, const Peak& peak, const ToolWatch& tools) {
  std::printf(
      "tick %llu sim %.3f s rtf %.3f work %.0f us wake %.0f us contacts %u deepest %.3g mm received %.0f %% lost %llu "
      "%s%s%s\n",
      static_cast<unsigned long long>(s.tick), s.sim_time_s, s.real_time_factor, peak.work_us, peak.wake_late_us,
      s.contact_count, 1e3 * s.penetration_max_m, 100 * link.received_rate,
      static_cast<unsigned long long>(link.states_lost), status_words(peak.bits).c_str(),
      peak.comparisons > 0 ? " shadow " : "", peak.comparisons > 0 ? shadow_words(peak).c_str() : "");
  if (const std::string held = tools.words(); !held.empty()) std::printf("  devices: %s\n", held.c_str());
}

void print_json(const client::State& s, const client::Link& link, const Peak& peak, const ToolWatch& tools) {
  Json json;
  json.open('{').field("tick", s.tick).field("sim_time_s", s.sim_time_s).field("real_time_factor", s.real_time_factor);
  json.field("work_us_max", peak.work_us)
      .field("wake_late_us_max", peak.wake_late_us)
      .field("contacts", s.contact_count);
  json.field("contacts_dropped", s.contacts_dropped).field("penetration_max_m", s.penetration_max_m);
  json.field("solver_failures", s.solver_failures).field("solver_fallbacks", s.solver_fallbacks);
  json.field("inconsistent", s.inconsistent).field("indeterminate", s.indeterminate);
  json.field("kinetic_energy_j", s.kinetic_energy_j).field("ticks_missed", s.ticks_missed);
  json.field("state_age_us", link.age_us).field("received_rate", link.received_rate).field("states", link.states);
  json.field("states_lost", link.states_lost).field("lost_in_a_row_max", link.lost_in_a_row_max);
  json.open('{', "shadow").field("comparisons", peak.comparisons).field("position_m", peak.apart.position_m);
  json.field("angle_rad", peak.apart.angle_rad).field("velocity_m_per_s", peak.apart.velocity_m_per_s);
  json.field("force_n", peak.apart.force_n).close('}');
  tools.add(json);
  std::printf("%s\n", json.field("status", status_words(peak.bits)).close('}').text().c_str());
}

}  // namespace

int run_watch(const Common& common, const WatchOptions& options) {
  watch_signals();
  ToolWatch tools;  // outlives the client, whose thread fills it
  client::Client client(client_options(common, "watch", true));
  client::Subscription wanted;
  wanted.velocity = false, wanted.single_precision = true, wanted.shadow = true, wanted.tools = true;
  client.on_tool([&tools](const v1::ToolPacket& packet, std::int64_t) { tools.take(packet); });
  client.subscribe(wanted);
  if (!options.shadow.empty()) {
    client.claim({"world"});
    client.set_shadow(options.shadow == "off" ? "" : options.shadow, options.shadow_hz);
    client.release();
  }
  const bool terminal = TACTUS_ISATTY != 0 && !common.json;
  const std::int64_t interval = terminal ? 100'000'000 : 1'000'000'000;
  const std::int64_t start = client::now_ns();
  std::int64_t due = start + interval;
  const double period_us = 1e6 * client.scene()->step_s();
  Peak peak;
  Full full;
  Around around;
  std::int64_t look_due = start;
  bool first = true, was_up = true;
  std::uint64_t printed = 0;
  while (!interrupted() &&
         (options.seconds <= 0 || static_cast<double>(client::now_ns() - start) < 1e9 * options.seconds)) {
    const client::StatePtr state = client.next(std::chrono::milliseconds(100));
    if (state) peak.take(*state);
    if (const client::ShadowPtr shadow = client.next_shadow(std::chrono::milliseconds(0))) peak.take(*shadow);
    if (was_up != client.connected()) {
      was_up = !was_up;
      std::fprintf(stderr, "%s\n", was_up ? "connected again" : "the link is down; trying again");
      first = true;
    }
    if (client::now_ns() < due) continue;
    due += interval;
    const client::StatePtr newest = client.latest();
    if (!newest) continue;
    const client::Link link = client.link();
    full.take(*newest);
    if (terminal && client.connected() && client::now_ns() >= look_due) {
      look_due = client::now_ns() + 1'000'000'000;
      try {
        around = look_around(client);
      } catch (const std::exception&) {  // the link went down meanwhile; the loop above says so
      }
    }
    if (common.json)
      print_json(*newest, link, peak, tools);
    else if (terminal)
      print_block(*newest, link, peak, full, around, tools, period_us, first);
    else
      print_line(*newest, link, peak, tools);
    std::fflush(stdout);
    first = false;
    ++printed;
    peak = {};
    peak.bits = newest->status_bits;
  }
  if (printed == 0) std::fprintf(stderr, "no state came: in lockstep the server publishes granted ticks only\n");
  return printed > 0 ? 0 : 1;
}

}  // namespace tactus::cli
