#include "server/realtime/pending_commands.h"

#include <algorithm>

#include "core/check.h"
#include "core/world.h"

namespace tactus {
namespace {

WrenchCommand to_command(const WrenchRow& row) noexcept {
  WrenchCommand out;
  out.force = Vec3(row.force[0], row.force[1], row.force[2]);
  out.torque = Vec3(row.torque[0], row.torque[1], row.torque[2]);
  out.p_BP = Vec3(row.point_B[0], row.point_B[1], row.point_B[2]);
  out.in_body_frame = row.frame == 1;
  out.at_point = row.at_point;
  return out;
}

std::uint64_t age_ns(std::uint64_t received_ns, const JudgeContext& context) noexcept {
  if (context.lockstep || context.now_ns < received_ns) return 0;
  return context.now_ns - received_ns;
}

Verdict to_verdict(JointVerdict verdict) noexcept {
  switch (verdict) {
    case JointVerdict::applied:
      return Verdict::applied;
    case JointVerdict::clamped:
      return Verdict::clamped;
    case JointVerdict::no_joint:
      return Verdict::unknown_joint;
    case JointVerdict::no_gains:
      return Verdict::no_gains;
    case JointVerdict::not_a_number:
      return Verdict::not_finite;
    case JointVerdict::out_of_range:
      return Verdict::out_of_range;
    case JointVerdict::wrong_count:
      return Verdict::wrong_count;
    case JointVerdict::fault:
      return Verdict::fault;
  }
  return Verdict::unknown_joint;
}

bool is_refusal(Verdict verdict) noexcept {
  return verdict >= Verdict::stale_epoch;
}

}  // namespace

// Each waiting datagram owns at least one channel's row, and one more may be arriving: that many datagrams are enough.
PendingCommands::PendingCommands(std::uint32_t bodies, Ring<Notice>& notices)
    : notices_(notices), bodies_(bodies), channels_(2 * std::size_t{bodies}), datagrams_(channels_.size() + 1) {
  TACTUS_ASSERT(datagrams_.size() < kNoDatagram);
  waiting_.reserve(channels_.size());
  taken_.reserve(bodies_);
  free_.reserve(datagrams_.size());
  for (std::size_t i = datagrams_.size(); i > 0; --i) free_.push_back(static_cast<Index>(i - 1));
}

PendingCommands::Index PendingCommands::take_datagram(const Command& command) noexcept {
  TACTUS_ASSERT(!free_.empty());
  const Index index = free_.back();
  free_.pop_back();
  Datagram& datagram = datagrams_[index];
  datagram = {};
  datagram.client = command.client;
  datagram.ticket = command.ticket;
  datagram.received_ns = command.received_ns;
  datagram.deadline_us = command.deadline_us;
  datagram.expected_tick = command.expected_tick;
  return index;
}

// channels_.size() when there is none.
PendingCommands::ChannelIndex PendingCommands::channel_of(const Command& command) const noexcept {
  const auto none = static_cast<ChannelIndex>(channels_.size());
  const bool joint = command.kind == Command::Kind::joint;
  const std::uint32_t index = joint ? command.joint.joint : command.row.body;
  if (index >= bodies_) return none;
  return joint ? bodies_ + index : index;
}

void PendingCommands::add(const Command& command, const JudgeContext& context) noexcept {
  if (open_ == kNoDatagram) open_ = take_datagram(command);
  const Index index = open_;
  const ChannelIndex at = channel_of(command);
  const bool stale = command.epoch != context.epoch || at == channels_.size();
  if (!stale) {
    ++datagrams_[index].live_rows;  // a provisional row keeps the datagram alive while it replaces others
    const Channel& channel = channels_[at];
    const bool overtaken = channel.newest_client == command.client && command.ticket < channel.newest_ticket;
    if (overtaken) {
      --datagrams_[index].live_rows;
    } else {
      lose_row(at, Verdict::superseded, context);
      place(command, index);
    }
  }
  if (!command.last_row) return;
  open_ = kNoDatagram;
  if (datagrams_[index].live_rows > 0) return;
  judge(datagrams_[index], stale ? Verdict::stale_epoch : Verdict::superseded, command.row_index, context);
  free_.push_back(index);
}

void PendingCommands::place(const Command& command, Index datagram) noexcept {
  const ChannelIndex at = channel_of(command);
  Channel& channel = channels_[at];
  channel.datagram = datagram;
  channel.row_index = command.row_index;
  if (at < bodies_) {
    channel.wrench = to_command(command.row);
  } else {
    channel.joint = command.joint;
  }
  channel.newest_client = command.client;
  channel.newest_ticket = command.ticket;
  channel.position = static_cast<std::uint32_t>(waiting_.size());
  waiting_.push_back(at);
}

// Takes the waiting row of a channel away; the verdict is given with the datagram's last row.
void PendingCommands::lose_row(ChannelIndex at, Verdict verdict, const JudgeContext& context) noexcept {
  Channel& channel = channels_[at];
  if (channel.datagram == kNoDatagram) return;
  const Index index = channel.datagram;
  channel.datagram = kNoDatagram;
  channels_[waiting_.back()].position = channel.position;
  waiting_[channel.position] = waiting_.back();
  waiting_.pop_back();
  Datagram& datagram = datagrams_[index];
  TACTUS_ASSERT(datagram.live_rows > 0);
  if (--datagram.live_rows > 0 || index == open_) return;
  judge(datagram, verdict, channel.row_index, context);
  free_.push_back(index);
}

void PendingCommands::forget(ChannelIndex at, const JudgeContext& context) noexcept {
  lose_row(at, Verdict::superseded, context);
  channels_[at].newest_client = kNoClient;
  channels_[at].newest_ticket = 0;
}

void PendingCommands::drop(BodyIndex body, const JudgeContext& context) noexcept {
  if (body < bodies_) forget(body, context);
}

void PendingCommands::drop_joint(JointIndex joint, const JudgeContext& context) noexcept {
  if (joint < bodies_) forget(bodies_ + joint, context);
}

void PendingCommands::drop_all(const JudgeContext& context) noexcept {
  while (!waiting_.empty()) lose_row(waiting_.back(), Verdict::stale_epoch, context);
  for (Channel& channel : channels_) channel.newest_client = kNoClient, channel.newest_ticket = 0;
}

void PendingCommands::expire(const JudgeContext& context) noexcept {
  for (std::size_t i = waiting_.size(); i > 0; --i) {
    const ChannelIndex at = waiting_[i - 1];
    const Datagram& datagram = datagrams_[channels_[at].datagram];
    if (age_ns(datagram.received_ns, context) > std::uint64_t{1000} * datagram.deadline_us)
      lose_row(at, Verdict::expired, context);
  }
}

// A row that its joint refuses takes the whole datagram along: found out before any row acts.
void PendingCommands::check_joints(const World& world) noexcept {
  for (const ChannelIndex at : waiting_) {
    if (at < bodies_) continue;
    const Channel& channel = channels_[at];
    Datagram& datagram = datagrams_[channel.datagram];
    if (is_refusal(datagram.verdict)) continue;
    const JointRow& row = channel.joint;
    if (row.release) continue;
    JointVerdict verdict = world.check_joint({row.joint, row.kind, row.value, row.rate});
    if (accepted(verdict) && world.robot_fault(world.model().joints[row.joint].robot)) verdict = JointVerdict::fault;
    if (accepted(verdict)) continue;
    datagram.verdict = to_verdict(verdict);
    datagram.row = channel.row_index;
  }
}

void PendingCommands::settle_joint(Channel& channel, Datagram& datagram, const JudgeContext& context, double h,
                                   World& world) noexcept {
  const JointRow& row = channel.joint;
  const std::uint64_t ticks = deadline_ticks(datagram.deadline_us, h);
  if (row.release) {
    taken_.push_back({row, 0});
    return world.release_joint(row.joint);
  }
  const JointVerdict verdict = world.command_joint({row.joint, row.kind, row.value, row.rate}, ticks);
  if (accepted(verdict)) taken_.push_back({row, ticks});
  const std::uint64_t tolerance = world.joint_options(row.joint).tolerance_ticks;
  const bool late = datagram.expected_tick != 0 && tolerance > 0 && context.tick > datagram.expected_tick + tolerance;
  if (datagram.verdict == Verdict::late) return;
  if (!late && (verdict == JointVerdict::applied || datagram.verdict == Verdict::clamped)) return;
  datagram.verdict = late ? Verdict::late : to_verdict(verdict);
  datagram.row = channel.row_index;
}

void PendingCommands::settle(const JudgeContext& context, const Model& model, const State& state,
                             std::uint64_t channel_tick, double h, WrenchChannels& channels, World* world) noexcept {
  taken_.clear();
  if (world != nullptr) check_joints(*world);
  for (const ChannelIndex at : waiting_) {
    Channel& channel = channels_[at];
    Datagram& datagram = datagrams_[channel.datagram];
    if (is_refusal(datagram.verdict)) {
      channel.newest_client = kNoClient;  // what was refused is nobody's newest
    } else if (at >= bodies_) {
      TACTUS_ASSERT(world != nullptr);
      settle_joint(channel, datagram, context, h, *world);
    } else {
      if (datagram.verdict == Verdict::applied &&
          resolve_wrench(channel.wrench, model.bodies[at], state.q_WB(at)).clamped) {
        datagram.verdict = Verdict::clamped;
        datagram.row = channel.row_index;
      }
      channels.hold(at, channel.wrench, channel_tick + deadline_ticks(datagram.deadline_us, h));
    }
    TACTUS_ASSERT(datagram.live_rows > 0);
    if (--datagram.live_rows == 0) {
      judge(datagram, datagram.verdict, datagram.row, context);
      free_.push_back(channel.datagram);
    }
    channel.datagram = kNoDatagram;
  }
  waiting_.clear();
}

void PendingCommands::tell_missed(const JudgeContext& context, const World& world) noexcept {
  Datagram told;
  for (const JointIndex joint : world.robot_drives().missed()) {
    if (joint >= bodies_) continue;
    const Channel& channel = channels_[bodies_ + joint];
    if (channel.newest_client == kNoClient) continue;
    if (channel.newest_client == told.client && channel.newest_ticket == told.ticket) continue;
    told.client = channel.newest_client;
    told.ticket = channel.newest_ticket;
    const auto policy = static_cast<std::uint8_t>(world.joint_options(joint).missed);
    JudgeContext now = context;
    now.lockstep = true;  // no age: nothing arrived
    judge(told, static_cast<Verdict>(static_cast<std::uint8_t>(Verdict::held) + policy), channel.row_index, now);
  }
}

void PendingCommands::judge(const Datagram& datagram, Verdict verdict, std::uint32_t row,
                            const JudgeContext& context) noexcept {
  Notice notice;
  notice.kind = Notice::Kind::verdict;
  notice.client = datagram.client;
  notice.verdict = verdict;
  notice.row = row;
  notice.ticket = datagram.ticket;
  notice.tick = context.tick;
  notice.age_us =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(age_ns(datagram.received_ns, context) / 1000, 0xffffffffu));
  const bool pushed = notices_.push(notice);
  TACTUS_ASSERT(pushed);
}

}  // namespace tactus
