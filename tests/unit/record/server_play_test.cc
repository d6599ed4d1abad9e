// A recording that is played: the state at any time of it, whatever was asked for before, and what the tick makes of
// the states that a player hands over.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "core/check.h"
#include "core/scene/scene.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"
#include "server/record/player.h"
#include "server/record/record_writer.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/random.h"

using namespace tactus;

namespace {

constexpr double kStep = 1e-3, kSpin = 2, kVelocity = 0.75;
constexpr std::uint64_t kBegin = 1'790'000'000'000'000'123u, kStepNs = 1'000'000;

struct File {
  File() : path(std::filesystem::temp_directory_path() / ("tactus-play-" + std::to_string(getpid()) + ".mcap")) {}
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::filesystem::path path;
};

// A body that moves along x and turns about z, both steadily: any time of it is known in closed form.
void add_state(record::RecordWriter& writer, std::uint64_t tick, std::uint64_t elapsed_ticks) {
  v1::Record record;
  v1::StatePacket& state = *record.mutable_state();
  const double t = kStep * static_cast<double>(tick);
  state.set_tick(tick);
  state.set_sim_time_s(t);
  state.add_body_id(0);
  for (const double x : {kVelocity * t, 0.0, 1.0, std::cos(kSpin * t / 2), 0.0, 0.0, std::sin(kSpin * t / 2)})
    state.add_pose(x);
  for (const double x : {kVelocity, 0.0, 0.0, 0.0, 0.0, kSpin}) state.add_velocity(x);
  state.set_kinetic_energy_j(static_cast<float>(tick));
  writer.add(record, kBegin + elapsed_ticks * kStepNs);
}

void add_wrench(record::RecordWriter& writer, std::uint64_t tick) {
  v1::Record record;
  record.mutable_wrench()->set_tick(tick);
  for (int k = 0; k < 6; ++k) record.mutable_wrench()->add_wrench(static_cast<double>(tick) + k);
  writer.add(record, kBegin + tick * kStepNs);
}

// States in each `every`-th tick, chunks of a few states; a wrench in each state's tick.
std::string write(std::uint32_t every, std::uint64_t ticks, std::uint64_t reset_at = 0) {
  v1::RecordHeader header;
  header.set_step_s(kStep);
  header.set_state_every(every);
  header.set_written_unix_ns(kBegin);
  record::RecordWriter writer(header);
  for (std::uint64_t n = 0; n <= ticks; n += every) {
    const std::uint64_t tick = reset_at != 0 && n >= reset_at ? n - reset_at : n;
    add_wrench(writer, tick);
    add_state(writer, tick, n);
    if (n % (7 * every) == 0) writer.flush();
  }
  writer.finish(v1::RecordEnd(), kBegin + ticks * kStepNs);
  return writer.take();
}

void put(const File& file, const std::string& bytes) {
  std::ofstream(file.path, std::ios::binary) << bytes;
}

StateSlot slot_of() {
  StateSlot out;
  out.resize(2, 4);
  return out;
}

}  // namespace

TEST_CASE("server_play: any time of a recording is found, in any order, and is the motion's in closed form") {
  for (const std::uint32_t every : {1u, 5u, 40u}) {
    CAPTURE(every);
    File file;
    put(file, write(every, 2000));
    record::PlayTape tape(file.path.string());
    CHECK(tape.begin_ns() == kBegin);
    CHECK(tape.end_ns() == kBegin + 2000 * kStepNs);
    tape.size(2, 4);
    StateSlot slot = slot_of();
    test::Random chance(every);
    for (int i = 0; i < 400; ++i) {
      // Recorded states are given as they are, to the bit; between them the chord of a turn of at most 0.08 rad.
      const bool exact = i % 2 == 0;
      const double t = exact ? kStep * every * std::floor(chance.uniform(0, 2000.0 / every)) : chance.uniform(0, 2.0);
      tape.at(kBegin + static_cast<std::uint64_t>(std::llround(1e9 * t)), slot);
      REQUIRE(slot.frame.body_count == 1);
      const double x = kVelocity * t, w = std::cos(kSpin * t / 2);
      if (exact) {
        CHECK(slot.pose[0] == kVelocity * (kStep * static_cast<double>(slot.frame.tick)));
        CHECK(slot.frame.tick == static_cast<std::uint64_t>(std::llround(t / kStep)));
        CHECK(slot.wrench[2] == static_cast<double>(slot.frame.tick) + 2);
      }
      const double turn = kSpin * kStep * every / 2;                 // half the turn between two states
      CHECK(std::abs(slot.pose[0] - x) < 1e-6 * kVelocity + 1e-12);  // snapped by at most a thousandth of a tick
      CHECK(std::abs(slot.pose[3] - w) < turn * turn * turn / 30 + 1e-6 * kSpin);
      CHECK(std::abs(std::hypot(slot.pose[3], slot.pose[6]) - 1) < 1e-15);
      CHECK(slot.velocity[5] == kSpin);
      CHECK(std::abs(slot.frame.sim_time - t) < 1.1e-6);
      CHECK(static_cast<double>(slot.frame.tick) <= t / kStep + 1e-3);
    }
  }
}

