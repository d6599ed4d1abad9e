#include "tactus/types.h"

#include <algorithm>
#include <cstdio>

#include "realtime.pb.h"

namespace tactus::client {

const BodyState* State::find(std::uint32_t id) const {
  const auto at =
      std::lower_bound(bodies.begin(), bodies.end(), id, [](const BodyState& b, std::uint32_t i) { return b.id < i; });
  return at != bodies.end() && at->id == id ? &*at : nullptr;
}

const BodyState& State::body(std::uint32_t id) const {
  const BodyState* found = find(id);
  if (found == nullptr)
    throw Error(Error::Kind::usage,
                "body " + std::to_string(id) + " is not in this state: is it fixed, or not subscribed?");
  return *found;
}

const char* verdict_name(int code) {
  switch (code) {
    case v1::VERDICT_NONE:
      return "unanswered";
    case v1::VERDICT_APPLIED:
      return "applied";
    case v1::VERDICT_CLAMPED:
      return "clamped";
    case v1::VERDICT_SUPERSEDED:
      return "superseded";
    case v1::VERDICT_EXPIRED:
      return "expired";
    case v1::VERDICT_REFUSED_STALE_EPOCH:
      return "refused_stale_epoch";
    case v1::VERDICT_REFUSED_UNKNOWN_BODY:
      return "refused_unknown_body";
    case v1::VERDICT_REFUSED_NOT_LEASED:
      return "refused_not_leased";
    case v1::VERDICT_REFUSED_LEASED_BY_OTHER:
      return "refused_leased_by_other";
    case v1::VERDICT_REFUSED_NOT_FINITE:
      return "refused_not_finite";
    case v1::VERDICT_REFUSED_OUT_OF_RANGE:
      return "refused_out_of_range";
    case v1::VERDICT_REFUSED_OLD_SEQUENCE:
      return "refused_old_sequence";
    case v1::VERDICT_REFUSED_NOT_FREE:
      return "refused_not_free";
    case v1::VERDICT_REFUSED_QUEUE_FULL:
      return "refused_queue_full";
    case v1::VERDICT_REFUSED_MALFORMED:
      return "refused_malformed";
    case v1::VERDICT_LATE:
      return "late";
    case v1::VERDICT_HELD:
      return "held";
    case v1::VERDICT_EXTRAPOLATED:
      return "extrapolated";
    case v1::VERDICT_RAMPED:
      return "ramped";
    case v1::VERDICT_BRAKED:
      return "braked";
    case v1::VERDICT_REFUSED_UNKNOWN_JOINT:
      return "refused_unknown_joint";
    case v1::VERDICT_REFUSED_WRONG_COUNT:
      return "refused_wrong_count";
    case v1::VERDICT_REFUSED_NO_GAINS:
      return "refused_no_gains";
    case v1::VERDICT_REFUSED_FAULT:
      return "refused_fault";
    case v1::VERDICT_REFUSED_PLAYBACK:
      return "refused_playback";
    case v1::VERDICT_REFUSED_BLIND:
      return "refused_blind";
    case v1::VERDICT_REFUSED_INCOMPLETE:
      return "refused_incomplete";
    case v1::VERDICT_REFUSED_READ_ONLY:
      return "refused_read_only";
    default:
      return "refused_for_a_reason_newer_than_this_client";
  }
}

const char* send_status_name(SendStatus status) {
  switch (status) {
    case SendStatus::sent:
      return "sent";
    case SendStatus::not_armed:
      return "not armed: call arm()";
    case SendStatus::not_connected:
      return "not connected";
    case SendStatus::not_finite:
      return "a number is not finite";
    case SendStatus::too_large:
      return "too many rows for one datagram";
    case SendStatus::wrong_count:
      return "wrong_count";
    case SendStatus::unknown_body:
      return "no such body in this scene";
    case SendStatus::would_block:
      return "the socket is full";
  }
  return "?";
}

std::string Link::explain() const {
  char text[320];
  const unsigned long long n = verdicts.sent;
  if (!connected) return "The link is down; the client reconnects by itself.";
  if (verdicts.refused * 10 > n && n > 0)
    return "The server refuses commands: see the verdicts for the reason (lease, scene epoch, range).";
  if (received_rate < 0.98) {
    std::snprintf(
        text, sizeof text,
        "%.0f of the last 100 states did not arrive (up to %u in a row): the network, or this program's socket, "
        "lost them; the server sent them.",
        100 * (1 - received_rate), lost_in_a_row_max);
    return text;
  }
  if (success_rate >= 0.98) return "All is well.";
  const auto& v = verdicts;
  const char* why =
      "arrived in bunches, so that a newer one replaced them before a tick: this program sends unevenly or the "
      "network delays it";
  if (v.expired > v.superseded && v.expired > v.unanswered)
    why = "arrived after their deadline: the network, or the server's tick, is late";
  if (v.unanswered > v.superseded && v.unanswered > v.expired)
    why = "got no verdict: lost on the way there, or their verdicts on the way back";
  std::snprintf(text, sizeof text, "%.0f of the last 100 commands were not applied; most such %s.",
                100 * (1 - success_rate), why);
  return text;
}

}  // namespace tactus::client
