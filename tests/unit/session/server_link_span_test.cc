// What the quality of a link rests on: which states a client could have answered, a controller's own period, from where
// to where a loop runs, and UDP that passes one way.
#include <doctest/doctest.h>

#include "server/session/link_watch.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A server and a client that exchange states and commands in whole ticks of 1 ms; what is told of them stands here.
struct Exchange {
  LinkWatch watch;
  CommandStamps stamps;
  std::uint64_t now = 1'000'000 * kMs, tick = 0, arrived = 0;
  int others = 0;  // datagrams before each command that are none: heartbeats, pings

  // One tick: its state is sent, and arrives or not; a command answers it, and arrives or not.
  void turn(bool state_arrives, bool command_sent, bool command_arrives = true) {
    ++tick;
    now += kMs;
    watch.tick({tick, now, 0, 1000, 10, 10}, arrived, 0, 0);
    if (state_arrives) {
      ++stamps.states_received;
      ++stamps.states_due;
      stamps.expected_tick = tick;
      stamps.client_recv_ns = now;
    }
    if (!command_sent) return;
    for (int i = 0; i < others; ++i) heartbeat(), ++stamps.sequence;
    ++stamps.sequence;
    stamps.client_send_ns = now + 100'000;
    if (command_arrives) deliver();
  }
  void deliver() {
    ++arrived;
    watch.datagram(now);
    watch.command(stamps, now + 200'000);
    watch.applied(0);
  }
  void heartbeat(bool ends = false) {
    CommandStamps beat = stamps;
    beat.ends = ends;
    watch.datagram(now);
    watch.heartbeat(beat, now);
  }
  explicit Exchange(int ticks = 1500) {
    stamps.deadline_us = 20'000;
    for (int i = 0; i < ticks; ++i) turn(true, true);
  }
  LinkFigures figures() const { return watch.meter().figures(); }
};

}  // namespace

