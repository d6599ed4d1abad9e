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
  if (notice.kind == Notice::Kind::done) name_model(row);
  row.value[0] = static_cast<double>(beat_);  // states of later beats are those after it
  record_row(row);
}

void TickLoop::name_model(RecordRow& row) const noexcept {
  row.mode = static_cast<std::uint8_t>(slow_.active() ? slow_.solver()->kind() : world_->state().contact_model);
  row.bits = slow_.active() ? slow_.solver()->ticks() : 0;
}

void TickLoop::record_model() noexcept {
  if (link_.record == nullptr) return;
  RecordRow row;
  row.kind = RecordRow::Kind::model;
  row.epoch = epoch_;
  row.tick = world_->state().tick;
  name_model(row);
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

RecordRow TickLoop::joint_row(RecordRow::Kind kind, JointIndex joint) const noexcept {
  RecordRow row;
  row.kind = kind;
  row.joint = joint;
  row.epoch = epoch_;
  row.tick = world_->state().tick + 1;
  return row;
}

void TickLoop::record_joint(RecordRow::Kind kind, JointIndex joint, std::uint64_t number) noexcept {
  if (link_.record == nullptr) return;
  RecordRow row = joint_row(kind, joint);
  row.number = number;
  record_row(row);
}

void TickLoop::record_options(JointIndex joint, const ChannelOptions& o) noexcept {
  if (link_.record == nullptr) return;
  RecordRow row = joint_row(RecordRow::Kind::joint_options, joint);
  row.mode = static_cast<std::uint8_t>(o.missed);
  row.number = std::uint64_t{o.tolerance_ticks} << 32 | o.fault_ticks;
  row.value = {o.ramp, o.cutoff, o.effort_limit, o.effort_rate_limit, o.velocity_limit, 0};
  record_row(row);
}

// Commands of this tick, as the channels took them.
void TickLoop::record_taken() noexcept {
  if (link_.record == nullptr) return;
  for (const TakenJoint& taken : pending_.taken()) {
    const bool release = taken.row.release;
    RecordRow row =
        joint_row(release ? RecordRow::Kind::joint_release : RecordRow::Kind::joint_command, taken.row.joint);
    row.mode = static_cast<std::uint8_t>(taken.row.kind);
    row.number = taken.ticks;
    if (!release) row.value = {taken.row.value, taken.row.rate, 0, 0, 0, 0};
    record_row(row);
  }
}

// After the step: what came of the commands.
void TickLoop::record_joints() noexcept {
  const RobotDrives& drives = world_->robot_drives();
  const std::span<const DrivenJoint> joints = drives.channels().joints();
  const std::span<const JointChannels::Output> acted = drives.commands();
  for (std::size_t i = 0; i < std::min(joints.size(), acted.size()); ++i) {
    if (!acted[i].active) continue;
    const Setpoint& s = acted[i].setpoint;
    RecordRow row = joint_row(RecordRow::Kind::joint_acts, joints[i].drive.joint);
    row.tick = world_->state().tick;
    row.mode = static_cast<std::uint8_t>(s.kind);
    row.bits = drives.bits(i);
    row.value = {s.value, s.rate, s.brake, 0, 0, 0};
    record_row(row);
  }
}

// After the step.
void TickLoop::record_step() noexcept {
  if (link_.record == nullptr) return;
  RecordRow row;
  row.epoch = epoch_;
  row.tick = world_->state().tick;
  if (slow_.begun_alone()) {
    row.kind = RecordRow::Kind::begun;
    record_row(row);
  }
  if (slow_.adopted()) {  // before all that came of the step: a replay must know how to take it
    row.kind = RecordRow::Kind::adopted;
    row.ok = slow_.under_way();
    record_row(row);
    row.ok = true;
  }
  record_joints();
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
  if (published == nullptr) {
    fill(feed.spare, wake);
    published = &feed.spare;
  }
  StateFrame frame = published->frame;
  const std::uint32_t every = feed.contacts_every.load(std::memory_order_relaxed);
  const bool with_contacts = every > 0 && world_->state().tick % every == 0;
  frame.contact_count = with_contacts ? std::min(frame.contact_count, feed.contacts) : 0;
  if (!feed.states.push(frame, *published)) feed.states_lost.add();
}

}  // namespace tactus
