#include "server/net/desk/statistics.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "server/net/desk/figures.h"
#include "server/realtime/clock.h"

namespace tactus::net {

NetStatistics::NetStatistics(const Uses& uses) : uses_(uses), rolled_ns_(now_ns()) {}

std::vector<std::string> NetStatistics::roll() {
  const TickMetrics& m = uses_.tick.metrics();
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
  const TickMetrics& m = uses_.tick.metrics();
  const double tick_s = uses_.scene.model().step;
  HistogramData solve;
  solve_window_.take(m.solve_ns, solve);
  const ContactModelKind kind = uses_.scene.contact_model;
  return rate_watch_.take({to_string(kind), ticks_per_step(uses_.solvers.options.rates, kind, tick_s), tick_s},
                          {m.solves.read(), m.late_solves.read(), m.solve_ticks_lost.read()},
                          {solve.percentile(0.5), solve.percentile(0.99)});
}

void NetStatistics::leave_sample() {
  if (uses_.web == nullptr) return;
  auto sample = std::make_shared<ScrapeSample>();
  fill(sample->statistics, uses_.status.newest.tick, 0);
  sample->ages.reserve(uses_.sessions.size());
  uses_.sessions.for_each([&](const Session& session) { sample->ages.push_back(session.command_age_ns); });
  const std::uint64_t beats = uses_.tick.metrics().beats.read();
  sample->is_beating = beats != beats_seen_ || uses_.tick.lockstep();
  beats_seen_ = beats;
  sample->made_ns = now_ns();
  uses_.scrape.leave(std::move(sample));
}

void NetStatistics::answer(const Exchange& x) {
  waiting_.push_back(x);
  if (waiting_.size() > 1) return;
  Command probe;
  probe.kind = Command::Kind::probe;
  uses_.tick.post(probe, [this](const Notice& notice) {
    for (const Exchange& waiting : std::exchange(waiting_, {})) {
      v1::Reply reply;
      fill(*reply.mutable_statistics(), notice.tick, notice.hash);
      waiting.reply(std::move(reply));
    }
  });
}

void NetStatistics::fill(v1::Statistics& out, std::uint64_t tick, std::uint64_t hash) const {
  const TickMetrics& m = uses_.tick.metrics();
  out.set_tick(tick);
  out.set_sim_time_s(uses_.status.newest.sim_time);
  out.set_real_time_factor(m.real_time_factor.read());
  out.set_rate_hz(rate_hz_);
  out.set_ticks_missed(m.points_skipped.read());
  out.set_commands_dropped(uses_.tick.commands_dropped());
  out.set_datagrams_refused(uses_.refusals.datagrams);
  set_histogram(out.mutable_wake_late_us(), wake_);
  set_histogram(out.mutable_work_us(), work_);
  set_histogram(out.mutable_step_us(), step_);
  HistogramData lifetime;
  m.work_ns.copy(lifetime);
  set_histogram(out.mutable_work_lifetime_us(), lifetime);
  out.set_contacts_mean(contacts_mean_);
  out.set_penetration_max_m(uses_.status.newest.report.depth_max);
  out.set_kinetic_energy_j(uses_.status.newest.kinetic_energy);
  uses_.sessions.for_each([&](const Session& session) { fill_client(session, *out.add_clients()); });
  out.set_model(to_string(uses_.scene.contact_model));
  out.set_scene(uses_.scene.name);
  out.set_paused(uses_.status.paused);
  out.set_lockstep(uses_.tick.lockstep());
  out.set_scene_epoch(uses_.scene.epoch);
  out.set_state_hash(hash);
  out.set_build(uses_.options.build);
  if (const Rights* rights = uses_.tick.rights()) {
    std::string text;
    for (std::size_t i = 0; i < rights->count; ++i) text.append(i == 0 ? "" : "\n").append(rights->list[i].text.data());
    out.set_granted(text);
  }
  out.set_bodies(uses_.scene.model().bodies.size());
  out.set_uptime_s(1e-9 * static_cast<double>(now_ns() - started_ns_));
  fill_solvers(out);
  uses_.record.report(out);
  if (play_ != nullptr) play_->report(*out.mutable_playback());
  for (const auto& [reason, count] : uses_.refusals.by_reason) {
    v1::Parameter* p = out.add_refused_by_reason();
    p->set_key(reason);
    p->set_value(std::to_string(count));
  }
  if (uses_.web != nullptr) uses_.web->count(out);
}

void NetStatistics::fill_solvers(v1::Statistics& out) const {
  const TickMetrics& m = uses_.tick.metrics();
  const Model& model = uses_.scene.model();
  HistogramData histogram;
  v1::SolverStatistics* solver = out.mutable_solver();
  solver->set_ticks_per_step(ticks_per_step(uses_.solvers.options.rates, uses_.scene.contact_model, model.step));
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

  const ShadowWish& wish = uses_.solvers.options.shadow;
  const ShadowSeen& seen = uses_.solvers.shadow_seen;
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
  out.set_address(uses_.ways.address(session.slot()));
  const auto connection = uses_.lines.find(session.slot());
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
  const char* mode = uses_.tick.lockstep() ? "lockstep" : uses_.status.paused ? "paused" : "free run";
  std::string solves;
  if (const std::uint64_t n = uses_.tick.metrics().solves.read(); n > 0)
    solves = fmt::format(" | solves {} late {} (ticks lost {})", n, uses_.tick.metrics().late_solves.read(),
                         uses_.tick.metrics().solve_ticks_lost.read());
  return fmt::format(
      "{} {} | {:.0f} Hz x{:.3f} | wake p50 {:.0f} p99 {:.0f} us | work p50 {:.0f} p99 {:.0f} us | missed {} (+{}) | "
      "contacts {:.0f} | clients {}{}",
      uses_.scene.name, mode, rate_hz_, uses_.tick.metrics().real_time_factor.read(), us(wake_, 0.5), us(wake_, 0.99),
      us(work_, 0.5), us(work_, 0.99), uses_.tick.metrics().points_skipped.read(), skipped_, contacts_mean_,
      uses_.sessions.size(), solves);
}

}  // namespace tactus::net
