// The scene that ticks: its world, the number by which commands name it, and which of its bodies stand frozen.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/world.h"
#include "server/realtime/frozen_watch.h"
#include "server/realtime/messages.h"

namespace tactus {

class LiveScene {
 public:
  // bodies: of the largest scene that may ever come.
  LiveScene(std::unique_ptr<World> world, std::uint32_t epoch, std::uint32_t bodies)
      : bodies_(bodies), world_(std::move(world)), epoch_(epoch), frozen_(bodies) {
    check(world_.get());
    frozen_.restart(world_->state());
  }

  [[nodiscard]] World& world() noexcept { return *world_; }
  [[nodiscard]] const World& world() const noexcept { return *world_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t tick() const noexcept { return world_->state().tick; }
  [[nodiscard]] std::uint64_t period_ns() const noexcept {
    return static_cast<std::uint64_t>(std::llround(1e9 * world_->model().step));
  }
  // False: the command was made for a scene that has gone.
  [[nodiscard]] bool is_meant(const Command& command) const noexcept { return command.epoch == epoch_; }

  // Takes the world over; gives up the one before.
  [[nodiscard]] World* exchange(World* next, std::uint32_t epoch) noexcept {
    check(next);
    World* before = world_.release();
    world_.reset(next);
    epoch_ = epoch;
    return before;
  }
  // The state is another one: what is frozen in it is known to whoever asked for it.
  void note_jump() noexcept { frozen_.restart(world_->state()); }
  // After a step that froze so many: tell(body) for those that are new, a few a tick.
  template <typename Tell>
  void tell_frozen(std::uint32_t frozen, Tell tell) noexcept {
    frozen_.look(frozen, world_->state(), tell);
  }
  [[nodiscard]] bool any_frozen() const noexcept { return frozen_.any(); }

 private:
  void check(const World* world) const noexcept {
    TACTUS_ASSERT(world != nullptr);
    TACTUS_ASSERT(world->model().bodies.size() <= bodies_);
  }

  const std::uint32_t bodies_;
  std::unique_ptr<World> world_;
  std::uint32_t epoch_;
  FrozenWatch frozen_;
};

}  // namespace tactus