TEST_CASE("states that leave the usual time are due; bunched ones are one") {
  DueStates due;
  for (int i = 0; i < 200; ++i) due.answered(400'000, 1'000'000);  // usually 0.4 ms
  std::int64_t at = 0;
  for (int i = 0; i < 100; ++i) due.arrived(at += 1'000'000);
  CHECK(due.count() == 99);                                // the last one's successor has not come
  for (int i = 0; i < 100; ++i) due.arrived(at += 1'000);  // within 0.1 ms: one can be answered of them
  due.arrived(at += 1'000'000);
  CHECK(due.count() <= 99 + 3);
  due.overflowed(50);
  CHECK(due.count() >= 99 + 51);
}

TEST_CASE("a hang of any length is the client's, by the states that it had meanwhile") {
  for (const int hang : {30, 100, 300, 2000}) {
    CAPTURE(hang);
    Exchange x;
    for (int i = 0; i < hang; ++i) x.turn(true, false);
    for (int i = 0; i < 50; ++i) x.turn(true, true);
    const LinkFigures f = x.figures();
    CHECK(f.cause == LinkCause::slow_client);
    CHECK(f.lost_in_a_row_window >= 0.95 * std::min(hang, 1000));
    CHECK(f.explanation.find("the client is slow") != std::string::npos);
  }
}

TEST_CASE("after an orderly end nothing is missed, however it is said") {
  for (const char* how : {"heartbeat", "command", "lease"}) {
    CAPTURE(how);
    Exchange x;
    if (how[0] == 'h') x.heartbeat(true);
    if (how[0] == 'c') x.stamps.ends = true, x.turn(true, true), x.stamps.ends = false;
    if (how[0] == 'l') x.watch.end();
    const std::uint64_t cycles = x.figures().cycles;
    for (int i = 0; i < 3000; ++i) x.turn(true, false);
    CHECK(x.figures().cycles <= cycles + 1);
    CHECK(x.figures().cause == LinkCause::none);
    // The next loop does not pay for the pause.
    for (int i = 0; i < 50; ++i) x.turn(true, true);
    CHECK(x.figures().cause == LinkCause::none);
    CHECK(x.figures().left_out == 0);
    CHECK(x.figures().lost_in_a_row_max <= 1);
  }
}

TEST_CASE("a silence that nobody announced is counted for a second") {
  Exchange x;
  const std::uint64_t cycles = x.figures().cycles;
  for (int i = 0; i < 3000; ++i) x.turn(true, false);
  CHECK(x.figures().cycles == doctest::Approx(cycles + 1000).epsilon(0.01));
  CHECK(x.figures().cause != LinkCause::none);
}

TEST_CASE("a controller of 50 Hz whose commands live misses nothing; one whose commands die does") {
  for (const auto& [deadline_us, cause] : {std::pair{22'000u, LinkCause::none}, {8'000u, LinkCause::slow_client}}) {
    Exchange x;
    x.stamps.deadline_us = deadline_us;
    for (int i = 0; i < 6000; ++i) x.turn(true, i % 20 == 0);
    CHECK(x.figures().cause == cause);
    CHECK(x.figures().own_period == doctest::Approx(cause == LinkCause::none ? 20 : 1));
  }
}

TEST_CASE("a controller of 50 Hz is known from its first cycle on, beside whatever else its client sends") {
  for (const int others : {0, 1, 3}) {
    CAPTURE(others);
    Exchange x(0);
    x.stamps.deadline_us = 22'000;
    x.others = others;
    for (int i = 0; i < 4000; ++i) {
      x.turn(true, i % 20 == 0);
      if (i % 50 == 49) CHECK(x.figures().cause <= LinkCause::none);  // or too few cycles to judge
    }
    CHECK(x.figures().own_period == doctest::Approx(20));
    CHECK(x.figures().lost_in_a_row_max == 0);
  }
}

TEST_CASE("a few missed cycles are nothing, of however few") {
  for (const int missed : {8, 25}) {
    CAPTURE(missed);
    Exchange x(0);
    for (int i = 0; i < 150; ++i) x.turn(true, i < 50 || i >= 50 + missed);
    CHECK(x.figures().cause == (missed < 10 ? LinkCause::none : LinkCause::slow_client));
  }
}

TEST_CASE("a loop that follows another has a period of its own") {
  Exchange x;  // 1 kHz
  x.heartbeat(true);
  x.stamps.deadline_us = 22'000;
  for (int i = 0; i < 2000; ++i) {
    x.turn(true, i % 20 == 0);
    if (i % 50 == 49) CHECK(x.figures().cause == LinkCause::none);
  }
}

TEST_CASE("a controller of 1 kHz on a link that loses half of its commands has no period of two") {
  Exchange x(0);
  for (int i = 0; i < 2000; ++i) x.turn(true, true, i % 2 == 0);
  CHECK(x.figures().own_period == 1);
}

TEST_CASE("a client of which nothing comes stands still, also before it tells") {
  Exchange x;
  x.watch.request(x.now);
  for (int i = 0; i < 800; ++i) x.turn(false, false);
  CHECK(x.figures().cause == LinkCause::slow_client);
  CHECK(x.figures().unheard >= 0.7);
  SUBCASE("its loop may end before it tells what it had: the blame is the same") {
    x.heartbeat(true);
    CHECK(x.figures().cause == LinkCause::slow_client);
  }
  SUBCASE("what is told later is not blamed twice") {
    x.stamps.states_received += 800;
    x.stamps.states_due += 5000;
    for (int i = 0; i < 50; ++i) x.turn(true, true);
    CHECK(x.figures().left_out <= 1 - x.figures().success_rate_window);
    CHECK(x.figures().cause == LinkCause::slow_client);
  }
}

TEST_CASE("a controller that works all the while has no period of its own: it is slow") {
  Exchange x;
  for (int i = 0; i < 3000; ++i) {
    x.turn(true, false);
    if (i % 3 != 2) continue;  // each answers the state of three ticks before
    ++x.stamps.sequence;
    x.stamps.expected_tick = x.tick - 3;
    x.stamps.client_recv_ns = x.now - 3 * kMs;
    x.stamps.client_send_ns = x.now + 100'000;
    x.deliver();
  }
  CHECK(x.figures().own_period == 1);
  CHECK(x.figures().cause == LinkCause::slow_client);
}

TEST_CASE("UDP one way is the link") {
  SUBCASE("nothing of the server arrives: heartbeats tell the same count") {
    Exchange x;
    for (int i = 0; i < 999; ++i) {
      x.turn(false, false);
      if (i % 250 == 0) x.heartbeat();
    }
    CHECK(x.figures().cause == LinkCause::lossy_link);
    CHECK(x.figures().explanation.find("one way only: nothing of the server") != std::string::npos);
  }
  SUBCASE("nothing of the client arrives: requests do") {
    Exchange x;
    for (int i = 0; i < 999; ++i) {
      x.turn(true, true, false);
      if (i % 600 == 599) x.watch.request(x.now);
    }
    CHECK(x.figures().cause == LinkCause::lossy_link);
    CHECK(x.figures().explanation.find("one way only: nothing of the client") != std::string::npos);
  }
  SUBCASE("a suspended client that speaks before it reads is not deaf") {
    Exchange x;
    for (int i = 0; i < 400; ++i) x.turn(false, false);
    x.heartbeat();
    x.stamps.states_received += 400;
    x.stamps.states_due += 400;
    for (int i = 0; i < 50; ++i) x.turn(true, true);
    CHECK(x.figures().cause == LinkCause::slow_client);
  }
}
