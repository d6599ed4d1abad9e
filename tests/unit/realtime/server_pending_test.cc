// Commands between drain and tick: the newest per channel wins, and each datagram gets exactly one verdict.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "server/realtime/pending_commands.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kBodies = 6;

struct Bench {
  Model model;
  State state;
  Ring<Notice> notices{4096};
  PendingCommands pending{kBodies, notices};
  WrenchChannels channels{kBodies};
  std::vector<ChannelOutput> out = std::vector<ChannelOutput>(kBodies);
  JudgeContext context{1, 0, 77, false};

  Bench() {
    for (std::uint32_t i = 0; i < kBodies; ++i) {
      Body body;
      body.name = std::string(1, 'b') + std::to_string(i);
      body.mass = 1;
      body.I_BBcm = Mat3::Identity();
      body.force_limit = 100;
      model.bodies.push_back(body);
      model.X_WB0.emplace_back();
      model.V_WB0.emplace_back();
    }
    model.materials.emplace_back();
    finish_model(model);
    state = initial_state(model, 1);
    channels.clear(1e-3);
  }
  void send(ClientSlot client, std::uint64_t ticket, const std::vector<BodyIndex>& bodies, double force = 1,
            std::uint64_t received_ns = 0, std::uint32_t epoch = 77) {
    for (std::uint32_t i = 0; i < bodies.size(); ++i) {
      Command c;
      c.client = client;
      c.ticket = ticket;
      c.row_index = i;
      c.last_row = i + 1 == bodies.size();
      c.epoch = epoch;
      c.received_ns = received_ns;
      c.deadline_us = 20'000;
      c.row = {{force, 0, 0}, {0, 0, 0}, {0, 0, 0}, bodies[i], 0, false};
      pending.add(c, context);
    }
  }
  void settle() { pending.settle(context, model, state, context.tick, 1e-3, channels); }
  double force(BodyIndex b) {
    const auto n = channels.evaluate(context.tick, model, state, out);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (out[i].body == b) return out[i].F_Bcm_W.force.x();
    }
    return 0;
  }
  std::map<std::uint64_t, Notice> verdicts() {
    std::map<std::uint64_t, Notice> all;
    Notice notice;
    while (notices.pop(notice)) {
      CHECK(all.count(notice.ticket) == 0);
      all[notice.ticket] = notice;
    }
    return all;
  }
};

}  // namespace

TEST_CASE("server_pending: the newer command of a channel replaces the older; the rest of the older one is applied") {
  Bench b;
  b.send(1, 10, {0, 1}, 5);
  b.send(1, 11, {1}, 7);
  b.send(1, 12, {2}, 3);
  b.send(1, 13, {2}, 4);
  b.settle();
  CHECK(b.force(0) == 5);
  CHECK(b.force(1) == 7);
  CHECK(b.force(2) == 4);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 4);
  CHECK(v.at(10).verdict == Verdict::applied);
  CHECK(v.at(11).verdict == Verdict::applied);
  CHECK(v.at(12).verdict == Verdict::superseded);
  CHECK(v.at(13).verdict == Verdict::applied);
}

TEST_CASE("server_pending: what the network delivered late never replaces the newer, not even in a later tick") {
  Bench b;
  b.send(1, 20, {0}, 8);
  b.send(1, 19, {0}, 2);
  b.settle();
  CHECK(b.force(0) == 8);
  b.send(1, 18, {0}, 1);
  b.settle();
  CHECK(b.force(0) == 8);
  const auto v = b.verdicts();
  CHECK(v.at(19).verdict == Verdict::superseded);
  CHECK(v.at(18).verdict == Verdict::superseded);
  // A new holder counts from 1 again.
  b.pending.drop(0, b.context);
  b.send(2, 1, {0}, 3);
  b.settle();
  CHECK(b.force(0) == 3);
}

TEST_CASE(
    "server_pending: while the world stands still, what waits longer than its deadline expires; in lockstep nothing "
    "does") {
  Bench b;
  b.send(1, 1, {0, 3}, 1, 1'000'000);
  b.context.now_ns = 21'000'000;
  b.pending.expire(b.context);
  CHECK(b.pending.waiting() == 2);
  b.context.lockstep = true;
  b.context.now_ns = 21'000'001;
  b.pending.expire(b.context);
  CHECK(b.pending.waiting() == 2);
  b.context.lockstep = false;
  b.pending.expire(b.context);
  CHECK(b.pending.waiting() == 0);
  const auto v = b.verdicts();
  REQUIRE(v.size() == 1);
  CHECK(v.at(1).verdict == Verdict::expired);
  CHECK(v.at(1).age_us == 20'000);
}

TEST_CASE("server_pending: a stale epoch and a clamped force are told, with the row") {
  Bench b;
  b.send(1, 1, {0}, 1, 0, 78);
  b.send(1, 2, {4, 5}, 1000);
  b.send(1, 3, {9}, 1);  // a body index of some other scene
  b.settle();
  const auto v = b.verdicts();
  CHECK(v.at(1).verdict == Verdict::stale_epoch);
  CHECK(v.at(2).verdict == Verdict::clamped);
  CHECK(v.at(2).row == 0);
  CHECK(v.at(3).verdict == Verdict::stale_epoch);
}

TEST_CASE("server_pending: random traffic: one verdict for each datagram, none lost, none doubled") {
  Bench b;
  std::mt19937 random(5);
  std::uint64_t ticket = 0;
  for (int tick = 0; tick < 2000; ++tick) {
    const std::uint64_t first = ticket + 1;
    const unsigned count = random() % 8;
    for (unsigned k = 0; k < count; ++k) {
      std::vector<BodyIndex> bodies;
      for (BodyIndex body = 0; body < kBodies; ++body) {
        if (random() % 3 == 0) bodies.push_back(body);
      }
      if (bodies.empty()) bodies.push_back(0);
      b.send(static_cast<ClientSlot>(random() % 2), ++ticket, bodies, 1, 0, random() % 10 == 0 ? 1 : 77);
      if (random() % 10 == 0) b.pending.drop(random() % kBodies, b.context);
    }
    if (random() % 50 == 0) b.pending.drop_all(b.context);
    b.settle();
    const auto v = b.verdicts();
    REQUIRE(v.size() == ticket + 1 - first);
    CHECK(b.pending.waiting() == 0);
    ++b.context.tick;
  }
}
