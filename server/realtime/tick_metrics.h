// The figures of the tick since start. Written by whoever ticks (in lockstep: net), read by any thread.
#pragma once

#include "core/contact/contact_model.h"
#include "server/metrics/counter.h"
#include "server/metrics/histogram.h"

namespace tactus {

struct TickMetrics {
  Histogram wake_late_ns;       // wake-up after the grid point
  Histogram work_ns;            // wake-up to the end of publish
  Histogram drain_ns;           // wake-up to World::step: commands, deadlines, drives
  Histogram step_ns;            // World::step alone
  Histogram publish_ns;         // World::step to the end of publish
  Counter beats;                // whether or not the world moved
  Counter ticks;                // steps of the world
  Counter late_ticks;           // beats that ended after the next grid point
  Counter points_skipped;       // grid points that had no beat
  Counter states_dropped;       // net was eight states behind
  Counter contacts_sum;         // over all ticks, for means
  Counter solves, late_solves;  // steps of a slow model that were adopted; that were not there when they were due
  Counter solve_ticks_lost;     // simulated time fell behind by so many ticks, because they were later than a step
  Counter adoption_tick;        // tick of the last adoption
  Histogram solve_ns;           // of what was adopted
  Counter solver_failures, solver_fallbacks, inconsistent, indeterminate;  // islands of all steps (StepReport)
  Counter witness_hits, witness_misses, witness_fallbacks, witness_unknown, continuous_stops;  // of all steps
  Counter witness_closed_hits, witness_closed_misses;
  // Of all steps (ExactReport).
  Counter exact_pieces, exact_collisions, exact_evaluations, exact_bisections, exact_breaks, exact_stops,
      exact_unresolved, exact_exhausted;
  Counter shadow_solves, shadow_skipped;  // comparisons; intervals left out because the shadow was not done
  Histogram shadow_ns;
  Counter bare_beats, bare_late, block_beats, block_late;  // interleave measurement
  Gauge real_time_factor;
};

// Adds one step of the world, or one of a slow model.
void count_step(const StepReport& report, TickMetrics& metrics) noexcept;

}  // namespace tactus
