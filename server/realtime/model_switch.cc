#include "server/realtime/model_switch.h"

#include <utility>

#include "core/check.h"

namespace tactus {

ModelSwitch::ModelSwitch(std::uint32_t bodies, std::uint32_t contacts, NoticeWriter& notices, RecordTap& record)
    : notices_(notices), record_(record), slow_(bodies, contacts), shadow_(bodies) {}

ModelSwitch::~ModelSwitch() {
  slow_.clear();  // what is under way is thrown away
  delete slow_.solver();
  delete shadow_.exchange(nullptr);
  if (waiting_) delete command_.solver;
}

void ModelSwitch::set_solvers(std::unique_ptr<SlowSolver> solver, std::unique_ptr<ShadowSolver> shadow,
                              World& world) noexcept {
  TACTUS_ASSERT(solver == nullptr || solver->kind() == world.state().contact_model);
  delete slow_.exchange(solver.release(), world);
  delete shadow_.exchange(shadow.release());
}

InCharge ModelSwitch::in_charge(const World& world) const noexcept {
  if (!slow_.active()) return {world.state().contact_model, 0};
  return {slow_.solver()->kind(), slow_.solver()->ticks()};
}

const StepReport& ModelSwitch::step(World& world, bool lockstep) noexcept {
  const bool slow = slow_.active();
  if (slow) {
    shadow_.rest();
  } else {
    shadow_.before_step(world);
  }
  const Meet meet = lockstep ? Meet::wait : Meet::ready;
  report_ = slow_.step(world, meet, meet, !waiting_);
  if (!slow) shadow_.after_step(world, lockstep);
  return report_;
}

void ModelSwitch::count(const World& world, TickMetrics& metrics) const noexcept {
  if (!slow_.active() || slow_.adopted()) {  // else the report is that of a step that was counted
    count_step(report_, metrics);
  }
  if (slow_.adopted()) {
    metrics.solves.add();
    metrics.solve_ns.record(slow_.solve_ns());
    metrics.adoption_tick.set(world.state().tick);
  }
  if (slow_.became_late()) metrics.late_solves.add();
  metrics.solve_ticks_lost.set(slow_.ticks_lost());
  if (shadow_.fresh()) {
    metrics.shadow_solves.add();
    metrics.shadow_ns.record(shadow_.solve_ns());
  }
  metrics.shadow_skipped.set(shadow_.intervals_skipped());
}

void ModelSwitch::end_switch(World& world) noexcept {
  if (!waiting_ || !slow_.may_exchange(world)) return;
  waiting_ = false;
  const bool ok = change(command_, world);
  if (!ok) notices_.retire(command_.solver);
  if (told_) return;
  Notice out = done_notice(command_, world.state().tick);
  out.ok = ok;
  out.hash = world.hash();
  finish(out, world);
}

bool ModelSwitch::defer(const Command& command, bool is_meant, bool at_once, World& world) noexcept {
  if (!slow_.active() || slow_.may_exchange(world) || !is_meant) return false;
  drop_waiting(world);
  command_ = command;
  waiting_ = true;
  told_ = false;
  if (at_once) tell_waiting(world);
  return true;
}

bool ModelSwitch::set_model(const Command& command, bool is_meant, World& world) noexcept {
  const bool ok = is_meant && change(command, world);
  if (!ok) notices_.retire(command.solver);
  return ok;
}

bool ModelSwitch::set_shadow(const Command& command, bool is_meant) noexcept {
  notices_.retire(is_meant ? shadow_.exchange(command.shadow) : command.shadow);
  return is_meant;
}

bool ModelSwitch::change(const Command& command, World& world) noexcept {
  const auto kind = static_cast<ContactModelKind>(command.value);
  if (command.solver != nullptr) {
    world.yield_to(kind);
  } else if (!world.set_model(kind)) {
    return false;
  }
  notices_.retire(slow_.exchange(command.solver, world));
  record_.model(world.state().tick, in_charge(world));
  return true;
}

void ModelSwitch::tell_waiting(const World& world) noexcept {
  if (!waiting_ || std::exchange(told_, true)) return;
  Notice out = done_notice(command_, world.state().tick);
  out.hash = world.hash();
  finish(out, world);
}

// Something else came first: another switch, or a jump of the state.
void ModelSwitch::drop_waiting(const World& world) noexcept {
  if (!std::exchange(waiting_, false)) return;
  notices_.retire(command_.solver);
  if (told_) return;
  Notice out = done_notice(command_, world.state().tick);
  out.ok = false;
  finish(out, world);
}

bool ModelSwitch::jump(const State& state, const Command& command, bool is_meant, World& world) noexcept {
  const bool stays = command.solver == nullptr && slow_.active() && slow_.solver()->kind() == state.contact_model;
  const bool slow = stays || (command.solver != nullptr && command.solver->kind() == state.contact_model);
  const bool possible = (command.solver == nullptr || is_meant) && (slow ? world.jump(state) : world.restore(state));
  if (!possible) {
    notices_.retire(command.solver);
    return false;
  }
  drop_waiting(world);
  slow_.clear();
  if (stays) return true;
  notices_.retire(slow_.exchange(slow ? command.solver : nullptr, world));
  if (!slow) notices_.retire(command.solver);
  return true;
}

void ModelSwitch::leave(const Command& command, World& world) noexcept {
  drop_waiting(world);
  slow_.clear();
  notices_.retire(slow_.exchange(command.solver, world));
  notices_.retire(shadow_.exchange(command.shadow));
}

void ModelSwitch::forget() noexcept {
  report_ = StepReport{};
  slow_.clear();
  shadow_.clear();
}

}  // namespace tactus
