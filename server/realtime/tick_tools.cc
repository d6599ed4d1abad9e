// Devices on the tick: their samples in, wrenches on the world, rows out.
#include <algorithm>

#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {

void TickLoop::handle_tool(const Command& command, const Wake& wake) noexcept {
  const auto index = static_cast<std::uint32_t>(command.value);
  if (command.kind == Command::Kind::attach_tool) return tools_.attach(index, *command.tool, command.reach);
  if (command.kind == Command::Kind::detach_tool) {
    if (command.epoch == epoch_) tools_.detach(index);
    return;
  }
  const JudgeContext context = judge_context(wake);
  Notice notice;
  notice.client = command.client;
  notice.ticket = command.ticket;
  notice.tick = context.tick;
  const bool ageless = context.lockstep || wake.start_ns < command.received_ns;
  notice.age_us = ageless ? 0 : static_cast<std::uint32_t>((wake.start_ns - command.received_ns) / 1000);
  notice.verdict = Verdict::stale_epoch;
  DeviceRow row = command.device;
  row.wait_us = notice.age_us;
  if (command.epoch == epoch_)
    notice.verdict =
        tools_.take(row, world_->state().tick, world_->model().step) ? Verdict::applied : Verdict::superseded;
  notify(notice);
}

void TickLoop::apply_tools(const Wake& wake) noexcept {
  tools_.apply(*world_, slow_.active() ? slow_.solver()->ticks() : 0);
  answer_tools(wake);
  for (const ToolRow& row : tools_.rows()) {
    if ((tools_.lost_now() >> row.tool & 1u) == 0) continue;
    Notice notice;
    notice.kind = Notice::Kind::tool_let_go;
    notice.body = row.body;
    notice.tick = world_->state().tick + 1;
    notify(notice);
  }
}

// The answer is out before the world is stepped: no device waits for that. When net is eight beats behind, the answer
// is dropped, as the state of this tick is.
void TickLoop::answer_tools(const Wake& wake) noexcept {
  if (tools_.rows().empty()) return;
  ToolFrame* frame = link_.tools.begin_write();
  if (frame == nullptr) return;
  frame->epoch = epoch_;
  frame->tick = judge_context(wake).tick;
  frame->start_ns = wake.start_ns;
  frame->late_ns = wake.granted ? 0 : wake.start_ns - wake.deadline_ns;
  frame->next_beat_ns = wake.granted ? 0 : wake.deadline_ns + grid_.period_ns();
  frame->tool_count = static_cast<std::uint32_t>(tools_.rows().size());
  std::copy(tools_.rows().begin(), tools_.rows().end(), frame->tools.begin());
  frame->handed_ns = now_ns();
  link_.tools.commit();
}

// And what devices put on bodies, beside the commands.
void TickLoop::fill_tools(StateSlot& slot) noexcept {
  slot.tool_count = static_cast<std::uint32_t>(tools_.rows().size());
  std::copy(tools_.rows().begin(), tools_.rows().end(), slot.tools.begin());
  if (!advanced_) return;
  for (const ToolDesk::Applied& a : tools_.applied()) {
    double* wrench = &slot.wrench[6 * static_cast<std::size_t>(a.body)];
    for (int i = 0; i < 3; ++i) {
      wrench[i] += a.F_Bcm_W.force[i];
      wrench[3 + i] += a.F_Bcm_W.torque[i];
    }
  }
}

}  // namespace tactus
