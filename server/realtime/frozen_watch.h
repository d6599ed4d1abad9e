// Which bodies stand frozen, and which of them net has not been told of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dynamics/state.h"

namespace tactus {

class FrozenWatch {
 public:
  explicit FrozenWatch(std::uint32_t bodies) : told_(bodies, 0) {}

  // Another state: what is frozen in it is known to whoever asked for it.
  void restart(const State& state) noexcept {
    any_ = untold_ = false;
    for (BodyIndex b = 0; b < state.body_count(); ++b) {
      told_[b] = state.frozen[b];
      any_ = any_ || state.frozen[b] != 0;
    }
  }
  // After a step that froze `frozen` bodies: calls tell(body) for those that are new, a few a tick, so that a scene
  // that freezes as a whole fills no ring.
  template <typename Tell>
  void look(std::uint32_t frozen, const State& state, Tell tell) noexcept {
    if (frozen > 0) any_ = untold_ = true;
    if (!untold_) return;
    std::uint32_t left = kPerTick;
    for (BodyIndex b = 0; b < state.body_count(); ++b) {
      if (state.frozen[b] == 0 || told_[b] != 0) continue;
      if (left-- == 0) return;
      told_[b] = 1;
      tell(b);
    }
    untold_ = false;
  }
  [[nodiscard]] bool any() const noexcept { return any_; }

 private:
  static constexpr std::uint32_t kPerTick = 16;
  std::vector<std::uint8_t> told_;
  bool any_ = false, untold_ = false;
};

}  // namespace tactus
