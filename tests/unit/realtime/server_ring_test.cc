// The rings between the threads: order, all or nothing, full and empty, and two threads at once.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "server/realtime/record_feed.h"
#include "server/realtime/ring.h"
#include "server/realtime/state_ring.h"
#include "server/record/recorder.h"

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

namespace {

// A state whose every number follows from its tick, of so many rows.
void fill(StateSlot& slot, std::uint64_t tick, std::uint32_t bodies, std::uint32_t joints, std::uint32_t contacts) {
  slot.frame.tick = tick;
  slot.frame.body_count = bodies;
  slot.frame.joint_count = joints;
  slot.frame.contact_count = contacts;
  for (double& x : slot.pose) x = static_cast<double>(tick);
  for (double& x : slot.velocity) x = -static_cast<double>(tick);
  for (JointSample& j : slot.joints) j.q = static_cast<double>(tick);
  for (ContactRow& c : slot.contacts) c.body_a = static_cast<BodyIndex>(tick);
}

// The state's tick, after all its rows were held against it.
std::uint64_t check(std::span<const std::byte> bytes) {
  StateFrame f;
  REQUIRE(bytes.size() >= sizeof f);
  std::memcpy(static_cast<void*>(&f), bytes.data(), sizeof f);
  std::vector<double> columns(13 * static_cast<std::size_t>(f.body_count));
  std::vector<JointSample> joints(f.joint_count);
  std::vector<ContactRow> contacts(f.contact_count);
  const std::size_t a = columns.size() * sizeof(double), b = joints.size() * sizeof(JointSample),
                    c = contacts.size() * sizeof(ContactRow);
  REQUIRE(bytes.size() == sizeof f + a + b + c);
  const std::byte* at = bytes.data() + sizeof f;
  if (a > 0) std::memcpy(columns.data(), at, a);
  if (b > 0) std::memcpy(static_cast<void*>(joints.data()), at + a, b);
  if (c > 0) std::memcpy(static_cast<void*>(contacts.data()), at + a + b, c);
  const auto x = static_cast<double>(f.tick);
  for (std::size_t i = 0; i < columns.size(); ++i) REQUIRE(columns[i] == (i < 7 * columns.size() / 13 ? x : -x));
  for (const JointSample& j : joints) REQUIRE(j.q == x);
  for (const ContactRow& row : contacts) REQUIRE(row.body_a == static_cast<BodyIndex>(f.tick));
  return f.tick;
}

}  // namespace

TEST_CASE("server_ring: states of any size come off the belt whole and in order; what was left out was told") {
  constexpr std::uint32_t kBodies = 6, kContacts = 9;
  const std::size_t largest = StateBelt::footprint(kBodies, kBodies, kContacts);
  StateBelt belt(5 * largest);
  constexpr std::uint64_t kTotal = 50000;
  std::vector<bool> left_out(kTotal + 1);
  std::thread producer([&] {
    StateSlot slot;
    slot.resize(kBodies, kContacts);
    for (std::uint64_t i = 1; i <= kTotal; ++i) {
      fill(slot, i, static_cast<std::uint32_t>(i % (kBodies + 1)), static_cast<std::uint32_t>(i / 3 % (kBodies + 1)),
           static_cast<std::uint32_t>(i / 7 % (kContacts + 1)));
      bool in = belt.push(slot.frame, slot);
      while (!in && i == kTotal) in = belt.push(slot.frame, slot);  // the last one must arrive
      left_out[i] = !in;
    }
  });
  std::vector<std::uint64_t> came;
  while (came.empty() || came.back() < kTotal) {
    const std::span<const std::byte> front = belt.front();
    if (front.empty()) {
      std::this_thread::yield();
      continue;
    }
    came.push_back(check(front));
    belt.pop();
  }
  producer.join();
  CHECK(belt.front().empty());
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 1; i <= kTotal; ++i)
    if (!left_out[i]) expected.push_back(i);
  CHECK(came == expected);
}

TEST_CASE("server_ring: a belt has room for what it was made for, from any place of the ring on") {
  StateSlot slot;
  slot.resize(6, 9);
  fill(slot, 1, 6, 6, 9);
  const std::size_t one = StateBelt::footprint(6, 6, 9);
  for (std::size_t begin = 0; begin < 12; ++begin) {
    StateBelt belt(10 * one);
    StateSlot small;
    small.resize(1, 0);
    fill(small, 1, 1, 0, 0);
    for (std::size_t i = 0; i < begin; ++i) REQUIRE(belt.push(small.frame, small));
    std::size_t n = 0;
    while (belt.push(slot.frame, slot)) ++n;
    CHECK((n + 1) * one + begin * StateBelt::footprint(1, 0, 0) > 9 * one);  // one may be lost to the seam
    for (std::size_t i = 0; i < begin + n; ++i) {
      REQUIRE(check(belt.front()) == 1);
      belt.pop();
    }
    // Empty again, wherever it stands: all of it is free.
    for (n = 0; belt.push(slot.frame, slot);) ++n;
    CHECK(n >= 9);
  }
}

TEST_CASE("server_ring: with the default ring_bytes, a second of 100 bodies at 1 kHz waits for the recorder") {
  const RecordFeed feed(1024, 16, 0, 2048, record::RecordOptions().stream_bytes / 2);
  const std::size_t with_arrows = StateBelt::footprint(100, 0, 400), without = StateBelt::footprint(100, 0, 0);
  CHECK(60 * with_arrows + 940 * without < feed.states.capacity());
  const RecordFeed least(1024, 16, 0, 2048, 1);
  CHECK(least.states.capacity() >= 8 * StateBelt::footprint(1024, 1024, 2048));
}
