// Net's part of a playback (tactusd --play): seek and speed for clients, and what is refused while a recording is
// shown.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/scene/world_status.h"
#include "server/record/player.h"

namespace tactus::net {

class PlayDesk {
 public:
  struct Uses {
    WorldStatus& status;
    const Leases& leases;
    Events& events;
  };
  PlayDesk(const Uses& uses, record::Player& player) : uses_(uses), player_(player) {}

  // Requests that look on, and those that hold the playback or let it go on. The others would change a live world.
  [[nodiscard]] static bool allows(v1::Request::BodyCase request);
  // Why the others are refused, and channels but "world".
  [[nodiscard]] std::string why() const;
  void serve(const Exchange& x, const v1::SetPlayback& request);
  // Before the state goes to clients: answers seeks, and tells all of jumps and of the end.
  void published(const StateFrame& frame);
  void report(v1::Playback& out) const;

 private:
  void tell_jump(const char* what);

  const Uses uses_;
  record::Player& player_;
  std::vector<std::pair<std::uint32_t, Exchange>> seeks_;  // that wait for their state, by its generation
  std::uint64_t tick_ = 0, play_time_ns_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t here_ = 0;  // a seek of our own, to where the playback stands: no jump
  bool ended_ = false;
};

}  // namespace tactus::net
