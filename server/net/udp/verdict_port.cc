// What becomes of commands: verdicts that states do not bring, in datagrams of their own, and commands over several
// datagrams.
#include <algorithm>

#include "server/net/control/conversation.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr int kBatchesAtOnce = 8;               // VERDICTS to one client in one beat
constexpr std::uint64_t kFramedVerdicts = 512;  // in a frame to one who does

bool stands_in(std::span<const Command> earlier, const Command& row) {
  for (const Command& c : earlier) {
    if (c.kind != row.kind) continue;
    if (c.kind == Command::Kind::wrench ? c.row.body == row.row.body : c.joint.joint == row.joint.joint) return true;
  }
  return false;
}

}  // namespace

// The message is reused: flat packed columns, so that nothing is allocated once it has been full.
void RealtimePort::offer_verdicts(Session& session, std::uint64_t now) {
  if (session.framed || !session.is_heard(now)) return;
  for (int i = 0; i < kBatchesAtOnce; ++i) {
    const std::optional<VerdictBatch> batch = session.log.take_due(now);
    if (!batch) return;
    verdicts_.Clear();
    verdicts_.set_number(batch->last);
    verdicts_.set_dropped(batch->dropped);
    for (std::uint64_t number = batch->last; number >= batch->first; --number) {
      const VerdictRecord& verdict = session.log.at(number);
      verdicts_.add_sequence(verdict.sequence);
      verdicts_.add_code(verdict.code);
      verdicts_.add_tick(verdict.tick);
      verdicts_.add_age_us(verdict.age_us);
      verdicts_.add_item(verdict.item);
    }
    const std::size_t length = verdicts_.ByteSizeLong();
    TACTUS_ASSERT(length <= kStatePayloadMax);
    verdicts_.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
    send(session, wire::DatagramType::verdicts, length);
  }
}

// In a frame nothing is lost on the way, but a newer state may take its place. So each brings the verdicts of the last
// four states, or, to a client that acknowledges them, all that it lacks. While states are replaced, none is left out.
std::span<const VerdictRecord> RealtimePort::framed_verdicts(Session& session, std::uint64_t replaced) {
  const VerdictLog& log = session.log;
  FramedVerdicts& framed = session.framed_verdicts;
  if (framed.replaced == replaced) {
    std::copy(framed.marks.begin() + 1, framed.marks.end(), framed.marks.begin());
    framed.marks.back() = log.newest();
  }
  framed.replaced = replaced;
  const std::uint64_t base = std::max({log.acknowledged() == 0 ? framed.marks.front() : log.acknowledged(),
                                       log.newest() - std::min(log.newest(), kFramedVerdicts)});
  const std::uint64_t count =
      std::max(log.newest() - base, std::min<std::uint64_t>(log.newest(), wire::kVerdictsRepeated));
  framed_verdicts_.clear();
  for (std::uint64_t i = 0; i < count; ++i) framed_verdicts_.push_back(log.at(log.newest() - i));
  return framed_verdicts_;
}

// Simulated time in lockstep, where no time passes between grants.
std::uint64_t RealtimePort::parts_clock() const {
  return link_now() * link_unit();
}

void RealtimePort::handle_part(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                               std::uint64_t now) {
  if (!session.parts) session.parts = std::make_unique<CommandParts>();
  CommandParts& parts = *session.parts;
  const CommandParts::Part part{sequence, command_.part, command_.parts, payload};
  const std::uint64_t due = parts_clock() + std::uint64_t{1000} * command_.deadline_us;
  CommandParts::Taken taken = parts.take(part, due);
  if (taken == CommandParts::Taken::full) {
    refuse_command(session, parts.make_room(), {v1::VERDICT_REFUSED_INCOMPLETE, 0});
    taken = parts.take(part, due);
  }
  if (taken == CommandParts::Taken::malformed)
    return refuse_command(session, parts.sequence(), {v1::VERDICT_REFUSED_MALFORMED, 0});
  if (taken == CommandParts::Taken::complete) handle_complete(session, parts, now);
}

void RealtimePort::handle_complete(Session& session, const CommandParts& parts, std::uint64_t now) {
  const std::uint64_t sequence = parts.sequence();
  if (session.role == Role::observe) return refuse_command(session, sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
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
    return refuse_command(session, sequence, refusal);
  }
  push_rows(session, sequence, rows);
}

void RealtimePort::refuse_incomplete(Session& session) {
  if (!session.parts) return;
  const std::uint64_t now = parts_clock();
  while (const auto sequence = session.parts->take_overdue(now))
    refuse_command(session, *sequence, {v1::VERDICT_REFUSED_INCOMPLETE, 0});
}

}  // namespace tactus::net
