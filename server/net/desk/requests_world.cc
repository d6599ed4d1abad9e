// Requests that change the world, and so pass through the tick.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <asio/post.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/check.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/modes.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/requests.h"
#include "server/realtime/rights.h"

namespace tactus::net {
namespace {

bool refused_in_lockstep(const Exchange& x, const char* what) {
  if (!x.hub().tick.lockstep()) return false;
  x.error(v1::ERROR_WRONG_STATE, std::string(what) + " is for free run; in lockstep use Grant, or SetLockstep off");
  return true;
}

// Without the lease, for whoever may use force.
bool may_change_mode(const Exchange& x, bool force) {
  return (force && may_force(x)) || x.needs_world();
}

void reply_scene(const Exchange& x) {
  v1::Reply reply;
  describe(x.hub().scene, *reply.mutable_scene());
  x.reply(std::move(reply));
}

// The loaded world goes to the tick; the old one comes back and is destroyed on the loader's thread.
void swap_in(const Exchange& x, std::shared_ptr<LoadedScene> loaded) {
  Hub& hub = x.hub();
  hub.lockstep->cancel();
  const std::uint32_t epoch = random_u32();
  World* world = loaded->world.release();
  Command command = command_of(x, Command::Kind::swap_world);
  command.world = world;
  command.value = epoch;
  command.solver = loaded->solver.release();
  command.shadow = loaded->shadow.release();
  hub.tick.post(command, [x, loaded, world, epoch](const Notice& notice) {
    Hub& h = x.hub();
    h.loading = false;
    h.scene_changed(*world, loaded->name, epoch, std::move(loaded->blank));
    h.record->begin(loaded->source);
    asio::post(h.loader, [old = notice.world] { delete old; });
    h.newest = StateFrame{};
    h.realtime->restart_links(false);
    h.scene_links_changed(loaded->source.links);
    h.shadow_seen = {};
    h.broadcast(v1::Event::SCENE_CHANGED, loaded->name);
    spdlog::info("scene '{}' loaded by {}: {} bodies", loaded->name, h.client_name(x.client()),
                 world->model().bodies.size());
    for (const std::string& note : world->model().notes) spdlog::warn("{}", note);
    reply_scene(x);
  });
}

}  // namespace

Command command_of(const Exchange& x, Command::Kind kind) {
  Command command;
  command.kind = kind;
  command.client = x.client();
  return command;
}

void load_scene(const Exchange& x, const v1::LoadScene& request) {
  if (!x.needs_world()) return;
  Hub& hub = x.hub();
  if (hub.loading) return x.error(v1::ERROR_WRONG_STATE, "another scene is being loaded");
  const auto entry = hub.library.find(request.name());
  if (!entry) return x.error(v1::ERROR_NOT_FOUND, "no scene '" + request.name() + "'; ListScenes names them");
  LoadRequest load_request{entry->name,        entry->path,         {},         request.seed(),
                           hub.options.limits, hub.options.rate_hz, hub.solvers};
  load_request.joint_channel = hub.options.joint_channel;
  for (const v1::Parameter& p : request.parameters()) load_request.set.emplace_back(p.key(), p.value());
  hub.loading = true;
  asio::post(hub.loader, [x, load_request, cpu = tick_cpu(hub)] {
    auto loaded = std::make_shared<LoadedScene>();
    std::string problem;
    try {
      *loaded = load(load_request);
      start_solvers(*loaded, cpu);
    } catch (const std::exception& e) {
      problem = e.what();
    }
    asio::post(x.hub().io, [x, loaded, problem] {
      if (problem.empty()) return swap_in(x, loaded);
      x.hub().loading = false;
      x.error(v1::ERROR_BAD_SCENE, problem);
    });
  });
}

void pause(const Exchange& x, const v1::Pause& request) {
  if (!x.needs_world() || refused_in_lockstep(x, "Pause")) return;
  x.hub().tick.post(command_of(x, Command::Kind::pause), [x, keep = request.keep()](const Notice&) {
    Hub& hub = x.hub();
    hub.paused = true;
    hub.pause_mode.begin(x.client(), keep);
    hub.broadcast(v1::Event::PAUSED, hub.client_name(x.client()));
    x.done();
    if (x.session() == nullptr) fall_back(hub, x.client());  // left meanwhile
  });
}

void resume(const Exchange& x, const v1::Resume& request) {
  if (!may_change_mode(x, request.force()) || refused_in_lockstep(x, "Resume")) return;
  x.hub().tick.post(command_of(x, Command::Kind::resume), [x](const Notice&) {
    x.hub().paused = false;
    x.hub().pause_mode.end();
    x.hub().broadcast(v1::Event::RESUMED, x.hub().client_name(x.client()));
    x.done();
  });
}

void step(const Exchange& x, const v1::Step& request) {
  if (!x.needs_world() || refused_in_lockstep(x, "Step")) return;
  if (!x.hub().paused) return x.error(v1::ERROR_WRONG_STATE, "the world is running: Pause first");
  Command command = command_of(x, Command::Kind::step);
  command.value = std::max(1u, request.ticks());
  x.hub().tick.post(command, [x](const Notice& notice) {
    if (!notice.ok) return x.error(v1::ERROR_WRONG_STATE, "the world is running, or another step is");
    v1::Reply reply;
    reply.mutable_grant()->set_tick(notice.tick);
    reply.mutable_grant()->set_state_hash(notice.hash);
    x.reply(std::move(reply));
  });
}

void set_lockstep(const Exchange& x, const v1::SetLockstep& request) {
  if (!may_change_mode(x, request.force() && !request.on())) return;
  Hub& hub = x.hub();
  if (request.on() == hub.tick.lockstep()) {
    if (request.on()) hub.lockstep_mode.begin(x.client(), request.keep());
    return x.done();
  }
  if (!request.on()) {
    hub.lockstep->end();
    return x.done();
  }
  hub.tick.post(command_of(x, Command::Kind::lockstep_on), [x, keep = request.keep()](const Notice&) {
    Hub& h = x.hub();
    h.lockstep_mode.begin(x.client(), keep);
    h.lockstep->begin();
    x.done();
    if (x.session() == nullptr) fall_back(h, x.client());  // left meanwhile
  });
}

void grant(const Exchange& x, const v1::Grant& request) {
  if (!x.needs_world()) return;
  Hub& hub = x.hub();
  if (!hub.tick.lockstep())
    return x.error(v1::ERROR_WRONG_STATE, "not in lockstep: SetLockstep first, or start tactusd with --lockstep");
  if (request.scene_epoch() != 0 && request.scene_epoch() != hub.scene.epoch) {
    return x.error(v1::ERROR_STALE_EPOCH, "the scene has changed: DescribeScene, then grant in the new epoch");
  }
  const bool taken = hub.lockstep->grant(x.client(), request.run_to_tick(), false, [x](bool reached) {
    if (!reached)
      return x.error(v1::ERROR_WRONG_STATE,
                     "the grant became void: reset, restore, a new scene, or the end of lockstep");
    const State& state = x.hub().tick.world().state();
    v1::Reply reply;
    reply.mutable_grant()->set_tick(state.tick);
    reply.mutable_grant()->set_state_hash(state_hash(state));
    x.reply(std::move(reply));
  });
  if (!taken)
    x.error(v1::ERROR_BAD_VALUE, "at most " + std::to_string(kGrantTicksMax) + " ticks a grant; the world is at tick " +
                                     std::to_string(hub.tick.world().state().tick));
}

void reset(const Exchange& x) {
  if (!x.needs_world()) return;
  const ContactModelKind kind = x.hub().scene.model().contact_model;
  const auto go = [x, kind](SlowSolver* solver) {
    Hub& hub = x.hub();
    hub.lockstep->cancel();
    hub.scene.in_charge = kind;
    Command command = command_of(x, Command::Kind::reset);
    command.epoch = hub.scene.epoch;
    command.solver = solver;
    hub.tick.post(command, [x, kind](const Notice& notice) {
      if (!notice.ok) return x.error(v1::ERROR_WRONG_STATE, "the reset was overtaken by another change of the world");
      x.hub().scene.contact_model = kind;
      x.hub().realtime->restart_links(false);
      x.hub().broadcast(v1::Event::RESTORED, "reset");
      reply_scene(x);
    });
  };
  if (kind == x.hub().scene.in_charge) return go(nullptr);
  with_solver(x, kind, go);
}

void take_snapshot(const Exchange& x, const v1::TakeSnapshot& request) {
  Hub& hub = x.hub();
  const std::string name = request.name();
  if (!name.empty() && !is_name(name))
    return x.error(v1::ERROR_BAD_VALUE, "a snapshot's name must match [A-Za-z0-9_.-]{1,64}");
  if (!name.empty() && !hub.scene.snapshots.contains(name) && hub.scene.snapshots.size() >= hub.options.snapshots) {
    return x.error(v1::ERROR_FULL, std::to_string(hub.options.snapshots) +
                                       " snapshots are kept already (limits.snapshots); use one of their names");
  }
  const auto state = std::make_shared<State>(hub.scene.blank);
  Command command = command_of(x, Command::Kind::snapshot);
  command.state = state.get();
  hub.tick.post(command, [x, state, name, epoch = hub.scene.epoch](const Notice& notice) {
    Hub& h = x.hub();
    if (h.scene.epoch != epoch)
      return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the snapshot was taken");
    v1::Reply reply;
    v1::Snapshot* out = reply.mutable_snapshot();
    out->set_name(name);
    out->set_tick(notice.tick);
    out->set_state_hash(notice.hash);
    out->set_scene_epoch(h.scene.epoch);
    const std::vector<std::uint8_t> bytes = h.scene.world->serialise(*state);
    out->set_state(bytes.data(), bytes.size());
    if (!name.empty()) h.scene.snapshots[name] = {std::move(*state), notice.tick, notice.hash};
    x.reply(std::move(reply));
  });
}

void restore_snapshot(const Exchange& x, const v1::RestoreSnapshot& request) {
  if (!x.needs_world()) return;
  Hub& hub = x.hub();
  const auto state = std::make_shared<State>(hub.scene.blank);
  std::string what = request.name();
  if (!request.state().empty()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(request.state().data());
    const char* why = nullptr;
    if (!hub.scene.world->deserialise({bytes, request.state().size()}, *state, &why)) {
      return x.error(v1::ERROR_BAD_VALUE,
                     fmt::format("the snapshot cannot be restored: {}; take one of this scene with "
                                 "TakeSnapshot, and restore its bytes as they are",
                                 why));
    }
    what = "bytes from " + hub.client_name(x.client());
  } else {
    const auto it = hub.scene.snapshots.find(request.name());
    if (it == hub.scene.snapshots.end())
      return x.error(v1::ERROR_NOT_FOUND, "no snapshot '" + request.name() + "' of this scene is kept");
    *state = it->second.state;
  }
  const ContactModelKind kind = state->contact_model;
  const auto go = [x, state, what, kind](SlowSolver* solver) {
    Hub& h = x.hub();
    h.lockstep->cancel();
    h.scene.in_charge = kind;
    Command command = command_of(x, Command::Kind::restore);
    command.epoch = h.scene.epoch;
    command.state = state.get();
    command.solver = solver;
    h.tick.post(
        command,
        [x, state, what, kind](const Notice& notice) {
          if (!notice.ok) return x.error(v1::ERROR_BAD_VALUE, "the snapshot does not fit this scene");
          x.hub().scene.contact_model = kind;
          x.hub().realtime->restart_links(false);
          x.hub().broadcast(v1::Event::RESTORED, what);
          x.done();
        },
        what);
  };
  if (kind == hub.scene.in_charge) return go(nullptr);
  with_solver(x, kind, go);
}

void set_parameter(const Exchange& x, const v1::SetParameter& request) {
  if (!x.needs_world()) return;
  SceneView& scene = x.hub().scene;
  const auto parameters = std::make_shared<Parameters>(scene.parameters);
  if (!World::parse_parameter(request.key(), request.value(), *parameters)) {
    const std::string expected = World::expected_parameter(request.key());
    if (!expected.empty())
      return x.error(v1::ERROR_BAD_VALUE,
                     fmt::format("{}: found '{}', expected {}", request.key(), request.value(), expected));
    std::string keys;
    for (const auto& [key, value] : World::list_parameters(*parameters)) keys += (keys.empty() ? "" : ", ") + key;
    return x.error(v1::ERROR_BAD_VALUE,
                   fmt::format("'{}': no such parameter; expected one of {}", request.key(), keys));
  }
  scene.parameters = *parameters;  // at once, so that two requests under way add up
  Command command = command_of(x, Command::Kind::set_parameters);
  command.parameters = parameters.get();
  x.hub().tick.post(
      command, [x, parameters](const Notice&) { x.done(); }, request.key() + "=" + request.value());
}

}  // namespace tactus::net
