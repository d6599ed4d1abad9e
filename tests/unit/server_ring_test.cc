// The rings between the threads: order, all or nothing, full and empty, and two threads at once.
#include <doctest/doctest.h>

#include <array>
#include <thread>

#include "server/realtime/ring.h"
#include "server/realtime/state_ring.h"

using namespace tactus;

TEST_CASE("server_ring: items that belong together go in together or not at all") {
  Ring<int> ring(8);
  const std::array<int, 5> five{1, 2, 3, 4, 5};
  CHECK(ring.push(five));
  CHECK_FALSE(ring.push(five));
  CHECK(ring.size() == 5);
  int out = 0;
  for (int i = 1; i <= 5; ++i) {
    REQUIRE(ring.pop(out));
    CHECK(out == i);
  }
  CHECK_FALSE(ring.pop(out));
  CHECK(ring.push(five));
}

TEST_CASE("server_ring: nothing is lost, doubled or reordered between two threads") {
  Ring<std::uint64_t> ring(64);
  constexpr std::uint64_t kTotal = 200000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kTotal;) {
      const std::array<std::uint64_t, 3> items{i, i + 1, i + 2};
      const std::size_t n = std::min<std::uint64_t>(3, kTotal - i);
      if (ring.push({items.data(), n}))
        i += n;
      else
        std::this_thread::yield();
    }
  });
  std::uint64_t expected = 0, out = 0;
  while (expected < kTotal) {
    if (!ring.pop(out)) {
      std::this_thread::yield();
      continue;
    }
    REQUIRE(out == expected);
    ++expected;
  }
  producer.join();
  CHECK(ring.size() == 0);
}

TEST_CASE("server_ring: a state slot is never read while it is written") {
  StateRing ring(4, 2);
  constexpr std::uint64_t kTotal = 50000;
  std::uint64_t dropped = 0;
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= kTotal; ++i) {
      StateSlot* slot = ring.begin_write();
      while (slot == nullptr && i == kTotal)
        std::this_thread::yield(), slot = ring.begin_write();  // the last one must arrive
      if (slot == nullptr) {
        ++dropped;
        continue;
      }
      slot->frame.tick = i;
      for (double& x : slot->pose) x = static_cast<double>(i);
      ring.commit();
    }
  });
  std::uint64_t last = 0, read = 0;
  while (last < kTotal) {
    const StateSlot* slot = ring.begin_read();
    if (slot == nullptr) continue;
    REQUIRE(slot->frame.tick > last);
    last = slot->frame.tick;
    for (const double x : slot->pose) REQUIRE(x == static_cast<double>(last));
    ++read;
    ring.release();
  }
  producer.join();
  CHECK(read + dropped == kTotal);
}
