// A recording in the place of steps, without a thread: what is shown in each beat, and when a Step is over.
#include "server/realtime/play_show.h"

#include <doctest/doctest.h>

#include "tests/support/alloc_guard.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kTickNs = 1'000'000;

struct Bench {
  PlayFeed feed{4, 8};
  PlayShow show{&feed, 4, 8};
  RunControl run{false};

  void give(std::uint64_t tick, std::uint32_t generation = 0, std::uint32_t beats = 1, bool ended = false) {
    StateSlot* slot = feed.states.begin_write();
    REQUIRE(slot != nullptr);
    slot->frame = {};
    slot->frame.tick = tick;
    slot->frame.play_time_ns = tick * kTickNs;
    slot->frame.play_generation = generation;
    slot->frame.play_beats = beats;
    slot->frame.play_ended = ended;
    slot->frame.body_count = 2;
    slot->pose[7] = static_cast<double>(tick);
    feed.states.commit();
  }
  bool moves() { return show.show_next(run).moved; }
  void step(std::uint64_t ticks) {
    Command command;
    command.value = ticks;
    REQUIRE(run.begin_steps(command));
  }
};

}  // namespace

TEST_CASE("server_play_show: a live world has no show") {
  const PlayShow none(nullptr, 4, 8);
  CHECK_FALSE(none.active());
}

TEST_CASE("server_play_show: one state a beat; where the player is late the last one stays, and that is counted") {
  Bench bench;
  CHECK_FALSE(bench.moves());  // nothing yet
  CHECK(bench.feed.waited.read() == 1);
  bench.give(10);
  bench.give(14);
  const test::AllocGuard guard;
  CHECK(bench.moves());
  CHECK(bench.show.tick() == 10);
  CHECK(bench.show.simulated_s() == 0);  // from nowhere
  CHECK(bench.moves());
  CHECK(bench.show.tick() == 14);
  CHECK(bench.show.simulated_s() == doctest::Approx(0.004));
  CHECK_FALSE(bench.moves());
  CHECK(bench.show.tick() == 14);
  CHECK(bench.feed.waited.read() == 2);
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  StateSlot slot;
  slot.resize(4, 8);
  bench.show.copy_to(slot);
  CHECK(slot.pose[7] == 14);
}

TEST_CASE("server_play_show: a state that is for three beats stays for three, and none is waited for meanwhile") {
  Bench bench;
  bench.give(1, 0, 3);
  CHECK(bench.moves());
  CHECK_FALSE(bench.moves());
  CHECK_FALSE(bench.moves());
  CHECK(bench.feed.waited.read() == 0);
  bench.give(4);
  CHECK(bench.moves());
}

TEST_CASE("server_play_show: a pause holds what is shown; a Step moves it by its states, and is over with the last") {
  Bench bench;
  for (std::uint64_t n = 1; n <= 5; ++n) bench.give(n, 0, 3);
  CHECK(bench.moves());
  bench.run.pause();
  CHECK_FALSE(bench.moves());
  bench.step(2);
  PlayShow::Turn turn = bench.show.show_next(bench.run);  // whatever is left of its three beats
  CHECK((turn.moved && !turn.ended_step));
  turn = bench.show.show_next(bench.run);
  CHECK((turn.moved && turn.ended_step));
  CHECK(bench.show.tick() == 3);
  CHECK_FALSE(bench.moves());
}

TEST_CASE("server_play_show: a Step waits for a player that is late, and ends with the recording") {
  Bench bench;
  bench.give(1);
  CHECK(bench.moves());
  bench.run.pause();
  bench.step(3);
  PlayShow::Turn turn = bench.show.show_next(bench.run);
  CHECK_FALSE((turn.moved || turn.ended_step));
  bench.give(2, 0, 1, true);
  turn = bench.show.show_next(bench.run);
  CHECK((turn.moved && !turn.ended_step));
  const std::uint64_t waited = bench.feed.waited.read();
  turn = bench.show.show_next(bench.run);  // nothing is left to step to
  CHECK((!turn.moved && turn.ended_step));
  CHECK(bench.feed.waited.read() == waited);  // nobody is late
  CHECK_FALSE(bench.run.stepping());
}

TEST_CASE(
    "server_play_show: another wish passes over what was ready, and its first state is shown in a pause, as no "
    "step") {
  Bench bench;
  for (std::uint64_t n = 1; n <= 4; ++n) bench.give(n);
  CHECK(bench.moves());
  bench.run.pause();
  bench.step(1);
  bench.feed.wanted = 1;
  PlayShow::Turn turn = bench.show.show_next(bench.run);
  CHECK_FALSE((turn.moved || turn.ended_step));  // the player is not there yet
  bench.give(900, 1);
  bench.give(901, 1);
  turn = bench.show.show_next(bench.run);
  CHECK((turn.moved && !turn.ended_step));
  CHECK(bench.show.tick() == 900);
  CHECK(bench.show.simulated_s() == 0);  // a jump is no time
  turn = bench.show.show_next(bench.run);
  CHECK((turn.moved && turn.ended_step));
  CHECK(bench.show.tick() == 901);
}
