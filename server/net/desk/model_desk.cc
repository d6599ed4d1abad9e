#include "server/net/desk/model_desk.h"

#include <spdlog/fmt/fmt.h>
#include <asio/post.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace tactus::net {

// Builds on the loader's thread with the running scene's model, then continues on net's with a started solver.
template <typename Solver, typename Make>
void ModelDesk::build(const Exchange& x, Make make, std::function<void(Solver*)> then) {
  const std::uint32_t epoch = uses_.scene.epoch;
  const int cpu = uses_.tick.cpu();
  asio::post(uses_.loader, [this, x, make, then, epoch, cpu, model = uses_.scene.world->shared_model(),
                            limits = uses_.scene.world->limits()] {
    const auto made = std::make_shared<std::unique_ptr<Solver>>();
    std::string problem = "the model could not be built";
    try {
      *made = make(model, limits);
      if (*made != nullptr && !(*made)->start(cpu)) *made = nullptr;
    } catch (const std::exception& e) {
      problem = e.what();
    }
    asio::post(uses_.io, [this, x, made, then, epoch, problem] {
      if (*made == nullptr) return x.error(v1::ERROR_WRONG_STATE, problem);
      if (uses_.scene.epoch != epoch)
        return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the model was ready");
      then(made->release());
    });
  });
}

// Void in another scene.
Command ModelDesk::command_of_scene(const Exchange& x, Command::Kind kind) const {
  Command command = command_of(x, kind);
  command.epoch = uses_.scene.epoch;
  return command;
}

void ModelDesk::switch_model(const Exchange& x, ContactModelKind kind, SlowSolver* solver) {
  Command command = command_of_scene(x, Command::Kind::set_model);
  command.value = static_cast<std::uint64_t>(kind);
  command.solver = solver;
  uses_.scene.in_charge = kind;
  uses_.tick.post(
      command,
      [this, x, kind](const Notice& notice) {
        if (!notice.ok)
          return x.error(v1::ERROR_WRONG_STATE, std::string("the switch to ") + to_string(kind) +
                                                    " was overtaken by another change of the world");
        uses_.scene.contact_model = kind;
        uses_.events.broadcast(v1::Event::MODEL_CHANGED, to_string(kind));
        x.done();
      },
      to_string(kind));
}

void ModelDesk::with_solver(const Exchange& x, ContactModelKind kind, std::function<void(SlowSolver*)> then) {
  const SolverOptions& options = uses_.solvers.options;
  if (!is_slow(options.rates, kind, uses_.scene.model().step)) return then(nullptr);
  build<SlowSolver>(
      x,
      [options, kind](const auto& model, const Limits& limits) {
        return make_slow_solver(options, model, limits, kind);
      },
      std::move(then));
}

void ModelDesk::set_model(const Exchange& x, const v1::SetModel& request) {
  if (!x.needs_world(uses_.leases)) return;
  ContactModelKind kind{};
  if (!parse_contact_model(request.name(), kind) || !World::has_model(kind)) {
    return x.error(v1::ERROR_BAD_VALUE,
                   fmt::format("no contact model '{}' in this build; it has: {}", request.name(), model_names()));
  }
  const SceneView& scene = uses_.scene;
  const bool slow = is_slow(uses_.solvers.options.rates, kind, scene.model().step);
  if (slow && kind == scene.in_charge && kind == scene.contact_model) return x.done();  // it goes on
  with_solver(x, kind, [this, x, kind](SlowSolver* solver) { switch_model(x, kind, solver); });
}

void ModelDesk::set_shadow(const Exchange& x, const v1::SetShadow& request) {
  if (!x.needs_world(uses_.leases)) return;
  ShadowWish wish{std::nullopt, request.rate_hz() == 0 ? uses_.options.shadow_rate_hz : request.rate_hz(),
                  request.rate_hz() != 0};
  const std::string fault = wish.chosen ? rate_fault(wish.rate_hz, uses_.scene.model().step) : std::string();
  if (!fault.empty()) return x.error(v1::ERROR_BAD_VALUE, "rate_hz: " + fault);
  if (ContactModelKind kind{}; !request.model().empty()) {
    if (!parse_contact_model(request.model(), kind) || !World::has_model(kind)) {
      return x.error(v1::ERROR_BAD_VALUE,
                     fmt::format("no contact model '{}' in this build; it has: {}", request.model(), model_names()));
    }
    wish.model = kind;
  }
  const auto put = [this, x, wish](ShadowSolver* shadow) {
    Command command = command_of_scene(x, Command::Kind::set_shadow);
    command.shadow = shadow;
    uses_.tick.post(command, [this, x, wish](const Notice& notice) {
      if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the shadow was in place");
      uses_.solvers.options.shadow = wish;
      uses_.solvers.shadow_seen = {};
      uses_.events.broadcast(v1::Event::SHADOW_CHANGED, wish.model ? to_string(*wish.model) : "");
      x.done();
    });
  };
  if (!wish.model) return put(nullptr);
  SolverOptions options = uses_.solvers.options;
  options.shadow = wish;
  build<ShadowSolver>(
      x, [options](const auto& model, const Limits& limits) { return make_shadow_solver(options, model, limits); },
      put);
}

}  // namespace tactus::net
