// The world's state and parameters: reset, snapshots, restore.
#pragma once

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/model_desk.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/udp/link_port.h"

namespace tactus::net {

class WorldDesk {
 public:
  struct Uses {
    const NetOptions& options;
    SceneView& scene;
    const Leases& leases;
    TickPort& tick;
    Events& events;
    LinkPort& links;
    LockstepDesk& lockstep;
    ModelDesk& models;
  };
  explicit WorldDesk(const Uses& uses) : uses_(uses) {}

  void reset(const Exchange& x);
  void take_snapshot(const Exchange& x, const v1::TakeSnapshot& request);
  void restore_snapshot(const Exchange& x, const v1::RestoreSnapshot& request);
  void set_parameter(const Exchange& x, const v1::SetParameter& request);

 private:
  const Uses uses_;
};

}  // namespace tactus::net
