#include "server/net/udp/state_port.h"

#include <algorithm>

#include "core/check.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr std::uint32_t kShadowRowsMax = 64;    // 20 bytes each, and 60 for the rest
constexpr std::size_t kFramedMax = 256u << 10;  // bytes of a state in one WebSocket frame

// The tick room's numbers are the wire's.
static_assert(kStatusRobotFault == std::uint32_t{v1::STATUS_ROBOT_FAULT} &&
              kStatusRecordLost == std::uint32_t{v1::STATUS_RECORD_LOST} &&
              kStatusRecordFailed == std::uint32_t{v1::STATUS_RECORD_FAILED} &&
              kStatusSpeedCut == std::uint32_t{v1::STATUS_SPEED_CUT});
static_assert(kJointCommanded == std::uint32_t{v1::JOINT_COMMANDED} && kJointHeld == std::uint32_t{v1::JOINT_HELD} &&
              kJointExtrapolated == std::uint32_t{v1::JOINT_EXTRAPOLATED} &&
              kJointSafe == std::uint32_t{v1::JOINT_SAFE} && kJointFault == std::uint32_t{v1::JOINT_FAULT} &&
              kJointEffortLimited == std::uint32_t{v1::JOINT_EFFORT_LIMITED} &&
              kJointRateLimited == std::uint32_t{v1::JOINT_RATE_LIMITED} &&
              kJointVelocityLimited == std::uint32_t{v1::JOINT_VELOCITY_LIMITED} &&
              kJointFiltered == std::uint32_t{v1::JOINT_FILTERED});
static_assert(kStatusPaused == std::uint32_t{v1::STATUS_PAUSED} &&
              kStatusLockstep == std::uint32_t{v1::STATUS_LOCKSTEP});
static_assert(kStatusContactsDropped == std::uint32_t{v1::STATUS_CONTACTS_DROPPED} &&
              kStatusUnconverged == std::uint32_t{v1::STATUS_UNCONVERGED});
static_assert(kStatusBodyFrozen == std::uint32_t{v1::STATUS_BODY_FROZEN} &&
              kStatusLateTick == std::uint32_t{v1::STATUS_LATE_TICK});
static_assert(kStatusCommandsDropped == std::uint32_t{v1::STATUS_COMMANDS_DROPPED} &&
              kStatusFault == std::uint32_t{v1::STATUS_FAULT});
static_assert(kStatusExtrapolated == std::uint32_t{v1::STATUS_EXTRAPOLATED} &&
              kStatusSolveLate == std::uint32_t{v1::STATUS_SOLVE_LATE});
static_assert(kStatusExactUnresolved == std::uint32_t{v1::STATUS_EXACT_UNRESOLVED} &&
              kStatusExactExhausted == std::uint32_t{v1::STATUS_EXACT_EXHAUSTED});

}  // namespace

void StatePort::publish(const StateSlot& slot) {
  const StateFrame& f = slot.frame;
  if (f.epoch != uses_.scene.epoch) return;  // of a scene that net has already left
  const std::uint64_t now = now_ns();
  uses_.sessions.for_each([&](Session& session) {
    uses_.commands.refuse_incomplete(session);
    if (!(session.framed || (session.is_heard(now) && uses_.ways.is_open(session)))) return;
    uses_.verdicts.offer(session, now);
    if (session.subscriptions.empty()) return;
    const GrantAnswers::Wish wish = uses_.answers.wish(session.slot(), f.tick);
    const bool forced = wish.forced || (f.status_bits & kStatusFault) != 0;  // the last one, whatever was asked for
    bool sent = false;
    for (const auto& subscriber : session.subscriptions) {
      // A playback sends by beats: at a speed of its own, the recording's ticks say nothing of the rate asked for.
      const bool by_ticks = (f.advanced || uses_.tick.lockstep()) && !uses_.status.is_playback();
      const bool due = subscriber->due(f.tick, f.beat, by_ticks);
      if (forced || (due && !wish.muted)) publish_to(session, *subscriber, slot), sent = true;
      if (f.has_shadow && subscriber->spec().shadow) publish_shadow(session, subscriber->spec(), slot);
      if (subscriber->spec().tools && due) uses_.devices.publish(session, subscriber->spec().id, slot);
    }
    if (sent) session.log.carried(now);
    if (sent) session.sight.sent(now);
    if (sent && f.advanced)
      session.sent_tick(
          {f.tick, last_send_ns_, f.ticks_missed, 1e6 * uses_.scene.model().step, f.wake_late_us, f.work_us});
  });
  uses_.links.release_due();
}

