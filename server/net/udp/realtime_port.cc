#include "server/net/udp/realtime_port.h"

#include <asio/post.hpp>

#include <thread>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr int kBatch = 64;                   // datagrams read before the loop serves others
constexpr std::uint64_t kLingerNs = 50'000;  // after the answer to a grant: some wake-ups of a thread

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

}  // namespace

RealtimePort::RealtimePort(const Uses& uses, const asio::ip::udp::endpoint& endpoint)
    : uses_(uses),
      socket_(uses.io, endpoint, uses.options.socket_buffer_bytes),
      ways_(socket_, uses.lines, uses.refusals, uses.options.clients),
      links_({.io = uses.io,
              .sessions = uses.sessions,
              .scene = uses.scene,
              .tick = uses.tick,
              .journal = uses.journal,
              .ways = ways_,
              .taker = *this}),
      outlet_(ways_, links_),
      answers_(uses.sessions, uses.scene, uses.status, uses.tick, outlet_),
      verdicts_(uses.sessions, uses.status, uses.journal, outlet_),
      commands_({.scene = uses.scene,
                 .status = uses.status,
                 .leases = uses.leases,
                 .tick = uses.tick,
                 .journal = uses.journal,
                 .verdicts = verdicts_,
                 .links = links_}),
      devices_({.sessions = uses.sessions,
                .lines = uses.lines,
                .scene = uses.scene,
                .leases = uses.leases,
                .tools = uses.tools,
                .tick = uses.tick,
                .verdicts = verdicts_,
                .outlet = outlet_}),
      states_({.sessions = uses.sessions,
               .lines = uses.lines,
               .scene = uses.scene,
               .status = uses.status,
               .tick = uses.tick,
               .ways = ways_,
               .links = links_,
               .outlet = outlet_,
               .answers = answers_,
               .verdicts = verdicts_,
               .commands = commands_,
               .devices = devices_}) {}

void RealtimePort::start(Granter& granter) {
  granter_ = &granter;
  receive();
}

void RealtimePort::stop() {
  links_.stop();
  socket_.close();
}

// In lockstep the next grant mostly follows at once: net that stays awake is not woken for it. Between two looks all
// others are served.
void RealtimePort::receive() {
  if (uses_.tick.lockstep() && now_ns() - answers_.answered_ns() < kLingerNs)
    return asio::post(uses_.io, [this] { look_again(); });
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
  links_.release_due();
}

void RealtimePort::refuse(const char* reason) {
  ++uses_.refusals.datagrams;
  uses_.refusals.add(reason);
}

// The order of the checks is the specification's: size, magic, version, type, session, mac, sequence, decoding.
void RealtimePort::handle(std::size_t length, std::uint64_t now) {
  wire::DatagramHeader header{};
  const wire::HeaderError error = wire::read_header({in_.data(), length}, header);
  if (error != wire::HeaderError::none) return refuse(reason_of(error));
  if (!from_client(header.type)) return refuse("datagram_type");
  Session* session = uses_.sessions.find_id(header.session);
  if (session == nullptr) return refuse("datagram_session");
  if (!session->sealer.open_datagram(in_.data(), length)) return refuse("datagram_mac");
  const std::span<const std::uint8_t> payload(in_.data() + wire::kHeaderBytes,
                                              length - wire::kHeaderBytes - wire::kMacBytes);
  session->heard(now);
  if (session->is_newest_arrival(header.sequence)) ways_.note(*session, from_, header, payload, now);
  if (session->faults && session->faults->up && links_.takes_part(header.type, payload))
    return links_.submit(*session, false, {in_.data(), length});
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
  if (!uses_.tick.lockstep() && !session.cap_udp.take(now)) {
    if (is_command) return verdicts_.refuse(session, header.sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
    ++session.counters.by_code[v1::VERDICT_REFUSED_QUEUE_FULL];
    return;
  }
  if (is_device) return devices_.take(session, header.sequence, payload, now);
  if (is_command) return commands_.take(session, header, payload, now);
  if (header.type == wire::DatagramType::ping) return handle_ping(session, header, payload, now);
  handle_grant(session, header, payload, now);
}

void RealtimePort::take_command(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload) {
  const std::uint64_t now = now_ns();
  ++session.counters.commands_received;
  if (!uses_.tick.lockstep() && !session.cap_udp.take(now))
    return verdicts_.refuse(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
  commands_.take(session, {wire::DatagramType::command, session.id(), sequence}, payload, now);
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
  pong.set_tick(uses_.status.newest.tick);
  pong.set_server_send_ns(now_ns());
  const std::size_t length = pong.ByteSizeLong();
  pong.SerializeWithCachedSizesToArray(outlet_.payload());
  outlet_.send(session, wire::DatagramType::pong, length);
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
    else if (grant.epoch != uses_.scene.epoch)
      problem = v1::VERDICT_REFUSED_STALE_EPOCH;
    else if (!uses_.leases.authority.holds(session.slot(), kWorldChannel, uses_.leases.now()))
      problem = v1::VERDICT_REFUSED_NOT_LEASED;
    else if (!granter_->grant_by_datagram(session.slot(), grant.run_to_tick))
      problem = v1::VERDICT_REFUSED_OUT_OF_RANGE;
  }
  if (problem != v1::VERDICT_NONE) refuse_grant(session, header.sequence, problem);
}

// Its verdict goes with the next state; in lockstep that is the present one, to this client only.
void RealtimePort::refuse_grant(Session& session, std::uint64_t sequence, v1::VerdictCode problem) {
  verdicts_.refuse(session, sequence, {problem, 0});
  if (!uses_.tick.lockstep()) return;
  const Outlet::AroundFaults around(outlet_);
  granter_->show_present(session.slot());
}

void RealtimePort::forget(ClientSlot client) {
  answers_.forget(client);
  ways_.forget(client);
}

}  // namespace tactus::net
