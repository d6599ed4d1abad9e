#include "server/net/udp/device_port.h"

#include "core/check.h"
#include "server/net/udp/device_rows.h"
#include "server/net/udp/state_encoder.h"
#include "server/realtime/clock.h"

namespace tactus::net {

v1::VerdictCode DevicePort::check_rights(const Session& session, std::uint64_t now) {
  const v1::DevicePacket& p = device_;
  if (p.scene_epoch() != uses_.scene.epoch) return v1::VERDICT_REFUSED_STALE_EPOCH;
  if (!uses_.tools.holds(p.tool(), session.slot())) return v1::VERDICT_REFUSED_NOT_LEASED;
  const Channel channel = uses_.scene.tool_channel(uses_.tools[p.tool()].body);
  return uses_.leases.authority.holds(session.slot(), channel, now) ? v1::VERDICT_NONE : v1::VERDICT_REFUSED_NOT_LEASED;
}

void DevicePort::take(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                      std::uint64_t now) {
  if (!device_.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_MALFORMED, 0});
  session.saw_datagram(sequence, device_.client_send_ns(), now);
  if (session.role == Role::observe)
    return uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
  v1::VerdictCode code = check(device_);
  if (code == v1::VERDICT_NONE) code = check_rights(session, uses_.leases.now());
  if (code != v1::VERDICT_NONE) return uses_.verdicts.refuse(session, sequence, {code, 0});
  uses_.tick.expect_sample(device_.tool(), uses_.tools.at(device_.tool()).samples.came(now));
  Command command;
  command.kind = Command::Kind::device;
  command.client = session.slot();
  command.epoch = device_.scene_epoch();
  command.ticket = sequence;
  command.received_ns = now;
  command.device = to_row(device_);
  if (!uses_.tick.push_wrench({&command, 1}))
    uses_.verdicts.refuse(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
}

void DevicePort::answer(const ToolFrame& frame) {
  if (frame.epoch != uses_.scene.epoch) return;  // of a scene that net has already left
  const std::uint64_t now = now_ns();
  uses_.sessions.for_each([&](Session& session) {
    if (!(session.framed || session.is_heard(now))) return;
    for (std::uint32_t i = 0; i < frame.tool_count; ++i) {
      const ToolRow& row = frame.tools[i];
      if (!uses_.tools.holds(row.tool, session.slot())) continue;
      auto& band = uses_.tools.at(row.tool).band;
      if (band && !is_due(*band, row)) continue;
      begin_tool(frame.epoch, frame.tick);
      tool_.set_late_us(1e-3f * static_cast<float>(frame.late_ns));
      tool_.set_tick_us(1e-3f * static_cast<float>(frame.handed_ns - frame.start_ns));
      tool_.set_net_us(1e-3f * static_cast<float>(tool_.send_ns() - frame.handed_ns));
      send_tool(session, 0, row);
    }
  });
}

void DevicePort::rehearse() {
  const std::size_t size = tool_.ByteSizeLong();
  if (size == 0 || size > kStatePayloadMax) return;
  uses_.sessions.for_each([&](Session& session) {
    bool holds = false;
    for (std::uint32_t i = 0; i < kTools; ++i) holds = holds || uses_.tools.holds(i, session.slot());
    if (!holds || session.framed) return;
    tool_.SerializeWithCachedSizesToArray(uses_.outlet.payload());
    uses_.outlet.rehearse(session, size);
  });
}

void DevicePort::publish(Session& session, std::uint32_t subscription, const StateSlot& slot) {
  for (std::uint32_t i = 0; i < slot.tool_count; ++i) {
    begin_tool(slot.frame.epoch, slot.frame.tick);
    send_tool(session, subscription, slot.tools[i]);
  }
}

void DevicePort::begin_tool(std::uint32_t epoch, std::uint64_t tick) {
  tool_.Clear();
  tool_.set_scene_epoch(epoch);
  tool_.set_tick(tick);
  tool_.set_send_ns(now_ns());
}

void DevicePort::send_tool(Session& session, std::uint32_t subscription, const ToolRow& row) {
  tool_.set_subscription(subscription);
  fill(row, tool_);
  if (const auto& band = uses_.tools[row.tool].band) {
    tool_.set_band_seen(band->count().seen);
    tool_.set_band_sent(band->count().sent);
    tool_.set_band_error(band->count().error_max);
  }
  const std::size_t length = tool_.ByteSizeLong();
  if (length > kStatePayloadMax && !session.framed) {  // the farthest planes are left out
    while (tool_.ByteSizeLong() > kStatePayloadMax && tool_.plane_key_size() > 0) {
      tool_.mutable_plane_key()->RemoveLast();
      tool_.mutable_plane()->Truncate(tool_.plane_size() - 11);
      tool_.mutable_plane_moving()->pop_back();
    }
  }
  const std::size_t size = tool_.ByteSizeLong();
  TACTUS_ASSERT(size <= kStatePayloadMax || session.framed);
  if (session.framed) {
    const auto to = uses_.lines.find(session.slot());
    framed_.resize(size);
    tool_.SerializeWithCachedSizesToArray(framed_.data());
    const std::uint64_t key = std::uint64_t{subscription} << 32 | row.tool;
    if (to) to->send_realtime(wire::DatagramType::tool, key, {framed_.data(), size});
    return;
  }
  tool_.SerializeWithCachedSizesToArray(uses_.outlet.payload());
  uses_.outlet.send(session, wire::DatagramType::tool, size);
}

}  // namespace tactus::net
