// The client against a server in this process: handshake, streams, commands, leases, lost links, re-arming, lockstep.
#include <doctest/doctest.h>

#include <future>

#include "client_fake_server.h"
#include "tactus/client.h"

using namespace tactus::client;
using tactus::testing::FakeServer;
using namespace std::chrono_literals;
namespace v1 = tactus::v1;

namespace {

// Waits for a condition that another thread brings about; generous, because test machines are busy.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = 5000ms) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

Error::Kind kind_of_failure(std::uint16_t port, const std::string& token) {
  try {
    Client client("127.0.0.1", port, token);
  } catch (const Error& error) {
    MESSAGE(std::string(error.what()));
    return error.kind();
  }
  FAIL("connected");
  return Error::Kind::usage;
}

}  // namespace

TEST_CASE("client: loopback handshake, states, clock") {
  FakeServer server;
  server.faults.parts = 3;
  server.faults.shuffle = true;
  server.faults.repeat = true;
  server.faults.forged = true;
  Client client("127.0.0.1", server.port());
  CHECK(client.scene()->bodies_size() == 3);
  CHECK(client.body("body1") == 1);
  CHECK_THROWS_AS((void)client.body("nobody"), Error);
  client.subscribe();
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const StatePtr state = client.next(5s);
    REQUIRE(state);
    CHECK(state->tick > last);
    CHECK(state->bodies.size() == 3);
    CHECK(state->body(0).p_WB[0] == 0);  // not the forged one
    last = state->tick;
  }
  REQUIRE(eventually([&] { return client.clock().samples > 10; }));
  CHECK(std::abs(static_cast<double>(client.clock().offset_ns - 5'000'000'000)) <
        static_cast<double>(client.clock().round_trip_ns));
  CHECK(client.link().packets_refused > 0);
}

TEST_CASE("client: a token is proved, never sent; both sides are checked") {
  FakeServer server(0, "correct horse");
  {
    Client client("127.0.0.1", server.port(), "correct horse\n");  // as read from a file
    CHECK(client.role() == "control");
    CHECK_NOTHROW(client.statistics());
  }
  CHECK(kind_of_failure(server.port(), "wrong") == Error::Kind::handshake);
  CHECK(kind_of_failure(server.port(), "") == Error::Kind::handshake);
  FakeServer liar(0, "correct horse", true);
  CHECK(kind_of_failure(liar.port(), "correct horse") == Error::Kind::handshake);
}

TEST_CASE("client: nobody there is said at once") {
  std::uint16_t port = 0;
  {
    FakeServer server;
    port = server.port();
  }
  CHECK(kind_of_failure(port, "") == Error::Kind::connect);
}

TEST_CASE("client: errors of requests carry the server's text; no reply is a timeout") {
  FakeServer server;
  Options options;
  options.control_port = server.port();
  options.request_timeout = 200ms;
  Client client(options);
  try {
    client.set_model("st");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::refused);
    CHECK(error.code() == v1::ERROR_NOT_LEASED);
    CHECK(std::string(error.what()).find("world") != std::string::npos);
  }
  try {
    client.pause();  // this server never answers it
    FAIL("answered");
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::timeout);
  }
}

TEST_CASE("client: commands need arm(); each gets one verdict; leases are renewed and given back") {
  FakeServer server;
  Options options;
  options.control_port = server.port();
  options.lease = 150ms;
  {
    Client client(options);
    Command push;
    push.force(0, {3, 0, 0});
    CHECK(client.send(push).status == SendStatus::not_armed);
    CHECK_THROWS_AS(client.arm({"body2"}), Error);  // someone else's
    CHECK(client.send(push).status == SendStatus::not_armed);
    client.arm({"body0"});
    CHECK(client.holds("body/body0/wrench"));
    std::uint64_t last = 0;
    const Report report = client.run([&](const State& state, const Link&, Command& command) {
      CHECK(state.tick > last);
      last = state.tick;
      command.force(0, {3, 0, 0});
      return server.renewals < 3;
    });
    CHECK(report.end == Report::End::finished);
    CHECK(report.send_failures == 0);
    REQUIRE(eventually([&] { return server.force == 0; }));  // the loop's end
    REQUIRE(eventually([&] { return client.link().verdicts.applied == client.link().verdicts.sent; }));
    const auto verdicts = client.take_verdicts();
    CHECK(verdicts.size() == client.link().verdicts.sent);
    for (std::size_t i = 1; i < verdicts.size(); ++i) CHECK(verdicts[i - 1].sequence < verdicts[i].sequence);
    CHECK(client.link().success_rate == 1);
    CHECK(client.send(push));
    REQUIRE(eventually([&] { return server.force == 3; }));
  }
  CHECK(server.force == 0);  // the destructor's zero came before the lease went
  CHECK(server.leased().empty());
}

