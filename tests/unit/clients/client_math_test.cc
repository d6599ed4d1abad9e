// What the client makes of numbers: replay window, clock, verdicts, quality, parts of a tick, framing. No sockets.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "clients/cpp/src/assembler.h"
#include "clients/cpp/src/command_codec.h"
#include "clients/cpp/src/control_codec.h"
#include "clients/cpp/src/link_math.h"

using namespace tactus::client;
namespace v1 = tactus::v1;
namespace wire = tactus::wire;

TEST_CASE("client: a sequence number is accepted once, in any order, within 64 behind the newest") {
  ReplayWindow window;
  CHECK_FALSE(window.accept(0));
  for (std::uint64_t n : {10u, 12u, 11u, 74u}) CHECK(window.accept(n));
  for (std::uint64_t n : {10u, 12u, 11u, 74u}) CHECK_FALSE(window.accept(n));
  CHECK(window.accept(13));
  CHECK_FALSE(window.accept(9));  // older than the window
  CHECK(window.lost() == 74 - 10 + 1 - 5);
  CHECK(window.accept(1'000'000));
  CHECK_FALSE(window.accept(74));
}

TEST_CASE("client: the clock offset is that of the ping with the shortest round trip") {
  ClockFilter filter;
  CHECK_FALSE(filter.clock().valid);
  const std::int64_t offset = 1'000'000;
  filter.add(0, 900 + offset, 950 + offset, 1000);            // 900 there, 50 back: skewed
  filter.add(2000, 2100 + offset, 2110 + offset, 2210);       // 100 each way: right
  filter.add(4000, 4000 + 50 + offset, 4060 + offset, 8000);  // late back
  CHECK(filter.clock().offset_ns == offset);
  CHECK(filter.clock().round_trip_ns == 200);
  filter.add(9000, 9000, 8000, 9100);  // impossible: answered before it came
  CHECK(filter.clock().samples == 3);
}

namespace {
void add_verdict(v1::StatePacket& p, std::uint64_t sequence, int code) {
  p.add_verdict_sequence(sequence);
  p.add_verdict_code(static_cast<std::uint32_t>(code));
  p.add_verdict_tick(1);
  p.add_verdict_age_us(0);
  p.add_verdict_item(0);
}
}  // namespace

TEST_CASE("client: each command gets its verdict once, though each packet repeats the last eight") {
  VerdictTracker tracker;
  std::multiset<std::uint64_t> seen;
  std::vector<Verdict> out;
  for (std::uint64_t n = 1; n <= 5000; ++n) {
    tracker.sent(n, static_cast<std::int64_t>(n));
    if (n % 3 == 0) continue;  // this packet is lost; the next repeats
    v1::StatePacket packet;
    for (std::uint64_t i = 0; i < 8 && i < n; ++i) add_verdict(packet, n - i, v1::VERDICT_APPLIED);
    out.clear();
    tracker.receive(packet, static_cast<std::int64_t>(n) + 5, out);
    for (std::size_t i = 1; i < out.size(); ++i) CHECK(out[i - 1].sequence < out[i].sequence);
    for (const Verdict& verdict : out) seen.insert(verdict.sequence);
  }
  CHECK(seen.size() == 5000);
  CHECK(std::set<std::uint64_t>(seen.begin(), seen.end()).size() == 5000);
  CHECK(tracker.pending() == 0);
}

TEST_CASE("client: a verdict for what was never sent, or was judged already, is not believed") {
  VerdictTracker tracker;
  tracker.sent(1, 0);
  v1::StatePacket packet;
  add_verdict(packet, 1, v1::VERDICT_APPLIED);
  add_verdict(packet, 2, v1::VERDICT_APPLIED);
  std::vector<Verdict> out;
  tracker.receive(packet, 1, out);
  CHECK(out.size() == 1);
  v1::StatePacket replayed;  // what the server says about a copy of datagram 1
  add_verdict(replayed, 1, v1::VERDICT_REFUSED_OLD_SEQUENCE);
  tracker.receive(replayed, 2, out);
  CHECK(out.size() == 1);
}

