// The tick's first half: what came in becomes state of the loop, and wrenches on the world.
#include <utility>

#include "core/check.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {
namespace {

// Commands that may touch all of the state (copy, hash, swap): at most this many a tick, so that no client can stretch
// one.
constexpr int kHeavyPerTick = 1;

bool is_row(Command::Kind kind) noexcept {
  return kind == Command::Kind::wrench || kind == Command::Kind::joint;
}

bool is_heavy(Command::Kind kind) noexcept {
  switch (kind) {
    case Command::Kind::wrench:
    case Command::Kind::joint:
    case Command::Kind::drop_channel:
    case Command::Kind::drop_joint:
    case Command::Kind::set_joint_options:
    case Command::Kind::recover_robot:
    case Command::Kind::device:
    case Command::Kind::attach_tool:
    case Command::Kind::detach_tool:
      return false;
    default:
      return true;
  }
}

}  // namespace

JudgeContext TickLoop::judge_context(const Wake& wake) const noexcept {
  // The tick in progress carries the number of the state it will publish.
  return {world_->state().tick + 1, wake.start_ns, epoch_, wake.granted};
}

// Takes what has arrived, up to one ring's worth; stops early when notices would not fit. Rows of one datagram stay
// together.
void TickLoop::drain_commands(const Wake& wake) noexcept {
  const std::size_t waiting = link_.commands.size();
  int heavy = 0;
  bool inside_datagram = false;
  Command command;
  for (std::size_t taken = 0; taken < waiting || inside_datagram; ++taken) {
    if (!inside_datagram && (link_.notices.size() > link_.notices.capacity() / 2 || heavy == kHeavyPerTick)) break;
    if (!link_.commands.pop(command)) break;
    if (is_row(command.kind)) {
      pending_.add(command, judge_context(wake));
      inside_datagram = !command.last_row;
    } else {
      TACTUS_ASSERT(!inside_datagram);
      heavy += is_heavy(command.kind) ? 1 : 0;
      handle(command, wake);
    }
  }
  pending_.expire(judge_context(wake));
}

void TickLoop::handle(const Command& command, const Wake& wake) noexcept {
  Notice out = done(command);
  switch (command.kind) {
    case Command::Kind::device:
    case Command::Kind::detach_tool:
      return handle_tool(command, wake);
    case Command::Kind::attach_tool:
      out.ok = command.epoch == epoch_ && !tools_.attached(static_cast<std::uint32_t>(command.value));
      if (out.ok && world_->state().frozen[command.tool->body] != 0) {  // it would answer no device
        out.ok = false;
        out.verdict = Verdict::fault;
      }
      if (out.ok) handle_tool(command, wake);
      break;
    case Command::Kind::drop_channel:
      if (command.epoch == epoch_) {
        pending_.drop(command.row.body, judge_context(wake));
        channels_.release(command.row.body, channel_tick_);
      }
      return;
    case Command::Kind::drop_joint:
      if (command.epoch == epoch_) {
        pending_.drop_joint(command.joint.joint, judge_context(wake));
        record_joint(RecordRow::Kind::joint_release, command.joint.joint);
        world_->release_joint(command.joint.joint);
      }
      return;
    case Command::Kind::set_joint_options:
    case Command::Kind::recover_robot:
      out.ok = command.epoch == epoch_;
      if (out.ok) handle_robot(command);
      break;
    case Command::Kind::pause:
      paused_ = true;
      tell_switch();
      break;
    case Command::Kind::resume:
      if (steps_left_ > 0) notify(done(step_command_));
      steps_left_ = 0;
      paused_ = false;
      break;
    case Command::Kind::step:
      out.ok = paused_ && steps_left_ == 0 && command.value > 0;
      if (!out.ok) break;
      steps_left_ = command.value;
      step_command_ = command;
      return;
    case Command::Kind::lockstep_on:
      if (steps_left_ > 0) notify(done(step_command_));
      steps_left_ = 0;
      lockstep_ = true;
      tell_switch();
      break;
    case Command::Kind::set_model:
      if (defer_switch(command)) return;
      [[fallthrough]];
    default:
      handle_world(command, out);
  }
  out.tick = shown_tick();
  notify(out);
}

void TickLoop::handle_robot(const Command& command) noexcept {
  if (command.kind == Command::Kind::set_joint_options) {
    record_options(command.joint.joint, *command.options);
    world_->set_joint_options(command.joint.joint, *command.options);
  } else {
    const auto robot = static_cast<std::uint32_t>(command.value);
    record_joint(RecordRow::Kind::robot_recover, robot);
    world_->recover_robot(robot);
  }
}

