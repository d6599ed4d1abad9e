// Joint commands through the tick: one verdict a datagram, all or nothing, missed commands told once, faults, pauses;
// and a controller that is killed at full torque leaves none.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "server/realtime/tick_loop.h"
#include "tests/support/robots.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kJoints = 7, kEpoch = 9;
constexpr double kFull = 50;  // [N], the joints' limit

Limits small_limits() {
  Limits limits;
  limits.bodies = 16;
  limits.shapes = 16;
  limits.pairs = 16;
  return limits;
}

// Seven sliders of 2 kg; the even ones have a drive that brakes.
std::unique_ptr<World> make_world() {
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "robot");
  for (std::uint32_t i = 0; i < kJoints; ++i) {
    const BodyIndex b = test::add_link(*scene.model, 2, Mat3::Identity());
    const JointIndex joint = test::add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
    scene.model->joints[joint].effort_limit = kFull;
    JointDrive drive;
    drive.joint = joint;
    drive.effort_limit = kFull;
    drive.kd = i % 2 == 0 ? 40 : 0;
    if (i % 2 == 0) scene.model->drives.push_back(drive);
  }
  finish_model(*scene.model);
  return std::make_unique<World>(std::shared_ptr<const Model>(std::move(scene.model)), small_limits());
}

TickOptions options() {
  TickOptions o;
  o.rights.enabled = false;
  o.bodies = 16;
  o.lockstep = true;
  return o;
}

struct Bench {
  TickLink link{16, 16, 256};
  TickLoop loop{options(), link, make_world(), kEpoch};
  std::vector<Notice> events;                             // but verdicts
  std::map<std::uint64_t, std::vector<Notice>> verdicts;  // by ticket
  std::vector<JointSample> joints;
  std::uint64_t tick = 0;
  std::uint32_t status = 0;

  Bench() {
    REQUIRE(loop.start());
    loop.wait_for_world();
  }
  ~Bench() {
    loop.request_stop();
    loop.join();
  }

  void send(std::uint64_t ticket, const std::vector<std::pair<JointIndex, double>>& rows,
            std::uint32_t deadline_ms = 20, DriveKind kind = DriveKind::torque, std::uint64_t expected_tick = 0) {
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      Command c;
      c.kind = Command::Kind::joint;
      c.last_row = i + 1 == rows.size();
      c.client = 1;
      c.epoch = kEpoch;
      c.row_index = i;
      c.ticket = ticket;
      c.deadline_us = 1000 * deadline_ms;
      c.expected_tick = expected_tick;
      c.joint.joint = rows[i].first;
      c.joint.kind = kind;
      c.joint.value = rows[i].second;
      REQUIRE(link.commands.push(c));
    }
  }
  void control(Command::Kind kind, JointIndex joint, const ChannelOptions* channel = nullptr) {
    Command c;
    c.kind = kind;
    c.epoch = kEpoch;
    c.joint.joint = joint;
    c.options = channel;
    REQUIRE(link.commands.push(c));
  }
  void step(int ticks = 1) {
    for (int i = 0; i < ticks; ++i) {
      loop.grant_tick();
      const StateSlot* slot = link.states.begin_read();
      REQUIRE(slot != nullptr);
      joints.assign(slot->joints.begin(), slot->joints.begin() + slot->frame.joint_count);
      tick = slot->frame.tick;
      status = slot->frame.status_bits;
      link.states.release();
      Notice notice;
      while (link.notices.pop(notice)) {
        if (notice.kind == Notice::Kind::verdict)
          verdicts[notice.ticket].push_back(notice);
        else if (notice.kind != Notice::Kind::done)
          events.push_back(notice);
      }
    }
  }
  Verdict verdict(std::uint64_t ticket, std::size_t i = 0) { return verdicts.at(ticket).at(i).verdict; }
  std::vector<std::pair<JointIndex, double>> all(double value) const {
    std::vector<std::pair<JointIndex, double>> rows;
    for (JointIndex j = 0; j < kJoints; ++j) rows.emplace_back(j, value);
    return rows;
  }
};

}  // namespace

TEST_CASE("server_joints: a datagram for a whole robot acts in one tick, gets one verdict, and the state shows it") {
  Bench b;
  b.send(1, b.all(3));
  b.step();
  for (const JointSample& joint : b.joints) CHECK(joint.effort == 3);
  REQUIRE(b.verdicts.at(1).size() == 1);
  CHECK(b.verdict(1) == Verdict::applied);
  CHECK(b.verdicts.at(1)[0].tick == b.tick);
  b.send(2, b.all(60));
  b.step();
  CHECK(b.verdict(2) == Verdict::clamped);
  CHECK(b.joints[4].effort == kFull);
  CHECK((b.joints[4].bits & kJointEffortLimited) != 0);
}

TEST_CASE("server_joints: one row that its joint refuses takes the datagram along; others go on undisturbed") {
  Bench b;
  b.send(1, {{5, 2.0}}, 200);
  b.step();
  const auto refused = [&](std::uint64_t ticket, Verdict expected, std::uint32_t row) {
    b.step();
    REQUIRE(b.verdicts.at(ticket).size() == 1);
    CHECK(b.verdict(ticket) == expected);
    CHECK(b.verdicts.at(ticket)[0].row == row);
    CHECK(b.joints[0].effort == 0);
    CHECK(b.joints[5].effort == 2);
  };
  b.send(2, {{0, 1.0}, {1, 1.0}}, 20, DriveKind::velocity);  // 1 has no gains
  refused(2, Verdict::no_gains, 1);
  b.send(3, {{0, 1.0}, {12, 1.0}});
  refused(3, Verdict::unknown_joint, 1);
  b.send(4, {{0, 1.0}, {1, std::nan("")}});
  refused(4, Verdict::not_finite, 1);
}

