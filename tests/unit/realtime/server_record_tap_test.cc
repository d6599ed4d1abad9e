// What the tick leaves for the recorder: which rows, with what in them, what is thinned out, and what happens where
// nobody records or nothing fits.
#include "server/realtime/record_tap.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "server/realtime/notice_writer.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/tick_bench.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kBodies = test::kTickBodies;

StateSlot slot_of(std::uint64_t tick, std::uint32_t contacts = 0) {
  StateSlot slot;
  slot.resize(kBodies, test::kTickContacts);
  slot.frame.tick = tick;
  slot.frame.contact_count = contacts;
  return slot;
}

}  // namespace

TEST_CASE("server_record_tap: where nobody records all calls do nothing, and nothing is wanted, lost or failed") {
  RecordTap tap(nullptr);
  const auto world = test::slider_world(2, 50);
  tap.notice({}, nullptr);
  tap.model(1, {});
  tap.wrench(1, 0, {});
  tap.joint(RecordRow::Kind::joint_release, 0, 1);
  tap.options(0, 1, {});
  const TakenJoint taken[1] = {};
  tap.taken(taken, 1);
  tap.step(*world, SlowTicker(kBodies, 1));
  tap.wait_until_saved();
  CHECK_FALSE(tap.active());
  CHECK_FALSE(tap.wants_state(0));
  CHECK_FALSE(tap.failed());
  CHECK(tap.lost() == 0);
}

TEST_CASE("server_record_tap: rows carry scene and tick; a notice the beat before it, a done what is in charge") {
  RecordFeed feed(kBodies, 64, 0);
  RecordTap tap(&feed);
  tap.set_epoch(5);
  tap.set_beat(77);
  Notice notice;
  notice.kind = Notice::Kind::retired;
  tap.notice(notice, nullptr);  // of no use to a replay
  notice.kind = Notice::Kind::body_frozen;
  notice.body = 3;
  tap.notice(notice, nullptr);
  notice = done_notice(test::command_of(Command::Kind::probe, 42), 11);
  const InCharge slow{ContactModelKind::lcp, 10};
  tap.notice(notice, &slow);
  tap.wrench(12, 2, {Vec3(4, 5, 6), Vec3(1, 2, 3)});
  tap.joint(RecordRow::Kind::joint_time, kNone, 12, 250);
  const std::vector<RecordRow> rows = test::take_all(feed.rows);
  REQUIRE(rows.size() == 4);
  for (const RecordRow& row : rows) CHECK(row.epoch == 5);
  CHECK(rows[0].what == Notice::Kind::body_frozen);
  CHECK(rows[0].body == 3);
  CHECK(rows[0].bits == 0);
  CHECK(rows[1].number == 42);
  CHECK(rows[1].tick == 11);
  CHECK(rows[1].value[0] == 77);
  CHECK(rows[1].mode == static_cast<std::uint8_t>(ContactModelKind::lcp));
  CHECK(rows[1].bits == 10);
  CHECK(rows[2].kind == RecordRow::Kind::wrench);
  CHECK(rows[2].tick == 12);
  CHECK(rows[2].value == std::array<double, 6>{1, 2, 3, 4, 5, 6});
  CHECK(rows[3].number == 250);
}

TEST_CASE("server_record_tap: what joints were given is kept as asked for; a release has no value") {
  RecordFeed feed(kBodies, 64, 0);
  RecordTap tap(&feed);
  TakenJoint taken[2];
  taken[0].row.joint = 1;
  taken[0].row.value = 80;
  taken[0].ticks = 5;
  taken[1].row.joint = 0;
  taken[1].row.value = 3;
  taken[1].row.release = true;
  tap.taken(taken, 21);
  ChannelOptions options;
  options.tolerance_ticks = 2;
  options.fault_ticks = 6;
  options.cutoff = 90;
  tap.options(1, 21, options);
  const std::vector<RecordRow> rows = test::take_all(feed.rows);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].kind == RecordRow::Kind::joint_command);
  CHECK((rows[0].joint == 1 && rows[0].value[0] == 80 && rows[0].number == 5));
  CHECK(rows[1].kind == RecordRow::Kind::joint_release);
  CHECK((rows[1].joint == 0 && rows[1].value[0] == 0));
  CHECK(rows[2].number == (std::uint64_t{2} << 32 | 6));
  CHECK(rows[2].value[1] == 90);
}

TEST_CASE("server_record_tap: a hash in each so many ticks, and what acted on joints in each") {
  RecordFeed feed(kBodies, 256, 4);
  RecordTap tap(&feed);
  const auto world = test::slider_world(2, 50);
  const SlowTicker nobody(kBodies, 1);
  CHECK(accepted(world->command_joint({1, DriveKind::torque, 80, 0}, 100)));
  for (int i = 0; i < 8; ++i) {
    world->step();
    tap.step(*world, nobody);
  }
  std::uint64_t hashes = 0, acts = 0;
  for (const RecordRow& row : test::take_all(feed.rows)) {
    hashes += row.kind == RecordRow::Kind::hash ? 1 : 0;
    if (row.kind == RecordRow::Kind::hash) CHECK(row.tick % 4 == 0);
    if (row.kind != RecordRow::Kind::joint_acts) continue;
    ++acts;
    CHECK(row.joint == 1);
    CHECK(row.value[0] == 50);  // cut
  }
  CHECK(hashes == 2);
  CHECK(acts == 8);
}

TEST_CASE("server_record_tap: states are thinned out as the recorder wishes, contacts further") {
  RecordFeed feed(kBodies, 16, 0, 4);
  RecordTap tap(&feed);
  feed.state_every = 5;
  CHECK(tap.wants_state(10));
  CHECK_FALSE(tap.wants_state(11));
  const auto contacts_of = [&](std::uint64_t tick) {
    tap.state(slot_of(tick, 9), tick);
    StateFrame frame;
    std::copy_n(feed.states.front().data(), sizeof frame, reinterpret_cast<std::byte*>(&frame));
    feed.states.pop();
    CHECK(frame.tick == tick);
    return frame.contact_count;
  };
  CHECK(contacts_of(10) == 0);  // none are wanted
  feed.contacts_every = 10;
  CHECK(contacts_of(10) == 4);  // as many as the feed has room for
  CHECK(contacts_of(15) == 0);
}

TEST_CASE(
    "server_record_tap: a recorder that is away costs rows and states, each counted; no call waits or allocates") {
  RecordFeed feed(kBodies, 16, 0);
  RecordTap tap(&feed);
  const StateSlot slot = slot_of(1);
  const test::AllocGuard guard;
  for (int i = 0; i < 20; ++i) tap.wrench(1, 0, {});
  CHECK(feed.rows_lost.read() == 4);
  std::uint64_t pushed = 0;
  while (feed.states_lost.read() < 3 && pushed < 100'000) tap.state(slot, 1), ++pushed;
  feed.bytes_overtaken = 5;
  feed.recording_failed = true;
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK(pushed > 8 + 2);
  CHECK(tap.lost() == 4 + 3 + 5);
  CHECK(tap.failed());
}

TEST_CASE("server_record_tap: a tick that has failed tells the recorder, and goes on as soon as that has saved") {
  RecordFeed feed(kBodies, 16, 0);
  RecordTap tap(&feed);
  feed.saved = true;
  tap.wait_until_saved();
  CHECK(feed.failed);
}
