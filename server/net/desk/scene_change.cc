#include "server/net/desk/scene_change.h"

#include <utility>

namespace tactus::net {

void SceneChange::show(const World& world, std::string name, std::uint32_t epoch, State blank) {
  // Told in the terms of the old scene: its names, its epoch. Nothing is left to drop: the tick has dropped it all.
  const auto bodies = static_cast<std::uint32_t>(world.model().bodies.size());
  const auto joints = static_cast<std::uint32_t>(world.model().joints.size());
  for (const LostChannel& l : uses_.leases.authority.set_bodies(bodies, joints + bodies))
    uses_.events.send(l.client, v1::Event::LEASE_LOST, uses_.scene.channel_name(l.channel));
  uses_.scene.set(world, std::move(name), epoch, std::move(blank));
  uses_.tools.clear();
  uses_.joints.clear();
  uses_.sessions.for_each([](Session& session) { session.subscriptions.clear(); });
}

}  // namespace tactus::net
