// The tick thread: owns the World and lets it beat. wait -> drain -> watch -> apply -> step -> publish -> account.
// With TickLink::play set the world stands, and a recording's states come in the place of its steps (play_show.h).
//
// The loop conducts (tick_parts.h): each part keeps its own data, and knows nothing of the loop.
//
// In free run everything here but start(), join(), request_stop(), metrics() and rights() belongs to the tick thread.
// In lockstep the tick thread lends the world to the net thread, which calls grant_tick() and serve() inline, and
// sleeps until return_world(). From the first tick on: no allocation, lock, log or exception; no syscall but the sleep
// and one eventfd write.
#pragma once

#include <cstdint>
#include <memory>

#include "core/world.h"
#include "server/realtime/beat.h"
#include "server/realtime/dispatch.h"
#include "server/realtime/link.h"
#include "server/realtime/publisher.h"
#include "server/realtime/tick_metrics.h"
#include "server/realtime/tick_options.h"
#include "server/realtime/tick_parts.h"
#include "server/realtime/tick_thread.h"

namespace tactus {

class TickLoop {
 public:
  // The world must fit options.bodies. epoch names the scene.
  TickLoop(const TickOptions& options, TickLink& link, std::unique_ptr<World> world, std::uint32_t epoch);
  ~TickLoop();
  TickLoop(const TickLoop&) = delete;
  TickLoop& operator=(const TickLoop&) = delete;

  // Before start(): who solves beside the tick (null: nobody). The scene's model must be the solver's.
  void set_solvers(std::unique_ptr<SlowSolver> solver, std::unique_ptr<ShadowSolver> shadow) noexcept;
  // False when the thread could not be created.
  [[nodiscard]] bool start() noexcept;
  void request_stop() noexcept { thread_.request_stop(); }
  void join() noexcept { thread_.join(); }

  [[nodiscard]] const TickMetrics& metrics() const noexcept { return metrics_; }
  // What the tick thread asked for and got; null until it has asked.
  [[nodiscard]] const Rights* rights() const noexcept { return thread_.rights(); }

  // --- Lockstep; net thread only, after Notice done(lockstep_on) or a start in lockstep, wait_for_world() first.
  void wait_for_world() noexcept { thread_.wait_for_loan(); }  // blocks for the microseconds until the tick has let go
  void grant_tick() noexcept;                                  // one tick, now
  void serve() noexcept;                                       // commands only; publishes, but does not step
  void return_world() noexcept;                                // the tick thread goes on from here
  [[nodiscard]] const World& world() const noexcept { return parts_.scene.world(); }
  [[nodiscard]] const SlowTicker& slow() const noexcept { return parts_.models.slow(); }

 private:
  void run() noexcept;
  void tick(bool granted, bool may_move) noexcept;
  void wake_up() noexcept;
  [[nodiscard]] bool move() noexcept;
  void apply_commands() noexcept;
  void step_world() noexcept;
  void account() noexcept;
  void bare_tick() noexcept;
  void say_last_words() noexcept;

  const TickOptions options_;
  TickLink& link_;
  TickParts parts_;
  Dispatch dispatch_;
  Publisher publisher_;
  Beat beat_;  // the present one
  TickMetrics metrics_;
  TickThread thread_;
};

}  // namespace tactus
