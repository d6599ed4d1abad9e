// Commands to bodies and joints, without a thread: how much a drain takes, what acts and for how long, and what is told
// when a command expires.
#include "server/realtime/command_desk.h"

#include <doctest/doctest.h>

#include "tests/support/alloc_guard.h"
#include "tests/support/tick_bench.h"

using namespace tactus;
using test::push_of;
using test::torque_of;

namespace {

struct Bench : test::PartsBench {
  CommandDesk& desk = parts->commands;

  explicit Bench(std::unique_ptr<World> live, bool record = false) : PartsBench(std::move(live), record) {}
  // The other kinds that a drain has given to its caller.
  std::vector<Command::Kind> drain() {
    std::vector<Command::Kind> out;
    Command command;
    desk.begin_drain();
    while (desk.take_next(command, context())) out.push_back(command.kind);
    desk.expire(context());
    return out;
  }
  double tick() {
    drain();
    const JudgeContext before = context();
    desk.watch(before, world());
    desk.apply(world());
    desk.record(before.tick);
    world().step();
    desk.tell_robots(before, world());
    return force();
  }
  double force() {
    for (const ChannelOutput& output : desk.acting()) {
      if (output.body == 0) return output.F_Bcm_W.force.x();
    }
    return 0;
  }
  std::size_t count(Notice::Kind kind) {
    std::size_t n = 0;
    for (const Notice& notice : notices()) n += notice.kind == kind ? 1 : 0;
    return n;
  }
};

}  // namespace

TEST_CASE("server_command_desk: with nothing to do nothing acts and nothing is said") {
  Bench bench(test::ball_world());
  CHECK(bench.drain().empty());
  CHECK(bench.tick() == 0);
  CHECK(bench.desk.acting().empty());
  CHECK(bench.link.notices.size() == 0);
}

TEST_CASE("server_command_desk: a drain ends after a command that may touch all of the state; light ones go on") {
  Bench bench(test::ball_world());
  for (const Command::Kind kind : {Command::Kind::drop_channel, Command::Kind::device, Command::Kind::snapshot,
                                   Command::Kind::detach_tool, Command::Kind::probe, Command::Kind::pause})
    REQUIRE(bench.link.commands.push(test::command_of(kind)));
  using Kind = Command::Kind;
  CHECK(bench.drain() == std::vector<Kind>{Kind::drop_channel, Kind::device, Kind::snapshot});
  CHECK(bench.drain() == std::vector<Kind>{Kind::detach_tool, Kind::probe});
  CHECK(bench.drain() == std::vector<Kind>{Kind::pause});
}

TEST_CASE("server_command_desk: while half of the ring of notices is full a drain takes nothing, and loses nothing") {
  Bench bench(test::ball_world());
  Notice filler;
  while (bench.link.notices.size() <= bench.link.notices.capacity() / 2) REQUIRE(bench.link.notices.push(filler));
  REQUIRE(bench.link.commands.push(push_of(1, 0, 3)));
  CHECK(bench.tick() == 0);
  CHECK(bench.link.commands.size() == 1);
  bench.notices();
  CHECK(bench.tick() == 3);
  CHECK(bench.link.commands.size() == 0);
}

TEST_CASE("server_command_desk: a drain takes what had arrived at its begin; rows of one datagram stay together") {
  Bench bench(test::ball_world());
  Command first = push_of(1, 0, 3), second = push_of(1, 1, 4);
  first.last_row = false;
  second.row_index = 1;
  REQUIRE(bench.link.commands.push(test::command_of(Command::Kind::drop_channel)));
  bench.desk.begin_drain();
  REQUIRE(bench.link.commands.push(push_of(9, 0, 7)));  // too late for this one
  Command command;
  CHECK(bench.desk.take_next(command, bench.context()));
  CHECK_FALSE(bench.desk.take_next(command, bench.context()));
  CHECK(bench.link.commands.size() == 1);
  test::take_all(bench.link.commands);
  REQUIRE(bench.link.commands.push(first));
  bench.desk.begin_drain();
  REQUIRE(bench.link.commands.push(second));  // as if the ring's size had been read in between
  CHECK_FALSE(bench.desk.take_next(command, bench.context()));
  CHECK(bench.link.commands.size() == 0);
  bench.tick();
  CHECK(bench.desk.acting().size() == 2);
}

TEST_CASE("server_command_desk: a command acts for its deadline, ramps to zero, and that it expired is told once") {
  Bench bench(test::ball_world(), true);
  REQUIRE(bench.link.commands.push(push_of(1, 0, 4)));
  const test::AllocGuard guard;
  for (int i = 0; i < 5; ++i) CHECK(bench.tick() == 4);
  CHECK(bench.tick() == doctest::Approx(3.6));
  while (bench.tick() > 0) {
  }
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 2);
  CHECK((told[0].kind == Notice::Kind::verdict && told[0].verdict == Verdict::applied && told[0].tick == 1));
  CHECK((told[1].kind == Notice::Kind::channel_expired && told[1].body == 0 && told[1].tick == 6));
  // What acted is recorded tick by tick, and moves the ball: sum of rows over its mass.
  double impulse = 0;
  for (const RecordRow& row : bench.rows()) {
    if (row.kind == RecordRow::Kind::wrench) impulse += 1e-3 * row.value[0];
  }
  CHECK(impulse == doctest::Approx(2 * bench.world().state().v[0]));
}