TEST_CASE("server_play: nothing is interpolated across a reset, and times outside are cut to the recording") {
  File file;
  put(file, write(10, 1000, 500));
  record::PlayTape tape(file.path.string());
  tape.size(2, 4);
  StateSlot slot = slot_of();
  tape.at(kBegin + 495 * kStepNs, slot);
  CHECK(slot.frame.tick == 490);
  CHECK(slot.pose[0] == kVelocity * (kStep * 490.0));
  CHECK(slot.frame.play_time_ns == kBegin + 495 * kStepNs);
  tape.at(kBegin + 500 * kStepNs, slot);
  CHECK(slot.frame.tick == 0);
  tape.at(0, slot);
  CHECK(slot.frame.play_time_ns == tape.begin_ns());
  tape.at(~std::uint64_t{0}, slot);
  CHECK(slot.frame.play_time_ns == tape.end_ns());
  CHECK(slot.frame.tick == 500);
}

TEST_CASE("server_play: of a file that was cut off all whole chunks are played; what is none is named") {
  File file;
  const std::string whole = write(1, 2000);
  put(file, whole.substr(0, whole.size() / 2));
  record::PlayTape tape(file.path.string());
  CHECK(tape.damage().find("cut off") != std::string::npos);
  CHECK(tape.end_ns() > kBegin + 200 * kStepNs);
  CHECK(tape.end_ns() < kBegin + 1900 * kStepNs);
  tape.size(2, 4);
  StateSlot slot = slot_of();
  tape.at(tape.end_ns(), slot);
  CHECK(slot.frame.play_time_ns == tape.end_ns());
  CHECK(slot.pose[0] == kVelocity * (kStep * static_cast<double>(slot.frame.tick)));

  const auto refusal = [&](const std::string& bytes) -> std::string {
    put(file, bytes);
    try {
      record::PlayTape none(file.path.string());
    } catch (const InputError& e) {
      return e.what();
    }
    return "none";
  };
  CHECK(refusal("a text").find("not an MCAP file") != std::string::npos);
  CHECK(refusal(whole.substr(0, 700)).find(file.path.string()) == 0);
  v1::RecordHeader header;
  record::RecordWriter empty(header);
  empty.finish(v1::RecordEnd(), 1);
  CHECK(refusal(empty.take()).find("no state") != std::string::npos);
}

namespace {

constexpr const char* kScene = R"(
title = "a block in free fall"
[[body]]
name = "block"
position_m = [0, 0, 10]
mass_kg = 2
[[body.shape]]
kind = "box"
size_m = [0.1, 0.1, 0.1]
)";

std::unique_ptr<World> make_world() {
  SceneOptions options;
  options.limits.bodies = options.limits.shapes = 8;
  options.limits.pairs = 16;
  return std::make_unique<World>(parse_scene(kScene, "test", options), options.limits);
}

TickOptions options_of() {
  TickOptions out;
  out.rights.enabled = false;
  out.bodies = 8;
  out.contacts = 16;
  out.lockstep = true;  // ticked by hand
  return out;
}

// The tick in play, with a test for a player.
struct Bench {
  TickLink link{8, 16, 64};
  std::unique_ptr<TickLoop> loop;
  Bench() {
    link.play = std::make_unique<PlayFeed>(8, 16);
    loop = std::make_unique<TickLoop>(options_of(), link, make_world(), 9);
    REQUIRE(loop->start());
    loop->wait_for_world();
  }
  ~Bench() {
    loop->request_stop();
    loop->join();
  }
  void feed(std::uint64_t tick, std::uint32_t generation = 0, std::uint32_t beats = 1, bool ended = false) {
    StateSlot* slot = link.play->states.begin_write();
    REQUIRE(slot != nullptr);
    slot->frame = {};
    slot->frame.tick = tick;
    slot->frame.play_time_ns = kBegin + tick * kStepNs;
    slot->frame.play_generation = generation;
    slot->frame.play_beats = beats;
    slot->frame.play_ended = ended;
    slot->frame.body_count = 1;
    slot->pose[2] = 0.5 * static_cast<double>(tick);
    link.play->states.commit();
  }
  // The tick that is shown.
  std::uint64_t tick() {
    {
      const test::AllocGuard guard;
      loop->grant_tick();
      if (test::AllocGuard::available()) CHECK(guard.count() == 0);
    }
    const StateSlot* slot = link.states.begin_read();
    REQUIRE(slot != nullptr);
    newest = slot->frame;
    CHECK(slot->pose[2] == 0.5 * static_cast<double>(newest.tick));
    link.states.release();
    return newest.tick;
  }
  void send(Command::Kind kind, std::uint64_t value = 0) {
    Command command;
    command.kind = kind;
    command.ticket = ++ticket;
    command.value = value;
    REQUIRE(link.commands.push(command));
  }
  bool answered() {
    Notice notice;
    bool out = false;
    while (link.notices.pop(notice)) out = out || (notice.kind == Notice::Kind::done && notice.ticket == ticket);
    return out;
  }
  StateFrame newest;
  std::uint64_t ticket = 0;
};

}  // namespace

