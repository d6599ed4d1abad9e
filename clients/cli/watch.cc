// `tactus watch`: the beat, live. On a terminal a block that redraws ten times a second; otherwise one line a second.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "clients/cli/watch_around.h"
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

std::string status_words(std::uint32_t bits) {
  static constexpr std::pair<std::uint32_t, const char*> kWords[] = {
      {v1::STATUS_PAUSED, "paused"},
      {v1::STATUS_LOCKSTEP, "lockstep"},
      {v1::STATUS_CONTACTS_DROPPED, "contacts dropped"},
      {v1::STATUS_UNCONVERGED, "solver unconverged"},
      {v1::STATUS_EXACT_UNRESOLVED, "collision time not found"},
      {v1::STATUS_EXACT_EXHAUSTED, "exact step cut short"},
      {v1::STATUS_BODY_FROZEN, "body frozen"},
      {v1::STATUS_SPEED_CUT, "speed cut"},
      {v1::STATUS_LATE_TICK, "late tick"},
      {v1::STATUS_COMMANDS_DROPPED, "commands dropped"},
      {v1::STATUS_EXTRAPOLATED, "between solver steps"},
      {v1::STATUS_SOLVE_LATE, "solver late"},
      {v1::STATUS_RECORD_LOST, "recorder behind"},
      {v1::STATUS_RECORD_FAILED, "recording failed"},
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

// All that is shown at once.
struct Sight {
  const client::State& state;
  const client::Link& link;
  const v1::SceneDescription& scene;
  const Peak& peak;
  const Full& full;
  const Around& around;
  const ToolWatch& tools;
  JointWatch& joints;
  double period_us;
};

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[640];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string beat_line(const char* name, double now_us, double worst_us, const v1::Histogram& h, double period_us) {
  const std::string all =
      line("%s %s %5.0f us (worst %.0f", name, watch_bar(now_us, period_us).c_str(), now_us, worst_us);
  return all + (h.count() > 0 ? line(", p50 %.0f, p99 %.0f of the last second)", h.p50(), h.p99()) : ")");
}

std::vector<std::string> link_lines(const Sight& sight) {
  const client::State& s = sight.state;
  const client::Link& link = sight.link;
  std::vector<std::string> out;
  out.push_back(line("state age  %s %5.0f us", watch_bar(link.age_us, sight.period_us).c_str(), link.age_us));
  out.push_back(
      line("link       %s %5.0f %% of the last 100 states, %llu lost, %u in a row at most, %llu ticks missed "
           "by the server",
           watch_bar(link.received_rate, 1).c_str(), 100 * link.received_rate,
           static_cast<unsigned long long>(link.states_lost), link.lost_in_a_row_max,
           static_cast<unsigned long long>(s.ticks_missed)));
  out.push_back("           " + link.explain());
  for (const Around::Commander& c : sight.around.commanders)
    out.push_back(line("cycles     %s %5.1f %% good of the last 100 of %.40s: %s",
                       watch_bar(c.quality.success_rate(), 1).c_str(), 100 * c.quality.success_rate(), c.name.c_str(),
                       c.quality.explanation().c_str()));
  return out;
}

std::vector<std::string> block_lines(const Sight& sight) {
  const client::State& s = sight.state;
  const Full& full = sight.full;
  const Around& around = sight.around;
  std::vector<std::string> out;
  out.push_back(line("%s   model %s   %d client%s   world held by %s", around.scene.c_str(), around.model.c_str(),
                     around.clients, around.clients == 1 ? "" : "s", around.world_holder.c_str()));
  out.push_back(line("tick %llu   %.3f s simulated   %s", static_cast<unsigned long long>(s.tick), s.sim_time_s,
                     status_words(sight.peak.bits).c_str()));
  out.push_back(line("real time  %s %5.3f times", watch_bar(s.real_time_factor, 1).c_str(), s.real_time_factor));
  out.push_back(beat_line("work      ", s.work_us, sight.peak.work_us, around.work_us, sight.period_us));
  out.push_back(beat_line("wake late ", s.wake_late_us, sight.peak.wake_late_us, around.wake_late_us, sight.period_us));
  out.push_back(line("contacts   %s %5u (%u dropped%s)", watch_bar(s.contact_count, full.contacts).c_str(),
                     s.contact_count, s.contacts_dropped, around.witnesses.c_str()));
  if (!around.exact.empty()) out.push_back("exact      " + around.exact);
  out.push_back(line("deepest    %s %5.3g mm (most %.3g)", watch_bar(1e3 * s.penetration_max_m, full.depth_mm).c_str(),
                     1e3 * s.penetration_max_m, full.depth_mm));
  out.push_back(line("energy     %s %5.3g J (most %.3g)", watch_bar(s.kinetic_energy_j, full.energy_j).c_str(),
                     s.kinetic_energy_j, full.energy_j));
  for (std::string& row : sight.joints.rows(sight.scene, s, 8)) out.push_back(std::move(row));
  for (std::string& row : link_lines(sight)) out.push_back(std::move(row));
  out.push_back("leases     " + (around.pushers.empty() ? "no body is driven" : around.pushers));
  out.push_back("shadow     " + shadow_words(sight.peak));
  const std::string held = sight.tools.words();
  out.push_back("devices    " + (held.empty() ? "none" : held));
  return out;
}

// Over the block of before, which was `above` lines high. Returns this one's.
std::size_t print_block(const Sight& sight, std::size_t above) {
  const std::vector<std::string> lines = block_lines(sight);
  if (above > 0) std::printf("\x1b[%zuA", above);
  std::printf("\x1b[?7l");  // a line that is too long is cut: wrapped, it would not be found again
  for (const std::string& text : lines) std::printf("%s\x1b[K\n", text.c_str());
  std::printf("\x1b[J\x1b[?7h");
  return lines.size();
}

void print_line(const Sight& sight) {
  const client::State& s = sight.state;
  const Peak& peak = sight.peak;
  std::printf(
      "tick %llu sim %.3f s rtf %.3f work %.0f us wake %.0f us contacts %u deepest %.3g mm energy %.3g J received %.0f "
      "%% lost %llu model %s %s%s%s\n",
      static_cast<unsigned long long>(s.tick), s.sim_time_s, s.real_time_factor, peak.work_us, peak.wake_late_us,
      s.contact_count, 1e3 * s.penetration_max_m, s.kinetic_energy_j, 100 * sight.link.received_rate,
      static_cast<unsigned long long>(sight.link.states_lost), sight.around.model.c_str(),
      status_words(peak.bits).c_str(), peak.comparisons > 0 ? " shadow " : "",
      peak.comparisons > 0 ? shadow_words(peak).c_str() : "");
  if (const std::string torques = sight.joints.words(sight.scene, s); !torques.empty())
    std::printf("  torques [N m]: %s\n", torques.c_str());
  if (const std::string held = sight.tools.words(); !held.empty()) std::printf("  devices: %s\n", held.c_str());
}

void add_exact(Json& json, const client::ExactStep& e) {
  json.open('{', "exact").field("pieces", e.pieces).field("collisions", e.collisions);
  json.field("evaluations", e.evaluations).field("bisections", e.bisections).field("breaks", e.breaks);
  json.field("stops", e.stops).field("unresolved", e.unresolved).field("exhausted", e.exhausted);
  json.field("event_time_s", e.event_time_s).close('}');
}

void print_json(const Sight& sight) {
  const client::State& s = sight.state;
  const client::Link& link = sight.link;
  const Peak& peak = sight.peak;
  Json json;
  json.open('{').field("tick", s.tick).field("sim_time_s", s.sim_time_s).field("real_time_factor", s.real_time_factor);
  json.field("work_us_max", peak.work_us)
      .field("wake_late_us_max", peak.wake_late_us)
      .field("contacts", s.contact_count);
  json.field("contacts_dropped", s.contacts_dropped).field("penetration_max_m", s.penetration_max_m);
  json.field("solver_failures", s.solver_failures).field("solver_fallbacks", s.solver_fallbacks);
  json.field("inconsistent", s.inconsistent).field("indeterminate", s.indeterminate);
  add_exact(json, s.exact);
  json.field("kinetic_energy_j", s.kinetic_energy_j).field("ticks_missed", s.ticks_missed);
  json.field("state_age_us", link.age_us).field("received_rate", link.received_rate).field("states", link.states);
  json.field("states_lost", link.states_lost).field("lost_in_a_row_max", link.lost_in_a_row_max);
  json.field("link", link.explain());
  sight.around.add(json);
  sight.joints.add(json, sight.scene, s);
  json.open('{', "shadow").field("comparisons", peak.comparisons).field("position_m", peak.apart.position_m);
  json.field("angle_rad", peak.apart.angle_rad).field("velocity_m_per_s", peak.apart.velocity_m_per_s);
  json.field("force_n", peak.apart.force_n).close('}');
  sight.tools.add(json);
  std::printf("%s\n", json.field("status", status_words(peak.bits)).close('}').text().c_str());
}

void subscribe(client::Client& client, const WatchOptions& options) {
  client::Subscription wanted;
  wanted.velocity = false, wanted.single_precision = true, wanted.shadow = true, wanted.tools = true;
  wanted.joints = {"*"};
  client.subscribe(wanted);
  if (options.shadow.empty()) return;
  client.claim({"world"});
  client.set_shadow(options.shadow == "off" ? "" : options.shadow, options.shadow_hz);
  client.release();
}

}  // namespace

int run_watch(const Common& common, const WatchOptions& options) {
  watch_signals();
  ToolWatch tools;  // outlives the client, whose thread fills it
  client::Client client(client_options(common, "watch", true));
  client.on_tool([&tools](const v1::ToolPacket& packet, std::int64_t) { tools.take(packet); });
  subscribe(client, options);
  const bool terminal = TACTUS_ISATTY != 0 && !common.json;
  const std::int64_t interval = terminal ? 100'000'000 : 1'000'000'000;
  const std::int64_t start = client::now_ns();
  std::int64_t due = start + interval;
  Peak peak;
  JointWatch joints;
  Full full;
  Around around;
  std::int64_t look_due = start;
  std::size_t above = 0;  // lines of the block that stands there
  bool was_up = true;
  std::uint64_t printed = 0;
  while (!interrupted() &&
         (options.seconds <= 0 || static_cast<double>(client::now_ns() - start) < 1e9 * options.seconds)) {
    const client::StatePtr state = client.next(std::chrono::milliseconds(100));
    if (state) peak.take(*state), joints.take(*state);
    if (const client::ShadowPtr shadow = client.next_shadow(std::chrono::milliseconds(0))) peak.take(*shadow);
    if (was_up != client.connected()) {
      was_up = !was_up;
      std::fprintf(stderr, "%s\n", was_up ? "connected again" : "the link is down; trying again");
      above = 0;
    }
    if (client::now_ns() < due) continue;
    due += interval;
    const client::StatePtr newest = client.latest();
    if (!newest) continue;
    const client::Link link = client.link();
    full.take(*newest);
    if (client.connected() && client::now_ns() >= look_due) {
      look_due = client::now_ns() + (terminal ? 1'000'000'000 : 0);
      try {
        around = Around::look(client);
      } catch (const std::exception&) {  // the link went down meanwhile; the loop above says so
      }
    }
    const auto scene = client.scene();
    const Sight sight{*newest, link, *scene, peak, full, around, tools, joints, 1e6 * scene->step_s()};
    if (common.json)
      print_json(sight);
    else if (terminal)
      above = print_block(sight, above);
    else
      print_line(sight);
    std::fflush(stdout);
    ++printed;
    joints.forget_peaks();
    peak = {};
    peak.bits = newest->status_bits;
  }
  if (printed == 0)
    std::fprintf(stderr, "no state came%s\n",
                 client.why_silent(": in lockstep the server publishes granted ticks only").c_str());
  return printed > 0 ? 0 : 1;
}

}  // namespace tactus::cli
