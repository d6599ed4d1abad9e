// Scenes: which there are, and the change to another.
#pragma once

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <memory>
#include <string>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/link_desk.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/scene_change.h"
#include "server/net/options.h"
#include "server/net/scene/scene_library.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/link_port.h"

namespace tactus::net {

class SceneDesk {
 public:
  struct Uses {
    asio::io_context& io;
    asio::thread_pool& loader;  // reads scenes, builds and destroys worlds
    const NetOptions& options;
    const SceneView& scene;
    WorldStatus& status;
    SolverState& solvers;
    const Leases& leases;
    TickPort& tick;
    Events& events;
    LinkPort& links;
    LockstepDesk& lockstep;
    LinkDesk& link_desk;
    RecordDesk& record;
    SceneChange& change;
  };
  // file: of the first scene, which can be loaded, too.
  SceneDesk(const Uses& uses, const std::string& file) : uses_(uses), library_(uses.options.scenes_dir, file) {}

  void list(const Exchange& x);
  void load(const Exchange& x, const v1::LoadScene& request);

 private:
  void swap_in(const Exchange& x, std::shared_ptr<LoadedScene> loaded);

  const Uses uses_;
  SceneLibrary library_;
  bool loading_ = false;
};

}  // namespace tactus::net
