// The text for scrapers against what was recorded, and what /healthz says of samples that are old, still or slow.
#include <doctest/doctest.h>

#include <memory>
#include <sstream>
#include <string>

#include "server/metrics/exposition.h"
#include "server/net/web/scrape.h"
#include "server/realtime/clock.h"

using namespace tactus;
using namespace tactus::net;

namespace {

// Value of the line that begins with these words, or -1.
double value_of(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin + " ")) return std::stod(line.substr(begin.size() + 1));
  }
  return -1;
}

std::shared_ptr<ScrapeSample> sample(std::uint64_t made_ns) {
  auto out = std::make_shared<ScrapeSample>();
  out->made_ns = made_ns;
  out->statistics.set_real_time_factor(1);
  return out;
}

}  // namespace

TEST_CASE("server_scrape: a bucket counts exactly the times at or below its bound") {
  auto data = std::make_unique<HistogramData>();
  for (std::uint64_t ns = 1; ns < 3'000'000; ns += 997) data->record(ns);
  Exposition out;
  out.histogram("t_seconds", "h", *data);
  std::istringstream lines(out.text());
  int buckets = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t le = line.find("le=\"");
    if (le == std::string::npos || line.find("+Inf") != std::string::npos) continue;
    const double bound = 1e9 * std::stod(line.substr(le + 4));
    std::uint64_t expected = 0;
    for (std::uint64_t ns = 1; ns < 3'000'000; ns += 997) expected += static_cast<double>(ns) <= bound + 1e-3 ? 1 : 0;
    CHECK(std::stoull(line.substr(line.find("} ") + 2)) == expected);
    ++buckets;
  }
  CHECK(buckets == 42);
  CHECK(value_of(out.text(), "t_seconds_count") == static_cast<double>(data->count));
  CHECK(value_of(out.text(), "t_seconds_sum") == doctest::Approx(1e-9 * static_cast<double>(data->sum)).epsilon(1e-9));
}

TEST_CASE("server_scrape: families come together, labels are escaped") {
  Exposition out;
  out.counter("a_total", "first", 3, {{"client", "one \"of\" two\nlines\\"}});
  out.gauge("b", "second", 0.5);
  out.counter("a_total", "first", 4, {{"client", "other"}});
  const std::string text = out.text();
  CHECK(value_of(text, "a_total{client=\"one \\\"of\\\" two\\nlines\\\\\"}") == 3);
  CHECK(value_of(text, "a_total{client=\"other\"}") == 4);
  CHECK(value_of(text, "b") == 0.5);
  CHECK(text.find("# TYPE a_total counter") == text.rfind("# TYPE a_total counter"));
}

TEST_CASE("server_scrape: healthz tells a server that is well from one whose net or tick stands still") {
  const auto metrics = std::make_unique<TickMetrics>();
  Scrape scrape(*metrics, "loopback");
  CHECK(scrape.page("/healthz", true)->status == 503);
  scrape.leave(sample(now_ns()));
  CHECK(scrape.page("/healthz", false)->status == 200);
  CHECK(scrape.page("/healthz", false)->body == "ok\n");
  scrape.leave(sample(now_ns() - 5'000'000'000u));
  CHECK(scrape.page("/healthz", true)->status == 503);
  CHECK(scrape.page("/healthz", true)->body.find("net thread") != std::string::npos);
  auto still = sample(now_ns());
  still->is_beating = false;
  scrape.leave(still);
  CHECK(scrape.page("/healthz", true)->status == 503);
  CHECK(scrape.page("/healthz", true)->body.find("tick") != std::string::npos);
  auto slow = sample(now_ns());
  slow->statistics.set_real_time_factor(0.5);
  scrape.leave(slow);
  CHECK(scrape.page("/healthz", true)->status == 200);
  CHECK(scrape.page("/healthz", true)->body.find("0.50 of real time") != std::string::npos);
  CHECK_FALSE(scrape.page("/", true).has_value());
}

TEST_CASE("server_scrape: metrics go to whom the configuration says") {
  const auto metrics = std::make_unique<TickMetrics>();
  metrics->beats.add(7);
  const auto status = [&](const char* access, bool is_local) {
    return Scrape(*metrics, access).page("/metrics", is_local)->status;
  };
  CHECK(status("loopback", true) == 200);
  CHECK(status("loopback", false) == 403);
  CHECK(status("all", false) == 200);
  CHECK(status("off", true) == 403);
  Scrape scrape(*metrics, "all");
  CHECK(value_of(scrape.page("/metrics", false)->body, "tactus_beats_total") == 7);
  auto with_client = sample(now_ns());
  with_client->statistics.add_clients()->set_name("arm");
  with_client->ages.resize(1);
  with_client->ages[0].record(2'000'000);
  scrape.leave(with_client);
  CHECK(value_of(scrape.page("/metrics", false)->body,
                 "tactus_command_age_seconds_count{client=\"arm\",session=\"00000000\"}") == 1);
}
