// A Command as the wire's CommandPacket.
#pragma once

#include <cstdint>
#include <vector>

#include "control.pb.h"
#include "realtime.pb.h"
#include "tactus/types.h"

namespace tactus::client {

// Fills the packet, or says why it cannot be sent. `scene` gives the mass centres that rows without a point act at when
// another row has one. client_send_ns is left to the sender.
SendStatus encode_command(const Command& command, const v1::SceneDescription& scene,
                          v1::CommandPacket& packet) noexcept;

// A command of more rows than a datagram holds as the parts of one: at most 8, all applied or none.
SendStatus encode_parts(const Command& command, const v1::SceneDescription& scene,
                        std::vector<v1::CommandPacket>& parts) noexcept;

}  // namespace tactus::client
