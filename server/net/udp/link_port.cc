// Faulty links: datagrams of clients whose links have faults on purpose take this way round.
#include <algorithm>

#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {
// As FaultyLink::next_due() says it: nothing is under way.
constexpr std::uint64_t kNever = ~std::uint64_t{0};
}  // namespace

std::uint64_t RealtimePort::link_now() const {
  return hub_.tick.lockstep() ? hub_.tick.world().state().tick : now_ns();
}

std::uint64_t RealtimePort::link_unit() const {
  if (!hub_.tick.lockstep()) return 1;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(1e9 * hub_.scene.model().step + 0.5));
}

// In lockstep only what belongs to the run: grants move its clock, and pings and heartbeats come by wall time, so that
// no two runs would meet the same fates.
bool RealtimePort::takes_part(wire::DatagramType type, std::span<const std::uint8_t> payload) {
  using Type = wire::DatagramType;
  if (!hub_.tick.lockstep()) return true;
  if (type == Type::state || type == Type::shadow || type == Type::tool || type == Type::device) return true;
  return type == Type::command && !decoder_.is_heartbeat(payload);
}

// Into the session's link of that direction, which has faults; what they do is recorded.
void RealtimePort::submit(Session& session, bool down, std::span<const std::uint8_t> datagram) {
  FaultyLink& link = down ? *session.faults->down : *session.faults->up;
  link.submit(datagram, link_now(), link_unit());
  if (link.last_fate() != 0) hub_.record->injected(session.name(), down, link.counters().datagrams, link.last_fate());
}

void RealtimePort::take_datagram(Session& session, std::span<const std::uint8_t> datagram) {
  wire::DatagramHeader header{};
  if (wire::read_header(datagram, header) != wire::HeaderError::none) return;  // it was read before it was held back
  take(session, header, datagram.subspan(wire::kHeaderBytes, datagram.size() - wire::kHeaderBytes - wire::kMacBytes),
       now_ns());
}

void RealtimePort::release_due() {
  if (hub_.faulty_links == 0) return;
  std::uint64_t next = kNever;
  hub_.sessions.for_each([&](Session& session) {
    if (!session.faults) return;
    const std::uint64_t now = link_now();
    if (FaultyLink* up = session.faults->up.get()) {
      for (auto d = up->take_due(now); !d.empty(); d = up->take_due(now)) take_datagram(session, d);
      next = std::min(next, up->next_due());
    }
    if (FaultyLink* down = session.faults->down.get()) {
      for (auto d = down->take_due(now); !d.empty(); d = down->take_due(now)) transmit(session, d);
      next = std::min(next, down->next_due());
    }
  });
  if (next != kNever && !hub_.tick.lockstep()) arm_timer(next);
}

void RealtimePort::arm_timer(std::uint64_t due_ns) {
  if (timer_due_ != 0 && timer_due_ <= due_ns) return;
  timer_due_ = due_ns;
  link_timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due_ns)));
  link_timer_.async_wait([this](asio::error_code error) {
    if (error == asio::error::operation_aborted) return;
    timer_due_ = 0;
    release_due();
  });
}

void RealtimePort::flush_links(Session& session) {
  if (!session.faults) return;
  if (FaultyLink* up = session.faults->up.get()) {
    for (auto d = up->flush_one(); !d.empty(); d = up->flush_one()) take_datagram(session, d);
  }
  if (FaultyLink* down = session.faults->down.get()) {
    for (auto d = down->flush_one(); !d.empty(); d = down->flush_one()) transmit(session, d);
  }
}

void RealtimePort::restart_links(bool deliver) {
  if (hub_.faulty_links == 0) return;
  hub_.sessions.for_each([&](Session& session) {
    if (!session.faults) return;
    if (deliver) flush_links(session);
    for (FaultyLink* link : {session.faults->up.get(), session.faults->down.get()}) {
      if (link != nullptr) link->restart();
    }
  });
}

bool RealtimePort::send_granted(ClientSlot client) {
  Session* session = hub_.sessions.find(client);
  if (around_faults_ || session == nullptr || !session->faults || !session->faults->down) return false;
  if (!session->is_heard(now_ns())) return true;
  v1::GrantedPacket granted;
  granted.set_scene_epoch(hub_.scene.epoch);
  granted.set_tick(hub_.tick.lockstep() ? hub_.tick.world().state().tick : hub_.newest.tick);
  const std::size_t length = granted.ByteSizeLong();
  granted.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  send(*session, wire::DatagramType::granted, length);
  return true;
}

}  // namespace tactus::net
