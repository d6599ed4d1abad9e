#include "server/net/udp/realtime_port.h"

#include <spdlog/fmt/fmt.h>
#include <asio/post.hpp>

#include <algorithm>
#include <thread>

#include "core/check.h"
#include "server/net/control/conversation.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/record_desk.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr std::uint32_t kShadowRowsMax = 64;    // 20 bytes each, and 60 for the rest
constexpr int kBatch = 64;                      // datagrams read before the loop serves others
constexpr std::uint64_t kLingerNs = 50'000;     // after the answer to a grant: some wake-ups of a thread
constexpr std::size_t kFramedMax = 256u << 10;  // bytes of a state in one WebSocket frame

std::size_t index_of(ClientSlot client) {
  return client & 0xffu;
}

CommandStamps stamps_of(const CommandDatagram& c, std::uint64_t sequence) {
  return {c.expected_tick,   c.client_recv_ns, c.client_send_ns,
          c.states_received, c.states_lost,    c.states_due,
          c.deadline_us,     sequence,         c.ends};
}

const char* reason_of(wire::HeaderError error) {
  switch (error) {
    case wire::HeaderError::too_short:
      return "datagram_too_short";
    case wire::HeaderError::too_long:
      return "datagram_too_long";
    case wire::HeaderError::magic:
      return "datagram_magic";
    case wire::HeaderError::version:
      return "datagram_version";
    default:
      return "datagram_type";
  }
}

bool from_client(wire::DatagramType type) {
  return type == wire::DatagramType::command || type == wire::DatagramType::ping || type == wire::DatagramType::grant ||
         type == wire::DatagramType::device;
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
static_assert(static_cast<int>(Verdict::applied) == v1::VERDICT_APPLIED &&
              static_cast<int>(Verdict::clamped) == v1::VERDICT_CLAMPED);
static_assert(static_cast<int>(Verdict::superseded) == v1::VERDICT_SUPERSEDED &&
              static_cast<int>(Verdict::expired) == v1::VERDICT_EXPIRED);
static_assert(static_cast<int>(Verdict::stale_epoch) == v1::VERDICT_REFUSED_STALE_EPOCH);
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
static_assert(v1::VerdictCode_MAX < static_cast<int>(kVerdictCodes));

}  // namespace

RealtimePort::RealtimePort(Hub& hub, const asio::ip::udp::endpoint& endpoint)
    : hub_(hub),
      socket_(hub.io, endpoint, hub.options.socket_buffer_bytes),
      routes_(hub.options.clients),
      rows_(wire::kCommandPartsMax * (wire::kCommandRowsMax + wire::kJointRowsMax)),
      link_timer_(hub.io) {}

void RealtimePort::start() {
  receive();
}

void RealtimePort::stop() {
  link_timer_.cancel();
  socket_.close();
}

// In lockstep the next grant mostly follows at once: net that stays awake is not woken for it. Between two looks all
// others are served.
void RealtimePort::receive() {
  if (hub_.tick.lockstep() && now_ns() - answered_ns_ < kLingerNs) return asio::post(hub_.io, [this] { look_again(); });
  socket_.wait([this](asio::error_code error) {
    if (error == asio::error::operation_aborted || !socket_.is_open()) return;
    receive_batch();
    receive();
  });
}

void RealtimePort::look_again() {
  receive_batch();
  std::this_thread::yield();
  if (socket_.is_open()) receive();
}

void RealtimePort::receive_batch() {
  for (int i = 0; i < kBatch; ++i) {
    std::size_t length = 0;
    const RealtimeSocket::Got got = socket_.receive(in_, length, from_);
    if (got == RealtimeSocket::Got::nothing) break;
    if (got == RealtimeSocket::Got::datagram) handle(length, now_ns());
  }
  release_due();
}

void RealtimePort::refuse(const char* reason) {
  ++hub_.datagrams_refused;
  hub_.refuse(reason);
}

