// The client and strangers: a server that needs no token, one that is full, one that takes long, one that is gone.
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "client_fake_server.h"
#include "tactus/client.h"

using namespace tactus::client;
using tactus::testing::FakeServer;
using tactus::testing::Faults;
using namespace std::chrono_literals;
namespace v1 = tactus::v1;

namespace {

constexpr const char* kToken = "correct horse battery staple";

// Why no client came about.
Error refusal_of(std::uint16_t port, const std::string& token) {
  try {
    Client client("127.0.0.1", port, token);
  } catch (const Error& error) {
    return error;
  }
  return {Error::Kind::usage, "connected"};
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What a request comes to while the client is down.
std::string reason_of(Client& client) {
  try {
    client.statistics();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool reason_becomes(Client& client, const std::string& part) {
  for (const auto end = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < end;) {
    if (says(reason_of(client), part)) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

void check_that_it_drives(Client& client) {
  REQUIRE(client.wait_connected(10s));
  client.arm({"body1"});
  CHECK(client.armed());
  CHECK_NOTHROW(client.statistics());
  client.release();
}

}  // namespace

TEST_CASE("client: who holds a token believes no server that needs none, on this machine either") {
  FakeServer stranger;
  const Error error = refusal_of(stranger.port(), kToken);
  CHECK(error.kind() == Error::Kind::handshake);
  CHECK(says(error.what(), "says that it needs no token"));
  CHECK(says(error.what(), "--token-file"));
  CHECK(refusal_of(stranger.port(), "").kind() == Error::Kind::usage);  // without a token it connects
}

TEST_CASE("client: a server that comes back without its token is not believed") {
  auto server = std::make_unique<FakeServer>(0, kToken);
  const std::uint16_t port = server->port();
  Client client("127.0.0.1", port, kToken);
  server.reset();
  server = std::make_unique<FakeServer>(port);
  CHECK(reason_becomes(client, "says that it needs no token"));
  CHECK_FALSE(client.connected());
}

TEST_CASE("client: FULL is said in its own words, with a token too, though it comes without a mac") {
  for (const auto where : {Faults::at_hello, Faults::at_authenticate}) {
    for (const std::string token : {kToken, ""}) {
      if (token.empty() && where == Faults::at_authenticate) continue;
      FakeServer server(0, token);
      server.faults.full = where;
      const Error error = refusal_of(server.port(), token);
      const std::string what = error.what();
      CAPTURE(what);
      CHECK(error.kind() == Error::Kind::handshake);
      CHECK(error.code() == v1::ERROR_FULL);
      CHECK(says(error.what(), "all places are taken"));
      CHECK_FALSE(says(error.what(), "wrong token"));
    }
  }
}

TEST_CASE("client: it comes back by itself once a full server has a place, and says meanwhile what it waits for") {
  FakeServer server;
  Client client("127.0.0.1", server.port());
  server.faults.full = Faults::at_hello;
  server.drop_connection();
  CHECK(reason_becomes(client, "not connected: the server refused: all places are taken"));
  server.faults.full = Faults::nowhere;
  check_that_it_drives(client);
}

TEST_CASE("client: a scene may load for longer than other requests take") {
  FakeServer server;
  server.faults.load_ms = 700;
  Options options;
  options.control_port = server.port();
  options.request_timeout = 200ms;
  Client client(options);
  CHECK(client.load_scene("fake").name() == "fake");
  check_that_it_drives(client);
}
