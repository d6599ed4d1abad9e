// Verdicts by number, and commands over several datagrams: what arrives, whatever the link does, and when things are
// sent.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "clients/cpp/src/command_codec.h"
#include "clients/cpp/src/link_math.h"
#include "server/session/command_parts.h"
#include "server/session/verdict_log.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

VerdictRecord judged(std::uint64_t sequence) {
  return {sequence, 5, 1, 0, 0};
}

void add_row(const VerdictRecord& v, v1::VerdictPacket& p) {
  p.add_sequence(v.sequence), p.add_code(v.code), p.add_tick(v.tick), p.add_age_us(v.age_us), p.add_item(v.item);
}

// A server that judges each command that arrives, a client, and a link that loses, doubles and turns round what it
// carries.
class Pair {
 public:
  Pair(std::uint64_t seed, double loss, std::uint64_t decimation)
      : random_(seed), loss_(loss), decimation_(decimation) {}

  // One millisecond, with so many commands.
  void step(int commands) {
    now_ += kMillisecond;
    for (int i = 0; i < commands; ++i) {
      tracker_.sent(++sequence_, static_cast<std::int64_t>(now_));
      sent_.insert(sequence_);
      if (!lost()) arrive(sequence_, tracker_.received());
    }
    if (commands == 0 && (tracker_.received() > told_ || ticks_ % 250 == 0))
      arrive(++sequence_, told_ = tracker_.received(), true);
    while (auto batch = log_.take_due(now_)) send(*batch);
    if (++ticks_ % decimation_ == 0) send_state();
    tracker_.expire(static_cast<std::int64_t>(now_), out_);
    for (const client::Verdict& verdict : out_) ++outcomes_[verdict.sequence][verdict.code];
    out_.clear();
  }

  void check() const {
    CHECK(tracker_.pending() == 0);
    CHECK(tracker_.numbers_lost() == 0);
    for (const std::uint64_t sequence : sent_) {
      const auto found = outcomes_.find(sequence);
      REQUIRE(found != outcomes_.end());
      REQUIRE(found->second.size() == 1);
      REQUIRE(found->second.begin()->second == 1);
      const bool was_judged = found->second.begin()->first != 0;
      REQUIRE(was_judged == arrived_.contains(sequence));
    }
  }
  [[nodiscard]] std::size_t datagrams() const { return datagrams_; }

 private:
  bool lost() { return std::uniform_real_distribution<>(0, 1)(random_) < loss_; }
  void arrive(std::uint64_t sequence, std::uint64_t received, bool heartbeat = false) {
    if (heartbeat && lost()) return;
    log_.acknowledge(received, now_);
    echo_ = std::max(echo_, sequence);
    if (heartbeat) return;
    log_.add(judged(sequence));
    arrived_.insert(sequence);
  }
  void send(const VerdictBatch& batch) {
    ++datagrams_;
    v1::VerdictPacket packet;
    packet.set_number(batch.last), packet.set_dropped(batch.dropped);
    for (std::uint64_t n = batch.last; n >= batch.first; --n) add_row(log_.at(n), packet);
    REQUIRE(packet.ByteSizeLong() <= 1368);
    held_.push_back(packet);
    if (held_.size() < 2) return;  // every second one overtakes the one before it
    std::swap(held_.front(), held_.back());
    for (const v1::VerdictPacket& p : held_) {
      if (!lost()) tracker_.receive(p, static_cast<std::int64_t>(now_), out_);
      if (!lost()) tracker_.receive(p, static_cast<std::int64_t>(now_), out_);
    }
    held_.clear();
  }
  void send_state() {
    log_.carried(now_);
    if (lost()) return;
    v1::StatePacket state;
    state.set_echo_sequence(echo_);
    state.set_verdict_number(log_.newest());
    for (std::uint64_t i = 0; i < 8 && i < log_.newest(); ++i) {
      const VerdictRecord& v = log_.at(log_.newest() - i);
      state.add_verdict_sequence(v.sequence), state.add_verdict_code(v.code), state.add_verdict_tick(v.tick);
      state.add_verdict_age_us(v.age_us), state.add_verdict_item(v.item);
    }
    tracker_.receive(state, static_cast<std::int64_t>(now_), out_);
  }

