// One client: replay window, subscriptions, verdicts, slots, rate cap.
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <set>

#include "server/session/session.h"

using namespace tactus;

namespace {
std::unique_ptr<Session> make_session(ClientSlot slot, std::uint32_t id) {
  return std::make_unique<Session>(slot, id, "test", wire::Key{}, false, RateCap(0, 1));
}
}  // namespace

TEST_CASE("server_session: a sequence number is accepted once, within 64 behind the newest") {
  std::mt19937_64 random(3);
  ReplayWindow window;
  std::set<std::uint64_t> seen;
  std::uint64_t newest = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t base = newest > 90 ? newest - 90 : 0;
    const std::uint64_t sequence = base + random() % 100;
    const bool expected = sequence != 0 && seen.count(sequence) == 0 && (sequence > newest || newest - sequence < 64);
    REQUIRE(window.accept(sequence) == expected);
    if (expected) seen.insert(sequence), newest = std::max(newest, sequence);
  }
  CHECK(window.newest() == newest);
}

TEST_CASE("server_session: gaps count what never came; late ones are taken off again") {
  ReplayWindow window;
  for (const std::uint64_t s : {1, 2, 5, 9}) CHECK(window.accept(s));
  CHECK(window.gaps() == 5);
  CHECK(window.accept(4));
  CHECK(window.gaps() == 4);
  CHECK_FALSE(window.accept(4));
  CHECK(window.accept(1000));
  CHECK_FALSE(window.accept(1000 - 64));
  CHECK(window.accept(1000 - 63));
}

TEST_CASE("server_session: a stranger's slot name never reaches the one who took its place") {
  SessionTable table(2);
  const auto a = table.reserve(), b = table.reserve();
  REQUIRE(a);
  REQUIRE(b);
  CHECK_FALSE(table.reserve());
  table.put(make_session(*a, 11));
  table.put(make_session(*b, 12));
  CHECK(table.find_id(11)->slot() == *a);
  table.remove(*a);
  CHECK(table.size() == 1);
  const auto c = table.reserve();
  REQUIRE(c);
  CHECK((*c & 0xff) == (*a & 0xff));
  table.put(make_session(*c, 13));
  CHECK(table.find(*a) == nullptr);
  CHECK(table.find(*c)->id() == 13);
  table.remove(*a);  // a late goodbye of the first
  CHECK(table.find(*c) != nullptr);
}

TEST_CASE("server_session: the last eight verdicts, newest first") {
  const auto session = make_session(0, 1);
  CHECK(session->verdicts().empty());
  for (std::uint64_t i = 1; i <= 11; ++i) session->add_verdict({i, 100 + i, i == 11 ? 12u : 1u, 7, 0});
  const auto v = session->verdicts();
  REQUIRE(v.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(v[i].sequence == 11 - i);
  CHECK(session->counters.commands_applied == 10);
  CHECK(session->counters.commands_refused == 1);
}

TEST_CASE("server_session: a subscription is due every n-th tick, or beat while paused, and after a jump back") {
  SubscriptionSpec spec;
  spec.decimation = 5;
  Subscriber subscriber(spec);
  int sent = 0;
  for (std::uint64_t tick = 1; tick <= 50; ++tick) sent += subscriber.due(tick, tick, true);
  CHECK(sent == 11);  // the first one, then 5, 10, ... 50
  sent = 0;
  for (std::uint64_t beat = 51; beat <= 100; ++beat) sent += subscriber.due(50, beat, false);
  CHECK(sent == 10);
  CHECK(subscriber.due(3, 101, true));
}

TEST_CASE("server_session: the rate cap lets the average through, not the flood") {
  RateCap cap(1000, 100);
  std::uint64_t now = 1'000'000'000;
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += cap.take(now);
  CHECK(passed == 100);
  for (int i = 0; i < 2000; ++i) passed += cap.take(now += 500'000);  // 2 kHz for 1 s
  CHECK(passed == doctest::Approx(1100).epsilon(0.01));
  RateCap open(0, 1);
  for (int i = 0; i < 10; ++i) CHECK(open.take(now));
}

TEST_CASE("server_session: streams only to a client heard within 5 s") {
  const auto session = make_session(0, 1);
  CHECK_FALSE(session->is_heard(1));
  session->saw_datagram(1, 42, 1'000'000'000);
  CHECK(session->is_heard(5'900'000'000));
  CHECK_FALSE(session->is_heard(6'000'000'000));
  session->saw_datagram(5, 50, 2'000'000'000);
  session->saw_datagram(4, 49, 2'100'000'000);  // late: heard, but the echo stays with the newest
  CHECK(session->echo().sequence == 5);
  CHECK(session->echo().client_send_ns == 50);
}
