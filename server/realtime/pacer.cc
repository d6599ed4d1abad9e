#include "server/realtime/pacer.h"

#include <cerrno>
#include <ctime>
#include <utility>

#include "server/realtime/clock.h"

namespace tactus {
namespace {

void sleep_to_deadline(std::uint64_t deadline_ns) noexcept {
  const timespec t{static_cast<time_t>(deadline_ns / 1'000'000'000u), static_cast<long>(deadline_ns % 1'000'000'000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

}  // namespace

void Pacer::start(std::uint64_t now) noexcept {
  started_ns_ = now;
  factor_.start(now);
}

void Pacer::set_period(std::uint64_t period_ns) noexcept {
  period_ns_ = period_ns;
  anew_ = anew_ || period_ns != grid_.period_ns();
}

void Pacer::sleep(std::uint64_t spin_ns) noexcept {
  if (std::exchange(anew_, false)) {
    const std::uint64_t now = now_ns();
    grid_.start(now, period_ns_);
    factor_.start(now);
  }
  sleep_to_deadline(grid_.deadline_ns() - spin_ns);
}

void Pacer::wake(Beat& beat) const noexcept {
  beat.deadline_ns = grid_.deadline_ns();
  beat.next_ns = beat.deadline_ns + grid_.period_ns();
  beat.granted = false;
  do beat.start_ns = now_ns();
  while (beat.start_ns < beat.deadline_ns);
  beat.late = beat.late_ns() >= grid_.period_ns();
}

std::uint64_t Pacer::end_beat(std::uint64_t now) noexcept {
  const std::uint64_t skipped = skip(now);
  missed_ += skipped;
  return skipped;
}

void Pacer::note_work(std::uint64_t work_ns, double simulated_s, std::uint64_t now) noexcept {
  last_work_ns_ = work_ns;
  factor_.add(simulated_s);
  factor_now_ = factor_.update(now);
}

}  // namespace tactus
