// What the tick leaves for the recorder: copies into rings, and nothing when nobody records.
#include <algorithm>

#include "server/realtime/tick_loop.h"

namespace tactus {

void TickLoop::record_row(const RecordRow& row) noexcept {
  if (!link_.record->rows.push(row)) link_.record->rows_lost.add();
}

void TickLoop::record_notice(const Notice& notice) noexcept {
  if (link_.record == nullptr || notice.kind == Notice::Kind::retired) return;
  RecordRow row;
  row.kind = RecordRow::Kind::notice;
  row.what = notice.kind;
  row.command = notice.command;
  row.ok = notice.ok;
  row.epoch = epoch_;
  row.body = notice.body;
  row.tick = notice.tick;
  row.number = notice.ticket;
  record_row(row);
}

// Before the step, in the order in which the world sums them up.
void TickLoop::record_commands() noexcept {
  if (link_.record == nullptr) return;
  for (std::uint32_t i = 0; i < output_count_; ++i) record_wrench(outputs_[i].body, outputs_[i].F_Bcm_W);
  for (const ToolDesk::Applied& a : tools_.applied()) record_wrench(a.body, a.F_Bcm_W);
}

void TickLoop::record_wrench(BodyIndex body, const SpatialForce& F) noexcept {
  RecordRow row;
  row.epoch = epoch_;
  row.tick = world_->state().tick + 1;
  row.body = body;
  row.value = {F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
  record_row(row);
}

// After the step.
void TickLoop::record_step() noexcept {
  if (link_.record == nullptr) return;
  RecordRow row;
  row.epoch = epoch_;
  row.tick = world_->state().tick;
  if (slow_.adopted()) {
    row.kind = RecordRow::Kind::adopted;
    record_row(row);
  }
  const std::uint32_t every = link_.record->hash_every;
  if (every == 0 || row.tick % every != 0) return;
  row.kind = RecordRow::Kind::hash;
  row.number = world_->hash();
  record_row(row);
}

// published: the slot that net got, or null when it got none.
void TickLoop::record_state(const StateSlot* published, const Wake& wake) noexcept {
  if (link_.record == nullptr || !(advanced_ || fault_)) return;
  RecordFeed& feed = *link_.record;
  if (!fault_ && world_->state().tick % feed.state_every.load(std::memory_order_relaxed) != 0) return;
  StateSlot* slot = feed.states.begin_write();
  if (slot == nullptr) return feed.states_lost.add();
  if (published == nullptr) {
    fill(*slot, wake);
  } else {
    const std::size_t n = published->frame.body_count;
    slot->frame = published->frame;
    std::copy_n(published->pose.begin(), 7 * n, slot->pose.begin());
    std::copy_n(published->velocity.begin(), 6 * n, slot->velocity.begin());
  }
  slot->frame.contact_count = 0;
  feed.states.commit();
}

}  // namespace tactus