TEST_CASE("server_command_desk: a command that waited past its deadline expires in the drain, and never acts") {
  Bench bench(test::ball_world());
  bench.beat.granted = false;
  bench.beat.start_ns = 100'000'000;
  Command late = push_of(1, 0, 4, 1'000), fresh = push_of(2, 1, 4, 1'000);
  late.received_ns = bench.beat.start_ns - 1'000'001;
  fresh.received_ns = bench.beat.start_ns - 1'000'000;
  REQUIRE(bench.link.commands.push(late));
  REQUIRE(bench.link.commands.push(fresh));
  CHECK(bench.tick() == 0);
  CHECK(bench.desk.acting().size() == 1);
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 2);
  CHECK((told[0].ticket == 1 && told[0].verdict == Verdict::expired && told[0].age_us == 1000));
  CHECK((told[1].ticket == 2 && told[1].verdict == Verdict::applied));
}

TEST_CASE("server_command_desk: deadlines pass while the world stands; an old force does not wait for the resume") {
  Bench bench(test::ball_world());
  REQUIRE(bench.link.commands.push(push_of(1, 0, 4)));
  CHECK(bench.tick() == 4);
  for (int i = 0; i < 20; ++i) {
    bench.desk.stand_still();
    CHECK(bench.desk.acting().empty());
  }
  CHECK(bench.tick() == 0);
  CHECK(bench.count(Notice::Kind::channel_expired) == 1);
}

TEST_CASE(
    "server_command_desk: what was held is gone after a jump, and ramps after its lease is lost, without a word") {
  Bench jumped(test::ball_world()), dropped(test::ball_world());
  for (Bench* bench : {&jumped, &dropped}) {
    REQUIRE(bench->link.commands.push(push_of(1, 0, 4, 100'000)));
    CHECK(bench->tick() == 4);
    CHECK(bench->count(Notice::Kind::verdict) == 1);
  }
  jumped.desk.forget(1e-3);
  CHECK(jumped.desk.acting().empty());
  CHECK(jumped.tick() == 0);
  dropped.desk.drop_channel(0, dropped.context());
  CHECK(dropped.tick() == doctest::Approx(3.6));
  while (dropped.tick() > 0) {
  }
  CHECK(dropped.link.notices.size() == 0);
}

TEST_CASE("server_command_desk: before a new scene all that waits is stale") {
  Bench bench(test::ball_world());
  REQUIRE(bench.link.commands.push(push_of(1, 0, 4)));
  bench.drain();
  bench.desk.drop_waiting(bench.context());
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 1);
  CHECK(told[0].verdict == Verdict::stale_epoch);
  CHECK(bench.tick() == 0);
}

TEST_CASE("server_command_desk: a joint's command that ends is told with its joint; time that stood still counts") {
  for (const bool stands : {false, true}) {
    Bench bench(test::slider_world(2, 50), true);
    REQUIRE(bench.link.commands.push(torque_of(1, 1, 10, 5'000)));
    std::size_t ticks = 0, expired = 0;
    bench.tick();
    for (int i = 0; stands && i < 3; ++i) bench.desk.stand_still();
    for (; expired == 0 && ticks < 30; ++ticks) {
      bench.tick();
      for (const Notice& notice : bench.notices()) {
        if (notice.kind != Notice::Kind::joint_expired) continue;
        ++expired;
        CHECK(notice.joint == 1);
      }
    }
    CHECK(expired == 1);
    CHECK(ticks == (stands ? 2 : 5));
    std::uint64_t stood = 0;
    for (const RecordRow& row : bench.rows()) stood += row.kind == RecordRow::Kind::joint_time ? row.number : 0;
    CHECK(stood == (stands ? 3 : 0));
  }
}

TEST_CASE("server_command_desk: missed ticks are told to who commanded, and a fault latches until the robot recovers") {
  Bench bench(test::slider_world(2, 50), true);
  ChannelOptions options;
  options.tolerance_ticks = 1;
  options.fault_ticks = 4;
  Command command = test::command_of(Command::Kind::set_joint_options);
  command.joint.joint = 1;
  command.options = &options;
  bench.desk.change_robot(command, bench.world());
  REQUIRE(bench.link.commands.push(torque_of(1, 1, 10, 50'000)));
  for (int i = 0; i < 10; ++i) bench.tick();
  std::size_t held = 0, faults = 0;
  for (const Notice& notice : bench.notices()) {
    held += notice.kind == Notice::Kind::verdict && notice.verdict == Verdict::held ? 1 : 0;
    faults += notice.kind == Notice::Kind::robot_fault ? 1 : 0;
  }
  CHECK(held > 0);
  CHECK(faults == 1);
  CHECK(bench.world().robot_fault(0));
  bench.desk.change_robot(test::command_of(Command::Kind::recover_robot), bench.world());
  CHECK_FALSE(bench.world().robot_fault(0));
  bench.desk.drop_joint(1, bench.context(), bench.world());
  std::vector<RecordRow::Kind> kinds;
  for (const RecordRow& row : bench.rows()) {
    if (row.kind != RecordRow::Kind::joint_acts && row.kind != RecordRow::Kind::notice) kinds.push_back(row.kind);
  }
  using Kind = RecordRow::Kind;
  CHECK(kinds == std::vector<Kind>{Kind::joint_options, Kind::joint_command, Kind::robot_recover, Kind::joint_release});
}
