// Who moves the world: the contact model, a shadow beside it, and what a reset or a restore needs for it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <functional>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/exchange.h"
#include "server/net/options.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"

namespace tactus::net {

class ModelDesk {
 public:
  struct Uses {
    asio::io_context& io;
    asio::thread_pool& loader;
    const NetOptions& options;
    SceneView& scene;
    SolverState& solvers;
    const Leases& leases;
    TickPort& tick;
    Events& events;
  };
  explicit ModelDesk(const Uses& uses) : uses_(uses) {}

  void set_model(const Exchange& x, const v1::SetModel& request);
  void set_shadow(const Exchange& x, const v1::SetShadow& request);

  // Builds what moves the world with `kind` beside the tick (null: the tick does it), on the loader's thread; then
  // continues on net's. Not continued when the scene has changed meanwhile: the client is told.
  void with_solver(const Exchange& x, ContactModelKind kind, std::function<void(SlowSolver*)> then);

 private:
  template <typename Solver, typename Make>
  void build(const Exchange& x, Make make, std::function<void(Solver*)> then);
  [[nodiscard]] Command command_of_scene(const Exchange& x, Command::Kind kind) const;
  void switch_model(const Exchange& x, ContactModelKind kind, SlowSolver* solver);

  const Uses uses_;
};

}  // namespace tactus::net
