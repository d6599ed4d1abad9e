// The beat's own accounts: no burst after a late beat, what was missed, and when the grid begins anew.
#include "server/realtime/pacer.h"

#include <doctest/doctest.h>

#include "server/realtime/clock.h"

using namespace tactus;

namespace {

constexpr std::uint64_t kPeriod = 1'000'000;

Beat beat_of(Pacer& pacer, std::uint64_t spin_ns = 0) {
  Beat beat;
  beat.granted = true;
  pacer.sleep(spin_ns);
  pacer.wake(beat);
  return beat;
}

}  // namespace

TEST_CASE("server_pacer: a beat begins at its grid point or after it, never before, and knows the next one") {
  Pacer pacer;
  pacer.start(now_ns());
  pacer.set_period(kPeriod);
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const Beat beat = beat_of(pacer, i % 2 == 0 ? 0 : kPeriod / 2);
    CHECK_FALSE(beat.granted);
    CHECK(beat.start_ns >= beat.deadline_ns);
    CHECK(beat.late_ns() == beat.start_ns - beat.deadline_ns);
    CHECK(beat.next_ns == beat.deadline_ns + kPeriod);
    CHECK(beat.late == (beat.late_ns() >= kPeriod));
    if (last != 0) CHECK((beat.deadline_ns - last) % kPeriod == 0);
    CHECK(beat.deadline_ns > last);
    last = beat.deadline_ns;
    pacer.end_beat(now_ns());
  }
}

TEST_CASE("server_pacer: a beat that takes five periods skips their grid points, counts them, and makes no burst") {
  Pacer pacer;
  pacer.start(now_ns());
  pacer.set_period(kPeriod);
  const Beat beat = beat_of(pacer);
  CHECK(pacer.end_beat(beat.deadline_ns + 5 * kPeriod + 1) == 5);
  CHECK(pacer.missed() == 5);
  CHECK(pacer.deadline_ns() == beat.deadline_ns + 6 * kPeriod);
  CHECK(pacer.skip(beat.deadline_ns + 8 * kPeriod + 1) == 2);  // of a bare loop: not the tick's
  CHECK(pacer.missed() == 5);
}

TEST_CASE("server_pacer: the grid begins anew for another period or after lockstep, and not for the same period") {
  Pacer pacer;
  pacer.start(now_ns());
  pacer.set_period(kPeriod);
  const std::uint64_t first = beat_of(pacer).deadline_ns;
  pacer.end_beat(first + 20 * kPeriod);
  pacer.set_period(kPeriod);
  CHECK(beat_of(pacer).deadline_ns == first + 21 * kPeriod);  // as if nothing had been said
  pacer.end_beat(first + 100'000 * kPeriod);
  pacer.begin_anew();
  CHECK(beat_of(pacer).deadline_ns < first + 100'000 * kPeriod);  // counted from now
  pacer.set_period(2 * kPeriod);
  const Beat slower = beat_of(pacer);
  CHECK(slower.next_ns - slower.deadline_ns == 2 * kPeriod);
}

TEST_CASE("server_pacer: the real-time factor is simulated over real time; a beat without a step adds none") {
  Pacer pacer;
  const std::uint64_t start = 1'000'000'000;
  pacer.start(start);
  CHECK(pacer.started_ns() == start);
  for (std::uint64_t n = 1; n <= 1000; ++n) pacer.note_work(n, n % 2 == 0 ? 1e-3 : 0, start + n * kPeriod);
  CHECK(pacer.factor() == doctest::Approx(0.5).epsilon(0.01));
  CHECK(pacer.last_work_ns() == 1000);
}
