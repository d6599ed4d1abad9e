#include "server/realtime/dispatch.h"

#include "core/check.h"
#include "server/realtime/clock.h"

namespace tactus {

void Dispatch::drain(const Beat& beat) noexcept {
  CommandDesk& desk = parts_.commands;
  Command command;
  desk.begin_drain();
  while (desk.take_next(command, parts_.context(beat))) carry_out(command, beat);
  desk.expire(parts_.context(beat));
}

void Dispatch::carry_out(const Command& command, const Beat& beat) noexcept {
  TickParts& p = parts_;
  World& world = p.scene.world();
  const JudgeContext context = p.context(beat);
  const bool is_meant = p.scene.is_meant(command);
  Notice out = done_notice(command, p.shown_tick());
  switch (command.kind) {
    case Command::Kind::wrench:
    case Command::Kind::joint:
      break;
    case Command::Kind::device:
      return p.devices.take_sample(command, context, world);
    case Command::Kind::attach_tool:
      p.devices.attach(command, context, world, out);
      return answer(out);
    case Command::Kind::detach_tool:
      return p.devices.detach(command, context);
    case Command::Kind::drop_channel:
      if (is_meant) p.commands.drop_channel(command.row.body, context);
      return;
    case Command::Kind::drop_joint:
      if (is_meant) p.commands.drop_joint(command.joint.joint, context, world);
      return;
    case Command::Kind::set_joint_options:
    case Command::Kind::recover_robot:
      out.ok = is_meant;
      if (out.ok) p.commands.change_robot(command, world);
      return answer(out);
    case Command::Kind::pause:
      if (p.run.pause()) p.finish_steps();
      p.models.tell_waiting(world);
      return answer(out);
    case Command::Kind::resume:
      if (p.run.resume()) p.finish_steps();
      return answer(out);
    case Command::Kind::step:
      out.ok = p.run.begin_steps(command);
      if (!out.ok) answer(out);
      return;
    case Command::Kind::lockstep_on:
      if (p.run.enter_lockstep()) p.finish_steps();
      p.models.tell_waiting(world);
      return answer(out);
    case Command::Kind::swap_world:
      swap_world(command, out);
      return answer_with_hash(out);
    case Command::Kind::reset:
      jump(world.initial(), command, out);
      return answer_with_hash(out);
    case Command::Kind::restore:
      jump(*command.state, command, out);
      return answer_with_hash(out);
    case Command::Kind::snapshot:
      snapshot(command, out);
      return answer_with_hash(out);
    case Command::Kind::set_model:
      if (p.models.defer(command, is_meant, p.run.lockstep() || p.run.paused(), world)) return;
      out.ok = p.models.set_model(command, is_meant, world);
      return answer_with_hash(out);
    case Command::Kind::set_shadow:
      out.ok = p.models.set_shadow(command, is_meant);
      return answer_with_hash(out);
    case Command::Kind::set_parameters:
      world.set_parameters(*command.parameters);
      return answer_with_hash(out);
    case Command::Kind::probe:
      return answer_with_hash(out);
  }
  TACTUS_ASSERT(!"rows are the desk's");
}

void Dispatch::jump(const State& state, const Command& command, Notice& out) noexcept {
  out.state = command.state;
  out.ok = parts_.models.jump(state, command, parts_.scene.is_meant(command), parts_.scene.world());
  if (out.ok) parts_.note_jump();
}

void Dispatch::snapshot(const Command& command, Notice& out) noexcept {
  const World& world = parts_.scene.world();
  out.state = command.state;
  world.snapshot(*command.state);
  if (command.memory != nullptr) out.ok = parts_.models.slow().save(world, *command.memory);
}

void Dispatch::swap_world(const Command& command, Notice& out) noexcept {
  TACTUS_ASSERT(command.world != nullptr);
  TickParts& p = parts_;
  p.commands.drop_waiting({p.scene.tick(), now_ns(), p.scene.epoch(), p.run.lockstep()});
  p.models.leave(command, p.scene.world());
  p.devices.clear();
  out.world = p.scene.exchange(command.world, static_cast<std::uint32_t>(command.value));
  p.record.set_epoch(p.scene.epoch());
  p.note_jump();
}

void Dispatch::answer(Notice out) noexcept {
  out.tick = parts_.shown_tick();
  parts_.finish(out);
}

// Of the world as the command has left it.
void Dispatch::answer_with_hash(Notice out) noexcept {
  out.hash = parts_.scene.world().hash();
  answer(out);
}

}  // namespace tactus
