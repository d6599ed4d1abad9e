// Which model moves the world: its own, every tick, or a slow one beside the tick; and the shadow.
#include <utility>

#include "core/check.h"
#include "server/realtime/tick_loop.h"

namespace tactus {

void TickLoop::advance_world() noexcept {
  const bool slow = slow_.active();
  if (slow) {
    shadow_.rest();
  } else {
    shadow_.before_step(*world_);
  }
  const Meet meet = lockstep_ ? Meet::wait : Meet::ready;
  report_ = slow_.step(*world_, meet, meet, !switch_pending_);
  if (!slow) shadow_.after_step(*world_, lockstep_);
}

void TickLoop::account_solvers() noexcept {
  if (!slow_.active() || slow_.adopted()) {  // else the report is that of a step that was counted
    count_step(report_, metrics_);
  }
  if (slow_.adopted()) {
    metrics_.solves.add();
    metrics_.solve_ns.record(slow_.solve_ns());
    metrics_.adoption_tick.set(world_->state().tick);
  }
  if (slow_.became_late()) metrics_.late_solves.add();
  metrics_.solve_ticks_lost.set(slow_.ticks_lost());
  if (shadow_.fresh()) {
    metrics_.shadow_solves.add();
    metrics_.shadow_ns.record(shadow_.solve_ns());
  }
  metrics_.shadow_skipped.set(shadow_.intervals_skipped());
  if (switch_pending_ && slow_.may_exchange(*world_)) finish_switch();
}

void TickLoop::handle_model(const Command& command, Notice& out) noexcept {
  const bool stale = command.epoch != epoch_;  // made for a scene that has gone
  if (command.kind == Command::Kind::set_shadow) {
    out.ok = !stale;
    retire(stale ? command.shadow : shadow_.exchange(command.shadow));
    return;
  }
  out.ok = !stale && change_model(command);
  if (!out.ok) retire(command.solver);
}

// Away from a slow model when its step ends, so that no motion is lost. True: waits, and is told then; or at once where
// nobody knows when the next tick will be.
bool TickLoop::defer_switch(const Command& command) noexcept {
  if (!slow_.active() || slow_.may_exchange(*world_) || command.epoch != epoch_) return false;
  drop_switch();
  switch_command_ = command;
  switch_pending_ = true;
  switch_told_ = false;
  if (lockstep_ || paused_) tell_switch();
  return true;
}

void TickLoop::tell_switch() noexcept {
  if (!switch_pending_ || std::exchange(switch_told_, true)) return;
  Notice out = done(switch_command_);
  out.hash = world_->hash();
  notify(out);
}

bool TickLoop::change_model(const Command& command) noexcept {
  const auto kind = static_cast<ContactModelKind>(command.value);
  if (command.solver != nullptr) {
    world_->yield_to(kind);
  } else if (!world_->set_model(kind)) {
    return false;
  }
  retire(slow_.exchange(command.solver, *world_));
  record_model();
  return true;
}

void TickLoop::finish_switch() noexcept {
  switch_pending_ = false;
  const bool ok = change_model(switch_command_);
  if (!ok) retire(switch_command_.solver);
  if (switch_told_) return;
  Notice out = done(switch_command_);
  out.ok = ok;
  out.hash = world_->hash();
  notify(out);
}

// Something else came first: another switch, or a jump of the state.
void TickLoop::drop_switch() noexcept {
  if (!std::exchange(switch_pending_, false)) return;
  retire(switch_command_.solver);
  if (switch_told_) return;
  Notice out = done(switch_command_);
  out.ok = false;
  notify(out);
}

// Reset and restore: the state, and who moves the world from there. False: nothing changed.
bool TickLoop::jump_to(const State& state, const Command& command) noexcept {
  const bool stays = command.solver == nullptr && slow_.active() && slow_.solver()->kind() == state.contact_model;
  const bool slow = stays || (command.solver != nullptr && command.solver->kind() == state.contact_model);
  const bool possible =
      (command.solver == nullptr || command.epoch == epoch_) && (slow ? world_->jump(state) : world_->restore(state));
  if (!possible) {
    retire(command.solver);
    return false;
  }
  drop_switch();
  slow_.clear();
  if (stays) return true;
  retire(slow_.exchange(slow ? command.solver : nullptr, *world_));
  if (!slow) retire(command.solver);
  return true;
}

// Before the world is swapped.
void TickLoop::swap_solvers(const Command& command) noexcept {
  drop_switch();
  slow_.clear();
  retire(slow_.exchange(command.solver, *world_));
  retire(shadow_.exchange(command.shadow));
}

void TickLoop::retire(SlowSolver* solver) noexcept {
  if (solver == nullptr) return;
  Notice notice;
  notice.kind = Notice::Kind::retired;
  notice.solver = solver;
  notify(notice);
}

void TickLoop::retire(ShadowSolver* shadow) noexcept {
  if (shadow == nullptr) return;
  Notice notice;
  notice.kind = Notice::Kind::retired;
  notice.shadow = shadow;
  notify(notice);
}

}  // namespace tactus
