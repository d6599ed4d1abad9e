// How the channels of robots' joints take commands, and whose wish that was; faults of robots.
#pragma once

#include <string>
#include <vector>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"

namespace tactus::net {

class JointDesk {
 public:
  struct Uses {
    SceneView& scene;
    SessionTable& sessions;
    const Leases& leases;
    TickPort& tick;
    Events& events;
  };
  explicit JointDesk(const Uses& uses) : uses_(uses) {}

  void set_options(const Exchange& x, const v1::SetJointOptions& request);
  void recover(const Exchange& x, const v1::RecoverFault& request);

  // Channels are no longer a client's: so are the joint options that he set under them.
  void lost(const std::vector<LostChannel>& lost);
  // Somebody took channels: what another set on their joints ends.
  void taken(ClientSlot by, const std::vector<Channel>& taken);
  // A client has left: what he set ends.
  void left(ClientSlot client, const std::string& whose);
  // A new scene.
  void clear() { owned_.clear(); }

 private:
  [[nodiscard]] bool may_drive(const Exchange& x, Channel channel) const;
  void put_back(const std::vector<OwnedOptions::Before>& ended, const std::string& whose);

  const Uses uses_;
  OwnedOptions owned_;
};

}  // namespace tactus::net
