#include "server/realtime/pending_commands.h"

#include <algorithm>

#include "core/check.h"

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

}  // namespace

// Each waiting datagram owns at least one body's row, and one more may be arriving: bodies + 1 datagrams are enough.
PendingCommands::PendingCommands(std::uint32_t bodies, Ring<Notice>& notices)
    : notices_(notices), channels_(bodies), datagrams_(bodies + 1) {
  TACTUS_ASSERT(bodies < kNone - 1);
  bodies_.reserve(bodies);
  free_.reserve(datagrams_.size());
  for (std::size_t i = datagrams_.size(); i > 0; --i) free_.push_back(static_cast<Index>(i - 1));
}

PendingCommands::Index PendingCommands::take_datagram(const Command& command) noexcept {
  TACTUS_ASSERT(!free_.empty());
  const Index index = free_.back();
  free_.pop_back();
  datagrams_[index] = {command.client, command.ticket, command.received_ns, command.deadline_us, 0, 0, false};
  return index;
}

void PendingCommands::add(const Command& command, const JudgeContext& context) noexcept {
  if (open_ == kNone) open_ = take_datagram(command);
  const Index index = open_;
  const bool stale = command.epoch != context.epoch || command.row.body >= channels_.size();
  if (!stale) {
    ++datagrams_[index].live_rows;  // a provisional row keeps the datagram alive while it replaces others
    const Channel& channel = channels_[command.row.body];
    const bool overtaken = channel.newest_client == command.client && command.ticket < channel.newest_ticket;
    if (overtaken) {
      --datagrams_[index].live_rows;
    } else {
      lose_row(command.row.body, Verdict::superseded, context);
      place(command, index);
    }
  }
  if (!command.last_row) return;
  open_ = kNone;
  if (datagrams_[index].live_rows > 0) return;
  judge(datagrams_[index], stale ? Verdict::stale_epoch : Verdict::superseded, command.row_index, context);
  free_.push_back(index);
}

void PendingCommands::place(const Command& command, Index datagram) noexcept {
  Channel& channel = channels_[command.row.body];
  channel.datagram = datagram;
  channel.row_index = command.row_index;
  channel.command = to_command(command.row);
  channel.newest_client = command.client;
  channel.newest_ticket = command.ticket;
  channel.position = static_cast<std::uint32_t>(bodies_.size());
  bodies_.push_back(command.row.body);
}

// Takes the waiting row of a body away; the verdict is given with the datagram's last row.
void PendingCommands::lose_row(BodyIndex body, Verdict verdict, const JudgeContext& context) noexcept {
  Channel& channel = channels_[body];
  if (channel.datagram == kNone) return;
  const Index index = channel.datagram;
  channel.datagram = kNone;
  channels_[bodies_.back()].position = channel.position;
  bodies_[channel.position] = bodies_.back();
  bodies_.pop_back();
  Datagram& datagram = datagrams_[index];
  TACTUS_ASSERT(datagram.live_rows > 0);
  if (--datagram.live_rows > 0 || index == open_) return;
  judge(datagram, verdict, channel.row_index, context);
  free_.push_back(index);
}

void PendingCommands::drop(BodyIndex body, const JudgeContext& context) noexcept {
  if (body >= channels_.size()) return;
  lose_row(body, Verdict::superseded, context);
  channels_[body].newest_client = kNoClient;
  channels_[body].newest_ticket = 0;
}

void PendingCommands::drop_all(const JudgeContext& context) noexcept {
  while (!bodies_.empty()) lose_row(bodies_.back(), Verdict::stale_epoch, context);
  for (Channel& channel : channels_) channel.newest_client = kNoClient, channel.newest_ticket = 0;
}

void PendingCommands::expire(const JudgeContext& context) noexcept {
  for (std::size_t i = bodies_.size(); i > 0; --i) {
    const BodyIndex body = bodies_[i - 1];
    const Datagram& datagram = datagrams_[channels_[body].datagram];
    if (age_ns(datagram.received_ns, context) > std::uint64_t{1000} * datagram.deadline_us)
      lose_row(body, Verdict::expired, context);
  }
}

void PendingCommands::settle(const JudgeContext& context, const Model& model, const State& state,
                             std::uint64_t channel_tick, double h, WrenchChannels& channels) noexcept {
  for (const BodyIndex body : bodies_) {
    Channel& channel = channels_[body];
    Datagram& datagram = datagrams_[channel.datagram];
    if (!datagram.clamped && resolve_wrench(channel.command, model.bodies[body], state.q_WB(body)).clamped) {
      datagram.clamped = true;
      datagram.clamped_row = channel.row_index;
    }
    channels.hold(body, channel.command, channel_tick + deadline_ticks(datagram.deadline_us, h));
    TACTUS_ASSERT(datagram.live_rows > 0);
    if (--datagram.live_rows == 0) {
      judge(datagram, datagram.clamped ? Verdict::clamped : Verdict::applied,
            datagram.clamped ? datagram.clamped_row : 0, context);
      free_.push_back(channel.datagram);
    }
    channel.datagram = kNone;
  }
  bodies_.clear();
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