TEST_CASE("client: parts that are lost make ticks that are missed, never half states") {
  FakeServer server;
  server.faults.parts = 3;
  server.faults.drop_last_part = true;
  Client client("127.0.0.1", server.port());
  client.subscribe();
  for (int i = 0; i < 50; ++i) {
    const StatePtr state = client.next(5s);
    REQUIRE(state);
    CHECK(state->bodies.size() == 3);
    CHECK(state->tick % 2 == 1);
  }
  CHECK(client.link().states_incomplete > 20);
  CHECK(client.link().received_rate < 0.8);
  MESSAGE(client.link().explain());
}

TEST_CASE("client: after a lost link it comes back by itself, but commands only when armed again") {
  FakeServer server;
  std::atomic<int> ups{0}, downs{0};  // outlive the client, whose end is a link down
  Client client("127.0.0.1", server.port());
  client.on_link([&](bool up, const std::string&) { ++(up ? ups : downs); });
  client.arm({"body0"});
  Report report = client.run([&](const State&, const Link&, Command& command) {
    command.force(0, {2, 0, 0});
    if (server.commands == 20) server.drop_connection();
    return true;
  });
  CHECK(report.end == Report::End::link_lost);
  REQUIRE(eventually([&] { return client.connections() == 2; }));
  CHECK(downs == 1);
  REQUIRE(eventually([&] { return ups == 1; }));
  REQUIRE(client.next(5s));  // subscribed again
  CHECK(server.subscriptions == 2);
  CHECK_FALSE(client.armed());
  CHECK_FALSE(client.holds("body0"));
  Command push;
  push.force(0, {2, 0, 0});
  CHECK(client.send(push).status == SendStatus::not_armed);
  CHECK(server.force == 0);
  client.arm();
  CHECK(client.holds("body0"));
  CHECK(client.send(push));
  CHECK(eventually([&] { return server.force == 2; }));
}

TEST_CASE("client: a restarted server has a new epoch; the client finds it") {
  auto server = std::make_unique<FakeServer>();
  const std::uint16_t port = server->port();
  Client client("127.0.0.1", port);
  client.subscribe();
  REQUIRE(client.next(5s));
  const std::uint32_t before = client.epoch();
  server = nullptr;
  REQUIRE(eventually([&] { return !client.connected(); }));
  CHECK(client.latest() == nullptr);
  CHECK_THROWS_AS(client.statistics(), Error);
  server = std::make_unique<FakeServer>(port);
  REQUIRE(client.wait_connected(10s));
  CHECK(client.epoch() != before);
  const StatePtr state = client.next(5s);
  REQUIRE(state);
  CHECK(state->scene_epoch == client.epoch());
}

TEST_CASE("client: a frame with a wrong mac ends the connection and is not believed") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  server.faults.wrong_macs = 1;
  CHECK_THROWS_AS(client.statistics(), Error);
  CHECK(client.wait_connected(5s));
  CHECK(eventually([&] { return client.connections() == 2; }));
  CHECK_NOTHROW(client.statistics());
}

TEST_CASE("client: a new scene or a lost lease disarms") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  client.arm({"body0"});
  Report report = client.run([&](const State&, const Link&, Command& command) {
    command.force(0, {2, 0, 0});
    if (server.commands == 10) server.change_scene();
    return true;
  });
  CHECK(report.end == Report::End::disarmed);
  REQUIRE(eventually([&] { return server.subscriptions == 2; }));
  client.arm();
  server.send_event(v1::Event::LEASE_LOST, "body/body0/wrench");
  CHECK(eventually([&] { return !client.armed(); }));
  CHECK_FALSE(client.holds("body0"));
}

TEST_CASE("client: a lost lease is the one that is named, not one whose name begins like it") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  client.arm({"joint/arm/wrist_1", "joint/arm/wrist"});
  std::atomic<int> events{0};
  client.on_event([&](const v1::Event&) { ++events; });
  for (const char* other : {"joint/arm/wrist_10", "joint/arm/wrist_1/", "xjoint/arm/wrist_1", "joint/arm/wris", ""})
    server.send_event(v1::Event::LEASE_LOST, other);
  REQUIRE(eventually([&] { return events == 5; }));
  CHECK(client.armed());
  CHECK(client.holds("joint/arm/wrist_1"));
  CHECK(client.holds("joint/arm/wrist"));
  server.send_event(v1::Event::LEASE_LOST, "joint/arm/wrist_1");
  CHECK(eventually([&] { return !client.armed(); }));
  CHECK_FALSE(client.holds("joint/arm/wrist_1"));
  CHECK(client.holds("joint/arm/wrist"));
}