// The kinds that change or read the world itself.
void TickLoop::handle_world(const Command& command, Notice& out) noexcept {
  switch (command.kind) {
    case Command::Kind::swap_world:
      TACTUS_ASSERT(command.world != nullptr);
      TACTUS_ASSERT(command.world->model().bodies.size() <= options_.bodies);
      pending_.drop_all({world_->state().tick, now_ns(), epoch_, lockstep_});
      swap_solvers(command);
      tools_.clear();
      out.world = world_.release();
      world_.reset(command.world);
      epoch_ = static_cast<std::uint32_t>(command.value);
      world_replaced();
      break;
    case Command::Kind::reset:
      out.ok = jump_to(world_->initial(), command);
      if (out.ok) world_replaced();
      break;
    case Command::Kind::restore:
      out.state = command.state;
      out.ok = jump_to(*command.state, command);
      if (out.ok) world_replaced();
      break;
    case Command::Kind::snapshot:
      out.state = command.state;
      world_->snapshot(*command.state);
      if (command.memory != nullptr) out.ok = slow_.save(*world_, *command.memory);
      break;
    case Command::Kind::set_model:
    case Command::Kind::set_shadow:
      handle_model(command, out);
      break;
    case Command::Kind::set_parameters:
      world_->set_parameters(*command.parameters);
      break;
    default:
      break;
  }
  out.hash = world_->hash();
}

// A jump of the state: no command of before acts in it.
void TickLoop::world_replaced() noexcept {
  channels_.clear(world_->model().step);
  tools_.drop_all();
  output_count_ = 0;
  still_beats_ = 0;
  report_ = StepReport{};
  slow_.clear();
  shadow_.clear();
  frozen_.restart(world_->state());
  regrid_ = regrid_ || static_cast<std::uint64_t>(1e9 * world_->model().step + 0.5) != grid_.period_ns();
}

bool TickLoop::world_moves(bool granted) noexcept {
  if (granted) return true;
  if (lockstep_) return false;
  if (!paused_) return true;
  if (steps_left_ > 0) return true;
  ++channel_tick_;  // deadlines pass while paused, too: no old force waits for the resume
  ++still_beats_;
  output_count_ = 0;
  return false;
}

// Watchdog: new commands take their channels; channels past their deadline ramp to zero, which is said once.
void TickLoop::watch_deadlines(const Wake& wake) noexcept {
  const JudgeContext context = judge_context(wake);
  const Model& model = world_->model();
  if (still_beats_ > 0) {
    record_joint(RecordRow::Kind::joint_time, kNone, still_beats_);
    world_->pass_joint_time(std::exchange(still_beats_, 0));
  }
  pending_.settle(context, model, world_->state(), channel_tick_, model.step, channels_, world_.get());
  record_taken();
  output_count_ = channels_.evaluate(channel_tick_, model, world_->state(), outputs_);
  ++channel_tick_;
  for (std::uint32_t i = 0; i < output_count_; ++i) {
    if (!outputs_[i].expired_now) continue;
    Notice notice;
    notice.kind = Notice::Kind::channel_expired;
    notice.body = outputs_[i].body;
    notice.tick = context.tick;
    notify(notice);
  }
}

void TickLoop::apply_commands(const Wake& wake) noexcept {
  for (std::uint32_t i = 0; i < output_count_; ++i) world_->apply(outputs_[i].body, outputs_[i].F_Bcm_W);
  apply_tools(wake);
  record_commands();
}

// What the drives found in the step: commands that expired or were missed, and faults.
void TickLoop::tell_robots(const JudgeContext& context) noexcept {
  if (world_->model().robots.empty()) return;
  const RobotDrives& drives = world_->robot_drives();
  pending_.tell_missed(context, *world_);
  Notice notice;
  notice.tick = context.tick;
  notice.kind = Notice::Kind::joint_expired;
  for (const JointIndex joint : drives.expired()) {
    notice.joint = joint;
    notify(notice);
  }
  notice.joint = kNone;
  notice.kind = Notice::Kind::robot_fault;
  for (const std::uint32_t robot : drives.faults()) {
    notice.robot = robot;
    notify(notice);
  }
}

void TickLoop::step_world(const Wake& wake) noexcept {
  const JudgeContext context = judge_context(wake);  // before the world moves on
  step_start_ns_ = now_ns();
  advance_world();
  step_ns_ = now_ns() - step_start_ns_;
  record_step();
  account_solvers();
  tell_robots(context);
  frozen_.look(report_.bodies_frozen, world_->state(), [this](BodyIndex b) {
    Notice notice;
    notice.kind = Notice::Kind::body_frozen;
    notice.body = b;
    notice.tick = world_->state().tick;
    notify(notice);
  });
  if (steps_left_ > 0 && --steps_left_ == 0) {
    Notice out = done(step_command_);
    out.hash = world_->hash();
    notify(out);
  }
}

Notice TickLoop::done(const Command& command) const noexcept {
  Notice out;
  out.kind = Notice::Kind::done;
  out.command = command.kind;
  out.client = command.client;
  out.ticket = command.ticket;
  out.tick = shown_tick();
  return out;
}

void TickLoop::notify(const Notice& notice) noexcept {
  const bool pushed = link_.notices.push(notice);
  TACTUS_ASSERT(pushed);
  record_notice(notice);
}

}  // namespace tactus
