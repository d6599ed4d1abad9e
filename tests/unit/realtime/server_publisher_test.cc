// What a beat publishes, without a thread: the state's figures and bits, what net and the recorder get when a ring is
// full, and the state of a tick that has failed.
#include "server/realtime/publisher.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/alloc_guard.h"
#include "tests/support/tick_bench.h"

using namespace tactus;

namespace {

struct Bench : test::PartsBench {
  Publisher publisher{link.states, link.commands_dropped, parts->record};

  explicit Bench(bool record = false, bool play = false, bool lockstep = false,
                 std::unique_ptr<World> live = test::ball_world())
      : PartsBench(std::move(live), record, play, lockstep) {}
  void step() {
    parts->models.step(world(), false);
    beat.advanced = true;
  }
  // The next state, or null: net got none.
  const StateSlot* publish() {
    ++beat.number;
    const test::AllocGuard guard;
    const bool published = publisher.publish(*parts, beat);
    if (test::AllocGuard::available()) CHECK(guard.count() == 0);
    return published ? link.states.begin_read() : nullptr;
  }
  std::uint32_t bits() {
    const StateSlot* slot = publish();
    REQUIRE(slot != nullptr);
    const std::uint32_t out = slot->frame.status_bits;
    link.states.release();
    return out;
  }
  // Of the states that the recorder got.
  std::vector<std::uint64_t> recorded() {
    std::vector<std::uint64_t> out;
    while (!link.record->states.front().empty()) {
      StateFrame frame;
      std::copy_n(link.record->states.front().data(), sizeof frame, reinterpret_cast<std::byte*>(&frame));
      out.push_back(frame.tick);
      link.record->states.pop();
    }
    return out;
  }
};

}  // namespace

TEST_CASE("server_publisher: a state is the world's, to the bit, with the beat it was published in") {
  Bench bench;
  REQUIRE(bench.link.commands.push(test::push_of(1, 1, 6)));
  Command none;
  bench.parts->commands.begin_drain();
  CHECK_FALSE(bench.parts->commands.take_next(none, bench.context()));
  bench.parts->commands.watch(bench.context(), bench.world());
  bench.parts->commands.apply(bench.world());
  bench.step();
  bench.beat.granted = false;
  bench.beat.deadline_ns = 1'000'000;
  bench.beat.start_ns = 1'250'000;
  bench.parts->pacer.note_work(40'000, 1e-3, 2'000'000);
  const StateSlot* slot = bench.publish();
  REQUIRE(slot != nullptr);
  const State& state = bench.world().state();
  CHECK(slot->frame.beat == 1);
  CHECK(slot->frame.tick == state.tick);
  CHECK(slot->frame.epoch == test::kTickEpoch);
  CHECK(slot->frame.advanced);
  CHECK(slot->frame.sim_time == state.time);
  CHECK(slot->frame.wake_late_us == doctest::Approx(250));
  CHECK(slot->frame.work_us == doctest::Approx(40));
  CHECK(slot->frame.status_bits == 0);
  REQUIRE(slot->frame.body_count == 2);
  for (BodyIndex b = 0; b < 2; ++b) {
    const Pose X_WB = body_pose(bench.world().model(), state, b);
    const SpatialVelocity V_WB = body_velocity(bench.world().model(), state, b);
    for (int i = 0; i < 3; ++i) {
      CHECK(slot->pose[7 * b + static_cast<std::size_t>(i)] == X_WB.p[i]);
      CHECK(slot->velocity[6 * b + static_cast<std::size_t>(i)] == V_WB.v[i]);
    }
    CHECK(slot->pose[7 * b + 3] == X_WB.q.w());
  }
  CHECK(slot->velocity[6] > 0);  // pushed
  CHECK(slot->wrench[0] == 0);
  CHECK(slot->wrench[6] == 6);
}

TEST_CASE("server_publisher: each bit stands for as long as its reason, and those of counts until net has been told") {
  Bench bench(true);
  CHECK(bench.bits() == 0);
  bench.beat.late = true;
  CHECK(bench.bits() == kStatusLateTick);
  bench.beat.late = false;
  bench.parts->run.pause();
  CHECK(bench.bits() == kStatusPaused);
  bench.link.commands_dropped.add();
  CHECK(bench.bits() == (kStatusPaused | kStatusCommandsDropped));
  CHECK(bench.bits() == kStatusPaused);
  bench.link.record->bytes_overtaken = 1;
  CHECK(bench.bits() == (kStatusPaused | kStatusRecordLost));
  CHECK(bench.bits() == kStatusPaused);
  bench.link.record->recording_failed = true;
  CHECK(bench.bits() == (kStatusPaused | kStatusRecordFailed));
  CHECK_FALSE(bench.parts->run.enter_lockstep());
  CHECK(bench.bits() == (kStatusLockstep | kStatusRecordFailed));  // a pause is no mode of its own there
  State state = bench.world().state();
  state.frozen[1] = 1;
  REQUIRE(bench.world().restore(state));
  bench.parts->note_jump();
  CHECK(bench.bits() == (kStatusLockstep | kStatusRecordFailed | kStatusBodyFrozen));
}

TEST_CASE(
    "server_publisher: a net that is eight states behind loses the newest; a count that it missed is told later") {
  Bench bench(true);
  for (std::size_t i = 0; i < StateRing::kSlots; ++i) {
    bench.step();
    CHECK(bench.publish() != nullptr);
  }
  bench.link.commands_dropped.add();
  bench.step();
  CHECK(bench.publish() == nullptr);
  CHECK(bench.link.states.begin_read()->frame.tick == 1);
  for (std::size_t i = 0; i < StateRing::kSlots; ++i) bench.link.states.release();
  CHECK((bench.bits() & kStatusCommandsDropped) != 0);
  CHECK(bench.recorded() == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 9});  // all of them
}