TEST_CASE("client: a lease that cannot be renewed disarms") {
  FakeServer server;
  Options options;
  options.control_port = server.port();
  options.lease = 90ms;
  Client client(options);
  client.arm({"body0"});
  server.faults.deny_renewal = true;
  CHECK(eventually([&] { return !client.armed(); }));
  server.faults.deny_renewal = false;
  client.arm();
  CHECK(client.holds("body0"));
}

TEST_CASE("client: a stream that pauses for 0.4 s ends no loop, one that is silent for a second does, and says so") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  client.arm({"body0"});
  const auto run_over_silence = [&](std::chrono::milliseconds silence) {
    std::future<void> quiet;
    std::uint64_t cycles = 0;
    const Report report = client.run([&](const State&, const Link&, Command& command) {
      command.force(0, {1, 0, 0});
      if (++cycles == 50) {
        quiet = std::async(std::launch::async, [&, silence] {
          server.lockstep = true;  // it publishes nothing, and its states say free run
          std::this_thread::sleep_for(silence);
          server.lockstep = false;
        });
      }
      return cycles < 200;
    });
    quiet.wait();
    return report;
  };
  CHECK(run_over_silence(400ms).end == Report::End::finished);
  const Report silent = run_over_silence(1500ms);
  CHECK(silent.end == Report::End::silent);
  CHECK(silent.reason == "no state for a second: the server or the link stands still");
}

TEST_CASE("client: an exception in the loop's callback reaches the caller, after a zero command") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  client.arm({"body0"});
  CHECK_THROWS_WITH(client.run([&](const State&, const Link&, Command& command) -> bool {
    command.force(0, {2, 0, 0});
    if (server.force == 2) throw std::runtime_error("mine");
    return true;
  }),
                    "mine");
  CHECK(eventually([&] { return server.zeros == 1; }));
}

TEST_CASE("client: lockstep by datagram repeats a lost grant and never runs further") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  client.arm({"body0", "world"});
  client.set_lockstep(true);
  Command push;
  push.force(0, {1000, 0, 0});
  const std::uint64_t start = client.statistics().tick();
  StatePtr state = client.advance(5, &push);  // the server loses the first grant
  REQUIRE(state);
  CHECK(state->tick == start + 5);
  CHECK(state->body(0).p_WB[0] == doctest::Approx(5));
  CHECK(server.grants == 2);
  for (int i = 1; i <= 20; ++i) CHECK(client.advance()->tick == start + 5 + static_cast<std::uint64_t>(i));
  CHECK(client.step(10).tick() == start + 35);
  CHECK(client.grant(start + 40).tick() == start + 40);
  CHECK(client.advance(2)->tick == start + 42);
}

TEST_CASE("client: after advance() states come to every other reader again, and callbacks run on no user's thread") {
  FakeServer server;
  std::atomic<bool> heard{false}, here{false};  // outlive the client
  const auto me = std::this_thread::get_id();
  Client client("127.0.0.1", server.port());
  client.arm({"body0", "world"});
  client.set_lockstep(true);
  for (int i = 0; i < 20; ++i) REQUIRE(client.advance());
  client.set_lockstep(false);
  // The stream that comes by itself: run(), next() and latest() see it go on.
  const StatePtr before = client.next(1000ms);
  REQUIRE(before);
  CHECK(eventually([&] { return client.latest()->tick > before->tick + 50; }));
  client.on_state([&](const StatePtr&) { heard = true, here = here || std::this_thread::get_id() == me; });
  client.set_lockstep(true);
  for (int i = 0; i < 20; ++i) REQUIRE(client.advance());
  CHECK(eventually([&] { return heard.load(); }));
  CHECK_FALSE(here);
}

TEST_CASE("client: requests from a callback are refused, not a deadlock") {
  FakeServer server;
  std::promise<bool> refused;  // outlive the client
  std::atomic<bool> once{false};
  Client client("127.0.0.1", server.port());
  client.on_state([&](const StatePtr&) {
    if (once.exchange(true)) return;
    try {
      client.statistics();
      refused.set_value(false);
    } catch (const Error& error) {
      refused.set_value(error.kind() == Error::Kind::usage);
    }
  });
  client.subscribe();
  CHECK(refused.get_future().get());
}
