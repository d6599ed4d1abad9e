// DEVICE datagrams in, TOOL datagrams out.
#include "core/check.h"
#include "server/net/control/conversation.h"
#include "server/net/udp/device_rows.h"
#include "server/net/udp/realtime_port.h"
#include "server/realtime/clock.h"

namespace tactus::net {

v1::VerdictCode RealtimePort::check_rights(const Session& session, std::uint64_t now) {
  const v1::DevicePacket& p = device_;
  if (p.scene_epoch() != hub_.scene.epoch) return v1::VERDICT_REFUSED_STALE_EPOCH;
  if (!hub_.tools.holds(p.tool(), session.slot())) return v1::VERDICT_REFUSED_NOT_LEASED;
  const Channel channel = hub_.scene.tool_channel(hub_.tools[p.tool()].body);
  return hub_.authority.holds(session.slot(), channel, now) ? v1::VERDICT_NONE : v1::VERDICT_REFUSED_NOT_LEASED;
}

void RealtimePort::handle_device(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                                 std::uint64_t now) {
  if (!device_.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return refuse_command(session, sequence, {v1::VERDICT_REFUSED_MALFORMED, 0});
  session.saw_datagram(sequence, device_.client_send_ns(), now);
  if (session.role == Role::observe) return refuse_command(session, sequence, {v1::VERDICT_REFUSED_READ_ONLY, 0});
  v1::VerdictCode code = check(device_);
  if (code == v1::VERDICT_NONE) code = check_rights(session, hub_.lease_now());
  if (code != v1::VERDICT_NONE) return refuse_command(session, sequence, {code, 0});
  hub_.tick.expect_sample(device_.tool(), hub_.tools.at(device_.tool()).samples.came(now));
  Command command;
  command.kind = Command::Kind::device;
  command.client = session.slot();
  command.epoch = device_.scene_epoch();
  command.ticket = sequence;
  command.received_ns = now;
  command.device = to_row(device_);
  if (!hub_.tick.push_wrench({&command, 1})) refuse_command(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
}

void RealtimePort::answer_tools(const ToolFrame& frame) {
  if (frame.epoch != hub_.scene.epoch) return;  // of a scene that net has already left
  const std::uint64_t now = now_ns();
  hub_.sessions.for_each([&](Session& session) {
    if (!(session.framed || session.is_heard(now))) return;
    for (std::uint32_t i = 0; i < frame.tool_count; ++i) {
      const ToolRow& row = frame.tools[i];
      if (!hub_.tools.holds(row.tool, session.slot())) continue;
      auto& band = hub_.tools.at(row.tool).band;
      if (band && !is_due(*band, row)) continue;
      begin_tool(frame.epoch, frame.tick);
      tool_.set_late_us(1e-3f * static_cast<float>(frame.late_ns));
      tool_.set_tick_us(1e-3f * static_cast<float>(frame.handed_ns - frame.start_ns));
      tool_.set_net_us(1e-3f * static_cast<float>(tool_.send_ns() - frame.handed_ns));
      send_tool(session, 0, row);
    }
  });
}

void RealtimePort::rehearse_tools() {
  const std::size_t size = tool_.ByteSizeLong();
  if (size == 0 || size > kStatePayloadMax) return;
  hub_.sessions.for_each([&](Session& session) {
    bool holds = false;
    for (std::uint32_t i = 0; i < kTools; ++i) holds = holds || hub_.tools.holds(i, session.slot());
    if (!holds || session.framed) return;
    tool_.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
    session.sealer.seal_datagram(out_.data(), wire::kHeaderBytes + size);
  });
}

void RealtimePort::publish_tools(Session& session, std::uint32_t subscription, const StateSlot& slot) {
  for (std::uint32_t i = 0; i < slot.tool_count; ++i) {
    begin_tool(slot.frame.epoch, slot.frame.tick);
    send_tool(session, subscription, slot.tools[i]);
  }
}

void RealtimePort::begin_tool(std::uint32_t epoch, std::uint64_t tick) {
  tool_.Clear();
  tool_.set_scene_epoch(epoch);
  tool_.set_tick(tick);
  tool_.set_send_ns(now_ns());
}

void RealtimePort::send_tool(Session& session, std::uint32_t subscription, const ToolRow& row) {
  tool_.set_subscription(subscription);
  fill(row, tool_);
  if (const auto& band = hub_.tools[row.tool].band) {
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
    const auto to = hub_.connection(session.slot());
    framed_.resize(size);
    tool_.SerializeWithCachedSizesToArray(framed_.data());
    const std::uint64_t key = std::uint64_t{subscription} << 32 | row.tool;
    if (to) to->send_realtime(wire::DatagramType::tool, key, {framed_.data(), size});
    return;
  }
  tool_.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  send(session, wire::DatagramType::tool, size);
}

}  // namespace tactus::net