TEST_CASE("server_joints: an answer that comes later than the tolerance is applied and told late") {
  Bench b;
  b.step(10);
  b.send(1, {{0, 1.0}}, 20, DriveKind::torque, b.tick);
  b.step();
  CHECK(b.verdict(1) == Verdict::applied);
  b.send(2, {{0, 1.0}}, 20, DriveKind::torque, b.tick - 1);
  b.step();
  CHECK(b.verdict(2) == Verdict::applied);  // two ticks are tolerated
  b.send(3, {{0, 1.0}}, 20, DriveKind::torque, b.tick - 2);
  b.step();
  CHECK(b.verdict(3) == Verdict::late);
  CHECK(b.joints[0].effort == 1);
}

TEST_CASE("server_joints: what acts instead of a missed command is told once a datagram, and never doubled") {
  for (const MissedPolicy policy :
       {MissedPolicy::hold, MissedPolicy::extrapolate, MissedPolicy::ramp, MissedPolicy::brake}) {
    Bench b;
    ChannelOptions channel;
    channel.missed = policy;
    for (JointIndex j = 0; j < kJoints; ++j) b.control(Command::Kind::set_joint_options, j, &channel);
    b.send(1, b.all(3), 100);
    b.step(50);
    REQUIRE(b.verdicts.at(1).size() == 2);
    CHECK(b.verdict(1) == Verdict::applied);
    CHECK(static_cast<int>(b.verdict(1, 1)) == static_cast<int>(Verdict::held) + static_cast<int>(policy));
    CHECK(b.joints[1].missed == 48);
    b.send(2, b.all(1), 100);
    b.step(3);
    CHECK(b.verdicts.at(2).size() == 2);
  }
}

TEST_CASE("server_joints: too many missed latch a fault: an event, a bit, refusals by name, until it is cleared") {
  Bench b;
  ChannelOptions channel;
  channel.fault_ticks = 20;
  b.control(Command::Kind::set_joint_options, 2, &channel);
  b.send(1, b.all(3), 200);
  b.step(22);
  REQUIRE(b.events.size() == 1);
  CHECK(b.events[0].kind == Notice::Kind::robot_fault);
  CHECK(b.events[0].robot == 0);
  b.step(11);
  CHECK((b.status & kStatusRobotFault) != 0);
  for (const JointSample& joint : b.joints) CHECK((joint.bits & kJointFault) != 0);
  b.send(2, b.all(3));
  b.step();
  CHECK(b.verdict(2) == Verdict::fault);
  CHECK(b.joints[1].effort == 0);
  b.control(Command::Kind::recover_robot, 0);
  b.step();
  CHECK((b.status & kStatusRobotFault) == 0);
  CHECK(b.joints[1].effort == 0);
  b.send(3, b.all(3));
  b.step();
  CHECK(b.verdict(3) == Verdict::applied);
  CHECK(b.joints[1].effort == 3);
}

TEST_CASE("server_joints: a lease that goes takes the command along, without an announcement") {
  Bench b;
  b.send(1, b.all(3), 200);
  b.step(5);
  b.control(Command::Kind::drop_joint, 3);
  b.step(11);
  CHECK(b.joints[3].effort == 0);
  CHECK(b.joints[5].effort == 3);
  CHECK(b.events.empty());
}

// At any tick, with any policy, deadline and ramp: once the command's deadline and the channel's ramp have passed, an
// undriven joint has no torque, and a braked one only what slows it down; and the expiry is told once a joint.
TEST_CASE("server_joints: a controller killed at full torque, 1,000 times: every joint is safe within its deadline") {
  std::mt19937 random(17);
  Bench b;
  std::uint64_t ticket = 0;
  for (int kill = 0; kill < 1000; ++kill) {
    ChannelOptions channel;
    channel.missed = static_cast<MissedPolicy>(random() % 4);
    channel.tolerance_ticks = 1 + random() % 4;
    channel.ramp = 1e-3 * static_cast<double>(random() % 12);
    for (JointIndex j = 0; j < kJoints; ++j) b.control(Command::Kind::set_joint_options, j, &channel);
    const std::uint32_t deadline_ms = 1 + random() % 20;
    const double effort = random() % 2 == 0 ? kFull : -kFull;
    const int cycles = 1 + static_cast<int>(random() % 3);
    for (int n = 0; n < cycles; ++n) {
      b.send(++ticket, b.all(effort), deadline_ms);
      b.step();
      REQUIRE(b.joints[1].effort == effort);
    }
    b.events.clear();
    const int ramp_ticks = std::max(1, static_cast<int>(std::lround(1e3 * channel.ramp)));
    b.step(static_cast<int>(deadline_ms) - 1 + ramp_ticks);  // the tick of the last command is the deadline's first
    REQUIRE(b.events.size() == kJoints);
    for (JointIndex j = 0; j < kJoints; ++j) {
      REQUIRE((b.joints[j].bits & kJointSafe) != 0);
      REQUIRE((j % 2 == 0 ? b.joints[j].effort * b.joints[j].v <= 0 : b.joints[j].effort == 0));
    }
    b.verdicts.clear();
    if (kill % 50 == 0) b.step(300);  // brakes bring their joints to rest
  }
  b.step(600);
  for (JointIndex j = 0; j < kJoints; j += 2) CHECK(std::abs(b.joints[j].v) < 1e-3);
}