TEST_CASE("client: a command without a verdict for 250 ms is told as unanswered, once") {
  VerdictTracker tracker;
  tracker.sent(1, 0);
  tracker.sent(3, 100'000'000);
  std::vector<Verdict> out;
  tracker.expire(200'000'000, out);
  CHECK(out.empty());
  tracker.expire(260'000'000, out);
  REQUIRE(out.size() == 1);
  CHECK(out[0].sequence == 1);
  CHECK(out[0].code == 0);
  tracker.expire(1'000'000'000, out);
  CHECK(out.size() == 2);
  tracker.expire(2'000'000'000, out);
  CHECK(out.size() == 2);
}

TEST_CASE("client: losses are gaps of the tick that gaps of the sequence confirm") {
  Quality quality;
  State state;
  state.scene_epoch = 1;
  for (state.tick = 1; state.tick <= 50; ++state.tick) quality.on_state(state, 1, {});
  state.tick = 61;  // ten ticks missing, and ten packets
  quality.on_state(state, 1, {10, 0, 0});
  Link link;
  quality.report(link);
  CHECK(link.lost_in_a_row == 10);
  CHECK(link.states_lost == 10);
  CHECK(link.received_rate == doctest::Approx(51.0 / 61));
  state.tick = 5000;  // a restore: no packet is missing
  quality.on_state(state, 1, {10, 0, 0});
  quality.report(link);
  CHECK(link.states_lost == 10);
  CHECK(link.lost_in_a_row == 0);
}

TEST_CASE("client: the success rate is over the last 100 commands") {
  Quality quality;
  Verdict verdict;
  verdict.code = v1::VERDICT_EXPIRED;
  for (int i = 0; i < 100; ++i) quality.on_verdict(verdict);
  verdict.code = v1::VERDICT_CLAMPED;
  for (int i = 0; i < 90; ++i) quality.on_verdict(verdict);
  Link link;
  quality.report(link);
  CHECK(link.success_rate == doctest::Approx(0.9));
  CHECK(link.verdicts.expired == 100);
  CHECK(link.verdicts.clamped == 90);
}

namespace {
v1::StatePacket part(std::uint64_t tick, std::uint32_t at, std::uint32_t of, std::initializer_list<std::uint32_t> ids) {
  v1::StatePacket p;
  p.set_scene_epoch(1);
  p.set_tick(tick);
  p.set_part(at);
  p.set_parts(of);
  p.set_tick_start_ns(1000 * tick);
  for (const std::uint32_t id : ids) {
    p.add_body_id(id);
    for (int i = 0; i < 7; ++i) p.add_pose_f(static_cast<float>(id));
    for (int i = 0; i < 6; ++i) p.add_velocity(0.5 * id);
  }
  return p;
}
}  // namespace

TEST_CASE("client: the parts of a tick in any order make one state, sorted by id") {
  Assembler assembler;
  CHECK_FALSE(assembler.add(part(1, 2, 3, {4, 5}), 3, 0));
  CHECK_FALSE(assembler.add(part(1, 2, 3, {4, 5}), 3, 0));  // twice the same
  CHECK_FALSE(assembler.add(part(1, 0, 3, {9, 1}), 1, 0));
  const auto state = assembler.add(part(1, 1, 3, {7}), 2, 77);
  REQUIRE(state);
  REQUIRE(state->bodies.size() == 5);
  CHECK(state->receive_ns == 77);
  for (std::size_t i = 1; i < 5; ++i) CHECK(state->bodies[i - 1].id < state->bodies[i].id);
  REQUIRE(state->find(7));
  CHECK(state->find(7)->p_WB[0] == 7);
  CHECK(state->find(7)->w_WB[2] == 3.5);
  CHECK(state->find(2) == nullptr);
  CHECK_THROWS_AS((void)state->body(2), Error);
}

TEST_CASE("client: an incomplete tick is given up when a newer one is complete, and never comes late") {
  Assembler assembler;
  CHECK_FALSE(assembler.add(part(1, 0, 2, {0}), 1, 0));
  CHECK(assembler.add(part(2, 0, 1, {0}), 3, 0));
  CHECK(assembler.incomplete() == 1);
  CHECK_FALSE(assembler.add(part(1, 1, 2, {1}), 2, 0));  // too late: it opens a slot of its own and never completes
  CHECK(assembler.add(part(0, 0, 1, {0}), 4, 0));        // a reset: the tick is smaller, the datagram newer
}

TEST_CASE("client: columns that do not match are refused") {
  Assembler assembler;
  auto p = part(1, 0, 1, {0, 1});
  p.add_pose_f(0);
  CHECK_FALSE(assembler.add(p, 1, 0));
  p = part(1, 1, 1, {0});
  CHECK_FALSE(assembler.add(p, 2, 0));
  p = part(1, 0, 0, {0});
  CHECK_FALSE(assembler.add(p, 3, 0));
  p = part(1, 0, 1, {0});
  p.add_contact_body_a(0);
  CHECK_FALSE(assembler.add(p, 4, 0));
  CHECK(assembler.malformed() == 4);
}

TEST_CASE("client: control frames: both directions, counters, one flipped bit") {
  wire::Key key;
  wire::random_bytes(key);
  ControlCodec client('C'), server('S');
  const std::string text = "hello";
  CHECK(client.encode(bytes_of(text)).size() == 4 + 5);
  client.set_key(key);
  server.set_key(key);
  for (int i = 0; i < 3; ++i) {
    auto frame = client.encode(bytes_of(text));
    REQUIRE(frame.size() == 4 + 5 + 16);
    CHECK(frame[0] == 21);
    const std::span<const std::uint8_t> body(frame.data() + 4, frame.size() - 4);
    frame[6] ^= 4;
    CHECK_FALSE(server.decode(body));
    frame[6] ^= 4;
    CHECK_FALSE(client.decode(body));  // reflected
    CHECK(server.decode(body));
    CHECK_FALSE(server.decode(body));  // replayed
  }
}

TEST_CASE("client: a command that cannot be sent says why") {
  v1::SceneDescription scene;
  for (unsigned i = 0; i < 40; ++i) {
    auto& body = *scene.add_bodies();
    body.set_id(i);
    body.mutable_p_bbcm_m()->set_x(0.25);
  }
  v1::CommandPacket packet;
  Command command;
  command.force(99, {1, 0, 0});
  CHECK(encode_command(command, scene, packet) == SendStatus::unknown_body);
  command.rows.clear();
  command.force(0, {std::numeric_limits<double>::quiet_NaN(), 0, 0});
  CHECK(encode_command(command, scene, packet) == SendStatus::not_finite);
  for (const bool points : {false, true}) {
    command.rows.clear();
    std::size_t most = 0;
    for (unsigned i = 0; i < 40; ++i) {
      command.force(i, {1, 2, 3});
      if (points) command.rows.back().p_BP = Vec3{0, 0, 0};
      packet.Clear();
      if (encode_command(command, scene, packet) != SendStatus::sent) break;
      packet.set_client_send_ns(1);
      CHECK(packet.ByteSizeLong() <= 1400 - 32);
      most = command.rows.size();
    }
    CHECK(most == (points ? 17 : 25));
  }
  // A row without a point beside one with a point acts at its mass centre.
  command.rows.clear();
  command.force(0, {1, 0, 0}).wrench({1, {1, 0, 0}, {}, Frame::body, Vec3{0, 1, 0}});
  REQUIRE(encode_command(command, scene, packet) == SendStatus::sent);
  REQUIRE(packet.point_size() == 6);
  CHECK(packet.point(0) == 0.25);
  CHECK(packet.point(4) == 1);
  CHECK(packet.frame(1) == v1::WRENCH_BODY);
}
