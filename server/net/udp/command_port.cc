#include "server/net/udp/command_port.h"

#include <algorithm>
#include <memory>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

CommandStamps stamps_of(const CommandDatagram& c, std::uint64_t sequence) {
  return {c.expected_tick,   c.client_recv_ns, c.client_send_ns,
          c.states_received, c.states_lost,    c.states_due,
          c.deadline_us,     sequence,         c.ends};
}

// Rows for a whole robot: its commanded joints in order, one value each.
Refusal name_joints(const SceneView& scene, CommandDatagram& command) {
  if (command.robot == 0) return {};
  if (command.epoch != scene.epoch) return {v1::VERDICT_REFUSED_STALE_EPOCH, 0};
  const std::uint32_t robot = command.robot - 1;
  if (robot >= scene.model().robots.size()) return {v1::VERDICT_REFUSED_UNKNOWN_JOINT, command.rows};
  const std::span<const DrivenJoint> joints = scene.world->driven_joints(robot);
  if (joints.size() != command.joint_rows || joints.empty()) return {v1::VERDICT_REFUSED_WRONG_COUNT, command.rows};
  for (std::uint32_t k = 0; k < command.joint_rows; ++k) command.joint[k].joint = joints[k].drive.joint;
  return {};
}

bool stands_in(std::span<const Command> earlier, const Command& row) {
  for (const Command& c : earlier) {
    if (c.kind != row.kind) continue;
    if (c.kind == Command::Kind::wrench ? c.row.body == row.row.body : c.joint.joint == row.joint.joint) return true;
  }
  return false;
}

}  // namespace

CommandPort::CommandPort(const Uses& uses)
    : uses_(uses), rows_(wire::kCommandPartsMax * (wire::kCommandRowsMax + wire::kJointRowsMax)) {}

void CommandPort::take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                       std::uint64_t now) {
  uses_.journal.received(session.name(), header.sequence, payload, now);
  Refusal refusal = decoder_.decode(payload, command_);
  if (refusal.code != v1::VERDICT_REFUSED_MALFORMED) {
    session.saw_datagram(header.sequence, command_.client_send_ns, now);
    session.log.acknowledge(command_.verdicts_received, now);
    if (command_.parts > 1) return handle_part(session, header.sequence, payload, now);
  }
  if (refusal.code == v1::VERDICT_NONE) {
    session.counters.packets_lost = std::max(session.counters.packets_lost, command_.states_lost);
    session.sight.told(command_.expected_tick, command_.states_received);
    if (command_.rows + command_.joint_rows + command_.robot == 0) {
      session.saw_heartbeat(stamps_of(command_, header.sequence), now);
      return uses_.verdicts.offer(session, now);
    }
    if (session.role == Role::observe)
      return uses_.verdicts.refuse(session, header.sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
    note_command(session, header.sequence, now);
    refusal = admit(session);
    if (refusal.code == v1::VERDICT_NONE) refusal = check_sight(session, now);
  }
  if (refusal.code != v1::VERDICT_NONE) return uses_.verdicts.refuse(session, header.sequence, refusal);
  push_rows(session, header.sequence, fill_rows(session, header.sequence, 0, now));
}

void CommandPort::note_command(Session& session, std::uint64_t sequence, std::uint64_t now) {
  session.saw_command(stamps_of(command_, sequence), now);
}

Refusal CommandPort::admit(const Session& session) {
  if (uses_.status.is_playback()) return {v1::VERDICT_REFUSED_PLAYBACK, 0};
  const Refusal refusal = name_joints(uses_.scene, command_);
  return refusal.code == v1::VERDICT_NONE ? authorise(session, command_, uses_.leases.now()) : refusal;
}

// All of them, to be applied in one tick, or none.
void CommandPort::push_rows(Session& session, std::uint64_t sequence, std::uint32_t rows) {
  if (rows == 0) return uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_WRONG_COUNT, 0});
  rows_[rows - 1].last_row = true;
  if (!uses_.tick.push_wrench({rows_.data(), rows}))
    uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
}

std::uint32_t CommandPort::fill_rows(const Session& session, std::uint64_t sequence, std::uint32_t first,
                                     std::uint64_t now) {
  const std::uint32_t rows = command_.rows + command_.joint_rows;
  for (std::uint32_t i = 0; i < rows; ++i) {
    Command& c = rows_[first + i];
    c.kind = i < command_.rows ? Command::Kind::wrench : Command::Kind::joint;
    c.last_row = false;
    c.client = session.slot();
    c.epoch = command_.epoch;
    c.row_index = first + i;
    c.ticket = sequence;
    c.received_ns = now;
    c.deadline_us = command_.deadline_us;
    c.expected_tick = command_.expected_tick;
    if (i < command_.rows) {
      c.row = command_.row[i];
    } else {
      c.joint = command_.joint[i - command_.rows];
    }
  }
  return rows;
}

