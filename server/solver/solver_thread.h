// A thread that solves beside the tick, and the one mailbox between the two: idle -> requested -> solving -> done ->
// idle. The tick's side calls nothing but atomics: the thread looks for requests by itself (every 200 us while it is in
// use). Whoever holds the mailbox's token (solving) owns job and result; in all other phases they are the tick's.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tactus {

class SolverThread {
 public:
  SolverThread() = default;
  virtual ~SolverThread();
  SolverThread(const SolverThread&) = delete;
  SolverThread& operator=(const SolverThread&) = delete;

  // False when the thread could not be created. Without a thread, wait() and solve_here() solve on the caller's.
  // avoid_cpu: the tick's processor; -1: any will do.
  [[nodiscard]] bool start(int avoid_cpu) noexcept;

  // --- The tick's side (in lockstep: net's). No syscall, but for wait().
  // Nothing is asked for, and what was discarded has ended.
  [[nodiscard]] bool idle() noexcept;
  [[nodiscard]] bool finished() const noexcept {
    return !discarded_ && phase_.load(std::memory_order_acquire) == Phase::done;
  }
  // After the result was taken.
  void release() noexcept;
  // What is under way is thrown away; idle() says when it has ended.
  void discard() noexcept;
  // Lockstep only: until what was asked for is done (finished, or discarded and idle). Solves here unless the thread
  // has begun.
  void wait() noexcept;
  // Takes the request, if there is one, and solves on the caller's thread. False: there was none.
  bool solve_here() noexcept;
  // Of the last solve, once finished.
  [[nodiscard]] std::uint64_t solve_ns() const noexcept { return solve_ns_; }

 protected:
  // Job is filled: hand it over. Only when idle().
  void request() noexcept;
  // Ends the thread; the most derived destructor calls it, so that solve() never runs on what is half destroyed.
  void stop() noexcept;

 private:
  enum class Phase : std::uint32_t { idle, requested, solving, done };
  virtual void solve() noexcept = 0;
  static void* thread_main(void* self) noexcept;
  void run() noexcept;

  std::atomic<Phase> phase_{Phase::idle};
  std::atomic<bool> stop_{false};
  bool discarded_ = false;  // the tick's
  std::uint64_t solve_ns_ = 0;
  int avoid_cpu_ = -1;
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace tactus
