// What the loop conducts, in the order in which it is built: each part with data of its own. None of them knows the
// loop, nor this struct; those that speak have the writer of notices, those that leave traces the recorder's tap.
#pragma once

#include <cstdint>
#include <memory>

#include "server/realtime/beat.h"
#include "server/realtime/command_desk.h"
#include "server/realtime/device_port.h"
#include "server/realtime/link.h"
#include "server/realtime/live_scene.h"
#include "server/realtime/model_switch.h"
#include "server/realtime/notice_writer.h"
#include "server/realtime/pacer.h"
#include "server/realtime/play_show.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/run_control.h"
#include "server/realtime/tick_options.h"

namespace tactus {

struct TickParts {
  TickParts(const TickOptions& options, TickLink& link, std::unique_ptr<World> world, std::uint32_t epoch);
  TickParts(const TickParts&) = delete;
  TickParts& operator=(const TickParts&) = delete;

  // How commands are judged in this beat: the tick in progress carries the number of the state it will publish.
  [[nodiscard]] JudgeContext context(const Beat& beat) const noexcept {
    return {scene.tick() + 1, beat.start_ns, scene.epoch(), beat.granted};
  }
  // Of the state that is shown: the world's, or a recording's.
  [[nodiscard]] std::uint64_t shown_tick() const noexcept { return show.active() ? show.tick() : scene.tick(); }
  void finish(const Notice& done) noexcept { notices.finish(done, models.in_charge(scene.world())); }
  // A Step has its last tick, or is cut short. hash: of the state.
  void finish_steps(std::uint64_t hash = 0) noexcept {
    Notice out = done_notice(run.step_command(), shown_tick());
    out.hash = hash;
    finish(out);
  }
  // The state has jumped: no command of before acts in it.
  void note_jump() noexcept;

  LiveScene scene;
  RecordTap record;
  NoticeWriter notices;
  RunControl run;
  CommandDesk commands;
  DevicePort devices;
  ModelSwitch models;
  PlayShow show;
  Pacer pacer;
};

}  // namespace tactus
