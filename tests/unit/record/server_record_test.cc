// The black box and its files: what is put in comes out, the oldest gives way to the newest, and a file is read up to
// its damage.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "proto/cpp/record_file.h"
#include "server/realtime/clock.h"
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
  const StateSlot made = make_slot(bodies, tick, epoch);
  REQUIRE(feed.states.push(made.frame, made));
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
  options.memory_bytes = 16 << 20;
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
  CHECK(fs::path(saved.path).filename().string().find("unit_test-why_not_that.mcap") != std::string::npos);
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
  for (std::uint64_t tick = 1, over = 0; over < 2; ++tick) {
    const StateSlot made = make_slot(2, tick, 5);
    if (feed.states.push(made.frame, made)) continue;
    feed.states_lost.add();
    ++over;
  }
  for (std::uint64_t tick = 1; tick <= 20; ++tick) {
    if (!feed.rows.push(row_of(tick, 5))) feed.rows_lost.add();
  }
  for (int i = 0; i < 40'000; ++i) recorder.add(numbered(1));
  REQUIRE(recorder.start(-1));
  const v1::RecordEnd end = read_all(save_and_wait(recorder, "full").path).back().end();
  CHECK(end.states_lost() == 2);
  CHECK(end.rows_lost() == 4 + (40'000 - 32'768));
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
  first.create(folder.path.string(), "same", false);
  second.create(folder.path.string(), "same", false);
  CHECK((first.ok() && second.ok()));
  CHECK(first.path() != second.path());
  CHECK(record::file_stem(0, "a/b", "") == "19700101T000000Z-a_b-_");
}

TEST_CASE("a file takes its name when it is whole; one that could not be written to its end keeps another") {
  Folder folder;
  const fs::path named = folder.path / "box.mcap", part = folder.path / "box.mcap.part";
  {
    record::OutFile file;
    file.create(folder.path.string(), "box", true);
    REQUIRE(file.ok());
    file.write("half");
    CHECK_FALSE(fs::exists(named));
    CHECK(fs::file_size(part) == 4);
    record::OutFile other;  // of the same second
    other.create(folder.path.string(), "box", true);
    CHECK(fs::path(other.path()).filename() == "box-2.mcap");
    file.write(" whole");
    file.close();
    CHECK(file.ok());
    CHECK(fs::path(file.path()) == named);
    other.close();
  }
  CHECK(fs::file_size(named) == 10);
  CHECK_FALSE(fs::exists(part));
  CHECK(fs::exists(folder.path / "box-2.mcap"));
  record::OutFile third;  // somebody takes the name meanwhile: it is not written over
  third.create(folder.path.string(), "late", true);
  third.write("ours");
  std::ofstream(folder.path / "late.mcap") << "theirs";
  third.close();
  CHECK_FALSE(third.ok());
  CHECK(third.error().find("late.mcap") != std::string::npos);
  CHECK(fs::file_size(folder.path / "late.mcap") == 6);
  CHECK(fs::exists(folder.path / "late.mcap.part"));
}

TEST_CASE("a recording holds all that came from its beginning on, in order, whatever the black box keeps") {
  Folder folder;
  fs::create_directories(folder.path);
  record::RecordOptions options;
  options.seconds = 0;
  RecordFeed feed(4, 1024, 0);
  record::Recorder recorder(options, feed);
  record::Saved done;
  std::atomic<bool> ended{false};
  recorder.on_recorded = [&](const record::Saved& saved) {
    done = saved;
    ended = true;
  };
  const std::string path = (folder.path / "run.mcap").string();
  REQUIRE(recorder.start_recording(path, "test", 500) == "");
  CHECK(recorder.start_recording((folder.path / "second.mcap").string(), "test", 0).find("already") !=
        std::string::npos);
  recorder.begin(header_of(5));
  CHECK(feed.state_every == 2);
  for (std::uint64_t tick = 1; tick <= 3000; ++tick) {
    feed.rows.push(row_of(tick, 5));
    if (tick % 2 == 0) push_state(feed, 2, tick, 5);
    recorder.take_now();
  }
  REQUIRE(recorder.stop_recording(nullptr));
  CHECK_FALSE(recorder.stop_recording(nullptr));
  while (!ended) std::this_thread::yield();
  REQUIRE_MESSAGE(done.error.empty(), done.error);
  CHECK((done.path == path && done.bytes == fs::file_size(path)));
  CHECK((done.first_tick == 2 && done.last_tick == 3000));
  std::uint64_t rows = 0, states = 0;
  for (const v1::Record& r : read_all(path)) {
    if (r.has_wrench()) CHECK(r.wrench().tick() == ++rows);
    if (r.has_state()) {
      CHECK(r.state().tick() == 2 * ++states);
      CHECK(rows >= r.state().tick());  // what acted in a tick stands before its state
    }
  }
  CHECK((rows == 3000 && states == 1500));
}

