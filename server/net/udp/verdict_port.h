// What becomes of commands: each gets a verdict, which goes with the states, or in datagrams of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "realtime.pb.h"
#include "server/net/control/journal.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/datagram.h"
#include "server/net/udp/outlet.h"

namespace tactus::net {

class VerdictPort {
 public:
  VerdictPort(SessionTable& sessions, const WorldStatus& status, Journal& journal, Outlet& outlet)
      : sessions_(sessions), status_(status), journal_(journal), outlet_(outlet) {}

  // Of the tick.
  void give(const Notice& notice);
  // Of net.
  void refuse(Session& session, std::uint64_t sequence, Refusal refusal);
  // Those that states do not bring.
  void offer(Session& session, std::uint64_t now);
  // Those that go with a state in a frame. replaced: states that a newer one replaced so far.
  [[nodiscard]] std::span<const VerdictRecord> framed(Session& session, std::uint64_t replaced);

 private:
  void give(Session& session, const VerdictRecord& verdict);

  SessionTable& sessions_;
  const WorldStatus& status_;
  Journal& journal_;
  Outlet& outlet_;
  std::vector<VerdictRecord> framed_;
  v1::VerdictPacket verdicts_;
};

}  // namespace tactus::net
