// Figures that the server measured, as messages.
#pragma once

#include "control.pb.h"
#include "server/metrics/histogram.h"
#include "server/realtime/tick_loop.h"
#include "server/session/session.h"

namespace tactus::net {

// Percentiles in microseconds of a histogram of nanoseconds.
void set_histogram(v1::Histogram* out, const HistogramData& ns);
void fill_quality(const LinkFigures& f, v1::LinkQuality& out);
void fill_exact(const TickMetrics& m, v1::ExactStatistics& out);
void fill_link(const FaultyLink& link, v1::LinkDirection& out);
void fill_counters(const FaultyLink& link, v1::LinkFaultCounters& out);

}  // namespace tactus::net
