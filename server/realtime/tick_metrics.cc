#include "server/realtime/tick_metrics.h"

namespace tactus {

void count_step(const StepReport& report, TickMetrics& metrics) noexcept {
  metrics.solver_failures.add(report.solver_failures);
  metrics.solver_fallbacks.add(report.solver_fallbacks);
  metrics.inconsistent.add(report.inconsistent);
  metrics.indeterminate.add(report.indeterminate);
  metrics.witness_hits.add(report.witnesses.hits);
  metrics.witness_misses.add(report.witnesses.misses);
  metrics.witness_closed_hits.add(report.witnesses.closed_hits);
  metrics.witness_closed_misses.add(report.witnesses.closed_misses);
  metrics.witness_fallbacks.add(report.witnesses.fallbacks);
  metrics.witness_unknown.add(report.witnesses.unknown);
  metrics.continuous_stops.add(report.continuous_stops);
  metrics.exact_pieces.add(report.exact.pieces);
  metrics.exact_collisions.add(report.exact.collisions);
  metrics.exact_evaluations.add(report.exact.evaluations);
  metrics.exact_bisections.add(report.exact.bisections);
  metrics.exact_breaks.add(report.exact.breaks);
  metrics.exact_stops.add(report.exact.stops);
  metrics.exact_unresolved.add(report.exact.unresolved);
  metrics.exact_exhausted.add(report.exact.exhausted);
}

}  // namespace tactus
