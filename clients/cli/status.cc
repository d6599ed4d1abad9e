// `tactus status`: how the server is. `tactus scenes`: what it can show.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"

namespace tactus::cli {
namespace {

using ull = unsigned long long;

std::string text_of(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%g", value);
  return out;
}

std::string faults_of(const v1::LinkDirection& d) {
  std::string out;
  const auto add = [&out](const char* name, double value) {
    if (value != 0) out += (out.empty() ? "" : ", ") + std::string(name) + " " + text_of(value);
  };
  add("delay_us", d.delay_us());
  add("jitter_us", d.jitter_us());
  add("loss", d.loss());
  add("loss_burst", d.loss_burst());
  add("duplicate", d.duplicate());
  add("reorder", d.reorder());
  return out;
}

// Why did my cycle miss?
void print_quality(const v1::LinkQuality& q) {
  std::printf(
      "    success     %.1f %% of the last 100 cycles, %.1f %% of the last 1,000; lost in a row %u, at most %u\n",
      100 * q.success_rate(), 100 * q.success_rate_window(), q.lost_in_a_row(), q.lost_in_a_row_max());
  const auto row = [](const char* name, const v1::Histogram& h) {
    if (h.count() > 0) std::printf("    %-11s %.0f us p50, %.0f p99, %.0f max\n", name, h.p50(), h.p99(), h.max());
  };
  row("client", q.compute_us());
  row("link down", q.down_us());
  row("link up", q.up_us());
  row("tick late", q.wake_late_us());
  row("tick work", q.work_us());
  row("wait", q.wait_us());
  std::printf("    %s\n", q.explanation().c_str());
}

void print_client(const v1::ClientStatistics& c) {
  std::printf("  %-20s %-21s %-8s %llu commands: %llu applied, %llu refused", c.name().c_str(), c.address().c_str(),
              c.role().c_str(), ull{c.commands_received()}, ull{c.commands_applied()}, ull{c.commands_refused()});
  if (c.command_age_us().count() > 0)
    std::printf("; age %.0f us p50, %.0f p99", c.command_age_us().p50(), c.command_age_us().p99());
  std::printf("; %llu packets out", ull{c.packets_sent()});
  if (c.packets_dropped() > 0) std::printf(" (%llu dropped)", ull{c.packets_dropped()});
  std::printf("\n");
  for (const auto& reason : c.refused_by_reason())
    if (reason.value() != "0") std::printf("    %s: %s\n", reason.key().c_str(), reason.value().c_str());
  if (c.has_quality()) print_quality(c.quality());
  if (c.has_link_up()) std::printf("    faults up   %s (on purpose)\n", faults_of(c.link_up()).c_str());
  if (c.has_link_down()) std::printf("    faults down %s (on purpose)\n", faults_of(c.link_down()).c_str());
}

void print_status(const v1::Statistics& s, const v1::LeaseList& leases) {
  const char* mode = s.lockstep() ? "lockstep" : s.paused() ? "paused" : "running";
  std::printf("scene       %s (%llu bodies), model %s, %s, tick %llu, %.3f s simulated\n", s.scene().c_str(),
              ull{s.bodies()}, s.model().c_str(), mode, ull{s.tick()}, s.sim_time_s());
  std::printf("rate        %.0f Hz, real-time factor %.3f, %llu ticks missed in %.0f s\n", s.rate_hz(),
              s.real_time_factor(), ull{s.ticks_missed()}, s.uptime_s());
  std::printf("wake late   %.0f us p50, %.0f p99, %.0f p99.9, %.0f max\n", s.wake_late_us().p50(),
              s.wake_late_us().p99(), s.wake_late_us().p999(), s.wake_late_us().max());
  std::printf("work        %.0f us p50, %.0f p99", s.work_us().p50(), s.work_us().p99());
  if (s.rate_hz() > 0) std::printf(" (%.0f %% of the period)", s.work_us().p99() * s.rate_hz() * 1e-4);
  std::printf(", %.0f max since start\n", s.work_lifetime_us().max());
  std::printf("contacts    %.1f mean, deepest %.3g mm, kinetic energy %.3g J\n", s.contacts_mean(),
              1e3 * s.penetration_max_m(), s.kinetic_energy_j());
  const v1::SolverStatistics& solver = s.solver();
  if (solver.rate_hz() > 0 || solver.solves() > 0)
    std::printf("solver      %g Hz, %llu steps adopted, %llu late, %llu ticks lost; %.0f us p50, %.0f p99, %.0f max\n",
                solver.rate_hz(), ull{solver.solves()}, ull{solver.late_solves()}, ull{solver.ticks_lost()},
                solver.solve_us().p50(), solver.solve_us().p99(), solver.solve_us().max());
  if (solver.failures() + solver.fallbacks() + solver.inconsistent() + solver.indeterminate() > 0)
    std::printf(
        "contacts    since start: %llu not solved, %llu by another method, %llu inconsistent, %llu indeterminate\n",
        ull{solver.failures()}, ull{solver.fallbacks()}, ull{solver.inconsistent()}, ull{solver.indeterminate()});
  const v1::WitnessStatistics& w = solver.witnesses();
  if (const double pairs = static_cast<double>(w.hits() + w.misses()); pairs > 0)
    std::printf("witnesses   %.2f %% of %.3g still decided, %llu by fallback, %llu unknown; %llu stops of bodies\n",
                100 * static_cast<double>(w.hits()) / pairs, pairs, ull{w.fallbacks()}, ull{w.unknown()},
                ull{solver.continuous_stops()});
  if (w.closed_hits() + w.closed_misses() > 0)
    std::printf("closed form %llu pairs that had met before, %llu first looks\n", ull{w.closed_hits()},
                ull{w.closed_misses()});
  if (solver.exact().pieces() > 0) std::printf("exact       %s\n", exact_words(solver.exact()).c_str());
  const v1::ShadowStatistics& shadow = s.shadow();
  if (!shadow.model().empty())
    std::printf("shadow      %s at %g Hz, %llu comparisons, %llu left out; %.3g mm (%s), %.3g m/s, %.3g N apart\n",
                shadow.model().c_str(), shadow.rate_hz(), ull{shadow.comparisons()}, ull{shadow.skipped()},
                1e3 * shadow.position_m().value(), shadow.position_m().body().c_str(),
                shadow.velocity_m_per_s().value(), shadow.force_n().value());
  if (s.has_black_box())
    std::printf("black box   %.1f s in %.1f MB, %llu states and %llu rows lost, %u files written\n",
                s.black_box().kept_s(), 1e-6 * static_cast<double>(s.black_box().bytes()),
                ull{s.black_box().states_lost()}, ull{s.black_box().rows_lost()}, s.black_box().files());
  std::printf("granted     %s\n", s.granted().empty() ? "not reported" : one_line(s.granted()).c_str());
  if (s.commands_dropped() > 0)
    std::printf("dropped     %llu commands: the ring was full\n", ull{s.commands_dropped()});
  if (s.datagrams_refused() > 0)
    std::printf("refused     %llu datagrams before they had a client\n", ull{s.datagrams_refused()});
  std::printf("clients     %d\n", s.clients_size());
  for (const auto& c : s.clients()) print_client(c);
  for (const auto& lease : leases.leases())
    std::printf("lease       %s held by %s, %u ms left\n", lease.channel().c_str(), lease.client().c_str(),
                lease.left_ms());
}

void write_quality(Json& json, const v1::LinkQuality& q) {
  json.open('{', "quality").field("cycles", q.cycles()).field("success_rate", q.success_rate());
  json.field("success_rate_window", q.success_rate_window());
  json.field("lost_in_a_row", q.lost_in_a_row()).field("lost_in_a_row_max", q.lost_in_a_row_max());
  json.field("compute_us", q.compute_us()).field("down_us", q.down_us()).field("up_us", q.up_us());
  json.field("wake_late_us", q.wake_late_us()).field("work_us", q.work_us()).field("wait_us", q.wait_us());
  json.field("round_trip_min_us", q.round_trip_min_us())
      .field("lost_down", q.lost_down())
      .field("lost_up", q.lost_up());
  json.field("unanswered", q.unanswered()).field("skipped", q.skipped()).field("refused", q.refused());
  json.field("bunched", q.bunched()).field("cause", v1::LinkCause_Name(q.cause()));
  json.field("explanation", q.explanation()).close('}');
}

void write_faults(Json& json, const char* name, const v1::LinkDirection& d) {
  json.open('{', name).field("delay_us", d.delay_us()).field("jitter_us", d.jitter_us()).field("loss", d.loss());
  json.field("loss_burst", d.loss_burst()).field("duplicate", d.duplicate()).field("reorder", d.reorder());
  json.field("reorder_us", d.reorder_us()).field("keep_order", d.keep_order()).close('}');
}

void write_client(Json& json, const v1::ClientStatistics& c) {
  json.open('{').field("name", c.name()).field("session", c.session()).field("address", c.address());
  json.field("role", c.role()).field("commands_received", c.commands_received());
  json.field("commands_applied", c.commands_applied()).field("commands_refused", c.commands_refused());
  json.field("packets_sent", c.packets_sent()).field("packets_dropped", c.packets_dropped());
  json.field("sequence_gaps", c.sequence_gaps()).field("command_age_us", c.command_age_us());
  json.open('{', "refused_by_reason");
  for (const auto& reason : c.refused_by_reason()) json.field(reason.key(), reason.value());
  json.close('}');
  if (c.has_quality()) write_quality(json, c.quality());
  if (c.has_link_up()) write_faults(json, "link_up", c.link_up());
  if (c.has_link_down()) write_faults(json, "link_down", c.link_down());
  json.close('}');
}

void write_solvers(Json& json, const v1::SolverStatistics& solver, const v1::ShadowStatistics& shadow) {
  json.open('{', "solver").field("rate_hz", solver.rate_hz()).field("solves", solver.solves());
  json.field("late_solves", solver.late_solves()).field("ticks_lost", solver.ticks_lost());
  json.field("failures", solver.failures()).field("fallbacks", solver.fallbacks());
  json.field("inconsistent", solver.inconsistent()).field("indeterminate", solver.indeterminate());
  const v1::WitnessStatistics& w = solver.witnesses();
  json.open('{', "witnesses").field("hits", w.hits()).field("misses", w.misses()).field("fallbacks", w.fallbacks());
  json.field("unknown", w.unknown()).field("closed_hits", w.closed_hits()).field("closed_misses", w.closed_misses());
  json.close('}').field("continuous_stops", solver.continuous_stops());
  const v1::ExactStatistics& exact = solver.exact();
  json.open('{', "exact").field("pieces", exact.pieces()).field("collisions", exact.collisions());
  json.field("evaluations", exact.evaluations()).field("bisections", exact.bisections());
  json.field("breaks", exact.breaks()).field("stops", exact.stops()).field("unresolved", exact.unresolved());
  json.field("exhausted", exact.exhausted()).close('}');
  json.field("adoption_tick", solver.adoption_tick()).field("solve_us", solver.solve_us()).close('}');
  json.open('{', "shadow").field("model", shadow.model()).field("rate_hz", shadow.rate_hz());
  json.field("comparisons", shadow.comparisons()).field("skipped", shadow.skipped()).field("tick", shadow.tick());
  const auto maximum = [&json](const char* name, const v1::ShadowStatistics::Maximum& m) {
    json.open('{', name).field("value", m.value()).field("since_start", m.since_start()).field("body", m.body());
    json.close('}');
  };
  maximum("position_m", shadow.position_m());
  maximum("angle_rad", shadow.angle_rad());
  maximum("velocity_m_per_s", shadow.velocity_m_per_s());
  maximum("force_n", shadow.force_n());
  json.field("solve_us", shadow.solve_us()).close('}');
}

std::string status_json(const v1::Statistics& s, const v1::LeaseList& leases) {
  Json json;
  json.open('{').field("scene", s.scene()).field("bodies", s.bodies()).field("model", s.model());
  json.field("paused", s.paused()).field("lockstep", s.lockstep()).field("tick", s.tick());
  json.field("sim_time_s", s.sim_time_s())
      .field("real_time_factor", s.real_time_factor())
      .field("rate_hz", s.rate_hz());
  json.field("ticks_missed", s.ticks_missed()).field("uptime_s", s.uptime_s()).field("build", s.build());
  json.field("wake_late_us", s.wake_late_us())
      .field("work_us", s.work_us())
      .field("work_lifetime_us", s.work_lifetime_us());
  json.field("contacts_mean", s.contacts_mean()).field("penetration_max_m", s.penetration_max_m());
  json.field("kinetic_energy_j", s.kinetic_energy_j()).field("granted", s.granted());
  json.field("commands_dropped", s.commands_dropped()).field("datagrams_refused", s.datagrams_refused());
  write_solvers(json, s.solver(), s.shadow());
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", ull{s.state_hash()});
  json.field("scene_epoch", s.scene_epoch()).field("state_hash", hash).open('[', "clients");
  for (const auto& c : s.clients()) write_client(json, c);
  json.close(']').open('[', "leases");
  for (const auto& lease : leases.leases())
    json.open('{')
        .field("channel", lease.channel())
        .field("client", lease.client())
        .field("left_ms", lease.left_ms())
        .close('}');
  return json.close(']').close('}').text();
}

}  // namespace

int run_status(const Common& common) {
  client::Client client(client_options(common, "status"));
  const v1::Statistics statistics = client.statistics();
  const v1::LeaseList leases = client.list_leases();
  if (common.json)
    std::printf("%s\n", status_json(statistics, leases).c_str());
  else
    print_status(statistics, leases);
  return 0;
}

namespace {

int load_scene(client::Client& client, const Common& common, const ScenesOptions& options) {
  std::vector<std::pair<std::string, std::string>> set;
  for (const std::string& item : options.set) {
    const auto equals = item.find('=');
    set.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  claim_world(client, options.take_over);
  const v1::SceneDescription scene = client.load_scene(options.load, set, options.seed);
  if (common.json)
    std::printf("%s\n", Json()
                            .open('{')
                            .field("loaded", scene.name())
                            .field("scene_epoch", scene.scene_epoch())
                            .field("bodies", static_cast<std::uint64_t>(scene.bodies_size()))
                            .field("model", scene.model())
                            .close('}')
                            .text()
                            .c_str());
  else
    std::printf("loaded %s: %d bodies, model %s\n", scene.name().c_str(), scene.bodies_size(), scene.model().c_str());
  return 0;
}

}  // namespace

int run_scenes(const Common& common, const ScenesOptions& options) {
  client::Client client(client_options(common, "scenes"));
  if (!options.load.empty()) return load_scene(client, common, options);
  const v1::SceneList list = client.list_scenes();
  Json json;
  json.open('{').field("current", list.current()).open('[', "scenes");
  for (const auto& scene : list.scenes()) {
    json.open('{').field("name", scene.name()).field("title", scene.title()).close('}');
    const bool now = scene.name() == list.current();
    if (!common.json) std::printf("%c %-24s %s\n", now ? '*' : ' ', scene.name().c_str(), scene.title().c_str());
  }
  if (common.json) std::printf("%s\n", json.close(']').close('}').text().c_str());
  return 0;
}

}  // namespace tactus::cli
