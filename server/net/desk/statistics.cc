#include "server/net/desk/statistics.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "server/net/control/conversation.h"
#include "server/net/desk/play_desk.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/net/web/web_port.h"
#include "server/realtime/clock.h"

namespace tactus::net {

void set_histogram(v1::Histogram* out, const HistogramData& ns) {
  out->set_p50(1e-3 * static_cast<double>(ns.percentile(0.5)));
  out->set_p99(1e-3 * static_cast<double>(ns.percentile(0.99)));
  out->set_p999(1e-3 * static_cast<double>(ns.percentile(0.999)));
  out->set_max(1e-3 * static_cast<double>(ns.max));
  out->set_count(ns.count);
}

namespace {

void set_spread(v1::Histogram* out, const Spread& us) {
  out->set_p50(us.p50);
  out->set_p99(us.p99);
  out->set_p999(us.p999);
  out->set_max(us.max);
  out->set_count(us.count);
  out->set_mean(us.mean);
  out->set_min(us.min);
}

void fill_quality(const LinkFigures& f, v1::LinkQuality& out) {
  out.set_cycles(f.cycles);
  out.set_success_rate(f.success_rate);
  out.set_success_rate_window(f.success_rate_window);
  out.set_lost_in_a_row(f.lost_in_a_row);
  out.set_lost_in_a_row_max(f.lost_in_a_row_max);
  set_spread(out.mutable_compute_us(), f.compute_us);
  set_spread(out.mutable_down_us(), f.down_us);
  set_spread(out.mutable_up_us(), f.up_us);
  set_spread(out.mutable_wake_late_us(), f.wake_late_us);
  set_spread(out.mutable_work_us(), f.work_us);
  set_spread(out.mutable_wait_us(), f.wait_us);
  out.set_round_trip_min_us(f.round_trip_min_us);
  out.set_lost_down(f.lost_down);
  out.set_lost_up(f.lost_up);
  out.set_unanswered(f.unanswered);
  out.set_skipped(f.skipped);
  out.set_refused(f.refused);
  out.set_bunched(f.bunched);
  out.set_left_out(f.left_out);
  out.set_own_period(f.own_period);
  out.set_cause(static_cast<v1::LinkCause>(f.cause));
  out.set_explanation(f.explanation);
}

void fill_exact(const TickMetrics& m, v1::ExactStatistics& out) {
  out.set_pieces(m.exact_pieces.read());
  out.set_collisions(m.exact_collisions.read());
  out.set_evaluations(m.exact_evaluations.read());
  out.set_bisections(m.exact_bisections.read());
  out.set_breaks(m.exact_breaks.read());
  out.set_stops(m.exact_stops.read());
  out.set_unresolved(m.exact_unresolved.read());
  out.set_exhausted(m.exact_exhausted.read());
}

static_assert(static_cast<int>(LinkCause::none) == v1::LINK_CAUSE_NONE &&
              static_cast<int>(LinkCause::slow_client) == v1::LINK_CAUSE_SLOW_CLIENT);
static_assert(static_cast<int>(LinkCause::lossy_link) == v1::LINK_CAUSE_LOSSY_LINK &&
              static_cast<int>(LinkCause::jittery_link) == v1::LINK_CAUSE_JITTERY_LINK);
static_assert(static_cast<int>(LinkCause::slow_server) == v1::LINK_CAUSE_SLOW_SERVER &&
              static_cast<int>(LinkCause::refused) == v1::LINK_CAUSE_REFUSED);

}  // namespace

NetStatistics::NetStatistics(Hub& hub)
    : hub_(hub), rolled_ns_(now_ns()), scrape_(hub.tick.metrics(), hub.options.web.metrics) {}

std::vector<std::string> NetStatistics::roll() {
  const TickMetrics& m = hub_.tick.metrics();
  wake_window_.take(m.wake_late_ns, wake_);
  work_window_.take(m.work_ns, work_);
  step_window_.take(m.step_ns, step_);
  const std::uint64_t now = now_ns(), ticks = m.ticks.read(), contacts = m.contacts_sum.read(),
                      skipped = m.points_skipped.read();
  rate_hz_ = 1e9 * static_cast<double>(ticks - ticks_seen_) / static_cast<double>(now - rolled_ns_);
  contacts_mean_ = ticks == ticks_seen_
                       ? 0
                       : static_cast<double>(contacts - contacts_seen_) / static_cast<double>(ticks - ticks_seen_);
  skipped_ = skipped - skipped_seen_;
  rolled_ns_ = now;
  ticks_seen_ = ticks;
  contacts_seen_ = contacts;
  skipped_seen_ = skipped;
  leave_sample();
  std::vector<std::string> lines{watch_rate(),
                                 exact_watch_.take({m.exact_unresolved.read(), m.exact_exhausted.read()})};
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  return lines;
}

std::string NetStatistics::watch_rate() {
  const TickMetrics& m = hub_.tick.metrics();
  const double tick_s = hub_.scene.model().step;
  HistogramData solve;
  solve_window_.take(m.solve_ns, solve);
  const ContactModelKind kind = hub_.scene.contact_model;
  return rate_watch_.take({to_string(kind), ticks_per_step(hub_.solvers.rates, kind, tick_s), tick_s},
                          {m.solves.read(), m.late_solves.read(), m.solve_ticks_lost.read()},
                          {solve.percentile(0.5), solve.percentile(0.99)});
}

void NetStatistics::leave_sample() {
  if (hub_.web == nullptr) return;
  auto sample = std::make_shared<ScrapeSample>();
  fill(sample->statistics, hub_.newest.tick, 0);
  sample->ages.reserve(hub_.sessions.size());
  hub_.sessions.for_each([&](const Session& session) { sample->ages.push_back(session.command_age_ns); });
  const std::uint64_t beats = hub_.tick.metrics().beats.read();
  sample->is_beating = beats != beats_seen_ || hub_.tick.lockstep();
  beats_seen_ = beats;
  sample->made_ns = now_ns();
  scrape_.leave(std::move(sample));
}

void NetStatistics::answer(const Exchange& x) {
  waiting_.push_back(x);
  if (waiting_.size() > 1) return;
  Command probe;
  probe.kind = Command::Kind::probe;
  hub_.tick.post(probe, [this](const Notice& notice) {
    for (const Exchange& waiting : std::exchange(waiting_, {})) {
      v1::Reply reply;
      fill(*reply.mutable_statistics(), notice.tick, notice.hash);
      waiting.reply(std::move(reply));
    }
  });
}

void NetStatistics::fill(v1::Statistics& out, std::uint64_t tick, std::uint64_t hash) const {
  const TickMetrics& m = hub_.tick.metrics();
  out.set_tick(tick);
  out.set_sim_time_s(hub_.newest.sim_time);
  out.set_real_time_factor(m.real_time_factor.read());
  out.set_rate_hz(rate_hz_);
  out.set_ticks_missed(m.points_skipped.read());
  out.set_commands_dropped(hub_.tick.commands_dropped());
  out.set_datagrams_refused(hub_.datagrams_refused);
  set_histogram(out.mutable_wake_late_us(), wake_);
  set_histogram(out.mutable_work_us(), work_);
  set_histogram(out.mutable_step_us(), step_);
  HistogramData lifetime;
  m.work_ns.copy(lifetime);
  set_histogram(out.mutable_work_lifetime_us(), lifetime);
  out.set_contacts_mean(contacts_mean_);
  out.set_penetration_max_m(hub_.newest.report.depth_max);
  out.set_kinetic_energy_j(hub_.newest.kinetic_energy);
  hub_.sessions.for_each([&](const Session& session) { fill_client(session, *out.add_clients()); });
  out.set_model(to_string(hub_.scene.contact_model));
  out.set_scene(hub_.scene.name);
  out.set_paused(hub_.paused);
  out.set_lockstep(hub_.tick.lockstep());
  out.set_scene_epoch(hub_.scene.epoch);
  out.set_state_hash(hash);
  out.set_build(hub_.options.build);
  if (const Rights* rights = hub_.tick.rights()) {
    std::string text;
    for (std::size_t i = 0; i < rights->count; ++i) text.append(i == 0 ? "" : "\n").append(rights->list[i].text.data());
    out.set_granted(text);
  }
  out.set_bodies(hub_.scene.model().bodies.size());
  out.set_uptime_s(1e-9 * static_cast<double>(now_ns() - hub_.started_ns));
  fill_solvers(out);
  hub_.record->report(out);
  if (hub_.play != nullptr) hub_.play->report(*out.mutable_playback());
  for (const auto& [reason, count] : hub_.refused) {
    v1::Parameter* p = out.add_refused_by_reason();
    p->set_key(reason);
    p->set_value(std::to_string(count));
  }
  if (hub_.web != nullptr) hub_.web->count(out);
}

void NetStatistics::fill_solvers(v1::Statistics& out) const {
  const TickMetrics& m = hub_.tick.metrics();
  const Model& model = hub_.scene.model();
  HistogramData histogram;
  v1::SolverStatistics* solver = out.mutable_solver();
  solver->set_ticks_per_step(ticks_per_step(hub_.solvers.rates, hub_.scene.contact_model, model.step));
  if (solver->ticks_per_step() > 1) solver->set_rate_hz(1 / (solver->ticks_per_step() * model.step));
  solver->set_solves(m.solves.read());
  solver->set_late_solves(m.late_solves.read());
  solver->set_ticks_lost(m.solve_ticks_lost.read());
  solver->set_adoption_tick(m.adoption_tick.read());
  solver->set_failures(m.solver_failures.read());
  solver->set_fallbacks(m.solver_fallbacks.read());
  solver->set_inconsistent(m.inconsistent.read());
  solver->set_indeterminate(m.indeterminate.read());
  v1::WitnessStatistics* witnesses = solver->mutable_witnesses();
  witnesses->set_hits(m.witness_hits.read());
  witnesses->set_misses(m.witness_misses.read());
  witnesses->set_fallbacks(m.witness_fallbacks.read());
  witnesses->set_unknown(m.witness_unknown.read());
  witnesses->set_closed_hits(m.witness_closed_hits.read());
  witnesses->set_closed_misses(m.witness_closed_misses.read());
  fill_exact(m, *solver->mutable_exact());
  solver->set_continuous_stops(m.continuous_stops.read());
  m.solve_ns.copy(histogram);
  set_histogram(solver->mutable_solve_us(), histogram);

  const ShadowWish& wish = hub_.solvers.shadow;
  const ShadowSeen& seen = hub_.shadow_seen;
  v1::ShadowStatistics* shadow = out.mutable_shadow();
  if (wish.model) {
    shadow->set_model(to_string(*wish.model));
    shadow->set_ticks_per_step(ticks_per_step(wish.rate_hz, model.step));
    shadow->set_rate_hz(1 / (shadow->ticks_per_step() * model.step));
  }
  shadow->set_comparisons(m.shadow_solves.read());
  shadow->set_skipped(m.shadow_skipped.read());
  shadow->set_tick(seen.last.tick);
  const auto put = [&model](v1::ShadowStatistics::Maximum* to, const ShadowMaximum& last, float since_start) {
    to->set_value(last.value);
    to->set_since_start(since_start);
    if (last.body < model.bodies.size()) to->set_body(model.bodies[last.body].name);
  };
  put(shadow->mutable_position_m(), seen.last.position, seen.position_max);
  put(shadow->mutable_angle_rad(), seen.last.angle, seen.angle_max);
  put(shadow->mutable_velocity_m_per_s(), seen.last.velocity, seen.velocity_max);
  put(shadow->mutable_force_n(), seen.last.force, seen.force_max);
  m.shadow_ns.copy(histogram);
  set_histogram(shadow->mutable_solve_us(), histogram);
}

void NetStatistics::fill_client(const Session& session, v1::ClientStatistics& out) const {
  out.set_name(session.name());
  out.set_session(session.id());
  out.set_address(hub_.realtime->address(session.slot()));
  const auto connection = hub_.connection(session.slot());
  if (connection && out.address().empty()) out.set_address(connection->address());
  out.set_role(to_string(session.role));
  out.set_commands_received(session.counters.commands_received);
  out.set_commands_applied(session.counters.commands_applied);
  out.set_commands_refused(session.counters.commands_refused);
  out.set_packets_sent(session.counters.packets_sent);
  out.set_packets_dropped(session.counters.packets_dropped + (connection ? connection->states_replaced() : 0));
  out.set_sequence_gaps(session.window.gaps());
  out.set_packets_lost(session.counters.packets_lost);
  for (int code = v1::VERDICT_SUPERSEDED; code <= v1::VerdictCode_MAX; ++code) {
    const std::uint64_t count = session.counters.by_code[static_cast<std::size_t>(code)];
    if (count == 0) continue;
    v1::Parameter* p = out.add_refused_by_reason();
    p->set_key(v1::VerdictCode_Name(static_cast<v1::VerdictCode>(code)));
    p->set_value(std::to_string(count));
  }
  set_histogram(out.mutable_command_age_us(), session.command_age_ns);
  if (session.watch) fill_quality(session.watch->meter().figures(), *out.mutable_quality());
  if (session.faults && session.faults->up) fill_link(*session.faults->up, *out.mutable_link_up());
  if (session.faults && session.faults->down) fill_link(*session.faults->down, *out.mutable_link_down());
}

std::string NetStatistics::status_line() const {
  const auto us = [](const HistogramData& h, double p) { return 1e-3 * static_cast<double>(h.percentile(p)); };
  const char* mode = hub_.tick.lockstep() ? "lockstep" : hub_.paused ? "paused" : "free run";
  std::string solves;
  if (const std::uint64_t n = hub_.tick.metrics().solves.read(); n > 0)
    solves = fmt::format(" | solves {} late {} (ticks lost {})", n, hub_.tick.metrics().late_solves.read(),
                         hub_.tick.metrics().solve_ticks_lost.read());
  return fmt::format(
      "{} {} | {:.0f} Hz x{:.3f} | wake p50 {:.0f} p99 {:.0f} us | work p50 {:.0f} p99 {:.0f} us | missed {} (+{}) | "
      "contacts {:.0f} | clients {}{}",
      hub_.scene.name, mode, rate_hz_, hub_.tick.metrics().real_time_factor.read(), us(wake_, 0.5), us(wake_, 0.99),
      us(work_, 0.5), us(work_, 0.99), hub_.tick.metrics().points_skipped.read(), skipped_, contacts_mean_,
      hub_.sessions.size(), solves);
}

}  // namespace tactus::net
