// Faulty links: shares and delays are the settings', fates repeat, nothing is lost without being counted.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "server/session/link_faults.h"
#include "tests/support/alloc_guard.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kPeriod = 1'000'000;

LinkFaultSettings parsed(const char* text) {
  LinkFaultSettings out;
  REQUIRE(parse_link_faults(text, out) == "");
  return out;
}

struct Arrival {
  std::uint64_t number, at;
};

// `n` datagrams a period apart, each carrying its number, and when each comes out.
std::vector<Arrival> pass(FaultyLink& link, std::uint64_t n, std::uint64_t spacing = kPeriod, std::uint64_t unit = 1) {
  std::vector<Arrival> out;
  const auto take = [&](std::uint64_t now) {
    while (link.next_due() <= now) {
      const std::uint64_t due = link.next_due();
      const auto bytes = link.take_due(now);
      REQUIRE(bytes.size() == 8);
      out.push_back({0, due});
      std::memcpy(&out.back().number, bytes.data(), 8);
    }
  };
  for (std::uint64_t i = 0; i < n; ++i) {
    take(i * spacing);
    std::uint8_t bytes[8];
    std::memcpy(bytes, &i, 8);
    link.submit(bytes, i * spacing, unit);
  }
  take(~std::uint64_t{0} - 1);
  CHECK(link.waiting() == 0);
  return out;
}

// Every copy that was made is somewhere.
void check_balance(const LinkFaultCounters& c, std::uint64_t waiting) {
  CHECK(c.datagrams - c.lost + c.duplicated == c.delivered + c.queue_full + c.flushed + waiting);
}

}  // namespace

TEST_CASE("losses have the share and the length of bursts that were asked for") {
  constexpr std::uint64_t n = 1'000'000;
  struct Losses {
    double loss, burst;
  };
  for (const Losses& losses :
       {Losses{0.02, 0.0}, Losses{0.02, 1.0}, Losses{0.05, 4.0}, Losses{0.3, 20.0}, Losses{0.5, 1.0}}) {
    const double loss = losses.loss, burst = losses.burst;
    CAPTURE(loss);
    CAPTURE(burst);
    LinkFaultSettings s;
    s.loss = loss;
    s.loss_burst = burst;
    REQUIRE(problem_of(s) == "");
    LinkFates fates(s, 5);
    std::uint64_t lost = 0, bursts = 0;
    bool before = false;
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool now = fates.next().lost;
      lost += now ? 1 : 0;
      bursts += now && !before ? 1 : 0;
      before = now;
    }
    // Runs of independent losses have the mean length 1 / (1 - loss). Five standard errors of the number of bursts,
    // which are independent of each other.
    const double length = burst >= 1 ? burst : 1 / (1 - loss);
    const double spread = 5 / std::sqrt(static_cast<double>(bursts)) * 1.5;
    CHECK(std::abs(static_cast<double>(lost) / n / loss - 1) < spread);
    CHECK(std::abs(static_cast<double>(lost) / static_cast<double>(bursts) / length - 1) < spread);
    if (burst == 1.0) CHECK(lost == bursts);  // never two in a row
  }
}

TEST_CASE("delays are uniform between delay and delay + jitter") {
  const LinkFaultSettings s = parsed("delay_us=2000,jitter_us=600");
  LinkFates fates(s, 11);
  constexpr int n = 100'000;
  std::vector<double> delays;
  for (int i = 0; i < n; ++i) delays.push_back(1e-3 * static_cast<double>(fates.next().delay_ns));
  std::sort(delays.begin(), delays.end());
  CHECK(delays.front() >= 2000);
  CHECK(delays.back() < 2600);
  double worst = 0;  // Kolmogorov and Smirnov: 1.95 / sqrt(n) at 0.1 %
  for (int i = 0; i < n; ++i) worst = std::max(worst, std::abs((delays[i] - 2000) / 600 - (i + 0.5) / n));
  CHECK(worst < 1.95 / std::sqrt(n));
}

TEST_CASE("the same seed gives the same fates, another one others; a setting does not shift the others' dice") {
  const LinkFaultSettings s = parsed("delay_us=500,jitter_us=3000,loss=0.1,loss_burst=3,duplicate=0.05");
  FaultyLink a(s, 7, 64), b(s, 7, 64), c(s, 8, 64);
  const auto first = pass(a, 5000), second = pass(b, 5000), other = pass(c, 5000);
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    REQUIRE(first[i].number == second[i].number);
    REQUIRE(first[i].at == second[i].at);
  }
  CHECK(a.counters().sequence_hash == b.counters().sequence_hash);
  CHECK(a.counters().sequence_hash != c.counters().sequence_hash);
  CHECK(a.fates() == b.fates());
  const std::uint64_t hash = a.counters().sequence_hash;
  a.restart();
  CHECK(a.counters().datagrams == 0);
  static_cast<void>(pass(a, 5000));
  CHECK(a.counters().sequence_hash == hash);

  LinkFates lossy(s, 7), sound(parsed("delay_us=500,jitter_us=3000"), 7);
  for (int i = 0; i < 1000; ++i) REQUIRE(lossy.next().delay_ns == sound.next().delay_ns);
  CHECK(link_seed(1, "a") != link_seed(1, "b"));
  CHECK(link_seed(1, "a") != link_seed(2, "a"));
  CHECK(link_seed(1, "a") == link_seed(1, "a"));
}

