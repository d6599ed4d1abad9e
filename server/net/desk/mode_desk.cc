#include "server/net/desk/mode_desk.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tactus::net {

bool ModeDesk::refused_in_lockstep(const Exchange& x, const char* what) const {
  if (!uses_.tick.lockstep()) return false;
  x.error(v1::ERROR_WRONG_STATE, std::string(what) + " is for free run; in lockstep use Grant, or SetLockstep off");
  return true;
}

// Force is for whoever holds the token; on loopback without one, for all that may drive.
bool ModeDesk::may_force(const Exchange& x) const {
  return x.session()->role == Role::control && (x.session()->by_token() || !uses_.options.needs_token());
}

// Without the lease, for whoever may use force.
bool ModeDesk::may_change(const Exchange& x, bool force) const {
  return (force && may_force(x)) || x.needs_world(uses_.leases);
}

void ModeDesk::pause(const Exchange& x, const v1::Pause& request) {
  if (!x.needs_world(uses_.leases) || refused_in_lockstep(x, "Pause")) return;
  uses_.tick.post(command_of(x, Command::Kind::pause), [this, x, keep = request.keep()](const Notice&) {
    uses_.status.paused = true;
    uses_.modes.pause.begin(x.client(), keep);
    uses_.events.broadcast(v1::Event::PAUSED, x.name());
    x.done();
    if (x.session() == nullptr) uses_.fall_back.left(x.client());  // left meanwhile
  });
}

void ModeDesk::resume(const Exchange& x, const v1::Resume& request) {
  if (!may_change(x, request.force()) || refused_in_lockstep(x, "Resume")) return;
  uses_.tick.post(command_of(x, Command::Kind::resume), [this, x](const Notice&) {
    uses_.status.paused = false;
    uses_.modes.pause.end();
    uses_.events.broadcast(v1::Event::RESUMED, x.name());
    x.done();
  });
}

void ModeDesk::step(const Exchange& x, const v1::Step& request) {
  if (!x.needs_world(uses_.leases) || refused_in_lockstep(x, "Step")) return;
  if (!uses_.status.paused) return x.error(v1::ERROR_WRONG_STATE, "the world is running: Pause first");
  Command command = command_of(x, Command::Kind::step);
  command.value = std::max(1u, request.ticks());
  uses_.tick.post(command, [x](const Notice& notice) {
    if (!notice.ok) return x.error(v1::ERROR_WRONG_STATE, "the world is running, or another step is");
    v1::Reply reply;
    reply.mutable_grant()->set_tick(notice.tick);
    reply.mutable_grant()->set_state_hash(notice.hash);
    x.reply(std::move(reply));
  });
}

void ModeDesk::set_lockstep(const Exchange& x, const v1::SetLockstep& request) {
  if (!may_change(x, request.force() && !request.on())) return;
  if (request.on() == uses_.tick.lockstep()) {
    if (request.on()) uses_.modes.lockstep.begin(x.client(), request.keep());
    return x.done();
  }
  if (!request.on()) {
    uses_.lockstep.end();
    return x.done();
  }
  uses_.tick.post(command_of(x, Command::Kind::lockstep_on), [this, x, keep = request.keep()](const Notice&) {
    uses_.modes.lockstep.begin(x.client(), keep);
    uses_.lockstep.begin();
    x.done();
    if (x.session() == nullptr) uses_.fall_back.left(x.client());  // left meanwhile
  });
}

void ModeDesk::grant(const Exchange& x, const v1::Grant& request) {
  if (!x.needs_world(uses_.leases)) return;
  if (!uses_.tick.lockstep())
    return x.error(v1::ERROR_WRONG_STATE, "not in lockstep: SetLockstep first, or start tactusd with --lockstep");
  if (request.scene_epoch() != 0 && request.scene_epoch() != uses_.scene.epoch) {
    return x.error(v1::ERROR_STALE_EPOCH, "the scene has changed: DescribeScene, then grant in the new epoch");
  }
  const bool taken = uses_.lockstep.grant(x.client(), request.run_to_tick(), false, [this, x](bool reached) {
    if (!reached)
      return x.error(v1::ERROR_WRONG_STATE,
                     "the grant became void: reset, restore, a new scene, or the end of lockstep");
    const State& state = uses_.tick.world().state();
    v1::Reply reply;
    reply.mutable_grant()->set_tick(state.tick);
    reply.mutable_grant()->set_state_hash(state_hash(state));
    x.reply(std::move(reply));
  });
  if (!taken)
    x.error(v1::ERROR_BAD_VALUE, "at most " + std::to_string(kGrantTicksMax) + " ticks a grant; the world is at tick " +
                                     std::to_string(uses_.tick.world().state().tick));
}

}  // namespace tactus::net
