// What the tick leaves for the recorder of joints: enough to do it all again, nothing allocated, and a full ring
// counted.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "server/realtime/tick_loop.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kJoints = 3, kEpoch = 4;
constexpr double kLimit = 50;  // [N]

std::unique_ptr<World> make_world() {
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "robot");
  for (std::uint32_t i = 0; i < kJoints; ++i) {
    const BodyIndex b = test::add_link(*scene.model, 2, Mat3::Identity());
    const JointIndex joint = test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
    scene.model->joints[joint].effort_limit = kLimit;
  }
  finish_model(*scene.model);
  Limits limits;
  limits.bodies = limits.shapes = limits.pairs = 16;
  return std::make_unique<World>(std::shared_ptr<const Model>(std::move(scene.model)), limits);
}

// A loop in lockstep whose rows nobody takes but the test.
struct Bench {
  TickLink link{16, 16, 256};
  std::unique_ptr<TickLoop> loop;
  std::vector<RecordRow> rows;

  explicit Bench(std::uint32_t room) {
    link.record = std::make_unique<RecordFeed>(16, room, 1);
    TickOptions options;
    options.rights.enabled = false;
    options.bodies = 16;
    options.lockstep = true;
    loop = std::make_unique<TickLoop>(options, link, make_world(), kEpoch);
    REQUIRE(loop->start());
    loop->wait_for_world();
  }
  ~Bench() {
    loop->request_stop();
    loop->join();
  }
  Command command(Command::Kind kind, JointIndex joint) const {
    Command c;
    c.kind = kind;
    c.client = 1;
    c.epoch = kEpoch;
    c.deadline_us = 5000;
    c.joint.joint = joint;
    return c;
  }
  void send(std::uint64_t ticket, JointIndex joint, double value) {
    Command c = command(Command::Kind::joint, joint);
    c.ticket = ticket;
    c.joint.value = value;
    REQUIRE(link.commands.push(c));
  }
  void step() {
    loop->grant_tick();
    while (link.states.begin_read() != nullptr) link.states.release();
    while (!link.record->states.front().empty()) link.record->states.pop();
    Notice notice;
    while (link.notices.pop(notice)) {
    }
  }
  void take() {
    RecordRow row;
    while (link.record->rows.pop(row)) rows.push_back(row);
  }
};

// Of the acting joints; with a latched fault after six missed ticks.
ChannelOptions options() {
  ChannelOptions o;
  o.missed = MissedPolicy::extrapolate;
  o.tolerance_ticks = 1;
  o.fault_ticks = 6;
  o.cutoff = 90;
  return o;
}

void give(World& world, const RecordRow& row) {
  switch (row.kind) {
    case RecordRow::Kind::joint_command:
      CHECK(accepted(
          world.command_joint({row.joint, static_cast<DriveKind>(row.mode), row.value[0], row.value[1]}, row.number)));
      return;
    case RecordRow::Kind::joint_release:
      return world.release_joint(row.joint);
    case RecordRow::Kind::robot_recover:
      return world.recover_robot(row.joint);
    case RecordRow::Kind::joint_options:
      CHECK(row.number == (std::uint64_t{1} << 32 | 6));
      CHECK((row.mode == static_cast<std::uint8_t>(MissedPolicy::extrapolate) && row.value[1] == 90));
      return world.set_joint_options(row.joint, options());
    default:
      return;
  }
}

}  // namespace

TEST_CASE("server_joint_rows: from the rows a second world does the same, bit by bit") {
  Bench bench(1u << 15);
  const ChannelOptions wanted = options();
  for (JointIndex j = 0; j < kJoints; ++j) {
    Command c = bench.command(Command::Kind::set_joint_options, j);
    c.options = &wanted;
    REQUIRE(bench.link.commands.push(c));
  }
  std::uint64_t allocated = 0;
  for (std::uint64_t n = 1; n <= 400; ++n) {
    const bool silent = n > 200 && n < 210;  // latches
    if (n == 211) REQUIRE(bench.link.commands.push(bench.command(Command::Kind::recover_robot, 0)));
    if (n == 300) REQUIRE(bench.link.commands.push(bench.command(Command::Kind::drop_joint, 1)));
    if (!silent && n % 3 != 0)
      bench.send(n, static_cast<JointIndex>(n % kJoints), 80 * std::sin(0.1 * static_cast<double>(n)));
    const test::AllocGuard guard;
    bench.loop->grant_tick();
    allocated += guard.count();
    while (bench.link.states.begin_read() != nullptr) bench.link.states.release();
    while (!bench.link.record->states.front().empty()) bench.link.record->states.pop();
    Notice notice;
    while (bench.link.notices.pop(notice)) {
    }
    bench.take();
  }
  if (test::AllocGuard::available()) CHECK(allocated == 0);
  CHECK(bench.link.record->rows_lost.read() == 0);

  const auto world = make_world();
  std::uint64_t hashes = 0, acts = 0, cut = 0, faults = 0, asked = 0;
  for (const RecordRow& row : bench.rows) {
    CHECK(row.epoch == kEpoch);
    if (row.kind == RecordRow::Kind::hash) {
      while (world->state().tick < row.tick) world->step();
      ++hashes;
      CHECK(world->hash() == row.number);
    } else if (row.kind == RecordRow::Kind::joint_acts) {
      while (world->state().tick < row.tick) world->step();
      const std::size_t i = world->robot_drives().channels().find(row.joint);
      const JointChannels::Output& out = world->robot_drives().commands()[i];
      ++acts;
      CHECK((out.active && out.setpoint.value == row.value[0] && world->robot_drives().bits(i) == row.bits));
      CHECK(std::abs(row.value[0]) <= kLimit);
      faults += (row.bits & kJointFault) != 0 ? 1 : 0;
    } else {
      if (row.kind != RecordRow::Kind::notice) CHECK(row.tick == world->state().tick + 1);
      asked += row.kind == RecordRow::Kind::joint_command ? 1 : 0;
      cut += row.kind == RecordRow::Kind::joint_command && std::abs(row.value[0]) > kLimit ? 1 : 0;
      give(*world, row);
    }
  }
  CHECK(hashes == 400);
  CHECK(acts == 400 + 399);  // joint 1 from tick 1 on, joint 2 from tick 2 on; joint 0 never
  CHECK(asked > 200);
  CHECK(cut > 50);  // as asked for, not as cut: the channel cuts again
  CHECK(faults > 0);
}

TEST_CASE("server_joint_rows: what finds no room is counted, and the tick goes on") {
  Bench bench(16);
  for (std::uint64_t n = 1; n <= 20; ++n) {
    bench.send(n, 0, 1.0);
    bench.step();
  }
  bench.take();
  CHECK(bench.rows.size() == 16);
  CHECK(bench.link.record->rows_lost.read() > 20);
  CHECK(bench.loop->world().state().tick == 20);
}
