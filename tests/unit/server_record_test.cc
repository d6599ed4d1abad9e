// The black box and its files: what is put in comes out, the oldest gives way to the newest, and a file is read up to
// its damage.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "proto/record_file.h"
#include "server/record/black_box.h"
#include "server/record/record_codec.h"
#include "server/record/record_files.h"
#include "server/record/recorder.h"
#include "tests/support/random.h"

using namespace tactus;
using record::BlackBox;
using record::Bytes;

namespace {

namespace fs = std::filesystem;

struct Kept {
  std::uint16_t kind;
  double time;
  std::string bytes;
};

std::vector<Kept> contents(const BlackBox& box) {
  std::vector<Kept> out;
  std::uint64_t position = box.tail();
  BlackBox::Entry entry;
  Bytes bytes;
  while (box.at(position, box.head(), entry, bytes))
    out.push_back({entry.kind, entry.time, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  CHECK(position == box.head());
  return out;
}

Bytes as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

v1::Record numbered(std::uint64_t i, std::size_t text = 0) {
  v1::Record out;
  out.mutable_operation()->set_tick(i);
  out.mutable_operation()->set_text(std::string(text, 'x'));
  return out;
}

std::string file_of(std::uint64_t records) {
  std::string out;
  v1::Record header;
  header.mutable_header()->set_scene("a scene");
  wire::append_record(header, out);
  for (std::uint64_t i = 1; i <= records; ++i) wire::append_record(numbered(i, i % 300), out);
  return out;
}

// A folder of its own that goes with the test.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("tactus-record-test-" + std::to_string(getpid()))) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

StateSlot make_slot(std::uint32_t bodies, std::uint64_t tick, std::uint32_t epoch) {
  StateSlot slot;
  slot.frame.tick = tick;
  slot.frame.epoch = epoch;
  slot.frame.sim_time = 1e-3 * static_cast<double>(tick);
  slot.frame.body_count = bodies;
  for (std::uint32_t i = 0; i < 7 * bodies; ++i) slot.pose.push_back(static_cast<double>(tick) + 0.125 * i);
  for (std::uint32_t i = 0; i < 6 * bodies; ++i) slot.velocity.push_back(-0.5 * i);
  return slot;
}

void push_state(RecordFeed& feed, std::uint32_t bodies, std::uint64_t tick, std::uint32_t epoch) {
  StateSlot* slot = feed.states.begin_write();
  REQUIRE(slot != nullptr);
  const StateSlot made = make_slot(bodies, tick, epoch);
  slot->frame = made.frame;
  std::copy(made.pose.begin(), made.pose.end(), slot->pose.begin());
  std::copy(made.velocity.begin(), made.velocity.end(), slot->velocity.begin());
  feed.states.commit();
}

RecordRow row_of(std::uint64_t tick, std::uint32_t epoch) {
  RecordRow row;
  row.tick = tick;
  row.epoch = epoch;
  row.body = 1;
  row.value = {1, 2, 3, 4, 5, 6};
  return row;
}

v1::RecordHeader header_of(std::uint32_t epoch) {
  v1::RecordHeader header;
  header.set_scene_epoch(epoch);
  header.set_scene_name("unit/test");
  header.set_step_s(1e-3);
  header.add_bodies("floor");
  header.add_bodies("block");
  return header;
}

record::Saved save_and_wait(record::Recorder& recorder, const std::string& reason) {
  std::atomic<bool> done{false};
  record::Saved out;
  REQUIRE(recorder.save(reason, [&](const record::Saved& saved) {
    out = saved;
    done = true;
  }));
  while (!done) std::this_thread::yield();
  return out;
}

std::vector<v1::Record> read_all(const std::string& path, std::string* damage = nullptr) {
  std::ifstream in(path, std::ios::binary);
  wire::RecordReader reader(in);
  std::vector<v1::Record> out;
  for (v1::Record record; reader.next(record);) out.push_back(record);
  if (damage != nullptr)
    *damage = reader.damage();
  else
    CHECK_MESSAGE(!reader.damaged(), reader.damage());
  return out;
}

}  // namespace

TEST_CASE("the black box holds the newest entries, whole and in order, whatever their sizes") {
  BlackBox box(4096);
  test::Random random(7);
  std::deque<Kept> all;
  for (int i = 0; i < 5000; ++i) {
    const auto size = static_cast<std::size_t>(random.uniform(0, 900));
    std::string bytes(size, static_cast<char>('a' + i % 26));
    const std::size_t cut = size / 3;
    const std::string head = bytes.substr(0, cut), tail = bytes.substr(cut);
    REQUIRE(box.append(static_cast<std::uint16_t>(i % 5), i, {as_bytes(head), as_bytes(tail)}));
    all.push_back({static_cast<std::uint16_t>(i % 5), static_cast<double>(i), std::move(bytes)});
    if (i % 37 != 0) continue;
    const std::vector<Kept> kept = contents(box);
    REQUIRE(!kept.empty());
    REQUIRE(kept.size() <= all.size());
    std::size_t total = 0;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const Kept& expected = all[all.size() - kept.size() + k];
      CHECK((kept[k].kind == expected.kind && kept[k].time == expected.time && kept[k].bytes == expected.bytes));
      total += 32 + expected.bytes.size();
    }
    // Nothing is given up while there is room: one more would not fit, padding at the end of the ring included.
    if (kept.size() < all.size()) CHECK(total + 1000 + 1000 > 4096);
  }
}

TEST_CASE("entries older than what is kept are given up; too large ones change nothing") {
  BlackBox box(1 << 16);
  box.keep(2.0);
  for (int i = 0; i < 100; ++i) box.append(1, 0.1 * i, {as_bytes("entry")});
  const std::vector<Kept> kept = contents(box);
  CHECK(kept.front().time >= 9.9 - 2.0 - 1e-9);
  CHECK(kept.front().time <= 9.9 - 2.0 + 0.1 + 1e-9);
  CHECK(kept.back().time == doctest::Approx(9.9));
  CHECK_FALSE(box.append(1, 10, {as_bytes(std::string(1 << 15, 'x'))}));
  CHECK(contents(box).size() == kept.size());
  box.clear();
  CHECK(contents(box).empty());
}

TEST_CASE("records come back as they were written; every cut and every flipped byte is found and said where") {
  const std::string whole = file_of(40);
  std::vector<std::uint64_t> ends;  // where records end
  {
    std::istringstream in(whole);
    wire::RecordReader reader(in);
    v1::Record record;
    std::uint64_t i = 0;
    while (reader.next(record)) {
      if (i > 0) CHECK(record.SerializeAsString() == numbered(i, i % 300).SerializeAsString());
      ++i;
      ends.push_back(reader.offset());
    }
    CHECK(i == 41);
    CHECK(!reader.damaged());
    CHECK(reader.offset() == whole.size());
  }
  const auto before = [&ends](std::size_t at) {
    return static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::istringstream cut(whole.substr(0, at));
    wire::RecordReader cut_reader(cut);
    v1::Record record;
    while (cut_reader.next(record)) {
    }
    CHECK(cut_reader.records() == before(at));
    const std::uint64_t good = before(at) == 0 ? 0 : ends[before(at) - 1];
    CHECK(cut_reader.damaged() == (good != at));

    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    std::istringstream flipped(changed);
    wire::RecordReader flipped_reader(flipped);
    while (flipped_reader.next(record)) {
    }
    CHECK(flipped_reader.damaged());
    CHECK(flipped_reader.records() == before(at));
    CHECK(flipped_reader.damage().find("at byte " + std::to_string(good)) != std::string::npos);
  }
}

TEST_CASE("what is no recording is said to be none") {
  for (const std::string& text : {std::string("hello, this is a text file, and a long one at that"),
                                  std::string(100, '\0'), file_of(3).substr(file_of(0).size())}) {
    std::istringstream in(text);
    wire::RecordReader reader(in);
    v1::Record record;
    CHECK_FALSE(reader.next(record));
    CHECK(reader.damaged());
  }
}

TEST_CASE("states are thinned out as far as the memory asks, and no further") {
  CHECK(record::state_every(64u << 20, 10, 1, 0, 1e-3) == 1);
  for (const std::size_t bodies : {10u, 100u, 1000u}) {
    const std::uint32_t every = record::state_every(16u << 20, 10, bodies, 0, 1e-3);
    const double bytes = static_cast<double>(record::state_bytes(bodies)) * 10'000;
    CHECK(bytes / every <= 16 << 20);
    if (every > 1) CHECK(bytes * 1.15 / (every - 1) > 0.8 * (16 << 20));
  }
}

TEST_CASE("a recorder's file holds what was fed, in order, and a new scene begins anew") {
  Folder folder;
  record::RecordOptions options;
  options.folder = (folder.path / "deep" / "er").string();
  options.memory_bytes = 1 << 20;
  RecordFeed feed(4, 1024, 0);
  record::Recorder recorder(options, feed);
  REQUIRE(recorder.start(-1));
  recorder.begin(header_of(5));
  for (std::uint64_t tick = 1; tick <= 100; ++tick) {
    feed.rows.push(row_of(tick, 5));
    push_state(feed, 2, tick, 5);
    recorder.take_now();
  }
  recorder.add(numbered(100));
  const record::Saved saved = save_and_wait(recorder, "why not/that");
  REQUIRE_MESSAGE(saved.error.empty(), saved.error);
  CHECK(saved.first_tick == 1);
  CHECK(saved.last_tick == 100);
  CHECK(fs::path(saved.path).filename().string().find("unit_test-why_not_that.record") != std::string::npos);
  CHECK(fs::file_size(saved.path) == saved.bytes);
  std::vector<v1::Record> records = read_all(saved.path);
  REQUIRE(records.size() == 203);
  CHECK(records.size() == saved.records);
  CHECK(records.front().header().reason() == "why not/that");
  CHECK(records.back().end().records() == 202);
  CHECK(records.back().end().states_lost() + records.back().end().rows_lost() == 0);
  std::uint64_t states = 0, rows = 0;
  for (const v1::Record& r : records) {
    if (r.has_wrench()) {
      CHECK(r.wrench().tick() == ++rows);
      CHECK((r.wrench().body_id() == 1 && r.wrench().wrench(0) == 1 && r.wrench().wrench(5) == 6));
    }
    if (!r.has_state()) continue;
    CHECK(r.state().tick() == ++states);
    CHECK((r.state().body_id_size() == 2 && r.state().pose_size() == 14 && r.state().velocity_size() == 12));
    CHECK(r.state().pose(13) == static_cast<double>(states) + 0.125 * 13);
  }
  CHECK((states == 100 && rows == 100));

  RecordRow swap;
  swap.kind = RecordRow::Kind::notice;
  swap.command = Command::Kind::swap_world;
  swap.epoch = 6;
  feed.rows.push(swap);
  feed.rows.push(row_of(1, 6));
  push_state(feed, 2, 1, 6);
  recorder.begin(header_of(6));
  records = read_all(save_and_wait(recorder, "second").path);
  CHECK(records.front().header().scene_epoch() == 6);
  for (const v1::Record& r : records) {
    if (r.has_state()) CHECK(r.state().scene_epoch() == 6);
    if (r.has_wrench()) CHECK(r.wrench().tick() == 1);
  }
}

TEST_CASE("what finds no room is counted, and said in the file") {
  Folder folder;
  record::RecordOptions options;
  options.folder = folder.path.string();
  options.memory_bytes = 1 << 20;
  RecordFeed feed(4, 16, 0);
  record::Recorder recorder(options, feed);  // its threads do not run yet: nobody empties the rings
  recorder.begin(header_of(5));
  for (std::uint64_t tick = 1; tick <= 10; ++tick) {
    if (feed.states.begin_write() == nullptr)
      feed.states_lost.add();
    else
      push_state(feed, 2, tick, 5);
  }
  for (std::uint64_t tick = 1; tick <= 20; ++tick) {
    if (!feed.rows.push(row_of(tick, 5))) feed.rows_lost.add();
  }
  for (int i = 0; i < 10'000; ++i) recorder.add(numbered(1));
  REQUIRE(recorder.start(-1));
  const v1::RecordEnd end = read_all(save_and_wait(recorder, "full").path).back().end();
  CHECK(end.states_lost() == 2);
  CHECK(end.rows_lost() == 4 + (10'000 - 8192));
}

TEST_CASE("a path that cannot be written and a full disk are named; a run writes no more files than it may") {
  Folder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "file") << "not a folder";
  record::RecordOptions options;
  options.memory_bytes = 1 << 20;
  options.files = 1;
  options.folder = (folder.path / "file" / "below").string();
  RecordFeed feed(4, 16, 0);
  {
    record::Recorder recorder(options, feed);
    REQUIRE(recorder.start(-1));
    recorder.begin(header_of(5));
    const record::Saved saved = save_and_wait(recorder, "nowhere");
    CHECK(saved.error.find((folder.path / "file" / "below").string()) != std::string::npos);
    CHECK(saved.bytes == 0);
  }
  options.folder = folder.path.string();
  record::Recorder recorder(options, feed);
  REQUIRE(recorder.start(-1));
  recorder.begin(header_of(5));
  CHECK(save_and_wait(recorder, "first").error.empty());
  const record::Saved second = save_and_wait(recorder, "second");
  CHECK(second.full);
  CHECK(second.error.find("black_box.files") != std::string::npos);

  if (fs::exists("/dev/full")) {
    record::OutFile full(open("/dev/full", O_WRONLY));
    full.write("a byte");
    full.close();
    CHECK_FALSE(full.ok());
    CHECK(full.error().find("No space left") != std::string::npos);
  }
}

TEST_CASE("two files of one second have two names") {
  Folder folder;
  record::OutFile first, second;
  first.create(folder.path.string(), "same");
  second.create(folder.path.string(), "same");
  CHECK((first.ok() && second.ok()));
  CHECK(first.path() != second.path());
  CHECK(record::file_stem(0, "a/b", "") == "19700101T000000Z-a_b-_");
}
