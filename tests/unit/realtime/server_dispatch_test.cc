// Every kind of command, without a thread: what it changes, and what is answered: at once, later, or never.
#include "server/realtime/dispatch.h"

#include <doctest/doctest.h>

#include "tests/support/tick_bench.h"

using namespace tactus;
using test::command_of;
using Kind = Command::Kind;

namespace {

struct Bench : test::PartsBench {
  Dispatch dispatch{*parts};

  explicit Bench(std::unique_ptr<World> live = test::ball_world(), bool record = false)
      : PartsBench(std::move(live), record) {}
  // What was answered with done, one by one.
  std::vector<Notice> send(const Command& command) {
    REQUIRE(link.commands.push(command));
    dispatch.drain(beat);
    std::vector<Notice> out;
    for (const Notice& notice : notices()) {
      if (notice.kind == Notice::Kind::done) out.push_back(notice);
    }
    return out;
  }
  Notice answer(const Command& command) {
    const std::vector<Notice> out = send(command);
    REQUIRE(out.size() == 1);
    CHECK(out[0].ticket == command.ticket);
    CHECK(out[0].command == command.kind);
    CHECK(out[0].client == command.client);
    CHECK(out[0].tick == parts->shown_tick());
    return out[0];
  }
  void step(int ticks) {
    for (int i = 0; i < ticks; ++i) parts->models.step(world(), false);
  }
};

}  // namespace

TEST_CASE("server_dispatch: pause, steps and resume: a Step is answered when it has run or is cut short") {
  Bench bench;
  CHECK_FALSE(bench.answer(command_of(Kind::step, 1, 5)).ok);  // it runs
  CHECK(bench.answer(command_of(Kind::pause, 2)).ok);
  CHECK(bench.parts->run.paused());
  CHECK(bench.send(command_of(Kind::step, 3, 5)).empty());
  CHECK_FALSE(bench.answer(command_of(Kind::step, 4, 5)).ok);
  const std::vector<Notice> told = bench.send(command_of(Kind::resume, 5));
  REQUIRE(told.size() == 2);
  CHECK(told[0].ticket == 3);
  CHECK(told[1].ticket == 5);
  CHECK_FALSE(bench.parts->run.paused());
  bench.send(command_of(Kind::pause, 6));
  bench.send(command_of(Kind::step, 7, 5));
  CHECK(bench.send(command_of(Kind::lockstep_on, 8)).size() == 2);
  CHECK(bench.parts->run.lockstep());
}

TEST_CASE("server_dispatch: of the world's commands each answer carries the hash of the state that it leaves") {
  Bench bench;
  bench.world().set_body(0, test::at(0, 0, 0), {Vec3::Zero(), Vec3(1, 0, 0)});
  bench.step(10);
  State kept = bench.world().state();
  const std::uint64_t hash = bench.world().hash();
  CHECK(bench.answer(command_of(Kind::probe, 1)).hash == hash);
  Command snapshot = command_of(Kind::snapshot, 2);
  State copy = bench.world().initial();
  snapshot.state = &copy;
  const Notice taken = bench.answer(snapshot);
  CHECK(taken.state == &copy);
  CHECK(state_hash(copy) == hash);
  bench.step(5);
  const Notice reset = bench.answer(command_of(Kind::reset, 3));
  CHECK(reset.tick == 0);
  CHECK(reset.hash == state_hash(bench.world().initial()));
  Command restore = command_of(Kind::restore, 4);
  restore.state = &kept;
  const Notice back = bench.answer(restore);
  CHECK(back.state == &kept);
  CHECK(back.tick == 10);
  CHECK(back.hash == hash);
  Parameters parameters = bench.world().parameters();
  parameters.gravity_W = Vec3(0, 0, -1);
  Command set = command_of(Kind::set_parameters, 5);
  set.parameters = &parameters;
  CHECK(bench.answer(set).ok);
  CHECK(bench.world().parameters().gravity_W.z() == -1);
}