TEST_CASE("server_play: the tick shows one state a beat and allocates nothing; the world stands") {
  Bench bench;
  for (std::uint64_t n = 1; n <= 5; ++n) bench.feed(100 + n);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    CHECK(bench.tick() == 100 + n);
    CHECK(bench.newest.advanced);
    CHECK(bench.newest.epoch == 9);
    CHECK(bench.newest.play_time_ns == kBegin + (100 + n) * kStepNs);
  }
  CHECK(bench.tick() == 105);  // nothing is ready: what is shown stays, and is counted
  CHECK_FALSE(bench.newest.advanced);
  CHECK(bench.link.play->waited.read() == 1);
  CHECK(bench.loop->world().state().tick == 0);
  bench.feed(200, 0, 3);  // for three beats
  bench.feed(210, 0, 3);
  std::vector<std::uint64_t> shown;
  for (int i = 0; i < 5; ++i) shown.push_back(bench.tick());
  CHECK(shown == std::vector<std::uint64_t>{200, 200, 200, 210, 210});
}

TEST_CASE("server_play: a pause holds, steps move it by states, a seek is shown in the pause") {
  Bench bench;
  for (std::uint64_t n = 1; n <= 9; ++n) bench.feed(n);
  CHECK(bench.tick() == 1);
  bench.send(Command::Kind::pause);
  CHECK(bench.tick() == 1);
  CHECK((bench.newest.status_bits & kStatusPaused) != 0);
  CHECK(bench.tick() == 1);
  CHECK(bench.answered());
  bench.send(Command::Kind::step, 3);
  CHECK(bench.tick() == 2);
  CHECK_FALSE(bench.answered());
  CHECK(bench.tick() == 3);
  CHECK(bench.tick() == 4);
  CHECK(bench.answered());
  CHECK(bench.tick() == 4);
  bench.link.play->wanted = 1;  // net has asked the player for another place
  CHECK(bench.tick() == 4);     // which has nothing yet: states of before are passed over
  bench.feed(700, 1);
  bench.feed(701, 1);
  CHECK(bench.tick() == 700);
  CHECK(bench.newest.play_generation == 1);
  CHECK(bench.tick() == 700);
  bench.send(Command::Kind::resume);
  CHECK(bench.tick() == 701);
  bench.feed(702, 1, 1, true);
  CHECK(bench.tick() == 702);
  CHECK(bench.newest.play_ended);
  bench.send(Command::Kind::pause);
  bench.tick();
  bench.send(Command::Kind::step, 5);  // there is nothing left to step to: answered, not waited for
  CHECK(bench.tick() == 702);
  CHECK(bench.answered());
}

TEST_CASE("server_play: a player goes through all of a recording at any speed, and to where it is asked to") {
  File file;
  put(file, write(1, 3000));
  for (const double speed : {0.5, 1.0, 4.0, 100.0}) {
    CAPTURE(speed);
    record::Player player(file.path.string(), speed);
    PlayFeed feed(8, 16);
    REQUIRE(player.start(feed, 8, 16, kStepNs, -1));
    const auto next = [&] {
      const std::uint64_t give_up = now_ns() + 20'000'000'000u;
      const StateSlot* slot = nullptr;
      while ((slot = feed.states.begin_read()) == nullptr && now_ns() < give_up)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      REQUIRE(slot != nullptr);
      const StateFrame out = slot->frame;
      const double t = 1e-9 * static_cast<double>(out.play_time_ns - kBegin);
      CHECK(std::abs(slot->pose[0] - kVelocity * t) < 1e-6);
      feed.states.release();
      return out;
    };
    StateFrame frame = next();
    CHECK(frame.play_time_ns == kBegin);
    double beats = frame.play_beats;
    for (int i = 0; i < 7000 && !frame.play_ended; ++i) {
      const std::uint64_t before = frame.play_time_ns;
      frame = next();
      const double step = static_cast<double>(frame.play_time_ns - before) / static_cast<double>(kStepNs);
      if (!frame.play_ended) CHECK(step == doctest::Approx(speed * frame.play_beats).epsilon(1e-6));
      if (!frame.play_ended) beats += frame.play_beats;
    }
    CHECK(frame.play_ended);
    CHECK(frame.play_time_ns == kBegin + 3000 * kStepNs);
    CHECK(std::abs(beats * speed - 3000) <= speed * frame.play_beats + 1e-6);  // as long as the speed says
    const std::uint32_t wish = player.seek(kBegin + 1234 * kStepNs);
    do frame = next();
    while (frame.play_generation != wish);
    CHECK(frame.tick == 1234);
    player.stop();
  }
}
