// The tick has taken a new world: everything of the old scene is void.
#pragma once

#include <cstdint>
#include <string>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/joint_desk.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tools.h"

namespace tactus::net {

class SceneChange {
 public:
  struct Uses {
    SceneView& scene;
    SessionTable& sessions;
    Leases& leases;
    ToolTable& tools;
    Events& events;
    JointDesk& joints;
  };
  explicit SceneChange(const Uses& uses) : uses_(uses) {}

  void show(const World& world, std::string name, std::uint32_t epoch, State blank);

 private:
  const Uses uses_;
};

}  // namespace tactus::net
