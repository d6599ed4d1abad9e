// What falls back with its owner: modes, joint options; the leases' clock, silence, and expiries told as news.
#include "server/session/ownership.h"

#include <doctest/doctest.h>

#include <array>

#include "server/session/authority.h"
#include "server/session/expiry_news.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr ClientSlot kOwner = 1, kOther = 2;

ChannelOptions tolerance(std::uint64_t ticks) {
  ChannelOptions out;
  out.tolerance_ticks = static_cast<std::uint32_t>(ticks);
  return out;
}

}  // namespace

TEST_CASE("server_ownership: a mode ends with its owner, and with nobody else") {
  OwnedMode mode;
  CHECK(!mode.ends_with(kOwner));
  mode.begin(kOwner, false);
  CHECK(mode.ends_with(kOwner));
  CHECK(!mode.ends_with(kOther));
  mode.begin(kOther, false);  // who asks for it last, it is whose it is
  CHECK(!mode.ends_with(kOwner));
  CHECK(mode.ends_with(kOther));
  mode.end();
  CHECK(!mode.ends_with(kOther));
}

TEST_CASE("server_ownership: what is kept, or the server's own, stays when clients leave") {
  OwnedMode kept, own;
  kept.begin(kOwner, true);
  own.begin_for_good();
  for (OwnedMode* mode : {&kept, &own}) {
    mode->begin(kOther, false);
    CHECK(!mode->ends_with(kOwner));
    CHECK(!mode->ends_with(kOther));
  }
  kept.end();
  kept.begin(kOther, false);  // anew
  CHECK(kept.ends_with(kOther));
}

TEST_CASE("server_ownership: options come back as they were before the first change") {
  OwnedOptions options;
  options.change(3, tolerance(1), kOwner, false);
  options.change(3, tolerance(5), kOwner, false);
  options.change(4, tolerance(1), kOther, false);
  const auto left = options.left(kOwner);
  REQUIRE(left.size() == 1);
  CHECK(left[0].joint == 3);
  CHECK(left[0].options.tolerance_ticks == 1);
  CHECK(options.left(kOwner).empty());
  CHECK(!options.lost(kOwner, 4));
  REQUIRE(options.lost(kOther, 4));
  CHECK(options.left(kOther).empty());
}

TEST_CASE("server_ownership: somebody else takes the joint; kept options stay") {
  OwnedOptions options;
  options.change(3, tolerance(1), kOwner, false);
  CHECK(!options.taken(kOwner, 3));
  REQUIRE(options.taken(kOther, 3));
  CHECK(!options.taken(kOther, 3));
  options.change(3, tolerance(1), kOwner, false);
  options.change(3, tolerance(5), kOwner, true);
  CHECK(options.left(kOwner).empty());
}

TEST_CASE("server_ownership: leases do not age while their clock stands, and go on from there") {
  LeaseClock clock;
  Authority authority;
  const std::array<Channel, 1> world{kWorldChannel};
  authority.acquire(kOwner, world, clock.read(10 * kSecondNs), 2 * kSecondNs, false, false);
  clock.stop(11 * kSecondNs);
  clock.stop(12 * kSecondNs);  // stands already
  CHECK(authority.holds(kOwner, kWorldChannel, clock.read(500 * kSecondNs)));
  clock.go(500 * kSecondNs);
  CHECK(authority.holds(kOwner, kWorldChannel, clock.read(500 * kSecondNs + kSecondNs / 2)));
  CHECK(!authority.holds(kOwner, kWorldChannel, clock.read(502 * kSecondNs)));
}

TEST_CASE("server_ownership: silence of 15 s, but for a server that stood still and for lockstep") {
  SilenceWatch watch;
  std::uint64_t now = 100 * kSecondNs;
  const std::uint64_t heard = now;
  CHECK(!watch.look(now, false));
  for (int i = 0; i < 15; ++i) {
    now += kSecondNs;
    CHECK(watch.look(now, false));
    CHECK(!watch.vanished(heard, now));
  }
  now += kSecondNs;
  CHECK(watch.look(now, false));
  CHECK(watch.vanished(heard, now));
  CHECK(!watch.vanished(now - 14 * kSecondNs, now));

  now += 20 * kSecondNs;  // what was sent meanwhile has not been read yet
  CHECK(!watch.look(now, false));
  now += kSecondNs;
  CHECK(watch.look(now, false));
  CHECK(!watch.vanished(heard, now));

  CHECK(!watch.look(now + kSecondNs, true));
  CHECK(watch.look(now + 2 * kSecondNs, false));
  CHECK(!watch.vanished(heard, now + 15 * kSecondNs));
  CHECK(watch.vanished(heard, now + 17 * kSecondNs));
}

TEST_CASE("server_ownership: a stop ends all leases but that of the world") {
  Authority authority;
  authority.set_bodies(3);
  const std::array<Channel, 2> mixed{kWorldChannel, 1};
  const std::array<Channel, 1> body{2};
  const auto lease = authority.acquire(kOwner, mixed, 0, kSecondNs, false, false).lease;
  authority.acquire(kOther, body, 0, kSecondNs, false, false);
  CHECK(authority.end_driving().size() == 2);
  CHECK(authority.holds(kOwner, kWorldChannel, 1));
  CHECK(!authority.is_held(1, 1));
  CHECK(!authority.is_held(2, 1));
  CHECK(authority.renew(kOwner, lease, 1));
  CHECK(!authority.is_held(1, 1));
}

TEST_CASE("server_ownership: a whole robot that expires in one tick is one piece of news") {
  ExpiryNews news;
  news.joint("arm", "joint/arm/a", 2);
  news.joint("arm", "joint/arm/b", 2);
  news.joint("leg", "joint/leg/a", 2);
  const auto told = news.take(10 * kSecondNs);
  REQUIRE(told.size() == 2);
  CHECK(told[0].text == "joint/arm/*");
  CHECK(told[0].count == 1);
  CHECK(told[1].text == "joint/leg/a");
}

TEST_CASE("server_ownership: expiries are told at once, then once a second with their count, whatever their number") {
  ExpiryNews news;
  std::size_t told = 0, stood_for = 0, fresh = 0;
  std::uint64_t now = 100 * kSecondNs;
  for (int ms = 0; ms < 5000; ++ms, now += kSecondNs / 1000) {
    if (ms < 4000) {
      for (int body = 0; body < 40; ++body) news.body("body/" + std::to_string(body) + "/wrench"), ++fresh;
    }
    for (const ExpiryNews::News& n : news.take(now)) ++told, stood_for += n.count;
    if (ms == 0) CHECK(told >= 1);
  }
  CHECK(stood_for == fresh);  // none is lost
  CHECK(told <= 5 * ExpiryNews::kTexts);
}
