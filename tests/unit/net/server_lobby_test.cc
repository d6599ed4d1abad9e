// Who waits at the door takes nobody's place: a limit of its own, shared by source, the oldest silent one goes first;
// wrong tokens slow their source down and nobody else.
#include "server/net/control/lobby.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace tactus::net;

namespace {

// A lobby, and who was sent away from it, in order.
struct Door {
  explicit Door(std::size_t limit) : lobby(limit) {}
  Lobby::Ticket come(const std::string& source, const std::string& name) {
    return lobby.enter(source, [this, name] { gone.push_back(name); });
  }
  Lobby lobby;
  std::vector<std::string> gone;
};

using Names = std::vector<std::string>;
constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("lobby: of one source at most half the limit waits, and the oldest silent one makes room") {
  Door door(8);
  const Lobby::Ticket first = door.come("a", "a0");
  for (const char* name : {"a1", "a2", "a3"}) (void)door.come("a", name);
  CHECK(door.gone.empty());
  door.lobby.spoke(first);
  (void)door.come("a", "a4");
  CHECK(door.gone == Names{"a1"});
  (void)door.come("b", "b0");  // others' room is not touched
  CHECK(door.gone == Names{"a1"});
  CHECK(door.lobby.size() == 5);
}

TEST_CASE(
    "lobby: a thousand silent connections keep nobody out who shakes hands before half the limit comes after him") {
  Door door(64);
  for (int i = 0; i < 1000; ++i) (void)door.come("flood", "silent");
  const Lobby::Ticket guest = door.come("flood", "guest");
  for (int i = 0; i < 31; ++i) (void)door.come("flood", "silent");
  for (const std::string& name : door.gone) REQUIRE(name == "silent");
  door.lobby.leave(guest);
  CHECK(door.lobby.size() == 31);
}

TEST_CASE("lobby: who has spoken stays for as long as silent ones of his source can go") {
  Door door(8);
  const Lobby::Ticket guest = door.come("a", "guest");
  door.lobby.spoke(guest);
  for (int i = 0; i < 100; ++i) (void)door.come("a", "silent");
  for (const std::string& name : door.gone) REQUIRE(name == "silent");
  CHECK(door.gone.size() == 97);
}

TEST_CASE("lobby: when it is full, the source that holds most loses one") {
  Door door(8);
  for (const char* name : {"b0", "a0", "a1", "a2", "c0", "b1", "c1", "c2"}) (void)door.come({name[0]}, name);
  CHECK(door.gone.empty());
  CHECK(door.lobby.size() == 8);
  (void)door.come("d", "d0");
  REQUIRE(door.gone.size() == 1);
  CHECK((door.gone[0] == "a0" || door.gone[0] == "c0"));
  CHECK(door.lobby.size() == 8);
}

TEST_CASE("lobby: who is sent away may leave then, and a ticket is good once") {
  Lobby lobby(2);
  Lobby::Ticket ticket = 0;
  int sent = 0;
  ticket = lobby.enter("a", [&] {
    ++sent;
    lobby.leave(ticket);
  });
  CHECK(lobby.send_one_away());
  CHECK_FALSE(lobby.send_one_away());
  CHECK(sent == 1);
  CHECK(lobby.size() == 0);
}

TEST_CASE("lobby: sources are IPv4 addresses, however they are written, and networks of IPv6") {
  CHECK(source_of("127.0.0.1") == source_of("::ffff:127.0.0.1"));
  CHECK(source_of("192.168.7.2") != source_of("192.168.7.3"));
  CHECK(source_of("2001:db8::1") == source_of("2001:db8::ffff:2"));
  CHECK(source_of("2001:db8::1") != source_of("2001:db8:0:1::1"));
}

TEST_CASE("wrong tokens: each makes the next answer to its source slower, up to a limit, and no other's") {
  WrongTokens wrong;
  CHECK(wrong.wait_ns("a", 5 * kSecond) == 0);
  std::uint64_t now = 5 * kSecond, last = 0;
  for (int i = 0; i < 40; ++i) {
    wrong.add("a", now);
    const std::uint64_t wait = wrong.wait_ns("a", now);
    CHECK(wait >= last);
    CHECK(wait <= WrongTokens::kMostNs);
    CHECK(wrong.wait_ns("a", now + wait) == 0);
    last = wait;
    now += wait;
  }
  CHECK(last == WrongTokens::kMostNs);
  CHECK(wrong.wait_ns("b", now) == 0);
  CHECK(wrong.wait_ns("a", now + WrongTokens::kForgetNs) == 0);
  wrong.add("a", now + WrongTokens::kForgetNs);
  CHECK(wrong.wait_ns("a", now + WrongTokens::kForgetNs) == WrongTokens::kFirstNs);
}

TEST_CASE("wrong tokens: what is remembered is bounded, and the newest stays") {
  WrongTokens wrong;
  for (std::uint64_t i = 0; i < 10'000; ++i) wrong.add("source " + std::to_string(i), kSecond + i);
  CHECK(wrong.size() == WrongTokens::kSources);
  CHECK(wrong.wait_ns("source 9999", kSecond + 9999) > 0);
  CHECK(wrong.wait_ns("source 0", kSecond + 9999) == 0);
}

TEST_CASE("turned away: a line a reason, with their number, and nothing is told twice") {
  TurnedAway told;
  CHECK(told.take_lines().empty());
  for (int i = 0; i < 1000; ++i) told.add("wrong token", "client " + std::to_string(i));
  told.add("full", "the last one");
  const std::vector<std::string> lines = told.take_lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "turned away, full: the last one");
  CHECK(lines[1] == "turned away, wrong token: 1000 in the last second, the newest client 999");
  CHECK(told.take_lines().empty());
}
