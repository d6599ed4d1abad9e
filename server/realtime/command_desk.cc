#include "server/realtime/command_desk.h"

#include <utility>

#include "core/check.h"

namespace tactus {
namespace {

bool is_channel_row(Command::Kind kind) noexcept {
  return kind == Command::Kind::wrench || kind == Command::Kind::joint;
}

// May touch all of the state (copy, hash, swap): at most one a tick, so that no client can stretch one.
bool may_touch_all(Command::Kind kind) noexcept {
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
    case Command::Kind::pause:
    case Command::Kind::resume:
    case Command::Kind::step:
    case Command::Kind::lockstep_on:
    case Command::Kind::swap_world:
    case Command::Kind::reset:
    case Command::Kind::snapshot:
    case Command::Kind::restore:
    case Command::Kind::set_model:
    case Command::Kind::set_shadow:
    case Command::Kind::set_parameters:
    case Command::Kind::probe:
      return true;
  }
  return true;
}

}  // namespace

CommandDesk::CommandDesk(std::uint32_t bodies, Ring<Command>& commands, Ring<Notice>& notices, NoticeWriter& writer,
                         RecordTap& record)
    : commands_(commands),
      notices_(notices),
      writer_(writer),
      record_(record),
      pending_(bodies, notices),
      channels_(bodies),
      outputs_(bodies) {}

void CommandDesk::begin_drain() noexcept {
  left_ = commands_.size();
  was_heavy_ = false;
}

// Rows of one datagram stay together: they are taken even where the drain should end between them.
bool CommandDesk::take_next(Command& out, const JudgeContext& context) noexcept {
  bool inside_datagram = false;
  while (left_ > 0 || inside_datagram) {
    if (!inside_datagram && (was_heavy_ || notices_.size() > notices_.capacity() / 2)) break;
    if (!commands_.pop(out)) break;
    if (left_ > 0) --left_;
    if (!is_channel_row(out.kind)) {
      TACTUS_ASSERT(!inside_datagram);
      was_heavy_ = may_touch_all(out.kind);
      return true;
    }
    pending_.add(out, context);
    inside_datagram = !out.last_row;
  }
  return false;
}

void CommandDesk::drop_channel(BodyIndex body, const JudgeContext& context) noexcept {
  pending_.drop(body, context);
  channels_.release(body, channel_tick_);
}

void CommandDesk::drop_joint(JointIndex joint, const JudgeContext& context, World& world) noexcept {
  pending_.drop_joint(joint, context);
  record_.joint(RecordRow::Kind::joint_release, joint, world.state().tick + 1);
  world.release_joint(joint);
}

void CommandDesk::change_robot(const Command& command, World& world) noexcept {
  const std::uint64_t tick = world.state().tick + 1;
  if (command.kind == Command::Kind::set_joint_options) {
    record_.options(command.joint.joint, tick, *command.options);
    world.set_joint_options(command.joint.joint, *command.options);
  } else {
    const auto robot = static_cast<std::uint32_t>(command.value);
    record_.joint(RecordRow::Kind::robot_recover, robot, tick);
    world.recover_robot(robot);
  }
}

void CommandDesk::forget(double h) noexcept {
  channels_.clear(h);
  output_count_ = 0;
  still_beats_ = 0;
}

void CommandDesk::stand_still() noexcept {
  ++channel_tick_;
  ++still_beats_;
  output_count_ = 0;
}

void CommandDesk::watch(const JudgeContext& context, World& world) noexcept {
  const Model& model = world.model();
  if (still_beats_ > 0) {
    record_.joint(RecordRow::Kind::joint_time, kNone, context.tick, still_beats_);
    world.pass_joint_time(std::exchange(still_beats_, 0));
  }
  pending_.settle(context, model, world.state(), channel_tick_, model.step, channels_, &world);
  record_.taken(pending_.taken(), context.tick);
  output_count_ = channels_.evaluate(channel_tick_, model, world.state(), outputs_);
  ++channel_tick_;
  for (const ChannelOutput& output : acting()) {
    if (!output.expired_now) continue;
    Notice notice;
    notice.kind = Notice::Kind::channel_expired;
    notice.body = output.body;
    notice.tick = context.tick;
    writer_.tell(notice);
  }
}

void CommandDesk::apply(World& world) const noexcept {
  for (const ChannelOutput& output : acting()) world.apply(output.body, output.F_Bcm_W);
}

void CommandDesk::record(std::uint64_t tick) const noexcept {
  for (const ChannelOutput& output : acting()) record_.wrench(tick, output.body, output.F_Bcm_W);
}

void CommandDesk::tell_robots(const JudgeContext& context, const World& world) noexcept {
  if (world.model().robots.empty()) return;
  const RobotDrives& drives = world.robot_drives();
  pending_.tell_missed(context, world);
  Notice notice;
  notice.tick = context.tick;
  notice.kind = Notice::Kind::joint_expired;
  for (const JointIndex joint : drives.expired()) {
    notice.joint = joint;
    writer_.tell(notice);
  }
  notice.joint = kNone;
  notice.kind = Notice::Kind::robot_fault;
  for (const std::uint32_t robot : drives.faults()) {
    notice.robot = robot;
    writer_.tell(notice);
  }
}

}  // namespace tactus
