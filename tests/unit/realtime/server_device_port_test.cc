// Devices on the tick, without a thread: verdicts for samples, answers before the step, tools that are let go.
#include "server/realtime/device_port.h"

#include <doctest/doctest.h>

#include "tests/support/alloc_guard.h"
#include "tests/support/tick_bench.h"

using namespace tactus;

namespace {

struct Bench : test::PartsBench {
  DevicePort& port = parts->devices;
  ToolSettings settings;

  Bench() : PartsBench(test::ball_world()) {
    settings.body = 0;
    settings.mode = ToolMode::direct;
    settings.gains = {500, 2, 0.1, 1e-3};
    settings.watchdog_ticks = 5;
    beat.granted = false;
    beat.deadline_ns = 50'000'000;
    beat.start_ns = 50'020'000;
    beat.next_ns = 51'000'000;
  }
  Notice attach(std::uint64_t index = 0, std::uint32_t epoch = test::kTickEpoch) {
    Command c = test::command_of(Command::Kind::attach_tool, 1, index);
    c.epoch = epoch;
    c.tool = &settings;
    c.reach = 0.05;
    Notice out;
    port.attach(c, context(), world(), out);
    return out;
  }
  Notice say(std::uint64_t sample, std::uint64_t received_ns = 0, std::uint32_t epoch = test::kTickEpoch) {
    Command c = test::command_of(Command::Kind::device, sample);
    c.epoch = epoch;
    c.received_ns = received_ns;
    c.device.grip = 1;
    c.device.sample = sample;
    c.device.bits = kDeviceAnchored;
    c.device.pose = {0.01, 0, 0, 1, 0, 0, 0};
    port.take_sample(c, context(), world());
    const std::vector<Notice> told = notices();
    REQUIRE(told.size() == 1);
    CHECK(told[0].ticket == sample);
    return told[0];
  }
  void tick() {
    port.apply(world(), 0, beat, context());
    world().step();
    port.look(world());
  }
};

}  // namespace

TEST_CASE("server_device_port: without a tool nothing is applied, answered or told") {
  Bench bench;
  bench.tick();
  CHECK_FALSE(bench.port.held());
  CHECK(bench.link.tools.begin_read() == nullptr);
  CHECK(bench.link.notices.size() == 0);
  CHECK(bench.say(1).verdict == Verdict::superseded);  // nobody's
}

TEST_CASE("server_device_port: a place takes one tool, of this scene, whose body is not frozen") {
  Bench bench;
  CHECK_FALSE(bench.attach(0, test::kTickEpoch + 1).ok);
  CHECK(bench.attach().ok);
  CHECK_FALSE(bench.attach().ok);
  State state = bench.world().state();
  state.frozen[0] = 1;
  REQUIRE(bench.world().restore(state));
  const Notice frozen = bench.attach(1);
  CHECK_FALSE(frozen.ok);
  CHECK(frozen.verdict == Verdict::fault);
}

TEST_CASE(
    "server_device_port: each sample has a verdict with its age: newest applied, older superseded, of another "
    "scene stale") {
  Bench bench;
  bench.attach();
  const Notice first = bench.say(7, bench.beat.start_ns - 250'000);
  CHECK(first.verdict == Verdict::applied);
  CHECK(first.age_us == 250);
  CHECK(first.tick == 1);
  CHECK(bench.say(6).verdict == Verdict::superseded);
  CHECK(bench.say(8, bench.beat.start_ns + 1).age_us == 0);  // came after the wake-up
  CHECK(bench.say(9, 0, test::kTickEpoch + 1).verdict == Verdict::stale_epoch);
  bench.beat.granted = true;  // lockstep has no age
  CHECK(bench.say(10, bench.beat.start_ns - 250'000).age_us == 0);
}

TEST_CASE(
    "server_device_port: the answer is the tick's to come, with its grid points, and the wrench that the step gets") {
  Bench bench;
  bench.attach();
  for (std::uint64_t n = 1; n <= 20; ++n) {
    bench.say(n);
    {
      const test::AllocGuard guard;
      bench.port.apply(bench.world(), 0, bench.beat, bench.context());
      if (test::AllocGuard::available()) CHECK(guard.count() == 0);
    }
    const ToolFrame* frame = bench.link.tools.begin_read();
    REQUIRE(frame != nullptr);
    CHECK(frame->tick == n);
    CHECK(frame->epoch == test::kTickEpoch);
    CHECK(frame->late_ns == 20'000);
    CHECK(frame->next_beat_ns == 51'000'000);
    REQUIRE(frame->tool_count == 1);
    CHECK(bench.world().applied(0).force == frame->tools[0].report.F_T_W.force);  // without gravity nothing is carried
    bench.link.tools.release();
    bench.world().step();
    bench.port.look(bench.world());
  }
  CHECK(bench.world().state().v[0] > 0);
}

TEST_CASE("server_device_port: a net that is eight answers behind loses the newest, and the world does not care") {
  Bench bench;
  bench.attach();
  for (std::uint64_t n = 1; n <= 12; ++n) {
    bench.say(n);
    bench.tick();
  }
  CHECK(bench.link.tools.size() == ToolRing::kSlots);
  CHECK(bench.link.tools.begin_read()->tick == 1);
  CHECK(bench.world().state().tick == 12);
}

TEST_CASE("server_device_port: a device that falls silent is let go after its watchdog, which is told once") {
  Bench bench;
  bench.attach();
  bench.say(1);
  std::vector<std::uint64_t> at;
  for (int i = 0; i < 50; ++i) {
    bench.tick();
    for (const Notice& notice : bench.notices()) {
      CHECK(notice.kind == Notice::Kind::tool_let_go);
      CHECK(notice.body == 0);
      at.push_back(notice.tick);
    }
  }
  REQUIRE(at.size() == 1);
  CHECK(at[0] >= bench.settings.watchdog_ticks);
  CHECK(at[0] <= bench.settings.watchdog_ticks + 2);
}

TEST_CASE("server_device_port: a state shows what devices put on bodies, on top of what commands do") {
  Bench bench;
  bench.attach();
  bench.say(1);
  bench.tick();
  bench.say(2);
  bench.tick();
  StateSlot slot;
  slot.resize(test::kTickBodies, 1);
  slot.wrench[0] = 100;
  bench.port.copy_rows(slot);
  bench.port.add_wrenches(slot);
  REQUIRE(slot.tool_count == 1);
  CHECK(slot.wrench[0] == 100 + slot.tools[0].report.F_T_W.force.x());
  CHECK(slot.wrench[0] != 100);
  bench.port.let_go();  // the state has jumped
  CHECK_FALSE(bench.port.held());
  bench.port.copy_rows(slot);
  CHECK(slot.tool_count == 0);
  CHECK_FALSE(bench.attach().ok);  // the place is still its own
  bench.port.clear();
  CHECK(bench.attach().ok);
}
