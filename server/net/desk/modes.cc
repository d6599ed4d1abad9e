#include "server/net/desk/modes.h"

#include <spdlog/spdlog.h>
#include <asio/post.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/net/desk/lockstep.h"
#include "server/net/udp/realtime_port.h"

namespace tactus::net {
namespace {

void put_back(Hub& hub, const std::vector<OwnedOptions::Before>& ended, const std::string& whose) {
  for (const OwnedOptions::Before& before : ended) {
    hub.scene.joint_options[hub.scene.driven[before.joint]] = before.options;
    const auto options = std::make_shared<ChannelOptions>(before.options);
    Command command;
    command.kind = Command::Kind::set_joint_options;
    command.epoch = hub.scene.epoch;
    command.joint.joint = before.joint;
    command.options = options.get();
    hub.tick.post(command, [options](const Notice&) {});
  }
  if (!ended.empty()) hub.broadcast(v1::Event::OPTIONS_ENDED, "joint options of " + whose);
}

void end_link_faults(Hub& hub, ClientSlot client, const std::string& whose) {
  bool any = false;
  hub.sessions.for_each([&](Session& session) {
    if (!session.faults || session.faults->set_by != client) return;
    hub.realtime->flush_links(session);
    hub.begin_faults(session);
    any = true;
  });
  if (any) hub.broadcast(v1::Event::OPTIONS_ENDED, "link faults of " + whose);
}

void go_on(Hub& hub, const std::string& whose) {
  hub.pause_mode.end();
  Command command;
  command.kind = Command::Kind::resume;
  hub.tick.post(command, [&hub, whose](const Notice&) {
    hub.paused = false;
    hub.broadcast(v1::Event::RESUMED, whose + " has left");
  });
}

}  // namespace

// Later: this client may have left in the middle of a tick that runs on this thread.
void fall_back(Hub& hub, ClientSlot client) {
  const std::string name = hub.client_name(client);
  hub.lockstep->forget(client);
  asio::post(hub.io, [&hub, client, name] {
    if (hub.stopping) return;
    put_back(hub, hub.owned_options.left(client), name);
    end_link_faults(hub, client, name);
    if (hub.lockstep_mode.ends_with(client)) {
      spdlog::info("{} has left: lockstep ends, the world runs freely", name);
      hub.lockstep->end(name + " has left");
    }
    if (hub.pause_mode.ends_with(client)) {
      spdlog::info("{} has left: the world that it paused goes on", name);
      go_on(hub, name);
    }
  });
}

void end_options(Hub& hub, const std::vector<LostChannel>& lost) {
  for (const LostChannel& l : lost) {
    std::vector<OwnedOptions::Before> ended;
    if (l.channel == kWorldChannel) continue;
    const JointIndex joint = hub.scene.joint_of(l.channel);
    if (joint == kNone) continue;
    if (auto before = hub.owned_options.lost(l.client, joint)) ended.push_back(*before);
    put_back(hub, ended, hub.client_name(l.client));
  }
}

void end_options_of_others(Hub& hub, ClientSlot by, const std::vector<Channel>& taken) {
  for (const Channel channel : taken) {
    const JointIndex joint = channel == kWorldChannel ? kNone : hub.scene.joint_of(channel);
    if (joint == kNone) continue;
    if (const auto before = hub.owned_options.taken(by, joint))
      put_back(hub, {*before}, hub.client_name(before->owner));
  }
}

bool may_force(const Exchange& x) {
  return x.session()->role == Role::control && (x.session()->by_token() || !x.hub().needs_token());
}

// Told before the leases go, so that no client takes them anew without having heard why they went. Every command that
// acts stands under a lease: what is dropped with it ramps to zero. The answer comes when the tick has done so.
void stop(const Exchange& x) {
  Hub& hub = x.hub();
  const std::string name = hub.client_name(x.client());
  spdlog::info("stop: asked for by {}", name);
  hub.broadcast(v1::Event::STOPPED, name);
  hub.channels_lost(hub.authority.end_driving(), true);
  hub.tick.post(command_of(x, Command::Kind::probe), [x](const Notice&) { x.done(); });
}

}  // namespace tactus::net
