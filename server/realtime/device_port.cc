#include "server/realtime/device_port.h"

#include <algorithm>

#include "server/realtime/clock.h"

namespace tactus {

void DevicePort::take_sample(const Command& command, const JudgeContext& context, const World& world) noexcept {
  Notice notice;
  notice.client = command.client;
  notice.ticket = command.ticket;
  notice.tick = context.tick;
  const bool ageless = context.lockstep || context.now_ns < command.received_ns;
  notice.age_us = ageless ? 0 : static_cast<std::uint32_t>((context.now_ns - command.received_ns) / 1000);
  notice.verdict = Verdict::stale_epoch;
  DeviceRow row = command.device;
  row.wait_us = notice.age_us;
  if (command.epoch == context.epoch)
    notice.verdict = tools_.take(row, world.state().tick, world.model().step) ? Verdict::applied : Verdict::superseded;
  notices_.tell(notice);
}

void DevicePort::attach(const Command& command, const JudgeContext& context, const World& world, Notice& out) noexcept {
  const auto index = static_cast<std::uint32_t>(command.value);
  out.ok = command.epoch == context.epoch && !tools_.attached(index);
  if (out.ok && world.state().frozen[command.tool->body] != 0) {  // it would answer no device
    out.ok = false;
    out.verdict = Verdict::fault;
  }
  if (out.ok) tools_.attach(index, *command.tool, command.reach);
}

void DevicePort::detach(const Command& command, const JudgeContext& context) noexcept {
  if (command.epoch == context.epoch) tools_.detach(static_cast<std::uint32_t>(command.value));
}

void DevicePort::apply(World& world, std::uint32_t slow_ticks, const Beat& beat, const JudgeContext& context) noexcept {
  tools_.apply(world, slow_ticks);
  answer(beat, context);
  for (const ToolRow& row : tools_.rows()) {
    if ((tools_.lost_now() >> row.tool & 1u) == 0) continue;
    Notice notice;
    notice.kind = Notice::Kind::tool_let_go;
    notice.body = row.body;
    notice.tick = context.tick;
    notices_.tell(notice);
  }
}

// The answer is out before the world is stepped: no device waits for that. When net is eight beats behind, the answer
// is dropped, as the state of this tick is.
void DevicePort::answer(const Beat& beat, const JudgeContext& context) noexcept {
  if (!held()) return;
  ToolFrame* frame = answers_.begin_write();
  if (frame == nullptr) return;
  frame->epoch = context.epoch;
  frame->tick = context.tick;
  frame->start_ns = beat.start_ns;
  frame->late_ns = beat.late_ns();
  frame->next_beat_ns = beat.next_ns;
  frame->tool_count = static_cast<std::uint32_t>(tools_.rows().size());
  std::copy(tools_.rows().begin(), tools_.rows().end(), frame->tools.begin());
  frame->handed_ns = now_ns();
  answers_.commit();
}

void DevicePort::record(std::uint64_t tick, RecordTap& record) const noexcept {
  for (const ToolDesk::Applied& a : tools_.applied()) record.wrench(tick, a.body, a.F_Bcm_W);
}

void DevicePort::copy_rows(StateSlot& slot) const noexcept {
  slot.tool_count = static_cast<std::uint32_t>(tools_.rows().size());
  std::copy(tools_.rows().begin(), tools_.rows().end(), slot.tools.begin());
}

void DevicePort::add_wrenches(StateSlot& slot) const noexcept {
  for (const ToolDesk::Applied& a : tools_.applied()) {
    double* wrench = &slot.wrench[6 * static_cast<std::size_t>(a.body)];
    for (int i = 0; i < 3; ++i) {
      wrench[i] += a.F_Bcm_W.force[i];
      wrench[3 + i] += a.F_Bcm_W.torque[i];
    }
  }
}

}  // namespace tactus
