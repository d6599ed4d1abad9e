// The thread that ticks, the rights it got, and whose the world is: the thread's own, or net's while it is lent to it
// (lockstep). An atomic flag makes sure that one thread at a time is in the world.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "server/realtime/rights.h"

namespace tactus {

class TickThread {
 public:
  TickThread() = default;
  ~TickThread();
  TickThread(const TickThread&) = delete;
  TickThread& operator=(const TickThread&) = delete;

  // False when the thread could not be created.
  [[nodiscard]] bool start(void* (*main)(void*), void* argument) noexcept;
  // The world comes back to the thread, wherever it is.
  void request_stop() noexcept;
  void join() noexcept;
  [[nodiscard]] bool started() const noexcept { return started_; }
  // Null until ask_for() has ended.
  [[nodiscard]] const Rights* rights() const noexcept {
    return rights_known_.load(std::memory_order_acquire) ? &rights_ : nullptr;
  }

  // --- The thread itself.
  void ask_for(const RightsWanted& wanted) noexcept;
  [[nodiscard]] bool stopping() const noexcept { return stop_.load(std::memory_order_acquire); }
  // From here on net may touch the world (not when the thread is to stop), until it gives it back.
  void lend() noexcept;
  void wait_for_return() noexcept;

  // --- Net.
  void wait_for_loan() noexcept;
  void give_back() noexcept;

 private:
  enum class Owner : std::uint32_t { tick, net };

  Rights rights_;
  std::atomic<bool> rights_known_{false}, stop_{false};
  std::atomic<Owner> owner_{Owner::tick};
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace tactus