TEST_CASE("server_dispatch: after a jump nothing of before acts; a refused one leaves all as it was") {
  Bench bench;
  REQUIRE(bench.link.commands.push(test::push_of(1, 0, 4, 100'000)));
  bench.dispatch.drain(bench.beat);
  bench.parts->commands.watch(bench.context(), bench.world());
  bench.notices();
  REQUIRE(bench.parts->commands.acting().size() == 1);
  State small = test::slider_world(1, 1)->state();
  Command refused = command_of(Kind::restore, 2);
  refused.state = &small;
  CHECK_FALSE(bench.answer(refused).ok);
  CHECK(bench.parts->commands.acting().size() == 1);
  CHECK(bench.answer(command_of(Kind::reset, 3)).ok);
  CHECK(bench.parts->commands.acting().empty());
}

TEST_CASE("server_dispatch: a new scene takes over with its epoch; what waited is stale, the old world comes back") {
  Bench bench(test::ball_world(), true);
  Command push = test::push_of(1, 0, 4);
  REQUIRE(bench.link.commands.push(push));
  const World* before = &bench.world();
  std::unique_ptr<World> next = test::slider_world(1, 50);
  const World* after = next.get();
  Command swap = command_of(Kind::swap_world, 2, test::kTickEpoch + 1);
  swap.world = next.release();
  REQUIRE(bench.link.commands.push(swap));
  bench.dispatch.drain(bench.beat);
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 2);
  CHECK((told[0].ticket == 1 && told[0].verdict == Verdict::stale_epoch));
  CHECK(told[1].world == before);
  delete told[1].world;
  CHECK(&bench.world() == after);
  CHECK(bench.parts->scene.epoch() == test::kTickEpoch + 1);
  const std::vector<RecordRow> rows = bench.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].epoch == test::kTickEpoch + 1);
  push.ticket = 3;  // of the old scene
  REQUIRE(bench.link.commands.push(push));
  bench.dispatch.drain(bench.beat);
  CHECK(bench.notices().at(0).verdict == Verdict::stale_epoch);
}

TEST_CASE("server_dispatch: channels, joints and robots of a scene that has gone are left alone") {
  Bench bench(test::slider_world(1, 50));
  ChannelOptions options;
  options.cutoff = 12;
  Command set = command_of(Kind::set_joint_options, 1);
  set.joint.joint = 0;
  set.options = &options;
  set.epoch = 1;
  CHECK_FALSE(bench.answer(set).ok);
  CHECK(bench.world().joint_options(0).cutoff != 12);
  set.epoch = test::kTickEpoch;
  CHECK(bench.answer(set).ok);
  CHECK(bench.world().joint_options(0).cutoff == 12);
  Command recover = command_of(Kind::recover_robot, 2);
  CHECK(bench.answer(recover).ok);
  recover.epoch = 1;
  CHECK_FALSE(bench.answer(recover).ok);
  CHECK(bench.send(command_of(Kind::drop_channel, 3)).empty());
  CHECK(bench.send(command_of(Kind::drop_joint, 4)).empty());
}

TEST_CASE("server_dispatch: a switch away from a slow model is answered at its end, in a pause at once") {
  for (const bool paused : {false, true}) {
    Bench bench;
    Command slow = command_of(Kind::set_model, 1, static_cast<std::uint64_t>(ContactModelKind::deepest));
    slow.solver = test::make_slow(bench.world(), ContactModelKind::deepest, 10);
    CHECK(bench.answer(slow).ok);
    bench.step(3);
    if (paused) bench.send(command_of(Kind::pause, 2));
    const Command fast = command_of(Kind::set_model, 3, static_cast<std::uint64_t>(ContactModelKind::penalty));
    CHECK(bench.send(fast).size() == (paused ? 1 : 0));
    CHECK(bench.send(command_of(Kind::pause, 4)).size() == (paused ? 1 : 2));  // who pauses hears of it
    CHECK(bench.parts->models.waiting());
  }
}

TEST_CASE("server_dispatch: tools and shadow go to their parts, and each is answered") {
  Bench bench;
  ToolSettings settings;
  settings.body = 0;
  Command attach = command_of(Kind::attach_tool, 1, 2);
  attach.tool = &settings;
  CHECK(bench.answer(attach).ok);
  CHECK_FALSE(bench.answer(attach).ok);
  CHECK(bench.send(command_of(Kind::detach_tool, 2, 2)).empty());
  CHECK(bench.answer(command_of(Kind::set_shadow, 3)).ok);
  Command stale = command_of(Kind::set_shadow, 4);
  stale.epoch = 1;
  CHECK_FALSE(bench.answer(stale).ok);
  REQUIRE(bench.link.commands.push(command_of(Kind::device, 5)));
  bench.dispatch.drain(bench.beat);
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 1);
  CHECK(told[0].kind == Notice::Kind::verdict);
}
