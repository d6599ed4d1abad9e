// What the tick leaves for the recorder: copies into rings, and nothing when nobody records. Never waits: what finds no
// room is counted. Ticks are the caller's, because rows are written on both sides of a step.
#pragma once

#include <cstdint>
#include <span>

#include "core/world.h"
#include "server/realtime/pending_commands.h"
#include "server/realtime/record_feed.h"
#include "server/solver/slow_ticker.h"

namespace tactus {

// The model that moves the world. ticks: of its steps; 0: it steps in each tick.
struct InCharge {
  ContactModelKind kind{};
  std::uint32_t ticks = 0;
};

class RecordTap {
 public:
  // Null: nobody records.
  explicit RecordTap(RecordFeed* feed) noexcept : feed_(feed) {}

  // Rows carry the epoch of the scene; notices the beat that was published last.
  void set_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }
  void set_beat(std::uint64_t beat) noexcept { beat_ = beat; }

  // All but those of solvers that are no longer needed. in_charge: of a done notice, else null.
  void notice(const Notice& notice, const InCharge* in_charge) noexcept;
  // It took over after this tick.
  void model(std::uint64_t tick, const InCharge& in_charge) noexcept;
  // What acts in the step to this tick, in the order in which the world sums it up.
  void wrench(std::uint64_t tick, BodyIndex body, const SpatialForce& F_Bcm_W) noexcept;
  // What joints are given before the step to this tick. number: as the kind has it.
  void joint(RecordRow::Kind kind, JointIndex joint, std::uint64_t tick, std::uint64_t number = 0) noexcept;
  void options(JointIndex joint, std::uint64_t tick, const ChannelOptions& options) noexcept;
  void taken(std::span<const TakenJoint> taken, std::uint64_t tick) noexcept;
  // After the step: what came of it.
  void step(const World& world, const SlowTicker& slow) noexcept;

  // Whether the recorder wants the state of this tick.
  [[nodiscard]] bool wants_state(std::uint64_t tick) const noexcept;
  // A slot to fill where net had none.
  [[nodiscard]] StateSlot& spare() noexcept { return feed_->spare; }
  void state(const StateSlot& slot, std::uint64_t tick) noexcept;

  [[nodiscard]] bool active() const noexcept { return feed_ != nullptr; }
  // Since start; whatever of it.
  [[nodiscard]] std::uint64_t lost() const noexcept;
  // The newest recording has ended because it could not be written.
  [[nodiscard]] bool failed() const noexcept;
  // The tick has failed: blocks until the recorder has saved, within reason.
  void wait_until_saved() noexcept;

 private:
  void push(const RecordRow& row) noexcept;
  [[nodiscard]] RecordRow joint_row(RecordRow::Kind kind, JointIndex joint, std::uint64_t tick) const noexcept;
  void joints(const RobotDrives& drives, std::uint64_t tick) noexcept;

  RecordFeed* const feed_;
  std::uint32_t epoch_ = 0;
  std::uint64_t beat_ = 0;
};

}  // namespace tactus
