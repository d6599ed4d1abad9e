#include "server/net/desk/world_desk.h"

#include <spdlog/fmt/fmt.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/net/control/ids.h"

namespace tactus::net {

void WorldDesk::reset(const Exchange& x) {
  if (!x.needs_world(uses_.leases)) return;
  const ContactModelKind kind = uses_.scene.model().contact_model;
  const auto go = [this, x, kind](SlowSolver* solver) {
    uses_.lockstep.cancel();
    uses_.scene.in_charge = kind;
    Command command = command_of(x, Command::Kind::reset);
    command.epoch = uses_.scene.epoch;
    command.solver = solver;
    uses_.tick.post(command, [this, x, kind](const Notice& notice) {
      if (!notice.ok) return x.error(v1::ERROR_WRONG_STATE, "the reset was overtaken by another change of the world");
      uses_.scene.contact_model = kind;
      uses_.links.restart(false);
      uses_.events.broadcast(v1::Event::RESTORED, "reset");
      reply_scene(x, uses_.scene);
    });
  };
  if (kind == uses_.scene.in_charge) return go(nullptr);
  uses_.models.with_solver(x, kind, go);
}

void WorldDesk::take_snapshot(const Exchange& x, const v1::TakeSnapshot& request) {
  const std::string name = request.name();
  if (!name.empty() && !is_name(name))
    return x.error(v1::ERROR_BAD_VALUE, "a snapshot's name must match [A-Za-z0-9_.-]{1,64}");
  if (!name.empty() && !uses_.scene.snapshots.contains(name) &&
      uses_.scene.snapshots.size() >= uses_.options.snapshots) {
    return x.error(v1::ERROR_FULL, std::to_string(uses_.options.snapshots) +
                                       " snapshots are kept already (limits.snapshots); use one of their names");
  }
  const auto state = std::make_shared<State>(uses_.scene.blank);
  Command command = command_of(x, Command::Kind::snapshot);
  command.state = state.get();
  uses_.tick.post(command, [this, x, state, name, epoch = uses_.scene.epoch](const Notice& notice) {
    if (uses_.scene.epoch != epoch)
      return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the snapshot was taken");
    v1::Reply reply;
    v1::Snapshot* out = reply.mutable_snapshot();
    out->set_name(name);
    out->set_tick(notice.tick);
    out->set_state_hash(notice.hash);
    out->set_scene_epoch(uses_.scene.epoch);
    const std::vector<std::uint8_t> bytes = uses_.scene.world->serialise(*state);
    out->set_state(bytes.data(), bytes.size());
    if (!name.empty()) uses_.scene.snapshots[name] = {std::move(*state), notice.tick, notice.hash};
    x.reply(std::move(reply));
  });
}

void WorldDesk::restore_snapshot(const Exchange& x, const v1::RestoreSnapshot& request) {
  if (!x.needs_world(uses_.leases)) return;
  const auto state = std::make_shared<State>(uses_.scene.blank);
  std::string what = request.name();
  if (!request.state().empty()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(request.state().data());
    const char* why = nullptr;
    if (!uses_.scene.world->deserialise({bytes, request.state().size()}, *state, &why)) {
      return x.error(v1::ERROR_BAD_VALUE,
                     fmt::format("the snapshot cannot be restored: {}; take one of this scene with "
                                 "TakeSnapshot, and restore its bytes as they are",
                                 why));
    }
    what = "bytes from " + x.name();
  } else {
    const auto it = uses_.scene.snapshots.find(request.name());
    if (it == uses_.scene.snapshots.end())
      return x.error(v1::ERROR_NOT_FOUND, "no snapshot '" + request.name() + "' of this scene is kept");
    *state = it->second.state;
  }
  const ContactModelKind kind = state->contact_model;
  const auto go = [this, x, state, what, kind](SlowSolver* solver) {
    uses_.lockstep.cancel();
    uses_.scene.in_charge = kind;
    Command command = command_of(x, Command::Kind::restore);
    command.epoch = uses_.scene.epoch;
    command.state = state.get();
    command.solver = solver;
    uses_.tick.post(
        command,
        [this, x, state, what, kind](const Notice& notice) {
          if (!notice.ok) return x.error(v1::ERROR_BAD_VALUE, "the snapshot does not fit this scene");
          uses_.scene.contact_model = kind;
          uses_.links.restart(false);
          uses_.events.broadcast(v1::Event::RESTORED, what);
          x.done();
        },
        what);
  };
  if (kind == uses_.scene.in_charge) return go(nullptr);
  uses_.models.with_solver(x, kind, go);
}

void WorldDesk::set_parameter(const Exchange& x, const v1::SetParameter& request) {
  if (!x.needs_world(uses_.leases)) return;
  SceneView& scene = uses_.scene;
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
  uses_.tick.post(
      command, [x, parameters](const Notice&) { x.done(); }, request.key() + "=" + request.value());
}

}  // namespace tactus::net
