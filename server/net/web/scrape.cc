#include "server/net/web/scrape.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "server/metrics/exposition.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr std::uint64_t kStaleNs = 3'000'000'000u;  // net leaves a sample every second
constexpr double kBehind = 0.98;                    // of real time: below, /healthz says so

HistogramData copy(const Histogram& histogram) {
  HistogramData out;
  histogram.copy(out);
  return out;
}

void add_tick(Exposition& out, const TickMetrics& m) {
  out.histogram("tactus_wake_late_seconds", "Wake-up of the tick after its grid point.", copy(m.wake_late_ns));
  out.histogram("tactus_work_seconds", "Work of a tick: wake-up to the end of publish.", copy(m.work_ns));
  const std::string help = "Work of a tick by stage: commands, step (World::step), publish.";
  out.histogram("tactus_stage_seconds", help, copy(m.drain_ns), {{"stage", "commands"}});
  out.histogram("tactus_stage_seconds", help, copy(m.step_ns), {{"stage", "step"}});
  out.histogram("tactus_stage_seconds", help, copy(m.publish_ns), {{"stage", "publish"}});
  out.counter("tactus_beats_total", "Beats, whether or not the world moved.", m.beats.read());
  out.counter("tactus_ticks_total", "Steps of the world.", m.ticks.read());
  out.counter("tactus_ticks_missed_total", "Grid points that had no beat.", m.points_skipped.read());
  out.counter("tactus_ticks_late_total", "Beats that ended after the next grid point.", m.late_ticks.read());
  out.counter("tactus_states_dropped_total", "States that net did not take in time.", m.states_dropped.read());
  out.gauge("tactus_real_time_factor", "Simulated over real time, of late.", m.real_time_factor.read());
}

void add_exact(Exposition& out, const TickMetrics& m) {
  out.counter("tactus_exact_pieces_total", "Exact stepper: pieces of steps without a discontinuity inside.",
              m.exact_pieces.read());
  const std::string found = "Exact stepper: collisions, breaks of contacts and ends of slip found in time.";
  out.counter("tactus_exact_discontinuities_total", found, m.exact_collisions.read(), {{"kind", "collision"}});
  out.counter("tactus_exact_discontinuities_total", found, m.exact_breaks.read(), {{"kind", "break"}});
  out.counter("tactus_exact_discontinuities_total", found, m.exact_stops.read(), {{"kind", "stop"}});
  out.counter("tactus_exact_evaluations_total", "Exact stepper: distances of features evaluated for collision times.",
              m.exact_evaluations.read());
  out.counter("tactus_exact_bisections_total", "Exact stepper: collisions searched for by halving the time.",
              m.exact_bisections.read());
  out.counter("tactus_exact_unresolved_total", "Exact stepper: overlaps without a collision time, worked off as drift.",
              m.exact_unresolved.read());
  out.counter("tactus_exact_exhausted_total", "Exact stepper: steps out of pieces, whose rest was a fixed one.",
              m.exact_exhausted.read());
}

void add_solvers(Exposition& out, const TickMetrics& m) {
  out.counter("tactus_solves_total", "Steps of a slow model that were adopted.", m.solves.read());
  out.counter("tactus_solves_late_total", "Steps of a slow model that were not there when due.", m.late_solves.read());
  out.counter("tactus_solve_ticks_lost_total", "Ticks by which late steps set simulated time back.",
              m.solve_ticks_lost.read());
  out.counter("tactus_solver_failures_total", "Islands of contacts that no solver solved.", m.solver_failures.read());
  out.counter("tactus_solver_fallbacks_total", "Islands of contacts that only a fallback solved.",
              m.solver_fallbacks.read());
  const std::string witnesses = "Pairs whose last witness still decided (hit), or was searched for anew (miss).";
  out.counter("tactus_witnesses_total", witnesses, m.witness_hits.read(), {{"found", "hit"}});
  out.counter("tactus_witnesses_total", witnesses, m.witness_misses.read(), {{"found", "miss"}});
  const std::string closed = "Pairs in closed form that had met before (hit), or were looked at first (miss).";
  out.counter("tactus_witnesses_closed_total", closed, m.witness_closed_hits.read(), {{"found", "hit"}});
  out.counter("tactus_witnesses_closed_total", closed, m.witness_closed_misses.read(), {{"found", "miss"}});
  out.counter("tactus_witness_fallbacks_total", "Extremal points that only a fallback found.",
              m.witness_fallbacks.read());
  out.counter("tactus_witness_unknown_total", "Extremal points that were not found.", m.witness_unknown.read());
  out.counter("tactus_continuous_stops_total", "Continuous bodies put back to a touch.", m.continuous_stops.read());
  add_exact(out, m);
  out.histogram("tactus_solve_seconds", "Time of a slow model's step.", copy(m.solve_ns));
  out.counter("tactus_shadow_comparisons_total", "Comparisons with the shadow model.", m.shadow_solves.read());
}

