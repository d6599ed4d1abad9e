// The tick thread: owns the World and lets it beat. wait -> drain -> watch -> apply -> step -> publish -> account.
// With TickLink::play set the world stands, and a recording's states come in the place of its steps (tick_play.cc).
//
// In free run everything here but start(), join(), request_stop(), metrics() and rights() belongs to the tick thread.
// In lockstep the tick thread lends the world to the net thread, which calls grant_tick() and serve() inline, and
// sleeps until return_world(). From the first tick on: no allocation, lock, log or exception; no syscall but the sleep
// and one eventfd write.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/actuation/wrench_channels.h"
#include "core/world.h"
#include "server/realtime/frozen_watch.h"
#include "server/realtime/link.h"
#include "server/realtime/pace.h"
#include "server/realtime/pending_commands.h"
#include "server/realtime/rights.h"
#include "server/realtime/tick_metrics.h"
#include "server/realtime/tick_options.h"
#include "server/solver/shadow_ticker.h"
#include "server/solver/slow_ticker.h"

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
  void request_stop() noexcept;
  void join() noexcept;

  [[nodiscard]] const TickMetrics& metrics() const noexcept { return metrics_; }
  // What the tick thread asked for and got; null until it has asked.
  [[nodiscard]] const Rights* rights() const noexcept {
    return rights_known_.load(std::memory_order_acquire) ? &rights_ : nullptr;
  }

  // --- Lockstep; net thread only, after Notice done(lockstep_on) or a start in lockstep, wait_for_world() first.
  void wait_for_world() noexcept;  // blocks for the microseconds until the tick thread has let go
  void grant_tick() noexcept;      // one tick, now
  void serve() noexcept;           // commands only; publishes, but does not step
  void return_world() noexcept;    // the tick thread goes on from here
  [[nodiscard]] const World& world() const noexcept { return *world_; }
  [[nodiscard]] const SlowTicker& slow() const noexcept { return slow_; }

  // After an assertion on the tick thread: publishes FAULT and zero force, and gives net a moment to send it. Best
  // effort.
  void publish_fault() noexcept;

 private:
  struct Wake {
    std::uint64_t deadline_ns = 0, start_ns = 0;
    bool granted = false;  // called by net; no sleep, no lateness
    bool late = false;     // began after the next grid point
  };
  enum class Owner : std::uint32_t { tick, net };

  static void* thread_main(void* self) noexcept;
  void run() noexcept;
  void tick(bool granted, bool may_move) noexcept;
  Wake sleep_to_grid_point() noexcept;
  void account(const Wake& wake) noexcept;
  [[nodiscard]] bool in_bare_block() const noexcept;
  void bare_tick() noexcept;
  void lend_world() noexcept;

  // tick_commands.cc
  void drain_commands(const Wake& wake) noexcept;
  void handle(const Command& command, const Wake& wake) noexcept;
  void handle_world(const Command& command, Notice& done) noexcept;
  void watch_deadlines(const Wake& wake) noexcept;
  void apply_commands(const Wake& wake) noexcept;
  void handle_robot(const Command& command) noexcept;
  void step_world(const Wake& wake) noexcept;
  void tell_robots(const JudgeContext& context) noexcept;
  void world_replaced() noexcept;
  void notify(const Notice& notice) noexcept;
  [[nodiscard]] JudgeContext judge_context(const Wake& wake) const noexcept;
  [[nodiscard]] bool world_moves(bool granted) noexcept;
  [[nodiscard]] Notice done(const Command& command) const noexcept;

  // tick_models.cc
  void handle_model(const Command& command, Notice& done) noexcept;
  [[nodiscard]] bool defer_switch(const Command& command) noexcept;
  [[nodiscard]] bool change_model(const Command& command) noexcept;
  void finish_switch() noexcept;
  void drop_switch() noexcept;
  void tell_switch() noexcept;
  [[nodiscard]] bool jump_to(const State& state, const Command& command) noexcept;
  void swap_solvers(const Command& command) noexcept;
  void advance_world() noexcept;
  void account_solvers() noexcept;
  void retire(SlowSolver* solver) noexcept;
  void retire(ShadowSolver* shadow) noexcept;

  // publish.cc
  void publish(const Wake& wake) noexcept;
  void fill(StateSlot& slot, const Wake& wake) noexcept;
  void fill_columns(StateSlot& slot) noexcept;
  void fill_contacts(StateSlot& slot) noexcept;
  void fill_robots(StateSlot& slot) noexcept;
  [[nodiscard]] std::uint32_t status_bits(const Wake& wake) const noexcept;
  [[nodiscard]] std::uint64_t record_lost() const noexcept;

  void wait_for_record() noexcept;

  // tick_play.cc
  [[nodiscard]] bool play() noexcept;
  [[nodiscard]] std::uint64_t shown_tick() const noexcept;
  void take_played(const StateSlot& next) noexcept;
  void fill_played(StateSlot& slot, const Wake& wake) const noexcept;

  // tick_tools.cc
  void handle_tool(const Command& command, const Wake& wake) noexcept;
  void apply_tools(const Wake& wake) noexcept;
  void answer_tools(const Wake& wake) noexcept;
  void fill_tools(StateSlot& slot) noexcept;
  // record_rows.cc
  void record_row(const RecordRow& row) noexcept;
  void record_notice(const Notice& notice) noexcept;
  void record_commands() noexcept;
  void record_wrench(BodyIndex body, const SpatialForce& F_Bcm_W) noexcept;
  [[nodiscard]] RecordRow joint_row(RecordRow::Kind kind, JointIndex joint) const noexcept;
  void record_model() noexcept;
  void name_model(RecordRow& row) const noexcept;
  void record_joint(RecordRow::Kind kind, JointIndex joint, std::uint64_t number = 0) noexcept;
  void record_options(JointIndex joint, const ChannelOptions& options) noexcept;
  void record_taken() noexcept;
  void record_joints() noexcept;
  void record_step() noexcept;
  void record_state(const StateSlot* published, const Wake& wake) noexcept;

  const TickOptions options_;
  TickLink& link_;
  std::unique_ptr<World> world_;
  std::uint32_t epoch_;

  PendingCommands pending_;
  WrenchChannels channels_;
  std::vector<ChannelOutput> outputs_;  // acting in this tick
  std::uint32_t output_count_ = 0;
  std::uint64_t channel_tick_ = 0;  // ticks, and beats while paused
  std::uint64_t still_beats_ = 0;   // while paused, since the last tick
  StepReport report_;
  FrozenWatch frozen_;
  ToolDesk tools_;
  SlowTicker slow_;
  ShadowTicker shadow_;
  Command switch_command_;  // waits for the end of a slow model's step
  bool switch_pending_ = false, switch_told_ = false;

  Grid grid_;
  RealTimeFactor factor_;
  bool paused_ = false, lockstep_ = false, advanced_ = false, fault_ = false, regrid_ = true;
  std::uint64_t steps_left_ = 0;
  Command step_command_;  // answered when steps_left_ reaches 0
  std::uint64_t beat_ = 0, missed_ = 0, last_work_ns_ = 0, step_start_ns_ = 0, step_ns_ = 0, commands_dropped_seen_ = 0,
                record_lost_seen_ = 0;
  std::uint64_t first_start_ns_ = 0;
  float factor_now_ = 1;
  StateSlot played_;                // what is shown; without columns where the world is live
  double played_s_ = 0;             // of the recording, from the state before to this one
  std::uint32_t played_beats_ = 0;  // for which it has been shown, but the first

  TickMetrics metrics_;
  Rights rights_;
  std::atomic<bool> rights_known_{false}, stop_{false};
  std::atomic<Owner> owner_;
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace tactus
