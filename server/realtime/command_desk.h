// Commands to bodies and joints, from the ring to what acts in a step: draining, deadlines, ramps, and what is said
// when one expires. Which kinds of command there are besides is the caller's. Allocates nothing after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/actuation/wrench_channels.h"
#include "core/world.h"
#include "server/realtime/notice_writer.h"
#include "server/realtime/pending_commands.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/ring.h"

namespace tactus {

class CommandDesk {
 public:
  // Room for so many bodies, and as many joints. notices: of the writer.
  CommandDesk(std::uint32_t bodies, Ring<Command>& commands, Ring<Notice>& notices, NoticeWriter& writer,
              RecordTap& record);

  // Takes what has arrived, up to one ring's worth: rows come here, and each other command is given to the caller, who
  // carries it out before the next one. begin_drain(), then take_next() until it says false, then expire(). It ends
  // early when notices would not fit, and after a command that may touch all of the state.
  void begin_drain() noexcept;
  [[nodiscard]] bool take_next(Command& out, const JudgeContext& context) noexcept;
  void expire(const JudgeContext& context) noexcept { pending_.expire(context); }

  // Lease lost or client gone: the wrench ramps to zero, the joint goes to its safe state.
  void drop_channel(BodyIndex body, const JudgeContext& context) noexcept;
  void drop_joint(JointIndex joint, const JudgeContext& context, World& world) noexcept;
  // set_joint_options or recover_robot.
  void change_robot(const Command& command, World& world) noexcept;
  // Another scene comes: what waits is stale.
  void drop_waiting(const JudgeContext& context) noexcept { pending_.drop_all(context); }
  // The state has jumped: no command of before acts in it. h: the world's tick.
  void forget(double h) noexcept;

  // A beat in which the world stands: deadlines pass all the same, so that no old force waits for the resume.
  void stand_still() noexcept;
  // Before a step: new commands take their channels; those past their deadline ramp to zero, which is said once.
  void watch(const JudgeContext& context, World& world) noexcept;
  // Puts on the world what acts in the step, and leaves it for a recording.
  void apply(World& world) const noexcept;
  void record(std::uint64_t tick) const noexcept;
  // After the step, with the context of before it: joint commands that expired or were missed, and faults.
  void tell_robots(const JudgeContext& context, const World& world) noexcept;

  [[nodiscard]] std::span<const ChannelOutput> acting() const noexcept { return {outputs_.data(), output_count_}; }
  void release_all() noexcept { output_count_ = 0; }  // nothing is said to act any more

 private:
  Ring<Command>& commands_;
  const Ring<Notice>& notices_;
  NoticeWriter& writer_;
  RecordTap& record_;
  PendingCommands pending_;
  WrenchChannels channels_;
  std::vector<ChannelOutput> outputs_;  // acting in this tick
  std::uint32_t output_count_ = 0;
  std::uint64_t channel_tick_ = 0;  // ticks, and beats while paused
  std::uint64_t still_beats_ = 0;   // while paused, since the last tick
  std::size_t left_ = 0;            // of the drain: commands that had arrived at its begin
  bool was_heavy_ = false;          // one has touched all of the state
};

}  // namespace tactus