Refusal CommandPort::authorise(const Session& session, const CommandDatagram& command, std::uint64_t now) const {
  if (command.epoch != uses_.scene.epoch) return {v1::VERDICT_REFUSED_STALE_EPOCH, 0};
  const std::vector<Body>& bodies = uses_.scene.model().bodies;
  for (std::uint32_t i = 0; i < command.rows; ++i) {
    const BodyIndex b = command.row[i].body;
    if (b >= bodies.size()) return {v1::VERDICT_REFUSED_UNKNOWN_BODY, i};
    if (!takes_wrenches(bodies[b].mode)) return {v1::VERDICT_REFUSED_NOT_FREE, i};
    if (uses_.leases.authority.holds(session.slot(), 1 + b, now)) continue;
    return {uses_.leases.authority.is_held(1 + b, now) ? v1::VERDICT_REFUSED_LEASED_BY_OTHER
                                                       : v1::VERDICT_REFUSED_NOT_LEASED,
            i};
  }
  return authorise_joints(session, command, now);
}

Refusal CommandPort::authorise_joints(const Session& session, const CommandDatagram& command, std::uint64_t now) const {
  const SceneView& scene = uses_.scene;
  for (std::uint32_t k = 0; k < command.joint_rows; ++k) {
    const std::uint32_t item = command.rows + k;
    const JointRow& row = command.joint[k];
    if (const auto code = scene.check_joint(row)) return {code, item};
    const Channel channel = scene.joint_channel(row.joint);
    if (uses_.leases.authority.holds(session.slot(), channel, now)) continue;
    const bool held = uses_.leases.authority.is_held(channel, now);
    return {held ? v1::VERDICT_REFUSED_LEASED_BY_OTHER : v1::VERDICT_REFUSED_NOT_LEASED, item};
  }
  return {};
}

// In lockstep the world waits for the client; over a WebSocket states come by the way of the commands.
Refusal CommandPort::check_sight(const Session& session, std::uint64_t now) const {
  if (session.framed || session.subscriptions.empty() || uses_.tick.lockstep()) return {};
  std::uint32_t decimation = ~0u;
  for (const auto& s : session.subscriptions) decimation = std::min(decimation, s->spec().decimation);
  const double period_ns = 1e9 * uses_.scene.model().step * decimation;
  const bool is_blind =
      session.sight.is_blind(now, std::uint64_t{1000} * command_.deadline_us, static_cast<std::uint64_t>(period_ns));
  return {is_blind ? v1::VERDICT_REFUSED_BLIND : v1::VERDICT_NONE, 0};
}

void CommandPort::handle_part(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                              std::uint64_t now) {
  if (!session.parts) session.parts = std::make_unique<CommandParts>();
  CommandParts& parts = *session.parts;
  const CommandParts::Part part{sequence, command_.part, command_.parts, payload};
  const std::uint64_t due = uses_.links.clock() + std::uint64_t{1000} * command_.deadline_us;
  CommandParts::Taken taken = parts.take(part, due);
  if (taken == CommandParts::Taken::full) {
    uses_.verdicts.refuse(session, parts.make_room(), {v1::VERDICT_REFUSED_INCOMPLETE, 0});
    taken = parts.take(part, due);
  }
  if (taken == CommandParts::Taken::malformed)
    return uses_.verdicts.refuse(session, parts.sequence(), {v1::VERDICT_REFUSED_MALFORMED, 0});
  if (taken == CommandParts::Taken::complete) handle_complete(session, parts, now);
}

void CommandPort::handle_complete(Session& session, const CommandParts& parts, std::uint64_t now) {
  const std::uint64_t sequence = parts.sequence();
  if (session.role == Role::observe)
    return uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
  std::uint32_t rows = 0, epoch = 0, deadline_us = 0;
  for (std::uint32_t i = 0; i < parts.parts(); ++i) {
    Refusal refusal = decoder_.decode(parts.part(i), command_);
    if (i == 0) {
      epoch = command_.epoch, deadline_us = command_.deadline_us;
      if (refusal.code == v1::VERDICT_NONE) note_command(session, sequence, now);
    }
    const bool alike = command_.epoch == epoch && command_.deadline_us == deadline_us;
    if (refusal.code == v1::VERDICT_NONE && !alike) refusal.code = v1::VERDICT_REFUSED_MALFORMED;
    if (refusal.code == v1::VERDICT_NONE) refusal = admit(session);
    const std::uint32_t before = rows;
    if (refusal.code == v1::VERDICT_NONE) rows += fill_rows(session, sequence, rows, now);
    for (std::uint32_t k = before; k < rows && refusal.code == v1::VERDICT_NONE; ++k) {
      if (stands_in({rows_.data(), before}, rows_[k])) refusal = {v1::VERDICT_REFUSED_OUT_OF_RANGE, k - before};
    }
    if (refusal.code == v1::VERDICT_NONE) continue;
    refusal.row += before;
    return uses_.verdicts.refuse(session, sequence, refusal);
  }
  push_rows(session, sequence, rows);
}

void CommandPort::refuse_incomplete(Session& session) {
  if (!session.parts) return;
  const std::uint64_t now = uses_.links.clock();
  while (const auto sequence = session.parts->take_overdue(now))
    uses_.verdicts.refuse(session, *sequence, {v1::VERDICT_REFUSED_INCOMPLETE, 0});
}

}  // namespace tactus::net
