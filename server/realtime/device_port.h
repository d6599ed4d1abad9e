// Haptic devices on the tick: their samples in, wrenches on the world, answers out before the world is stepped. Where
// tools are held and what they do is the ToolDesk's. Allocates nothing.
#pragma once

#include <cstdint>

#include "core/world.h"
#include "server/realtime/beat.h"
#include "server/realtime/notice_writer.h"
#include "server/realtime/pending_commands.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/state_ring.h"
#include "server/realtime/tool_desk.h"

namespace tactus {

class DevicePort {
 public:
  DevicePort(ToolRing& answers, NoticeWriter& notices) noexcept : answers_(answers), notices_(notices) {}

  // The commands; of a scene that has gone they do nothing. A sample gets a verdict, an attach answers in `out`.
  void take_sample(const Command& command, const JudgeContext& context, const World& world) noexcept;
  void attach(const Command& command, const JudgeContext& context, const World& world, Notice& out) noexcept;
  void detach(const Command& command, const JudgeContext& context) noexcept;

  // Before a step: puts on the world what acts, answers the devices, and tells which tools the watchdog let go.
  // slow_ticks: of a step of the slow model in charge; 0: none is.
  void apply(World& world, std::uint32_t slow_ticks, const Beat& beat, const JudgeContext& context) noexcept;
  void record(std::uint64_t tick, RecordTap& record) const noexcept;
  // After it: what the next beat's answer will need. held: so that its memory is at hand when it is written.
  void look(const World& world) noexcept { tools_.look(world); }
  void fetch() const noexcept { answers_.fetch(); }
  // Grid points that had no beat.
  void skipped(std::uint64_t steps) noexcept { tools_.skipped(steps); }

  // The state jumped: all are let go; another scene comes: no tool is left.
  void let_go() noexcept { tools_.drop_all(); }
  void clear() noexcept { tools_.clear(); }

  [[nodiscard]] bool held() const noexcept { return !tools_.rows().empty(); }
  // The rows of tools; what devices put on bodies, beside the commands.
  void copy_rows(StateSlot& slot) const noexcept;
  void add_wrenches(StateSlot& slot) const noexcept;

 private:
  void answer(const Beat& beat, const JudgeContext& context) noexcept;

  ToolRing& answers_;
  NoticeWriter& notices_;
  ToolDesk tools_;
};

}  // namespace tactus
