// Requests that change who moves the world: SetModel, SetShadow; and what a reset or a restore needs for it.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <asio/post.hpp>

#include <memory>
#include <utility>

#include "server/net/desk/requests.h"

namespace tactus::net {
namespace {

// Builds on the loader's thread with the running scene's model, then continues on net's with a started solver.
template <typename Solver, typename Make>
void build(const Exchange& x, Make make, std::function<void(Solver*)> then) {
  Hub& hub = x.hub();
  const std::uint32_t epoch = hub.scene.epoch;
  const int cpu = tick_cpu(hub);
  asio::post(hub.loader,
             [x, make, then, epoch, cpu, model = hub.scene.world->shared_model(), limits = hub.scene.world->limits()] {
               const auto made = std::make_shared<std::unique_ptr<Solver>>();
               std::string problem = "the model could not be built";
               try {
                 *made = make(model, limits);
                 if (*made != nullptr && !(*made)->start(cpu)) *made = nullptr;
               } catch (const std::exception& e) {
                 problem = e.what();
               }
               asio::post(x.hub().io, [x, made, then, epoch, problem] {
                 if (*made == nullptr) return x.error(v1::ERROR_WRONG_STATE, problem);
                 if (x.hub().scene.epoch != epoch)
                   return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the model was ready");
                 then(made->release());
               });
             });
}

// Void in another scene.
Command command_of_scene(const Exchange& x, Command::Kind kind) {
  Command command = command_of(x, kind);
  command.epoch = x.hub().scene.epoch;
  return command;
}

void switch_model(const Exchange& x, ContactModelKind kind, SlowSolver* solver) {
  Command command = command_of_scene(x, Command::Kind::set_model);
  command.value = static_cast<std::uint64_t>(kind);
  command.solver = solver;
  Hub& hub = x.hub();
  hub.scene.in_charge = kind;
  hub.tick.post(
      command,
      [x, kind](const Notice& notice) {
        Hub& h = x.hub();
        if (!notice.ok)
          return x.error(v1::ERROR_WRONG_STATE, std::string("the switch to ") + to_string(kind) +
                                                    " was overtaken by another change of the world");
        h.scene.contact_model = kind;
        h.broadcast(v1::Event::MODEL_CHANGED, to_string(kind));
        x.done();
      },
      to_string(kind));
}

}  // namespace

int tick_cpu(const Hub& hub) {
  const Rights* rights = hub.tick.rights();
  return rights == nullptr ? -1 : rights->cpu;
}

void with_solver(const Exchange& x, ContactModelKind kind, std::function<void(SlowSolver*)> then) {
  const SolverOptions& options = x.hub().solvers;
  if (!is_slow(options.rates, kind, x.hub().scene.model().step)) return then(nullptr);
  build<SlowSolver>(
      x,
      [options, kind](const auto& model, const Limits& limits) {
        return make_slow_solver(options, model, limits, kind);
      },
      std::move(then));
}

void set_model(const Exchange& x, const v1::SetModel& request) {
  if (!x.needs_world()) return;
  ContactModelKind kind{};
  if (!parse_contact_model(request.name(), kind) || !World::has_model(kind)) {
    return x.error(v1::ERROR_BAD_VALUE,
                   fmt::format("no contact model '{}' in this build; it has: {}", request.name(), model_names()));
  }
  const SceneView& scene = x.hub().scene;
  const bool slow = is_slow(x.hub().solvers.rates, kind, scene.model().step);
  if (slow && kind == scene.in_charge && kind == scene.contact_model) return x.done();  // it goes on
  with_solver(x, kind, [x, kind](SlowSolver* solver) { switch_model(x, kind, solver); });
}

void set_shadow(const Exchange& x, const v1::SetShadow& request) {
  if (!x.needs_world()) return;
  Hub& hub = x.hub();
  ShadowWish wish{std::nullopt, request.rate_hz() == 0 ? hub.options.shadow_rate_hz : request.rate_hz(),
                  request.rate_hz() != 0};
  const std::string fault = wish.chosen ? rate_fault(wish.rate_hz, hub.scene.model().step) : std::string();
  if (!fault.empty()) return x.error(v1::ERROR_BAD_VALUE, "rate_hz: " + fault);
  if (ContactModelKind kind{}; !request.model().empty()) {
    if (!parse_contact_model(request.model(), kind) || !World::has_model(kind)) {
      return x.error(v1::ERROR_BAD_VALUE,
                     fmt::format("no contact model '{}' in this build; it has: {}", request.model(), model_names()));
    }
    wish.model = kind;
  }
  const auto put = [x, wish](ShadowSolver* shadow) {
    Command command = command_of_scene(x, Command::Kind::set_shadow);
    command.shadow = shadow;
    x.hub().tick.post(command, [x, wish](const Notice& notice) {
      if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the shadow was in place");
      x.hub().solvers.shadow = wish;
      x.hub().shadow_seen = {};
      x.hub().broadcast(v1::Event::SHADOW_CHANGED, wish.model ? to_string(*wish.model) : "");
      x.done();
    });
  };
  if (!wish.model) return put(nullptr);
  SolverOptions options = hub.solvers;
  options.shadow = wish;
  build<ShadowSolver>(
      x, [options](const auto& model, const Limits& limits) { return make_shadow_solver(options, model, limits); },
      put);
}

}  // namespace tactus::net
