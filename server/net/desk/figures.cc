#include "server/net/desk/figures.h"

namespace tactus::net {
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

static_assert(static_cast<int>(LinkCause::none) == v1::LINK_CAUSE_NONE &&
              static_cast<int>(LinkCause::slow_client) == v1::LINK_CAUSE_SLOW_CLIENT);
static_assert(static_cast<int>(LinkCause::lossy_link) == v1::LINK_CAUSE_LOSSY_LINK &&
              static_cast<int>(LinkCause::jittery_link) == v1::LINK_CAUSE_JITTERY_LINK);
static_assert(static_cast<int>(LinkCause::slow_server) == v1::LINK_CAUSE_SLOW_SERVER &&
              static_cast<int>(LinkCause::refused) == v1::LINK_CAUSE_REFUSED);

}  // namespace

void set_histogram(v1::Histogram* out, const HistogramData& ns) {
  out->set_p50(1e-3 * static_cast<double>(ns.percentile(0.5)));
  out->set_p99(1e-3 * static_cast<double>(ns.percentile(0.99)));
  out->set_p999(1e-3 * static_cast<double>(ns.percentile(0.999)));
  out->set_max(1e-3 * static_cast<double>(ns.max));
  out->set_count(ns.count);
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

void fill_link(const FaultyLink& link, v1::LinkDirection& out) {
  const LinkFaultSettings& s = link.settings();
  out.set_delay_us(s.delay_us);
  out.set_jitter_us(s.jitter_us);
  out.set_loss(s.loss);
  out.set_loss_burst(s.loss_burst);
  out.set_duplicate(s.duplicate);
  out.set_reorder(s.reorder);
  out.set_reorder_us(s.reorder_us);
  out.set_keep_order(s.keep_order);
}

void fill_counters(const FaultyLink& link, v1::LinkFaultCounters& out) {
  const LinkFaultCounters& c = link.counters();
  out.set_datagrams(c.datagrams);
  out.set_lost(c.lost);
  out.set_bursts(c.bursts);
  out.set_duplicated(c.duplicated);
  out.set_reordered(c.reordered);
  out.set_delivered(c.delivered);
  out.set_waiting(link.waiting());
  out.set_queue_full(c.queue_full);
  out.set_flushed(c.flushed);
  set_histogram(out.mutable_delay_us(), c.delay_ns);
  out.mutable_delay_us()->set_mean(1e-3 * c.delay_ns.mean());
  out.set_sequence_hash(c.sequence_hash);
}

}  // namespace tactus::net
