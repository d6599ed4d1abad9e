// Commands: decoded, compared with leases and scene, and handed to the tick, whole or not at all. Also those that come
// in several datagrams.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/net/control/journal.h"
#include "server/net/control/leases.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/datagram.h"
#include "server/net/udp/link_port.h"
#include "server/net/udp/verdict_port.h"

namespace tactus::net {

class CommandPort {
 public:
  struct Uses {
    const SceneView& scene;
    const WorldStatus& status;
    const Leases& leases;
    TickPort& tick;
    Journal& journal;
    VerdictPort& verdicts;
    const LinkPort& links;
  };
  explicit CommandPort(const Uses& uses);

  // A CommandPacket that has passed mac, sequence and rate.
  void take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
            std::uint64_t now);
  // Commands of which a part did not come in time.
  void refuse_incomplete(Session& session);

 private:
  // A command of a client that subscribes to states and does not see them.
  [[nodiscard]] Refusal check_sight(const Session& session, std::uint64_t now) const;
  [[nodiscard]] Refusal authorise(const Session& session, const CommandDatagram& command, std::uint64_t now) const;
  [[nodiscard]] Refusal authorise_joints(const Session& session, const CommandDatagram& command,
                                         std::uint64_t now) const;
  // What is commanded, if the scene and the leases allow it.
  [[nodiscard]] Refusal admit(const Session& session);
  void note_command(Session& session, std::uint64_t sequence, std::uint64_t now);
  // The decoded command as rows_[first] and behind; returns how many.
  [[nodiscard]] std::uint32_t fill_rows(const Session& session, std::uint64_t sequence, std::uint32_t first,
                                        std::uint64_t now);
  void push_rows(Session& session, std::uint64_t sequence, std::uint32_t rows);
  void handle_part(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload, std::uint64_t now);
  void handle_complete(Session& session, const CommandParts& parts, std::uint64_t now);

  const Uses uses_;
  DatagramDecoder decoder_;
  CommandDatagram command_;
  std::vector<Command> rows_;
};

}  // namespace tactus::net