// The order of the checks is the specification's: size, magic, version, type, session, mac, sequence, decoding.
void RealtimePort::handle(std::size_t length, std::uint64_t now) {
  wire::DatagramHeader header{};
  const wire::HeaderError error = wire::read_header({in_.data(), length}, header);
  if (error != wire::HeaderError::none) return refuse(reason_of(error));
  if (!from_client(header.type)) return refuse("datagram_type");
  Session* session = hub_.sessions.find_id(header.session);
  if (session == nullptr) return refuse("datagram_session");
  if (!session->sealer.open_datagram(in_.data(), length)) return refuse("datagram_mac");
  const std::span<const std::uint8_t> payload(in_.data() + wire::kHeaderBytes,
                                              length - wire::kHeaderBytes - wire::kMacBytes);
  session->heard(now);
  if (session->is_newest_arrival(header.sequence)) note_route(*session, header, payload, now);
  if (session->faults && session->faults->up && takes_part(header.type, payload))
    return submit(*session, false, {in_.data(), length});
  take(*session, header, payload, now);
}

void RealtimePort::take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                        std::uint64_t now) {
  const bool is_device = header.type == wire::DatagramType::device;
  const bool is_command = header.type == wire::DatagramType::command || is_device;
  if (is_command) ++session.counters.commands_received;
  if (!session.window.accept(header.sequence)) {
    // A replay must not push true verdicts out of the last eight: counted, not repeated.
    ++session.counters.by_code[v1::VERDICT_REFUSED_OLD_SEQUENCE];
    session.counters.commands_refused += is_command ? 1 : 0;
    return;
  }
  // In lockstep there is no beat to protect, and a refused command would change the run.
  if (!hub_.tick.lockstep() && !session.cap_udp.take(now)) {
    if (is_command) return refuse_command(session, header.sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
    ++session.counters.by_code[v1::VERDICT_REFUSED_QUEUE_FULL];
    return;
  }
  if (is_device) return handle_device(session, header.sequence, payload, now);
  if (is_command) return handle_command(session, header, payload, now);
  if (header.type == wire::DatagramType::ping) return handle_ping(session, header, payload, now);
  handle_grant(session, header, payload, now);
}

void RealtimePort::take_command(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload) {
  const std::uint64_t now = now_ns();
  ++session.counters.commands_received;
  if (!hub_.tick.lockstep() && !session.cap_udp.take(now))
    return refuse_command(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
  handle_command(session, {wire::DatagramType::command, session.id(), sequence}, payload, now);
}

void RealtimePort::handle_command(Session& session, const wire::DatagramHeader& header,
                                  std::span<const std::uint8_t> payload, std::uint64_t now) {
  hub_.record->received(session.name(), header.sequence, payload, now);
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
      return offer_verdicts(session, now);
    }
    if (session.role == Role::observe)
      return refuse_command(session, header.sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
    note_command(session, header.sequence, now);
    refusal = admit(session);
    if (refusal.code == v1::VERDICT_NONE) refusal = check_sight(session, now);
  }
  if (refusal.code != v1::VERDICT_NONE) return refuse_command(session, header.sequence, refusal);
  push_rows(session, header.sequence, fill_rows(session, header.sequence, 0, now));
}

void RealtimePort::note_command(Session& session, std::uint64_t sequence, std::uint64_t now) {
  session.saw_command(stamps_of(command_, sequence), now);
}

Refusal RealtimePort::admit(const Session& session) {
  if (hub_.play != nullptr) return {v1::VERDICT_REFUSED_PLAYBACK, 0};
  const Refusal refusal = name_joints(hub_.scene, command_);
  return refusal.code == v1::VERDICT_NONE ? authorise(session, command_, hub_.lease_now()) : refusal;
}

// All of them, to be applied in one tick, or none.
void RealtimePort::push_rows(Session& session, std::uint64_t sequence, std::uint32_t rows) {
  if (rows == 0) return refuse_command(session, sequence, {v1::VERDICT_REFUSED_WRONG_COUNT, 0});
  rows_[rows - 1].last_row = true;
  if (!hub_.tick.push_wrench({rows_.data(), rows}))
    refuse_command(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
}

std::uint32_t RealtimePort::fill_rows(const Session& session, std::uint64_t sequence, std::uint32_t first,
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

Refusal RealtimePort::authorise(const Session& session, const CommandDatagram& command, std::uint64_t now) const {
  if (command.epoch != hub_.scene.epoch) return {v1::VERDICT_REFUSED_STALE_EPOCH, 0};
  const std::vector<Body>& bodies = hub_.scene.model().bodies;
  for (std::uint32_t i = 0; i < command.rows; ++i) {
    const BodyIndex b = command.row[i].body;
    if (b >= bodies.size()) return {v1::VERDICT_REFUSED_UNKNOWN_BODY, i};
    if (!takes_wrenches(bodies[b].mode)) return {v1::VERDICT_REFUSED_NOT_FREE, i};
    if (hub_.authority.holds(session.slot(), 1 + b, now)) continue;
    return {hub_.authority.is_held(1 + b, now) ? v1::VERDICT_REFUSED_LEASED_BY_OTHER : v1::VERDICT_REFUSED_NOT_LEASED,
            i};
  }
  return authorise_joints(session, command, now);
}

Refusal RealtimePort::authorise_joints(const Session& session, const CommandDatagram& command,
                                       std::uint64_t now) const {
  const SceneView& scene = hub_.scene;
  for (std::uint32_t k = 0; k < command.joint_rows; ++k) {
    const std::uint32_t item = command.rows + k;
    const JointRow& row = command.joint[k];
    if (const auto code = scene.check_joint(row)) return {code, item};
    const Channel channel = scene.joint_channel(row.joint);
    if (hub_.authority.holds(session.slot(), channel, now)) continue;
    const bool held = hub_.authority.is_held(channel, now);
    return {held ? v1::VERDICT_REFUSED_LEASED_BY_OTHER : v1::VERDICT_REFUSED_NOT_LEASED, item};
  }
  return {};
}

void RealtimePort::refuse_command(Session& session, std::uint64_t sequence, Refusal refusal) {
  give_verdict(session, {sequence, hub_.newest.tick, static_cast<std::uint32_t>(refusal.code), 0, refusal.row});
}

void RealtimePort::give_verdict(const Notice& notice) {
  Session* session = hub_.sessions.find(notice.client);
  if (session == nullptr) return;
  give_verdict(*session,
               {notice.ticket, notice.tick, static_cast<std::uint32_t>(notice.verdict), notice.age_us, notice.row});
}

void RealtimePort::give_verdict(Session& session, const VerdictRecord& verdict) {
  session.add_verdict(verdict);
  hub_.record->verdict(session.name(), verdict);
}

void RealtimePort::handle_ping(Session& session, const wire::DatagramHeader& header,
                               std::span<const std::uint8_t> payload, std::uint64_t now) {
  PingDatagram ping;
  if (!decoder_.decode(payload, ping)) {
    ++session.counters.by_code[v1::VERDICT_REFUSED_MALFORMED];
    return;
  }
  session.saw_datagram(header.sequence, ping.client_send_ns, now);
  v1::Pong pong;
  pong.set_client_send_ns(ping.client_send_ns);
  pong.set_server_recv_ns(now);
  pong.set_tick(hub_.newest.tick);
  pong.set_server_send_ns(now_ns());
  const std::size_t length = pong.ByteSizeLong();
  pong.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  send(session, wire::DatagramType::pong, length);
}

void RealtimePort::handle_grant(Session& session, const wire::DatagramHeader& header,
                                std::span<const std::uint8_t> payload, std::uint64_t now) {
  GrantDatagram grant;
  v1::VerdictCode problem = v1::VERDICT_NONE;
  if (!decoder_.decode(payload, grant)) {
    problem = v1::VERDICT_REFUSED_MALFORMED;
  } else {
    session.saw_datagram(header.sequence, grant.client_send_ns, now);
    if (session.role == Role::observe)
      problem = v1::VERDICT_REFUSED_READ_ONLY;
    else if (grant.epoch != hub_.scene.epoch)
      problem = v1::VERDICT_REFUSED_STALE_EPOCH;
    else if (!hub_.authority.holds(session.slot(), kWorldChannel, hub_.lease_now()))
      problem = v1::VERDICT_REFUSED_NOT_LEASED;
    else if (!hub_.lockstep->grant(session.slot(), grant.run_to_tick, true, nullptr))
      problem = v1::VERDICT_REFUSED_OUT_OF_RANGE;
  }
  if (problem != v1::VERDICT_NONE) refuse_grant(session, header.sequence, problem);
}

// Its verdict goes with the next state; in lockstep that is the present one, to this client only.
void RealtimePort::refuse_grant(Session& session, std::uint64_t sequence, v1::VerdictCode problem) {
  give_verdict(session, {sequence, hub_.newest.tick, static_cast<std::uint32_t>(problem), 0, 0});
  if (!hub_.tick.lockstep()) return;
  around_faults_ = true;
  hub_.lockstep->show_present(session.slot());
  around_faults_ = false;
}

void RealtimePort::answer_at(ClientSlot client, std::uint64_t until, bool mute_before) {
  answers_.push_back({client, until, mute_before});
}

void RealtimePort::answered(std::uint64_t tick) {
  for (const Answer& a : answers_) {
    if (a.mute_before && a.until <= tick) send_granted(a.client);
  }
  if (std::erase_if(answers_, [tick](const Answer& a) { return a.until <= tick; }) > 0) answered_ns_ = now_ns();
}

void RealtimePort::publish(const StateSlot& slot) {
  const StateFrame& f = slot.frame;
  if (f.epoch != hub_.scene.epoch) return;  // of a scene that net has already left
  const std::uint64_t now = now_ns();
  hub_.sessions.for_each([&](Session& session) {
    refuse_incomplete(session);
    if (!(session.framed || (session.is_heard(now) && routes_.route(index_of(session.slot())).is_set()))) return;
    offer_verdicts(session, now);
    if (session.subscriptions.empty()) return;
    bool muted = false, forced = (f.status_bits & kStatusFault) != 0;  // the last one, whatever was asked for
    for (const Answer& answer : answers_) {
      if (answer.client != session.slot()) continue;
      muted = muted || (answer.mute_before && f.tick < answer.until);
      forced = forced || f.tick == answer.until;
    }
    bool sent = false;
    for (const auto& subscriber : session.subscriptions) {
      // A playback sends by beats: at a speed of its own, the recording's ticks say nothing of the rate asked for.
      const bool by_ticks = (f.advanced || hub_.tick.lockstep()) && hub_.play == nullptr;
      const bool due = subscriber->due(f.tick, f.beat, by_ticks);
      if (forced || (due && !muted)) publish_to(session, *subscriber, slot), sent = true;
      if (f.has_shadow && subscriber->spec().shadow) publish_shadow(session, subscriber->spec(), slot);
      if (subscriber->spec().tools && due) publish_tools(session, subscriber->spec().id, slot);
    }
    if (sent) session.log.carried(now);
    if (sent) session.sight.sent(now);
    if (sent && f.advanced)
      session.sent_tick(
          {f.tick, last_send_ns_, f.ticks_missed, 1e6 * hub_.scene.model().step, f.wake_late_us, f.work_us});
  });
  release_due();
}

void RealtimePort::publish_to(Session& session, Subscriber& subscriber, const StateSlot& slot) {
  const SubscriptionSpec& spec = subscriber.spec();
  contact_rows_.clear();
  const std::uint32_t contacts = subscriber.contacts_due() ? slot.frame.contact_count : 0;
  for (std::uint32_t i = 0; i < contacts; ++i) {
    const ContactRow& row = slot.contacts[i];
    if (spec.has_body[row.body_a] != 0 || spec.has_body[row.body_b] != 0) contact_rows_.push_back(i);
  }
  end_effectors_.find(hub_.scene.model(), spec, slot);
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
    const std::size_t length =
        encode_packet(source, plan_[part], part, parts, last_send_ns_, out_.data() + wire::kHeaderBytes);
    send(session, wire::DatagramType::state, length);
  }
}

void RealtimePort::publish_framed(Session& session, PacketSource source) {
  source.payload_max = kFramedMax;
  const auto to = hub_.connection(session.slot());
  if (!to) return;
  source.verdicts = framed_verdicts(session, to->states_replaced());
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
void RealtimePort::publish_shadow(Session& session, const SubscriptionSpec& spec, const StateSlot& slot) {
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
    shadow_.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
    if (session.framed) {
      const auto to = hub_.connection(session.slot());
      if (to) to->send_realtime(wire::DatagramType::shadow, part, {out_.data() + wire::kHeaderBytes, length});
      continue;
    }
    send(session, wire::DatagramType::shadow, length);
  }
}

void RealtimePort::send(Session& session, wire::DatagramType type, std::size_t payload_length) {
  wire::write_header(out_.data(), {type, session.id(), session.next_sequence()});
  const std::size_t length = session.sealer.seal_datagram(out_.data(), wire::kHeaderBytes + payload_length);
  const std::span<const std::uint8_t> datagram(out_.data(), length);
  if (!around_faults_ && session.faults && session.faults->down && takes_part(type, {}))
    return submit(session, true, datagram);
  transmit(session, datagram);
}

}  // namespace tactus::net