  std::mt19937_64 random_;
  double loss_;
  std::uint64_t decimation_, now_ = 1'000'000'000, sequence_ = 0, echo_ = 0, ticks_ = 0, told_ = 0;
  std::size_t datagrams_ = 0;
  VerdictLog log_;
  client::VerdictTracker tracker_;
  std::vector<client::Verdict> out_;
  std::vector<v1::VerdictPacket> held_;
  std::set<std::uint64_t> sent_, arrived_;
  std::map<std::uint64_t, std::map<int, int>> outcomes_;
};

}  // namespace

TEST_CASE("server_verdicts: each command has one outcome, and a verdict if it arrived, whatever burst, rate and loss") {
  for (const double loss : {0.0, 0.1, 0.4}) {
    for (const std::uint64_t decimation : {1u, 20u, 100u}) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(loss);
        CAPTURE(decimation);
        CAPTURE(seed);
        Pair pair(seed, loss, decimation);
        for (int i = 0; i < 400; ++i) pair.step(i % 25 == 0 ? 30 : 0);
        for (int i = 0; i < 400; ++i) pair.step(1);
        for (int i = 0; i < 8000; ++i) pair.step(0);
        pair.check();
      }
    }
  }
}

TEST_CASE("server_verdicts: a sound link with a state each tick needs no datagram of its own") {
  Pair pair(1, 0, 1);
  for (int i = 0; i < 2000; ++i) pair.step(1);
  CHECK(pair.datagrams() == 0);
}

TEST_CASE("server_verdicts: who acknowledges nothing gets 16 datagrams, who stops doing so gets three a second") {
  VerdictLog log;
  std::uint64_t now = 1'000'000'000, sent = 0;
  for (int i = 0; i < 5000; ++i) {
    log.add(judged(static_cast<std::uint64_t>(i + 1)));
    while (log.take_due(now += kMillisecond)) ++sent;
  }
  CHECK(sent == VerdictLog::kTriesUnanswered);
  log.acknowledge(log.newest() - 1, now);
  sent = 0;
  for (int i = 0; i < 10'000; ++i) {
    while (log.take_due(now)) ++sent;
    now += kMillisecond;
  }
  CHECK(sent >= 30);
  CHECK(sent <= 36);
}

TEST_CASE("server_verdicts: what is not kept any more is named, and counted by the client as lost") {
  VerdictLog log(100);
  client::VerdictTracker tracker;
  for (std::uint64_t n = 1; n <= 150; ++n) log.add(judged(n));
  CHECK(log.dropped() == 50);
  std::vector<client::Verdict> out;
  for (std::uint64_t n = 1; n <= 150; ++n) tracker.sent(n, 0);
  std::uint64_t batches = 0;
  for (std::uint64_t now = 1; now < 50 * kMillisecond; now += kMillisecond) {  // the last few wait for a state
    const auto batch = log.take_due(now);
    if (!batch) continue;
    CHECK(batch->first > 50);
    CHECK(batch->dropped == (batches++ == 0 ? 50 : 0));  // until the client has acknowledged what is behind
    v1::VerdictPacket packet;
    packet.set_number(batch->last), packet.set_dropped(batch->dropped);
    for (std::uint64_t n = batch->last; n >= batch->first; --n) add_row(log.at(n), packet);
    tracker.receive(packet, 1, out);
    log.acknowledge(tracker.received(), now);
  }
  CHECK(out.size() == 100);
  CHECK(tracker.numbers_lost() == 50);
  CHECK(tracker.received() == 150);
}

