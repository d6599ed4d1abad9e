#include "server/solver/solver_thread.h"

#include <sched.h>
#include <sys/prctl.h>

#include <ctime>

#include "core/check.h"
#include "server/realtime/clock.h"

namespace tactus {
namespace {

constexpr std::size_t kStackBytes = 16u << 20;
// How often the thread looks for a request: while in use, and when nobody asked for the last second (a paused world).
// The long one stays below a period, so that the first solve after a pause is not late.
constexpr std::uint64_t kShortSleepNs = 200'000, kLongSleepNs = 2'000'000, kInUseNs = 1'000'000'000;

void sleep_for(std::uint64_t ns) noexcept {
  const timespec t{0, static_cast<long>(ns)};
  nanosleep(&t, nullptr);
}

}  // namespace

SolverThread::~SolverThread() {
  TACTUS_ASSERT(!started_);
}

bool SolverThread::start(int avoid_cpu) noexcept {
  TACTUS_ASSERT(!started_);
  avoid_cpu_ = avoid_cpu;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  started_ = pthread_create(&thread_, &attributes, &SolverThread::thread_main, this) == 0;
  pthread_attr_destroy(&attributes);
  return started_;
}

void SolverThread::stop() noexcept {
  stop_.store(true, std::memory_order_release);
  if (started_) pthread_join(thread_, nullptr);
  started_ = false;
}

void* SolverThread::thread_main(void* self) noexcept {
  pthread_setname_np(pthread_self(), "tactus-solver");
  static_cast<SolverThread*>(self)->run();
  return nullptr;
}

void SolverThread::run() noexcept {
  sched_param normal{};  // made by net or its loader, whose scheduling must not be inherited: solves are long
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal);
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (avoid_cpu_ >= 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
    CPU_CLR(avoid_cpu_, &allowed);
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
  }
  std::uint64_t last_used_ns = now_ns();
  while (!stop_.load(std::memory_order_acquire)) {
    const std::uint64_t now = now_ns();
    if (solve_here()) {
      last_used_ns = now;
    } else {
      sleep_for(now - last_used_ns < kInUseNs ? kShortSleepNs : kLongSleepNs);
    }
  }
}

bool SolverThread::solve_here() noexcept {
  Phase expected = Phase::requested;
  if (!phase_.compare_exchange_strong(expected, Phase::solving, std::memory_order_acq_rel)) return false;
  const std::uint64_t before = now_ns();
  solve();
  solve_ns_ = now_ns() - before;
  phase_.store(Phase::done, std::memory_order_release);
  return true;
}

bool SolverThread::idle() noexcept {
  if (discarded_ && phase_.load(std::memory_order_acquire) == Phase::done) release();
  return phase_.load(std::memory_order_acquire) == Phase::idle;
}

void SolverThread::request() noexcept {
  TACTUS_ASSERT(idle());
  phase_.store(Phase::requested, std::memory_order_release);
}

void SolverThread::release() noexcept {
  TACTUS_ASSERT(phase_.load(std::memory_order_acquire) == Phase::done);
  discarded_ = false;
  phase_.store(Phase::idle, std::memory_order_release);
}

void SolverThread::discard() noexcept {
  Phase expected = Phase::requested;
  if (phase_.compare_exchange_strong(expected, Phase::idle, std::memory_order_acq_rel)) return;
  discarded_ = expected != Phase::idle;
}

void SolverThread::wait() noexcept {
  while (!finished() && !idle()) {
    if (!solve_here()) sleep_for(kShortSleepNs / 10);
  }
}

}  // namespace tactus
