#include "server/net/desk/scene_desk.h"

#include <spdlog/spdlog.h>
#include <asio/post.hpp>

#include <utility>

#include "server/net/control/ids.h"

namespace tactus::net {

void SceneDesk::list(const Exchange& x) {
  v1::Reply reply;
  v1::SceneList* list = reply.mutable_scene_list();
  for (const SceneEntry& scene : library_.list()) {
    v1::SceneList::Entry* entry = list->add_scenes();
    entry->set_name(scene.name);
    entry->set_title(scene.title);
  }
  list->set_current(uses_.scene.name);
  x.reply(std::move(reply));
}

// The loaded world goes to the tick; the old one comes back and is destroyed on the loader's thread.
void SceneDesk::swap_in(const Exchange& x, std::shared_ptr<LoadedScene> loaded) {
  uses_.lockstep.cancel();
  const std::uint32_t epoch = random_u32();
  World* world = loaded->world.release();
  Command command = command_of(x, Command::Kind::swap_world);
  command.world = world;
  command.value = epoch;
  command.solver = loaded->solver.release();
  command.shadow = loaded->shadow.release();
  uses_.tick.post(command, [this, x, loaded, world, epoch](const Notice& notice) {
    loading_ = false;
    uses_.change.show(*world, loaded->name, epoch, std::move(loaded->blank));
    uses_.record.begin(loaded->source);
    asio::post(uses_.loader, [old = notice.world] { delete old; });
    uses_.status.newest = StateFrame{};
    uses_.links.restart(false);
    uses_.link_desk.scene_changed(loaded->source.links);
    uses_.solvers.shadow_seen = {};
    uses_.events.broadcast(v1::Event::SCENE_CHANGED, loaded->name);
    spdlog::info("scene '{}' loaded by {}: {} bodies", loaded->name, x.name(), world->model().bodies.size());
    for (const std::string& note : world->model().notes) spdlog::warn("{}", note);
    reply_scene(x, uses_.scene);
  });
}

void SceneDesk::load(const Exchange& x, const v1::LoadScene& request) {
  if (!x.needs_world(uses_.leases)) return;
  if (loading_) return x.error(v1::ERROR_WRONG_STATE, "another scene is being loaded");
  const auto entry = library_.find(request.name());
  if (!entry) return x.error(v1::ERROR_NOT_FOUND, "no scene '" + request.name() + "'; ListScenes names them");
  LoadRequest load_request{entry->name,           entry->path,          {}, request.seed(), uses_.options.limits,
                           uses_.options.rate_hz, uses_.solvers.options};
  load_request.joint_channel = uses_.options.joint_channel;
  for (const v1::Parameter& p : request.parameters()) load_request.set.emplace_back(p.key(), p.value());
  loading_ = true;
  asio::post(uses_.loader, [this, x, load_request, cpu = uses_.tick.cpu()] {
    auto loaded = std::make_shared<LoadedScene>();
    std::string problem;
    try {
      *loaded = net::load(load_request);
      start_solvers(*loaded, cpu);
    } catch (const std::exception& e) {
      problem = e.what();
    }
    asio::post(uses_.io, [this, x, loaded, problem] {
      if (problem.empty()) return swap_in(x, loaded);
      loading_ = false;
      x.error(v1::ERROR_BAD_SCENE, problem);
    });
  });
}

}  // namespace tactus::net