TEST_CASE("server_publisher: the recorder gets states of beats that moved the world, as often as it wishes") {
  Bench bench(true);
  bench.link.record->state_every = 3;
  for (int i = 0; i < 9; ++i) {
    bench.step();
    CHECK(bench.publish() != nullptr);
    bench.link.states.release();
    bench.beat.advanced = false;  // paused
    CHECK(bench.publish() != nullptr);
    bench.link.states.release();
  }
  CHECK(bench.recorded() == std::vector<std::uint64_t>{3, 6, 9});
}

TEST_CASE("server_publisher: a tick that has failed says FAULT with zero force, to net and recorder, moved or not") {
  for (const bool full : {false, true}) {
    Bench bench(true);
    bench.link.record->state_every = 1000;
    bench.step();
    for (std::size_t i = 0; full && i < StateRing::kSlots; ++i) CHECK(bench.publish() != nullptr);
    bench.beat.advanced = false;
    bench.publisher.publish_fault(*bench.parts, bench.beat);
    CHECK(bench.recorded() == std::vector<std::uint64_t>{1});  // in spite of state_every
    const StateSlot* slot = bench.link.states.begin_read();
    REQUIRE(slot != nullptr);
    CHECK(((slot->frame.status_bits & kStatusFault) != 0) == !full);
    CHECK(slot->wrench[0] == 0);
  }
}

TEST_CASE("server_publisher: of a recording that plays, all but beat, scene and pause is the recording's") {
  Bench bench(false, true);
  StateSlot* next = bench.link.play->states.begin_write();
  next->frame.tick = 500;
  next->frame.play_time_ns = 1;
  next->frame.epoch = 3;
  next->frame.beat = 4000;
  next->frame.status_bits = kStatusLockstep | kStatusFault | kStatusExtrapolated;
  next->frame.body_count = 1;
  next->pose[0] = 0.25;
  bench.link.play->states.commit();
  CHECK(bench.parts->show.show_next(bench.parts->run).moved);
  bench.parts->run.pause();
  const StateSlot* slot = bench.publish();
  REQUIRE(slot != nullptr);
  CHECK(slot->frame.tick == 500);
  CHECK(slot->frame.beat == 1);
  CHECK(slot->frame.epoch == test::kTickEpoch);
  CHECK(slot->frame.status_bits == (kStatusExtrapolated | kStatusPaused));
  CHECK(slot->pose[0] == 0.25);
  CHECK(slot->tool_count == 0);
}

TEST_CASE("server_publisher: joints, their bits and efforts are those of the step; other scenes have none") {
  Bench none;
  none.step();
  CHECK(none.publish()->frame.joint_count == 0);
  Bench bench(false, false, false, test::slider_world(2, 50));
  CHECK(accepted(bench.world().command_joint({1, DriveKind::torque, 80, 0}, 100)));
  bench.step();
  const StateSlot* slot = bench.publish();
  REQUIRE(slot->frame.joint_count == 2);
  CHECK(slot->joints[1].effort == 50);
  CHECK((slot->joints[1].bits & kJointEffortLimited) != 0);
  CHECK(slot->joints[0].effort == 0);
  CHECK(slot->joints[1].v > 0);
}
