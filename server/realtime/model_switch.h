// Which contact model moves the world, and how that changes: the world's own in every tick, or a slow one beside the
// tick; and the shadow that is compared with it. Away from a slow model the switch waits for the end of its step, so
// that no motion is lost.
#pragma once

#include <cstdint>
#include <memory>

#include "core/world.h"
#include "server/realtime/notice_writer.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/tick_metrics.h"
#include "server/solver/shadow_ticker.h"
#include "server/solver/slow_ticker.h"

namespace tactus {

class ModelSwitch {
 public:
  // The largest scene, and the contacts of a slow model's step that are published.
  ModelSwitch(std::uint32_t bodies, std::uint32_t contacts, NoticeWriter& notices, RecordTap& record);
  ~ModelSwitch();
  ModelSwitch(const ModelSwitch&) = delete;
  ModelSwitch& operator=(const ModelSwitch&) = delete;

  // Before the first tick: who solves beside the tick (null: nobody).
  void set_solvers(std::unique_ptr<SlowSolver> solver, std::unique_ptr<ShadowSolver> shadow, World& world) noexcept;

  // One tick of the world by whoever is in charge. In lockstep it waits for what is due.
  const StepReport& step(World& world, bool lockstep) noexcept;
  // After it: adds its figures.
  void count(const World& world, TickMetrics& metrics) const noexcept;
  // After that: ends a switch that waited, when the step that it waited for has ended.
  void end_switch(World& world) noexcept;

  // The commands. A command's solver comes back by a notice when it is not needed. is_meant: it was made for this
  // scene.
  // True: the switch waits and is told when it is done; at_once: now, because nobody knows when the next tick will be.
  [[nodiscard]] bool defer(const Command& command, bool is_meant, bool at_once, World& world) noexcept;
  [[nodiscard]] bool set_model(const Command& command, bool is_meant, World& world) noexcept;
  [[nodiscard]] bool set_shadow(const Command& command, bool is_meant) noexcept;
  // Reset and restore: the state, and who moves the world from there. False: nothing changed.
  [[nodiscard]] bool jump(const State& state, const Command& command, bool is_meant, World& world) noexcept;
  // Before the world is swapped for the command's.
  void leave(const Command& command, World& world) noexcept;
  // The ticks stop: a switch that waits is told now.
  void tell_waiting(const World& world) noexcept;
  // A jump of the state: no step and no comparison of before counts.
  void forget() noexcept;

  [[nodiscard]] InCharge in_charge(const World& world) const noexcept;
  [[nodiscard]] const StepReport& report() const noexcept { return report_; }  // of the last step
  [[nodiscard]] const SlowTicker& slow() const noexcept { return slow_; }
  [[nodiscard]] const ShadowTicker& shadow() const noexcept { return shadow_; }
  [[nodiscard]] bool waiting() const noexcept { return waiting_; }

 private:
  [[nodiscard]] bool change(const Command& command, World& world) noexcept;
  void drop_waiting(const World& world) noexcept;
  void finish(const Notice& done, const World& world) noexcept { notices_.finish(done, in_charge(world)); }

  NoticeWriter& notices_;
  RecordTap& record_;
  SlowTicker slow_;
  ShadowTicker shadow_;
  StepReport report_;
  Command command_;                      // waits for the end of a slow model's step
  bool waiting_ = false, told_ = false;  // it waits; its notice is out
};

}  // namespace tactus
