#include "server/realtime/tick_parts.h"

#include <utility>

namespace tactus {

TickParts::TickParts(const TickOptions& options, TickLink& link, std::unique_ptr<World> world, std::uint32_t epoch)
    : scene(std::move(world), epoch, options.bodies),
      record(link.record.get()),
      notices(link.notices, record),
      run(options.lockstep),
      commands(options.bodies, link.commands, link.notices, notices, record),
      devices(link.tools, notices),
      models(options.bodies, options.contacts, notices, record),
      show(link.play.get(), options.bodies, options.contacts) {
  record.set_epoch(epoch);
  note_jump();
}

void TickParts::note_jump() noexcept {
  commands.forget(scene.world().model().step);
  devices.let_go();
  models.forget();
  scene.note_jump();
  pacer.set_period(scene.period_ns());
}

}  // namespace tactus
