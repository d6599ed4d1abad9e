// What a device waits for leaves the tick before the world is stepped; the state that follows says the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "core/scene/scene.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"
#include "tests/support/scenes.h"

using namespace tactus;

namespace {

constexpr const char* kScene = R"(
title = "a ball in free fall"
[[body]]
name = "ball"
position_m = [0, 0, 10]
mass_kg = 2
[[body.shape]]
kind = "sphere"
radius_m = 0.1
)";

std::unique_ptr<World> make_world() {
  SceneOptions options;
  options.limits.bodies = options.limits.shapes = 8;
  options.limits.pairs = 16;
  return std::make_unique<World>(parse_scene(kScene, "test", options), options.limits);
}

TickOptions lockstep() {
  TickOptions o;
  o.rights.enabled = false;
  o.bodies = 8;
  o.lockstep = true;
  return o;
}

struct Bench {
  TickLink link{8, 16, 64};
  TickLoop loop{lockstep(), link, make_world(), 9};
  ToolSettings settings;
  std::uint64_t sample = 0;
  Bench() {
    REQUIRE(loop.start());
    loop.wait_for_world();
    settings.body = 0;
    settings.mode = ToolMode::direct;
    settings.gains = {500, 2, 0.1, 1e-3};
    settings.force_limit = 40;
    settings.watchdog_ticks = 1000;
  }
  ~Bench() {
    loop.request_stop();
    loop.join();
  }
  void attach() {
    Command c;
    c.kind = Command::Kind::attach_tool;
    c.epoch = 9;
    c.tool = &settings;
    c.reach = 0.05;
    REQUIRE(link.commands.push({&c, 1}));
  }
  void say(double z) {
    Command c;
    c.kind = Command::Kind::device;
    c.epoch = 9;
    c.device.grip = 1;
    c.device.sample = ++sample;
    c.device.bits = kDeviceAnchored;
    c.device.pose = {0, 0, z, 1, 0, 0, 0};
    c.received_ns = now_ns();
    REQUIRE(link.commands.push({&c, 1}));
  }
  void tick() {
    loop.grant_tick();
    Notice notice;
    while (link.notices.pop(notice)) {
    }
  }
};

}  // namespace

TEST_CASE(
    "server_tick_tools: a device's answer is handed over before the step, and is that of the state that follows") {
  Bench bench;
  bench.attach();
  std::uint64_t drained = 0;  // of all ticks, until each step began [ns]
  for (int k = 0; k < 50; ++k) {
    bench.say(10.01);
    bench.tick();
    const ToolFrame* frame = bench.link.tools.begin_read();
    const StateSlot* state = bench.link.states.begin_read();
    REQUIRE(frame != nullptr);
    REQUIRE(state != nullptr);
    CHECK(frame->tick == state->frame.tick);
    CHECK(frame->epoch == state->frame.epoch);
    REQUIRE(frame->tool_count == 1);
    REQUIRE(state->tool_count == 1);
    CHECK(frame->tools[0].device.sample == bench.sample);
    CHECK(frame->tools[0].report.F_T_W.force == state->tools[0].report.F_T_W.force);
    CHECK(frame->tools[0].report.X_WT.p == state->tools[0].report.X_WT.p);
    // The force that acted in the step is the answer's, and the tool's weight, which the coupling carries.
    CHECK(state->wrench[2] == doctest::Approx(frame->tools[0].report.F_T_W.force.z() + 2 * 9.81).epsilon(1e-6));
    CHECK(frame->handed_ns >= frame->start_ns);
    drained += frame->handed_ns - frame->start_ns;
    CHECK(bench.link.tools.size() == 1);
    bench.link.tools.release();
    bench.link.states.release();
  }
  CHECK(bench.link.tools.begin_read() == nullptr);  // one a tick
  HistogramData before_step;
  bench.loop.metrics().drain_ns.copy(before_step);
  CHECK(before_step.count == 50);
  CHECK(drained <= before_step.sum);
}

TEST_CASE("server_tick_tools: without a tool there is no answer; a net that is behind loses the newest, and no tick") {
  Bench bench;
  bench.tick();
  CHECK(bench.link.tools.begin_read() == nullptr);
  bench.attach();
  for (int k = 0; k < 20; ++k) {
    bench.say(10);
    bench.tick();
    while (bench.link.states.begin_read() != nullptr) bench.link.states.release();
  }
  CHECK(bench.link.tools.size() == ToolRing::kSlots);
  std::uint64_t expected = 2;
  while (const ToolFrame* frame = bench.link.tools.begin_read()) {
    CHECK(frame->tick == expected++);
    bench.link.tools.release();
  }
  bench.say(10);
  bench.tick();
  REQUIRE(bench.link.tools.begin_read() != nullptr);
  CHECK(bench.link.tools.begin_read()->tick == 22);
}

TEST_CASE("server_tick_tools: planes that are looked for after a step are those of the next tick, to the bit") {
  struct Half {
    test::Scene scene;
    std::unique_ptr<World> world;
    ToolDesk desk;
    Half() {
      scene.add_floor();
      scene.add(make_box(Vec3::Constant(0.02)), 0.3, test::at(0.05, 0, 0.02));
      ToolSettings settings;
      settings.body = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 0.012), {Vec3::Zero(), Vec3(0.3, 0, -0.1)});
      settings.mode = ToolMode::direct;
      settings.gains = {300, 1, 0.1, 1e-4};
      world.reset(new World(scene.world()));  // it can be neither copied nor moved
      desk.attach(0, settings, 0.05);
    }
    void tick(std::uint64_t sample) {
      DeviceRow row;
      row.grip = sample > 100 ? 2 : 1;
      row.sample = sample;
      row.bits = kDeviceAnchored;
      row.pose = {0.03, 0, 0.008, 1, 0, 0, 0};
      desk.take(row, world->state().tick, world->model().step);
      desk.apply(*world, 0);
      world->step();
    }
  } ahead, within;
  std::uint32_t most = 0;
  for (std::uint64_t k = 1; k <= 200; ++k) {
    ahead.tick(k);
    within.tick(k);
    if (k == 100) {  // what was found before a jump is of no use after it
      ahead.desk.look(*ahead.world);
      ahead.world->reset();
      ahead.desk.drop_all();
      within.world->reset();
      within.desk.drop_all();
    } else {
      ahead.desk.look(*ahead.world);
    }
    if (k == 100) continue;
    const ToolRow &a = ahead.desk.rows()[0], &b = within.desk.rows()[0];
    REQUIRE(a.plane_count == b.plane_count);
    most = std::max(most, a.plane_count);
    for (std::uint32_t i = 0; i < a.plane_count; ++i) CHECK(a.planes[i].p_W == b.planes[i].p_W);
    CHECK(ahead.world->hash() == within.world->hash());
  }
  CHECK(most >= 2);  // floor and box
}
