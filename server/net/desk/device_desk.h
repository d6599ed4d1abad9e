// Devices come to hold tools, and let them go.
#pragma once

#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/tools.h"

namespace tactus::net {

class DeviceDesk {
 public:
  struct Uses {
    const NetOptions& options;
    const SceneView& scene;
    const SolverState& solvers;
    const Leases& leases;
    ToolTable& tools;
    TickPort& tick;
  };
  explicit DeviceDesk(const Uses& uses) : uses_(uses) {}

  void attach(const Exchange& x, const v1::AttachTool& request);
  void detach(const Exchange& x, const v1::DetachTool& request);

 private:
  const Uses uses_;
};

}  // namespace tactus::net
