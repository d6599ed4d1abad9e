#include "server/net/udp/link_port.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {
// As FaultyLink::next_due() says it: nothing is under way.
constexpr std::uint64_t kNever = ~std::uint64_t{0};
}  // namespace

void LinkPort::set(Session& session, std::unique_ptr<FaultyLinks> faults) {
  session.faults = std::move(faults);
  faulty_ = 0;
  uses_.sessions.for_each([this](const Session& s) { faulty_ += s.faults ? 1 : 0; });
}

std::uint64_t LinkPort::now() const {
  return uses_.tick.lockstep() ? uses_.tick.world().state().tick : now_ns();
}

std::uint64_t LinkPort::unit() const {
  if (!uses_.tick.lockstep()) return 1;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(1e9 * uses_.scene.model().step + 0.5));
}

// In lockstep only what belongs to the run: grants move its clock, and pings and heartbeats come by wall time, so that
// no two runs would meet the same fates.
bool LinkPort::takes_part(wire::DatagramType type, std::span<const std::uint8_t> payload) {
  using Type = wire::DatagramType;
  if (!uses_.tick.lockstep()) return true;
  if (type == Type::state || type == Type::shadow || type == Type::tool || type == Type::device) return true;
  return type == Type::command && !decoder_.is_heartbeat(payload);
}

// Into the session's link of that direction, which has faults; what they do is recorded.
void LinkPort::submit(Session& session, bool down, std::span<const std::uint8_t> datagram) {
  FaultyLink& link = down ? *session.faults->down : *session.faults->up;
  link.submit(datagram, now(), unit());
  if (link.last_fate() != 0) uses_.journal.injected(session.name(), down, link.counters().datagrams, link.last_fate());
}

void LinkPort::deliver_up(Session& session, std::span<const std::uint8_t> datagram) {
  wire::DatagramHeader header{};
  if (wire::read_header(datagram, header) != wire::HeaderError::none) return;  // it was read before it was held back
  uses_.taker.take(session, header,
                   datagram.subspan(wire::kHeaderBytes, datagram.size() - wire::kHeaderBytes - wire::kMacBytes),
                   now_ns());
}

void LinkPort::release_due() {
  if (faulty_ == 0) return;
  std::uint64_t next = kNever;
  uses_.sessions.for_each([&](Session& session) {
    if (!session.faults) return;
    const std::uint64_t at = now();
    if (FaultyLink* up = session.faults->up.get()) {
      for (auto d = up->take_due(at); !d.empty(); d = up->take_due(at)) deliver_up(session, d);
      next = std::min(next, up->next_due());
    }
    if (FaultyLink* down = session.faults->down.get()) {
      for (auto d = down->take_due(at); !d.empty(); d = down->take_due(at)) uses_.ways.transmit(session, d);
      next = std::min(next, down->next_due());
    }
  });
  if (next != kNever && !uses_.tick.lockstep()) arm_timer(next);
}

void LinkPort::arm_timer(std::uint64_t due_ns) {
  if (timer_due_ != 0 && timer_due_ <= due_ns) return;
  timer_due_ = due_ns;
  timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due_ns)));
  timer_.async_wait([this](asio::error_code error) {
    if (error == asio::error::operation_aborted) return;
    timer_due_ = 0;
    release_due();
  });
}

void LinkPort::flush(Session& session) {
  if (!session.faults) return;
  if (FaultyLink* up = session.faults->up.get()) {
    for (auto d = up->flush_one(); !d.empty(); d = up->flush_one()) deliver_up(session, d);
  }
  if (FaultyLink* down = session.faults->down.get()) {
    for (auto d = down->flush_one(); !d.empty(); d = down->flush_one()) uses_.ways.transmit(session, d);
  }
}

void LinkPort::restart(bool deliver) {
  if (faulty_ == 0) return;
  uses_.sessions.for_each([&](Session& session) {
    if (!session.faults) return;
    if (deliver) flush(session);
    for (FaultyLink* link : {session.faults->up.get(), session.faults->down.get()}) {
      if (link != nullptr) link->restart();
    }
  });
}

}  // namespace tactus::net
