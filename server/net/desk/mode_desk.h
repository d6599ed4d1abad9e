// How time passes: pause, step, lockstep and its grants.
#pragma once

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/fall_back.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/owned_modes.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"

namespace tactus::net {

class ModeDesk {
 public:
  struct Uses {
    const NetOptions& options;
    const SceneView& scene;
    WorldStatus& status;
    OwnedModes& modes;
    const Leases& leases;
    TickPort& tick;
    Events& events;
    LockstepDesk& lockstep;
    FallBack& fall_back;
  };
  explicit ModeDesk(const Uses& uses) : uses_(uses) {}

  void pause(const Exchange& x, const v1::Pause& request);
  void resume(const Exchange& x, const v1::Resume& request);
  void step(const Exchange& x, const v1::Step& request);
  void set_lockstep(const Exchange& x, const v1::SetLockstep& request);
  void grant(const Exchange& x, const v1::Grant& request);

 private:
  [[nodiscard]] bool refused_in_lockstep(const Exchange& x, const char* what) const;
  [[nodiscard]] bool may_force(const Exchange& x) const;
  [[nodiscard]] bool may_change(const Exchange& x, bool force) const;

  const Uses uses_;
};

}  // namespace tactus::net
