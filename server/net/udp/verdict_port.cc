#include "server/net/udp/verdict_port.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "server/net/udp/state_encoder.h"

namespace tactus::net {
namespace {

constexpr int kBatchesAtOnce = 8;               // VERDICTS to one client in one beat
constexpr std::uint64_t kFramedVerdicts = 512;  // in a frame to one who does

// The tick room's numbers are the wire's.
static_assert(static_cast<int>(Verdict::late) == v1::VERDICT_LATE &&
              static_cast<int>(Verdict::held) == v1::VERDICT_HELD &&
              static_cast<int>(Verdict::extrapolated) == v1::VERDICT_EXTRAPOLATED &&
              static_cast<int>(Verdict::ramped) == v1::VERDICT_RAMPED &&
              static_cast<int>(Verdict::braked) == v1::VERDICT_BRAKED &&
              static_cast<int>(Verdict::held) + static_cast<int>(MissedPolicy::brake) == v1::VERDICT_BRAKED);
static_assert(static_cast<int>(Verdict::not_finite) == v1::VERDICT_REFUSED_NOT_FINITE &&
              static_cast<int>(Verdict::out_of_range) == v1::VERDICT_REFUSED_OUT_OF_RANGE &&
              static_cast<int>(Verdict::unknown_joint) == v1::VERDICT_REFUSED_UNKNOWN_JOINT &&
              static_cast<int>(Verdict::wrong_count) == v1::VERDICT_REFUSED_WRONG_COUNT &&
              static_cast<int>(Verdict::no_gains) == v1::VERDICT_REFUSED_NO_GAINS &&
              static_cast<int>(Verdict::fault) == v1::VERDICT_REFUSED_FAULT);
static_assert(static_cast<int>(Verdict::applied) == v1::VERDICT_APPLIED &&
              static_cast<int>(Verdict::clamped) == v1::VERDICT_CLAMPED);
static_assert(static_cast<int>(Verdict::superseded) == v1::VERDICT_SUPERSEDED &&
              static_cast<int>(Verdict::expired) == v1::VERDICT_EXPIRED);
static_assert(static_cast<int>(Verdict::stale_epoch) == v1::VERDICT_REFUSED_STALE_EPOCH);
static_assert(v1::VerdictCode_MAX < static_cast<int>(kVerdictCodes));

}  // namespace

void VerdictPort::refuse(Session& session, std::uint64_t sequence, Refusal refusal) {
  give(session, {sequence, status_.newest.tick, static_cast<std::uint32_t>(refusal.code), 0, refusal.row});
}

void VerdictPort::give(const Notice& notice) {
  Session* session = sessions_.find(notice.client);
  if (session == nullptr) return;
  give(*session, {notice.ticket, notice.tick, static_cast<std::uint32_t>(notice.verdict), notice.age_us, notice.row});
}

void VerdictPort::give(Session& session, const VerdictRecord& verdict) {
  session.add_verdict(verdict);
  journal_.verdict(session.name(), verdict);
}

// The message is reused: flat packed columns, so that nothing is allocated once it has been full.
void VerdictPort::offer(Session& session, std::uint64_t now) {
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
    verdicts_.SerializeWithCachedSizesToArray(outlet_.payload());
    outlet_.send(session, wire::DatagramType::verdicts, length);
  }
}

// In a frame nothing is lost on the way, but a newer state may take its place. So each brings the verdicts of the last
// four states, or, to a client that acknowledges them, all that it lacks. While states are replaced, none is left out.
std::span<const VerdictRecord> VerdictPort::framed(Session& session, std::uint64_t replaced) {
  const VerdictLog& log = session.log;
  FramedVerdicts& told = session.framed_verdicts;
  if (told.replaced == replaced) {
    std::copy(told.marks.begin() + 1, told.marks.end(), told.marks.begin());
    told.marks.back() = log.newest();
  }
  told.replaced = replaced;
  const std::uint64_t base = std::max({log.acknowledged() == 0 ? told.marks.front() : log.acknowledged(),
                                       log.newest() - std::min(log.newest(), kFramedVerdicts)});
  const std::uint64_t count =
      std::max(log.newest() - base, std::min<std::uint64_t>(log.newest(), wire::kVerdictsRepeated));
  framed_.clear();
  for (std::uint64_t i = 0; i < count; ++i) framed_.push_back(log.at(log.newest() - i));
  return framed_;
}

}  // namespace tactus::net
