// DEVICE and TOOL datagrams to and from the tick's plain rows. Pure.
#pragma once

#include "haptic.pb.h"
#include "proto/cpp/deadband.h"
#include "realtime.pb.h"
#include "server/realtime/tool_desk.h"

namespace tactus::net {

// VERDICT_NONE: counts are right, all is finite and in range. What needs no lease: a datagram that is malformed says so
// whoever sent it.
[[nodiscard]] v1::VerdictCode check(const v1::DevicePacket& packet);
// The packet must have been found sound. The quaternion is normalised.
[[nodiscard]] DeviceRow to_row(const v1::DevicePacket& packet);
// All but what the connection adds: epoch, tick, send time, subscription, deadband.
void fill(const ToolRow& row, v1::ToolPacket& out);
// Whether the tool's own client must hear of this tick.
[[nodiscard]] bool is_due(wire::ToolBand& band, const ToolRow& row);

}  // namespace tactus::net