TEST_CASE("jitter overtakes, unless order is kept; what is held back is overtaken") {
  const auto overtaken = [](const std::vector<Arrival>& arrivals) {
    int count = 0;
    for (std::size_t i = 1; i < arrivals.size(); ++i) count += arrivals[i].number < arrivals[i - 1].number ? 1 : 0;
    return count;
  };
  FaultyLink loose(parsed("jitter_us=3000"), 1, 64), ordered(parsed("jitter_us=3000,keep_order=1"), 1, 64);
  CHECK(overtaken(pass(loose, 2000)) > 200);
  const auto kept = pass(ordered, 2000);
  CHECK(kept.size() == 2000);
  CHECK(overtaken(kept) == 0);
  FaultyLink held(parsed("delay_us=300,reorder=0.1,reorder_us=2500,keep_order=1"), 1, 64);
  const auto arrivals = pass(held, 2000);
  CHECK(held.counters().reordered > 100);
  // Each one held back comes 2.5 periods later, after the two that were sent behind it.
  for (const Arrival& a : arrivals) {
    const std::uint64_t took = a.at - a.number * kPeriod;
    CHECK((took == 300'000 || took == 2'800'000));
  }
  CHECK(overtaken(arrivals) > 0);
}

TEST_CASE("every datagram is accounted for, also when the queue is full") {
  FaultyLink link(parsed("delay_us=50000,jitter_us=9000,loss=0.2,duplicate=0.3"), 3, 20);
  std::uint8_t bytes[100] = {};
  for (std::uint64_t i = 0; i < 500; ++i) {
    while (!link.take_due(i * kPeriod).empty()) {
    }
    link.submit(bytes, i * kPeriod, 1);
    CHECK(link.waiting() <= 20);
    check_balance(link.counters(), link.waiting());
  }
  CHECK(link.counters().queue_full > 100);
  CHECK(link.waiting() > 0);
  while (!link.flush_one().empty()) {
  }
  CHECK(link.waiting() == 0);
  check_balance(link.counters(), 0);
}

TEST_CASE("in ticks a delay counts the whole periods that it lasts") {
  for (const auto& [delay, ticks] : {std::pair{0, 0}, {999, 0}, {1000, 1}, {2500, 2}, {7000, 7}}) {
    LinkFaultSettings s;
    s.delay_us = static_cast<std::uint32_t>(delay);
    s.duplicate = 1;
    FaultyLink link(s, 1, 64);
    const auto arrivals = pass(link, 100, 1, kPeriod);
    REQUIRE(arrivals.size() == 200);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      CHECK(arrivals[i].number == i / 2);
      CHECK(arrivals[i].at == i / 2 + static_cast<std::uint64_t>(ticks));
    }
  }
}

TEST_CASE("nothing is allocated after construction") {
  FaultyLink link(parsed("delay_us=5000,jitter_us=9000,loss=0.2,duplicate=0.3,reorder=0.1,reorder_us=4000"), 3, 20);
  std::vector<std::uint8_t> bytes(wire::kDatagramMax);
  const test::AllocGuard guard;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    while (!link.take_due(i * kPeriod).empty()) {
    }
    link.submit(bytes, i * kPeriod, 1);
  }
  link.restart();
  CHECK(guard.count() == 0);
}

TEST_CASE("impossible settings are refused by name and range, and nothing is set") {
  struct Case {
    const char* text;
    const char* names[3];
  };
  const Case cases[] = {
      {"delay_us=-1", {"delay_us", "-1", "from 0 to 1e+06"}},
      {"delay_us=1e7", {"delay_us", "1e+07", "from 0 to 1e+06"}},
      {"jitter_us=0.5", {"jitter_us", "0.5", "a whole number"}},
      {"loss=1.5", {"loss", "1.5", "from 0 to 1"}},
      {"loss=nan", {"loss", "nan", "from 0 to 1"}},
      {"loss=0.9,loss_burst=1", {"loss", "0.9", "at most 0.5"}},
      {"loss_burst=0.5", {"loss_burst", "0.5", "1 to 1000"}},
      {"loss_burst=1e9", {"loss_burst", "1e+09", "1000"}},
      {"duplicate=2", {"duplicate", "2", "from 0 to 1"}},
      {"keep_order=2", {"keep_order", "2", "from 0 to 1"}},
      {"los=0.1", {"los", "unknown", "loss_burst"}},
      {"loss", {"'loss'", "KEY=VALUE", "delay_us=2000"}},
      {"loss=", {"loss", "''", "a number"}},
      {"loss=0.1x", {"loss", "'0.1x'", "a number"}},
      {"delay_us=5,loss=7", {"loss", "7", "from 0 to 1"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LinkFaultSettings settings;
    const std::string problem = parse_link_faults(c.text, settings);
    CAPTURE(problem);
    for (const char* name : c.names) CHECK(problem.find(name) != std::string::npos);
    CHECK_FALSE(settings.any());
  }
}
