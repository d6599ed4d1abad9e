// The log's line about a slow model that does not hold its rate: when it comes, what it says, how often.
#include <doctest/doctest.h>

#include "server/solver/rate_watch.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
const RateWatch::Model kLcp{"lcp", 10, 0.001};  // 100 Hz

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("server_rate_watch: one late step in a hundred is held; more is told with its figures") {
  RateWatch watch;
  RateWatch::Counts counts;
  CHECK(watch.take(kLcp, counts, {}).empty());
  counts = {100, 1, 0};
  CHECK(watch.take(kLcp, counts, {kMs, 12 * kMs}).empty());
  counts = {200, 11, 0};
  const std::string text = watch.take(kLcp, counts, {kMs, 24 * kMs});
  CAPTURE(text);
  CHECK(has(text, "model lcp does not hold its 100 Hz"));
  CHECK(has(text, "in the last 2 s 11 of 200 steps were late"));
  CHECK(has(text,
            "a step has 10 ms; in the worst second a solve takes 1 ms in the middle and 24 ms at the 99th percentile"));
  CHECK(has(text, "[model.lcp] rate_hz"));
  CHECK_FALSE(has(text, "lost"));
}

TEST_CASE("server_rate_watch: lost simulated time is told whatever the share of late steps; one line in ten seconds") {
  RateWatch watch;
  RateWatch::Counts counts;
  watch.take(kLcp, counts, {});
  int lines = 0;
  for (int second = 0; second < 40; ++second) {
    counts.solves += 100, counts.late += 1, counts.ticks_lost += 3;
    const std::string text = watch.take(kLcp, counts, {kMs, 30 * kMs});
    if (text.empty()) continue;
    ++lines;
    CHECK(has(text, "ms of simulated time were lost"));
  }
  CHECK(lines == 4);
}

TEST_CASE("server_rate_watch: late steps are forgotten after ten seconds, and with the model") {
  RateWatch watch;
  RateWatch::Counts counts;
  watch.take(kLcp, counts, {});
  counts = {100, 50, 0};
  CHECK_FALSE(watch.take(kLcp, counts, {kMs, 20 * kMs}).empty());
  int lines = 0;
  for (int second = 0; second < 30; ++second) {
    counts.solves += 100;
    lines += watch.take(kLcp, counts, {kMs, 2 * kMs}).empty() ? 0 : 1;
  }
  CHECK(lines == 0);
  counts.late += 50, counts.solves += 100;
  const RateWatch::Model st{"st", 10, 0.001}, penalty{"penalty", 1, 0.001};
  CHECK(watch.take(st, counts, {kMs, 2 * kMs}).empty());       // not of this one
  CHECK(watch.take(penalty, counts, {kMs, 2 * kMs}).empty());  // every tick: nothing is solved beside it
}

TEST_CASE("server_rate_watch: what is told is of one time, its worst second included, and is not told again") {
  RateWatch watch;
  RateWatch::Counts counts;
  watch.take(kLcp, counts, {});
  counts = {100, 1, 0};
  CHECK(watch.take(kLcp, counts, {2 * kMs, 120 * kMs}).empty());
  counts = {200, 14, 0};
  const std::string text = watch.take(kLcp, counts, {kMs, 3 * kMs});
  CAPTURE(text);
  CHECK(has(text, "2 ms in the middle and 120 ms"));
  CHECK(has(text, "[model.lcp] rate_hz"));
  int lines = 0;
  for (int second = 0; second < 15; ++second) {
    counts.solves += 100;
    lines += watch.take(kLcp, counts, {kMs, 3 * kMs}).empty() ? 0 : 1;
  }
  CHECK(lines == 0);
}

TEST_CASE("server_rate_watch: solves that fit and are late all the same wait for a processor") {
  RateWatch watch;
  watch.take(kLcp, {}, {});
  const std::string text = watch.take(kLcp, {100, 20, 0}, {kMs, 2 * kMs});
  CAPTURE(text);
  CHECK(has(text, "waits for a processor"));
  CHECK_FALSE(has(text, "rate_hz"));
}