TEST_CASE("a new scene goes on in a file of its own") {
  Folder folder;
  fs::create_directories(folder.path);
  RecordFeed feed(4, 1024, 0);
  record::RecordOptions options;
  options.memory_bytes = 1 << 20;
  record::Recorder recorder(options, feed);
  const std::string path = (folder.path / "run.mcap").string();
  REQUIRE(recorder.start_recording(path, "test", 0) == "");
  recorder.begin(header_of(5));
  push_state(feed, 2, 1, 5);
  RecordRow swap;
  swap.kind = RecordRow::Kind::notice;
  swap.command = Command::Kind::swap_world;
  swap.epoch = 6;
  recorder.take_now();
  feed.rows.push(swap);
  recorder.take_now();
  recorder.begin(header_of(6));
  push_state(feed, 2, 1, 6);
  CHECK(recorder.stop().empty());
  for (const auto& [name, epoch] : {std::pair{"run.mcap", 5u}, std::pair{"run-2.mcap", 6u}}) {
    const std::vector<v1::Record> records = read_all((folder.path / name).string());
    CHECK(records.front().header().scene_epoch() == epoch);
    std::uint64_t states = 0;
    for (const v1::Record& r : records) states += r.has_state() ? 1 : 0;
    CHECK(states == 1);
  }
}

TEST_CASE("a recording that cannot be written says so and ends; what stands there is not written over") {
  Folder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "there.mcap") << "precious";
  RecordFeed feed(4, 1024, 0);
  record::RecordOptions options;
  options.memory_bytes = 1 << 20;
  record::Recorder recorder(options, feed);
  const std::string there = (folder.path / "there.mcap").string();
  CHECK(recorder.start_recording(there, "test", 0).find(there) != std::string::npos);
  CHECK(recorder.start_recording((folder.path / "no" / "folder.mcap").string(), "test", 0).find("No such") !=
        std::string::npos);
  CHECK(fs::file_size(folder.path / "there.mcap") == 8);
  if (!fs::exists("/dev/full")) return;
  record::Saved done;
  std::atomic<bool> ended{false};
  recorder.on_recorded = [&](const record::Saved& saved) {
    done = saved;
    ended = true;
  };
  REQUIRE(recorder.start_recording("/dev/full", "test", 0) == "");
  recorder.begin(header_of(5));
  while (!ended) std::this_thread::yield();
  CHECK(done.error.find("No space left") != std::string::npos);
  recorder.take_now();
  CHECK_FALSE(recorder.recording());
}

TEST_CASE(
    "a sink that takes nothing: what it loses is counted at once, and the end waits no longer than its patience") {
  Folder folder;
  fs::create_directories(folder.path);
  const std::string path = (folder.path / "pipe").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  RecordFeed feed(4, 1024, 0);
  record::RecordOptions options;
  options.seconds = 0;
  options.stream_bytes = 1 << 20;
  record::Recorder recorder(options, feed);
  CHECK(recorder.start_recording(path, "test", 0).find("a pipe that nobody reads") != std::string::npos);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(recorder.start_recording(path, "test", 0) == "");
  REQUIRE(recorder.start(-1));
  recorder.begin(header_of(5));
  std::uint64_t tick = 0;
  const std::uint64_t give_up = now_ns() + 60'000'000'000u;
  while (feed.bytes_overtaken == 0 && now_ns() < give_up) {
    const StateSlot made = make_slot(2, ++tick, 5);
    while (!feed.states.push(made.frame, made)) std::this_thread::yield();
  }
  CHECK(recorder.status().overtaken_bytes > 0);
  CHECK(recorder.status().bytes_overtaken == recorder.status().overtaken_bytes);
  const std::uint64_t began = now_ns();
  const std::vector<std::string> stuck = recorder.stop();
  const double took = 1e-9 * static_cast<double>(now_ns() - began);
  REQUIRE(stuck.size() == 1);
  CHECK(stuck[0] == path);
  CHECK((took > record::Recorder::kPatience_s && took < 3 * record::Recorder::kPatience_s));
  // Somebody reads: all that was not lost arrives, and says what was.
  std::string all(1 << 16, ' ');
  std::ofstream copy(folder.path / "copy.mcap", std::ios::binary);
  std::thread reading([&] {
    fcntl(reader, F_SETFL, 0);
    for (ssize_t n = 0; (n = read(reader, all.data(), all.size())) > 0;) copy.write(all.data(), n);
  });
  CHECK(recorder.stop().empty());
  reading.join();
  copy.close();
  close(reader);
  const std::vector<v1::Record> records = read_all((folder.path / "copy.mcap").string());
  CHECK(records.back().end().bytes_overtaken() == recorder.status().overtaken_bytes);
  std::uint64_t marks = 0, last = 0;
  for (const v1::Record& r : records) {
    marks += r.has_mark() && r.mark().kind() == v1::TickMark::LOST ? 1 : 0;
    if (r.has_state()) last = r.state().tick();
  }
  CHECK(marks >= 1);
  CHECK(last == tick);
}
