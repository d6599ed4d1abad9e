// The tick loop itself, with a small world: lockstep by hand, free run with its thread, hand-over of the world between
// threads.
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/scene/scene.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

using namespace tactus;

namespace {

constexpr const char* kScene = R"(
title = "a block in free fall"
[[body]]
name = "block"
position_m = [0, 0, 10]
mass_kg = 2
[[body.shape]]
kind = "box"
size_m = [0.1, 0.1, 0.1]
)";

Limits small_limits() {
  Limits limits;
  limits.bodies = 8;
  limits.shapes = 8;
  limits.pairs = 16;
  return limits;
}

std::unique_ptr<World> make_world() {
  SceneOptions options;
  options.limits = small_limits();
  return std::make_unique<World>(parse_scene(kScene, "test", options), small_limits());
}

TickOptions options(bool lockstep) {
  TickOptions o;
  o.rights.enabled = false;
  o.bodies = 8;
  o.lockstep = lockstep;
  return o;
}

Command push(std::uint64_t ticket, double force, std::uint32_t deadline_us = 5'000) {
  Command c;
  c.epoch = 9;
  c.ticket = ticket;
  c.received_ns = now_ns();
  c.deadline_us = deadline_us;
  c.row = {{force, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, false};
  return c;
}

Command of(Command::Kind kind, std::uint64_t ticket) {
  Command c;
  c.kind = kind;
  c.ticket = ticket;
  return c;
}

std::vector<Notice> notices(TickLink& link) {
  std::vector<Notice> out;
  Notice notice;
  while (link.notices.pop(notice)) out.push_back(notice);
  return out;
}

struct LockstepBench {
  TickLink link{8, 16, 64};
  TickLoop loop{options(true), link, make_world(), 9};
  LockstepBench() {
    REQUIRE(loop.start());
    loop.wait_for_world();
  }
  ~LockstepBench() {
    loop.request_stop();
    loop.join();
  }
  StateFrame tick(std::vector<double>* wrench = nullptr) {
    loop.grant_tick();
    const StateSlot* slot = link.states.begin_read();
    REQUIRE(slot != nullptr);
    const StateFrame frame = slot->frame;
    if (wrench != nullptr) *wrench = slot->wrench;
    link.states.release();
    return frame;
  }
};

// Waits for the done notice of a ticket, draining states as net would.
Notice wait_done(TickLink& link, std::uint64_t ticket) {
  const std::uint64_t give_up = now_ns() + 20'000'000'000u;
  while (now_ns() < give_up) {
    while (link.states.begin_read() != nullptr) link.states.release();
    Notice notice;
    while (link.notices.pop(notice)) {
      if (notice.kind == Notice::Kind::done && notice.ticket == ticket) return notice;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL("no done notice");
  return {};
}

}  // namespace

TEST_CASE(
    "server_tick: a command acts in the tick that takes it, is held for its deadline, then ramps, and all is told") {
  LockstepBench bench;
  bench.tick();
  bench.link.commands.push(push(1, 4.0));
  std::vector<double> wrench;
  std::vector<double> forces;
  std::vector<Notice> told;
  for (int i = 0; i < 20; ++i) {
    const StateFrame frame = bench.tick(&wrench);
    CHECK(frame.tick == static_cast<std::uint64_t>(2 + i));
    forces.push_back(wrench[0]);
    for (const Notice& n : notices(bench.link)) told.push_back(n);
  }
  for (std::size_t i = 0; i < 5; ++i) CHECK(forces[i] == 4.0);
  for (std::size_t i = 5; i < 15; ++i)
    CHECK(forces[i] == doctest::Approx(4.0 * (1 - (static_cast<double>(i) - 4) / 10)));
  for (std::size_t i = 15; i < 20; ++i) CHECK(forces[i] == 0.0);
  REQUIRE(told.size() == 2);
  CHECK(told[0].verdict == Verdict::applied);
  CHECK(told[0].tick == 2);
  CHECK(told[0].age_us == 0);
  CHECK(told[1].kind == Notice::Kind::channel_expired);
  CHECK(told[1].tick == 7);
  // Newton: five ticks at 4 N and the ramp's 4.5 ticks, on 2 kg.
  CHECK(bench.loop.world().state().v[0] == doctest::Approx((5 + 4.5) * 4.0 / 2 * 1e-3));
}

TEST_CASE(
    "server_tick: same grants and commands, same bits; snapshot and restore give the same future; reset drops what was "
    "held") {
  std::vector<std::uint64_t> hashes;
  for (int run = 0; run < 2; ++run) {
    LockstepBench bench;
    for (int i = 0; i < 10; ++i) bench.tick();
    State kept = bench.loop.world().state();
    Command snapshot = of(Command::Kind::snapshot, 50);
    snapshot.state = &kept;
    bench.link.commands.push(snapshot);
    bench.loop.serve();
    bench.link.states.release();
    CHECK(notices(bench.link).at(0).ok);
    const auto future = [&] {
      bench.link.commands.push(push(7, 3.0));
      for (int i = 0; i < 30; ++i) bench.tick();
      notices(bench.link);
      return bench.loop.world().hash();
    };
    hashes.push_back(future());
    Command restore = of(Command::Kind::restore, 51);
    restore.state = &kept;
    bench.link.commands.push(push(8, 100.0, 200'000));
    bench.tick();
    bench.link.commands.push(restore);
    bench.loop.serve();
    bench.link.states.release();
    bench.link.commands.push(of(Command::Kind::drop_channel, 0));  // of an older epoch: no effect
    CHECK(bench.loop.world().state().tick == 10);
    hashes.push_back(future() ^ 0);
    bench.link.commands.push(of(Command::Kind::reset, 52));
    bench.loop.serve();
    bench.link.states.release();
    CHECK(bench.loop.world().state().tick == 0);
  }
  // The second future takes a sequence number below the one before the restore, so its push is overtaken: not compared
  // with the first.
  CHECK(hashes[0] == hashes[2]);
  CHECK(hashes[1] == hashes[3]);
}

TEST_CASE("server_tick: free run: pause, step n, resume, lockstep and back, a new scene, while the thread runs") {
  TickLink link(8, 16, 64);
  TickLoop loop(options(false), link, make_world(), 9);
  REQUIRE(loop.start());
  link.commands.push(of(Command::Kind::pause, 1));
  const std::uint64_t paused_at = wait_done(link, 1).tick;
  Command step = of(Command::Kind::step, 2);
  step.value = 25;
  link.commands.push(step);
  CHECK(wait_done(link, 2).tick == paused_at + 25);
  link.commands.push(of(Command::Kind::probe, 3));
  CHECK(wait_done(link, 3).tick == paused_at + 25);
  link.commands.push(of(Command::Kind::resume, 4));
  wait_done(link, 4);

  link.commands.push(of(Command::Kind::lockstep_on, 5));
  const std::uint64_t lent_at = wait_done(link, 5).tick;
  loop.wait_for_world();
  CHECK(loop.world().state().tick == lent_at);
  for (int i = 0; i < 10; ++i) {
    loop.grant_tick();
    while (link.states.begin_read() != nullptr) link.states.release();
  }
  CHECK(loop.world().state().tick == lent_at + 10);
  loop.return_world();

  std::unique_ptr<World> next = make_world();
  Command swap = of(Command::Kind::swap_world, 6);
  swap.world = next.release();
  swap.value = 10;
  link.commands.push(swap);
  const Notice swapped = wait_done(link, 6);
  REQUIRE(swapped.world != nullptr);
  delete swapped.world;
  // A command of the old epoch finds itself stale.
  link.commands.push(push(70, 1));
  std::uint32_t stale = 0;
  const std::uint64_t give_up = now_ns() + 20'000'000'000u;
  while (stale == 0 && now_ns() < give_up) {
    for (const Notice& n : notices(link))
      stale += n.kind == Notice::Kind::verdict && n.verdict == Verdict::stale_epoch ? 1 : 0;
    while (link.states.begin_read() != nullptr) link.states.release();
  }
  CHECK(stale == 1);
  loop.request_stop();
  loop.join();
  CHECK(loop.metrics().ticks.read() > 0);
}

TEST_CASE("server_tick: a net thread that stands still costs states, not ticks") {
  TickLink link(8, 16, 64);
  TickLoop loop(options(false), link, make_world(), 9);
  REQUIRE(loop.start());
  const std::uint64_t give_up = now_ns() + 20'000'000'000u;
  while (loop.metrics().ticks.read() < 50 && now_ns() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(loop.metrics().ticks.read() >= 50);
  CHECK(loop.metrics().states_dropped.read() >= 30);
  loop.request_stop();
  loop.join();
}