void StatePort::publish_to(Session& session, Subscriber& subscriber, const StateSlot& slot) {
  const SubscriptionSpec& spec = subscriber.spec();
  contact_rows_.clear();
  const std::uint32_t contacts = subscriber.contacts_due() ? slot.frame.contact_count : 0;
  for (std::uint32_t i = 0; i < contacts; ++i) {
    const ContactRow& row = slot.contacts[i];
    if (spec.has_body[row.body_a] != 0 || spec.has_body[row.body_b] != 0) contact_rows_.push_back(i);
  }
  end_effectors_.find(uses_.scene.model(), spec, slot);
  const PacketSource source{slot,
                            spec,
                            session.verdicts(),
                            session.echo(),
                            contact_rows_,
                            static_cast<std::uint32_t>(session.window.gaps()),
                            end_effectors_.rows(),
                            end_effectors_.columns(),
                            kStatePayloadMax,
                            session.log.newest()};
  if (session.framed) return publish_framed(session, source);
  plan_packets(source, plan_);
  const auto parts = static_cast<std::uint32_t>(plan_.size());
  for (std::uint32_t part = 0; part < parts; ++part) {
    last_send_ns_ = now_ns();
    const std::size_t length = encode_packet(source, plan_[part], part, parts, last_send_ns_, uses_.outlet.payload());
    uses_.outlet.send(session, wire::DatagramType::state, length);
  }
}

void StatePort::publish_framed(Session& session, PacketSource source) {
  source.payload_max = kFramedMax;
  const auto to = uses_.lines.find(session.slot());
  if (!to) return;
  source.verdicts = uses_.verdicts.framed(session, to->states_replaced());
  framed_.resize(kFramedMax);
  plan_packets(source, plan_);
  const auto parts = static_cast<std::uint32_t>(plan_.size());
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::size_t length = encode_packet(source, plan_[part], part, parts, now_ns(), framed_.data());
    const std::uint64_t key = std::uint64_t{source.spec.id} << 32 | part;
    to->send_realtime(wire::DatagramType::state, key, {framed_.data(), length});
    ++session.counters.packets_sent;
  }
}

// The message is reused: flat packed columns, so that nothing is allocated once it has been full.
void StatePort::publish_shadow(Session& session, const SubscriptionSpec& spec, const StateSlot& slot) {
  const auto bodies = static_cast<std::uint32_t>(spec.bodies.size());
  const std::uint32_t parts = std::max(1u, (bodies + kShadowRowsMax - 1) / kShadowRowsMax);
  for (std::uint32_t part = 0; part < parts; ++part) {
    shadow_.Clear();
    shadow_.set_scene_epoch(slot.frame.epoch);
    shadow_.set_tick(slot.frame.shadow.tick);
    shadow_.set_part(part);
    shadow_.set_parts(parts);
    shadow_.set_subscription(spec.id);
    shadow_.set_ticks(slot.frame.shadow.ticks);
    shadow_.set_send_ns(now_ns());
    for (std::uint32_t i = part * kShadowRowsMax; i < std::min(bodies, (part + 1) * kShadowRowsMax); ++i) {
      const ShadowRow& row = slot.shadow[spec.bodies[i]];
      shadow_.add_body_id(spec.bodies[i]);
      for (const float x : {row.position, row.angle, row.velocity, row.force}) shadow_.add_difference(x);
    }
    const std::size_t length = shadow_.ByteSizeLong();
    TACTUS_ASSERT(length <= kStatePayloadMax);
    shadow_.SerializeWithCachedSizesToArray(uses_.outlet.payload());
    if (session.framed) {
      const auto to = uses_.lines.find(session.slot());
      if (to) to->send_realtime(wire::DatagramType::shadow, part, {uses_.outlet.payload(), length});
      continue;
    }
    uses_.outlet.send(session, wire::DatagramType::shadow, length);
  }
}

}  // namespace tactus::net