void add_world(Exposition& out, const v1::Statistics& s) {
  out.gauge("tactus_info", "Always 1; what runs.", 1,
            {{"build", s.build()},
             {"scene", s.scene()},
             {"model", s.model()},
             {"mode", s.lockstep() ? "lockstep"
                      : s.paused() ? "paused"
                                   : "free run"}});
  out.gauge("tactus_uptime_seconds", "Since start.", s.uptime_s());
  out.gauge("tactus_simulated_seconds", "Simulated time of the scene.", s.sim_time_s());
  out.gauge("tactus_bodies", "Bodies in the scene.", static_cast<double>(s.bodies()));
  out.gauge("tactus_contacts", "Contact points, mean of the last second.", s.contacts_mean());
  out.gauge("tactus_penetration_meters", "Deepest overlap now.", s.penetration_max_m());
  out.gauge("tactus_kinetic_energy_joules", "Of all bodies now.", s.kinetic_energy_j());
  out.counter("tactus_commands_dropped_total", "Commands that found the tick's ring full.", s.commands_dropped());
  for (const v1::Parameter& refused : s.refused_by_reason())
    out.counter("tactus_refused_total", "Datagrams, frames and requests refused before they belonged to a client.",
                std::stoull(refused.value()), {{"reason", refused.key()}});
  if (!s.has_black_box()) return;
  out.counter("tactus_recorder_states_lost_total", "States that the recorder did not take in time.",
              s.black_box().states_lost());
  out.counter("tactus_recorder_rows_lost_total", "Commands that the recorder did not take in time.",
              s.black_box().rows_lost());
  out.counter("tactus_recorder_overtaken_bytes_total", "Bytes of recordings that the disk did not take in time.",
              s.black_box().bytes_overtaken());
  out.counter("tactus_recorder_written_bytes_total", "Bytes of recordings and black boxes that were written.",
              s.black_box().written_bytes());
  out.gauge("tactus_recording", "1 while a recording runs.", s.has_recording() ? 1 : 0);
}

void add_client(Exposition& out, const v1::ClientStatistics& c, const HistogramData& ages) {
  const Exposition::Labels who{{"client", c.name()}, {"session", fmt::format("{:08x}", c.session())}};
  const auto with = [&who](const char* name, const std::string& value) {
    Exposition::Labels labels = who;
    labels.emplace_back(name, value);
    return labels;
  };
  out.histogram("tactus_command_age_seconds", "Command from its arrival to the tick that applied it.", ages, who);
  out.counter("tactus_commands_received_total", "Commands of a client.", c.commands_received(), who);
  out.counter("tactus_commands_applied_total", "Commands of a client that were applied.", c.commands_applied(), who);
  for (const v1::Parameter& refused : c.refused_by_reason())
    out.counter("tactus_verdicts_total", "Verdicts other than applied, by name.", std::stoull(refused.value()),
                with("verdict", refused.key()));
  out.counter("tactus_packets_sent_total", "State packets to a client.", c.packets_sent(), who);
  out.counter("tactus_packets_dropped_total", "State packets that a client's link had no room for.",
              c.packets_dropped(), who);
  out.counter("tactus_packets_lost_total", "State packets that never reached a client, as it says.", c.packets_lost(),
              who);
  out.counter("tactus_sequence_gaps_total", "Datagrams of a client that never came.", c.sequence_gaps(), who);
  if (!c.has_quality()) return;
  const std::string help = "Share of datagrams that never arrived, over the last 1,000 cycles.";
  out.gauge("tactus_link_loss_ratio", help, c.quality().lost_up(), with("direction", "up"));
  out.gauge("tactus_link_loss_ratio", help, c.quality().lost_down(), with("direction", "down"));
  out.gauge("tactus_cycle_success_ratio", "Cycles of the last 100 whose command was applied in time.",
            c.quality().success_rate(), who);
}

}  // namespace

void Scrape::leave(std::shared_ptr<const ScrapeSample> sample) {
  const std::lock_guard lock(mutex_);
  sample_.swap(sample);  // the old one ends after the lock
}

std::shared_ptr<const ScrapeSample> Scrape::newest() const {
  const std::lock_guard lock(mutex_);
  return sample_;
}

std::optional<WebPage> Scrape::page(std::string_view path, bool is_local) const {
  if (path == "/healthz") return health();
  if (path != "/metrics") return std::nullopt;
  if (access_ == "all" || (access_ == "loopback" && is_local)) return metrics();
  return WebPage{403, "text/plain; charset=utf-8",
                 "/metrics is not given to this address: [web] metrics = \"" + access_ +
                     "\" (expected \"all\" for other machines)\n"};
}

WebPage Scrape::health() const {
  const auto sample = newest();
  std::string wrong, note;
  const std::uint64_t now = now_ns();
  if (sample == nullptr) {
    wrong = "starting";
  } else if (now > sample->made_ns + kStaleNs) {
    wrong =
        fmt::format("the net thread has not answered for {:.0f} s", 1e-9 * static_cast<double>(now - sample->made_ns));
  } else if (!sample->is_beating) {
    wrong = "the tick does not beat";
  } else if (!sample->statistics.lockstep() && !sample->statistics.paused() &&
             sample->statistics.real_time_factor() < kBehind) {
    note = fmt::format(": simulated time runs at {:.2f} of real time", sample->statistics.real_time_factor());
  }
  const char* type = "text/plain; charset=utf-8";
  if (!wrong.empty()) return {503, type, wrong + "\n"};
  return {200, type, "ok" + note + "\n"};
}

WebPage Scrape::metrics() const {
  Exposition out;
  add_tick(out, tick_);
  add_solvers(out, tick_);
  if (const auto sample = newest()) {
    add_world(out, sample->statistics);
    for (int i = 0; i < sample->statistics.clients_size(); ++i)
      add_client(out, sample->statistics.clients(i), sample->ages[static_cast<std::size_t>(i)]);
  }
  return {200, "text/plain; version=0.0.4; charset=utf-8", out.text()};
}

}  // namespace tactus::net