TEST_CASE("server_verdicts: commands in parts are complete once or given up once, whatever the link does with them") {
  using Taken = CommandParts::Taken;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::deque<CommandParts::Part> way;
    std::map<std::uint64_t, std::uint32_t> size;  // parts, by the sequence of the first
    std::vector<std::uint8_t> bytes(256);
    std::generate(bytes.begin(), bytes.end(), [n = std::uint8_t{0}]() mutable { return n++; });
    std::uint64_t sequence = 0;
    for (int i = 0; i < 20; ++i) {
      const auto parts = static_cast<std::uint32_t>(2 + random() % 7);
      size[sequence + 1] = parts;
      for (std::uint32_t k = 0; k < parts; ++k) {
        ++sequence;
        if (random() % 20 != 0) way.push_back({sequence, k, parts, std::span(bytes).subspan(sequence % 200, 3)});
      }
    }
    for (std::size_t i = 0; i + 5 < way.size(); ++i) {
      if (random() % 4 == 0) std::swap(way[i], way[i + random() % 5]);
    }
    CommandParts parts;
    std::map<std::uint64_t, int> told;
    std::set<std::uint64_t> arrived;
    for (const CommandParts::Part& part : way) arrived.insert(part.sequence);
    std::uint64_t now = 0;
    for (const CommandParts::Part& part : way) {
      while (const auto overdue = parts.take_overdue(now)) ++told[*overdue];
      Taken taken = parts.take(part, now + 20);
      if (taken == Taken::full) ++told[parts.make_room()], taken = parts.take(part, now + 20);
      REQUIRE(taken != Taken::malformed);
      ++now;
      if (taken != Taken::complete) continue;
      ++told[parts.sequence()];
      REQUIRE(parts.parts() == size.at(parts.sequence()));
      for (std::uint32_t k = 0; k < parts.parts(); ++k) {
        REQUIRE(parts.part(k).size() == 3);
        REQUIRE(parts.part(k)[0] == (parts.sequence() + k) % 200);
        REQUIRE(arrived.contains(parts.sequence() + k));
      }
    }
    while (const auto overdue = parts.take_overdue(now + 100)) ++told[*overdue];
    for (const auto& entry : size) {
      bool any = false;
      for (std::uint64_t s = entry.first; s < entry.first + entry.second; ++s) any = any || arrived.contains(s);
      REQUIRE(told[entry.first] == (any ? 1 : 0));
    }
  }
}

TEST_CASE("server_verdicts: parts that cannot be are refused, and end their command") {
  using Taken = CommandParts::Taken;
  const std::vector<std::uint8_t> bytes(CommandParts::kPartBytes + 1);
  const std::span<const std::uint8_t> fits = std::span(bytes).first(CommandParts::kPartBytes);
  CommandParts parts;
  CHECK(parts.take({10, 2, 2, fits}, 1) == Taken::malformed);   // the third of two
  CHECK(parts.take({20, 0, 9, fits}, 1) == Taken::malformed);   // too many
  CHECK(parts.take({3, 3, 8, fits}, 1) == Taken::malformed);    // before the first datagram
  CHECK(parts.take({30, 0, 2, bytes}, 1) == Taken::malformed);  // too long
  CHECK(parts.take({31, 1, 2, fits}, 1) == Taken::late);
  CHECK(parts.take({40, 0, 3, fits}, 1) == Taken::waiting);
  CHECK(parts.take({41, 1, 2, fits}, 1) == Taken::malformed);  // of two, and of three
  CHECK(parts.sequence() == 40);
  CHECK(parts.take({42, 2, 3, fits}, 1) == Taken::late);
}

TEST_CASE("server_verdicts: a client splits what a datagram cannot hold: all rows, in order, at most eight parts") {
  v1::SceneDescription scene;
  for (std::uint32_t i = 0; i < 300; ++i) scene.add_bodies()->set_id(i);
  std::vector<v1::CommandPacket> parts;
  for (const std::size_t count : {26u, 64u, 100u, 190u}) {
    client::Command command;
    for (std::uint32_t i = 0; i < count; ++i) command.force(i, {1, 2, 3});
    REQUIRE(client::encode_parts(command, scene, parts) == client::SendStatus::sent);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(parts[i].part() == i);
      CHECK(parts[i].parts() == parts.size());
      CHECK(parts[i].ByteSizeLong() <= 1368 - 41);
      for (const std::uint32_t id : parts[i].body_id()) CHECK(id == next++);
    }
    CHECK(next == count);
  }
  client::Command huge;
  for (std::uint32_t i = 0; i < 300; ++i) huge.force(i, {1, 2, 3});
  CHECK(client::encode_parts(huge, scene, parts) == client::SendStatus::too_large);
}
