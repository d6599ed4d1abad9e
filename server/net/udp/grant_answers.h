// Lockstep: which clients wait for the state of which tick, and the word that a grant has been run.
#pragma once

#include <cstdint>
#include <vector>

#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/outlet.h"

namespace tactus::net {

// Who runs the ticks that datagrams grant.
class Granter {
 public:
  virtual ~Granter() = default;
  // The client gets the state of the last tick only. False: not in lockstep, or too far ahead.
  virtual bool grant_by_datagram(ClientSlot client, std::uint64_t until) = 0;
  // The present state once more, to this client only.
  virtual void show_present(ClientSlot client) = 0;
};

class GrantAnswers {
 public:
  GrantAnswers(SessionTable& sessions, const SceneView& scene, const WorldStatus& status, const TickPort& tick,
               Outlet& outlet)
      : sessions_(sessions), scene_(scene), status_(status), tick_(tick), outlet_(outlet) {}

  // States before `until` are not sent to this client (mute_before); that of `until` goes to all its subscriptions.
  void expect(ClientSlot client, std::uint64_t until, bool mute_before);
  // Forgets answers up to this tick.
  void reached(std::uint64_t tick);
  void forget(ClientSlot client);
  // The client's grant has been run, for one whose states a faulty link holds back. False: its link is sound.
  bool send_granted(ClientSlot client);

  // What this client gets of this tick.
  struct Wish {
    bool muted = false, forced = false;
  };
  [[nodiscard]] Wish wish(ClientSlot client, std::uint64_t tick) const;
  // When the last grant was answered.
  [[nodiscard]] std::uint64_t answered_ns() const { return answered_ns_; }

 private:
  struct Answer {
    ClientSlot client;
    std::uint64_t until;
    bool mute_before;
  };

  SessionTable& sessions_;
  const SceneView& scene_;
  const WorldStatus& status_;
  const TickPort& tick_;
  Outlet& outlet_;
  std::vector<Answer> answers_;
  std::uint64_t answered_ns_ = 0;
};

}  // namespace tactus::net
