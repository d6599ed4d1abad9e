// The client's own meter of its link: what was lost at its own socket, a suspension, UDP that passes one way.
#include <doctest/doctest.h>

#include "clients/cpp/src/link_math.h"
#include "proto/cpp/wire.h"

using namespace tactus::client;
using tactus::ControlSpan;
using tactus::LinkCause;
using tactus::LinkFigures;
using tactus::LinkMeter;

namespace {

constexpr std::int64_t kMs = 1'000'000;

// A loop of 1 kHz over a sound link, until something is done to it.
struct Loop {
  Quality quality;
  State state;
  std::uint64_t sequence = 0;
  std::int64_t now = 1'000'000 * kMs, datagram = 0, tcp = 0;
  Datagrams datagrams;

  explicit Loop(int ticks = 1500) {
    state.scene_epoch = 1;
    for (int i = 0; i < ticks; ++i) turn();
  }
  // heard: the server hears the command that answers the state.
  void turn(bool arrives = true, bool answered = true, bool heard = true) {
    now += kMs;
    ++state.tick;
    state.send_ns = now;
    if (!arrives) return;
    datagram = datagrams.arrived_ns = now;
    quality.on_state(state, 1, datagrams);
    if (answered) command(heard);
  }
  void command(bool heard = true, bool ends = false) {
    quality.on_sent({++sequence, state.tick, now + kMs / 10, 20'000, ends});
    if (!heard) return;
    state.echo_sequence = sequence;
    state.echo_client_send_ns = now + kMs / 10;
    state.echo_server_recv_ns = now + kMs / 5;
    Verdict verdict;
    verdict.code = 1;
    verdict.sequence = sequence;
    verdict.tick = state.tick + 1;
    quality.on_verdict(verdict);
  }
  LinkFigures figures() {
    quality.look_for_deafness(now, datagram, tcp);
    LinkMeter meter = quality.meter();
    quality.count_silence(meter, now);
    return meter.figures();
  }
};

}  // namespace

TEST_CASE("client: a sound loop misses nothing by its own meter") {
  Loop loop;
  CHECK(loop.figures().cause == LinkCause::none);
  CHECK(loop.figures().cycles > 1400);
}

TEST_CASE("client: nothing of the server arrives, though TCP does: the link") {
  Loop loop;
  for (int i = 0; i < 900; ++i) loop.turn(false);
  CHECK(loop.figures().cause == LinkCause::none);  // nobody knows: the server may stand still
  loop.tcp = loop.now;
  loop.now += 15 * kMs;
  CHECK(loop.figures().cause == LinkCause::none);  // a suspended program reads TCP first, perhaps
  loop.now += 15 * kMs;
  const LinkFigures f = loop.figures();
  CHECK(f.cause == LinkCause::lossy_link);
  CHECK(f.lost_in_a_row_window == doctest::Approx(930).epsilon(0.01));
  CHECK(f.explanation.find("one way only: nothing of the server") != std::string::npos);
  CHECK(loop.quality.meter().figures().cause == LinkCause::none);  // counted in the copy alone, until states come
}

TEST_CASE("client: states go on to echo nothing of what it sends: the link") {
  Loop loop;
  for (int i = 0; i < 200; ++i) loop.turn(true, true, false);
  CHECK_FALSE(loop.figures().mute_client);
  for (int i = 0; i < 200; ++i) loop.turn(true, true, false);
  CHECK(loop.figures().cause == LinkCause::lossy_link);
  CHECK(loop.figures().explanation.find("one way only: nothing of the client") != std::string::npos);
  loop.turn();
  loop.turn();
  CHECK_FALSE(loop.figures().mute_client);
}

TEST_CASE("client: a hang of the loop is no link that passes one way") {
  Loop loop;
  for (int i = 0; i < 900; ++i) loop.turn(true, false);
  loop.tcp = loop.now;
  CHECK(loop.figures().cause == LinkCause::slow_client);
  for (int i = 0; i < 20; ++i) loop.turn();
  CHECK(loop.figures().cause == LinkCause::slow_client);
}

TEST_CASE("client: the first states of a server that stood still echo nothing new") {
  Loop loop;
  loop.now += 500 * kMs;
  for (int i = 0; i < 3; ++i) loop.turn(true, true, false);
  CHECK_FALSE(loop.figures().mute_client);
}

TEST_CASE("client: suspended, it had the states that its socket kept and those that found it full") {
  Loop loop;
  const auto suspend = [&] {
    for (int i = 0; i < 200; ++i) loop.turn(true, false);    // kept, read late, each with its arrival
    for (int i = 0; i < 1799; ++i) loop.turn(false, false);  // dropped, in six datagrams each
    loop.datagrams.overflowed += 6 * 1799;
  };
  SUBCASE("it goes on") {
    suspend();
    for (int i = 0; i < 300; ++i) loop.turn();
    const LinkFigures f = loop.figures();
    CHECK(f.cause == LinkCause::slow_client);
    CHECK(loop.quality.states() == 1500 + 2000 + 300 - 1);
    CHECK(f.lost_in_a_row_window >= 700);  // of the second that a silence counts
    CHECK(f.left_out == doctest::Approx(1 - f.success_rate_window).epsilon(0.01));
    CHECK(f.lost_down == 0);
  }
  SUBCASE("it ends its loop before it has read them: they came before the end") {
    const std::int64_t wakes = loop.now + 2000 * kMs;
    loop.quality.on_sent({++loop.sequence, 0, wakes, 20'000, true});
    suspend();
    CHECK(loop.figures().cause == LinkCause::slow_client);
    loop.state.echo_sequence = loop.sequence;  // the server has heard of the end
    for (int i = 0; i < 500; ++i) loop.turn(true, false);
    CHECK(loop.figures().cause == LinkCause::slow_client);
    CHECK(loop.figures().cycles == doctest::Approx(1500 + 2000).epsilon(0.01));
  }
}
