// Leases: who may drive what, until when; and the stop that needs none.
#pragma once

#include <vector>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/joint_desk.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/tools.h"
#include "server/net/scene/world_status.h"

namespace tactus::net {

class LeaseDesk {
 public:
  struct Uses {
    const SceneView& scene;
    const WorldStatus& status;
    Leases& leases;
    ToolTable& tools;
    TickPort& tick;
    Events& events;
    JointDesk& joints;
  };
  explicit LeaseDesk(const Uses& uses) : uses_(uses) {}

  void acquire(const Exchange& x, const v1::AcquireLease& request);
  void renew(const Exchange& x, const v1::RenewLease& request);
  void release(const Exchange& x, const v1::ReleaseLease& request);
  void list(const Exchange& x);
  void stop(const Exchange& x);

  // Leases whose time is over end.
  void expire();
  // Channels that nobody holds any more ramp to zero; LEASE_LOST goes to those who did not ask for it (tell), and the
  // joint options that they set under them fall back.
  void lost(const std::vector<LostChannel>& channels, bool tell);

 private:
  [[nodiscard]] bool may_command(const Exchange& x) const;

  const Uses uses_;
};

}  // namespace tactus::net
