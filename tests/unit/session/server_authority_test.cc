// Leases: one holder a channel, all or nothing, expiry, renewal, take-over, a new scene.
#include <doctest/doctest.h>

#include <array>

#include "server/session/authority.h"

using namespace tactus;

namespace {
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr ClientSlot kAnna = 1, kBert = 2;
}  // namespace

TEST_CASE("server_authority: all or nothing") {
  Authority authority;
  authority.set_bodies(3);
  const std::array<Channel, 1> middle{2};
  const std::array<Channel, 3> all{1, 2, 3};
  CHECK(authority.acquire(kAnna, middle, 0, kSecond, false, false).result == AcquireResult::granted);
  const auto refused = authority.acquire(kBert, all, 0, kSecond, false, false);
  CHECK(refused.result == AcquireResult::held_by_other);
  CHECK(refused.conflict == 2);
  CHECK(refused.holder == kAnna);
  CHECK_FALSE(authority.is_held(1, 0));
  CHECK_FALSE(authority.is_held(3, 0));
}

TEST_CASE("server_authority: a lease ends at its time, unless renewed") {
  Authority authority;
  const std::array<Channel, 1> world{kWorldChannel};
  const auto lease = authority.acquire(kAnna, world, 0, 2 * kSecond, false, false).lease;
  CHECK(authority.holds(kAnna, kWorldChannel, 2 * kSecond - 1));
  CHECK_FALSE(authority.holds(kAnna, kWorldChannel, 2 * kSecond));
  CHECK(authority.renew(kAnna, lease, kSecond));
  CHECK(authority.holds(kAnna, kWorldChannel, 3 * kSecond - 1));
  CHECK_FALSE(authority.renew(kBert, lease, kSecond));
  CHECK(authority.expire(2 * kSecond).empty());
  const auto lost = authority.expire(3 * kSecond);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].client == kAnna);
  CHECK_FALSE(authority.renew(kAnna, lease, 3 * kSecond));
  // An expired lease that nobody has swept yet does not stand in the way.
  authority.acquire(kAnna, world, 0, kSecond, false, false);
  CHECK(authority.acquire(kBert, world, kSecond, kSecond, false, false).result == AcquireResult::granted);
  CHECK(authority.holds(kBert, kWorldChannel, kSecond));
}

TEST_CASE("server_authority: take-over needs the right, and tells from whom") {
  Authority authority;
  authority.set_bodies(2);
  const std::array<Channel, 2> both{1, 2};
  const std::array<Channel, 1> one{2};
  const auto first = authority.acquire(kAnna, both, 0, kSecond, false, true).lease;
  CHECK(authority.acquire(kBert, one, 0, kSecond, true, false).result == AcquireResult::may_not_take_over);
  const auto taken = authority.acquire(kBert, one, 0, kSecond, true, true);
  CHECK(taken.result == AcquireResult::granted);
  REQUIRE(taken.taken.size() == 1);
  CHECK(taken.taken[0].client == kAnna);
  CHECK(taken.taken[0].channel == 2);
  CHECK(authority.holds(kAnna, 1, 0));
  CHECK(authority.holds(kBert, 2, 0));
  // Renewing the rest of the old lease does not bring the lost channel back.
  CHECK(authority.renew(kAnna, first, 0));
  CHECK(authority.holds(kBert, 2, 0));
  CHECK(authority.release(kAnna, first).size() == 1);
  CHECK(authority.holds(kBert, 2, 0));
}

TEST_CASE("server_authority: leaving and a new scene free what was held") {
  Authority authority;
  authority.set_bodies(2);
  const std::array<Channel, 3> all{kWorldChannel, 1, 2};
  authority.acquire(kAnna, all, 0, kSecond, false, false);
  const auto lost = authority.set_bodies(5);
  REQUIRE(lost.size() == 2);  // so that their holder can be told
  for (const LostChannel& l : lost) CHECK((l.client == kAnna && l.channel != kWorldChannel));
  CHECK(authority.holds(kAnna, kWorldChannel, 0));
  for (Channel c = 1; c <= 5; ++c) CHECK_FALSE(authority.is_held(c, 0));
  CHECK(authority.drop_client(kAnna).size() == 1);
  CHECK_FALSE(authority.is_held(kWorldChannel, 0));
  CHECK(authority.leases().empty());
}

TEST_CASE("server_authority: a client's own channels move into its new lease; a channel named twice counts once") {
  Authority authority;
  authority.set_bodies(1);
  const std::array<Channel, 2> twice{1, 1};
  const auto a = authority.acquire(kAnna, twice, 0, kSecond, false, false);
  CHECK(authority.leases()[0].channels.size() == 1);
  const auto b = authority.acquire(kAnna, twice, 0, 2 * kSecond, false, false);
  CHECK(b.result == AcquireResult::granted);
  CHECK(b.taken.empty());
  CHECK_FALSE(authority.renew(kAnna, a.lease, 0));
  CHECK(authority.holds(kAnna, 1, kSecond));
}
