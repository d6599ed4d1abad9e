#include "server/realtime/record_tap.h"

#include <algorithm>
#include <ctime>

#include "server/realtime/clock.h"

namespace tactus {

void RecordTap::push(const RecordRow& row) noexcept {
  if (!feed_->rows.push(row)) feed_->rows_lost.add();
}

void RecordTap::notice(const Notice& notice, const InCharge* in_charge) noexcept {
  if (!active() || notice.kind == Notice::Kind::retired) return;
  RecordRow row;
  row.kind = RecordRow::Kind::notice;
  row.what = notice.kind;
  row.command = notice.command;
  row.ok = notice.ok;
  row.epoch = epoch_;
  row.body = notice.body;
  row.tick = notice.tick;
  row.number = notice.ticket;
  if (in_charge != nullptr) {
    row.mode = static_cast<std::uint8_t>(in_charge->kind);
    row.bits = in_charge->ticks;
  }
  row.value[0] = static_cast<double>(beat_);  // states of later beats are those after it
  push(row);
}

void RecordTap::model(std::uint64_t tick, const InCharge& in_charge) noexcept {
  if (!active()) return;
  RecordRow row;
  row.kind = RecordRow::Kind::model;
  row.epoch = epoch_;
  row.tick = tick;
  row.mode = static_cast<std::uint8_t>(in_charge.kind);
  row.bits = in_charge.ticks;
  push(row);
}

void RecordTap::wrench(std::uint64_t tick, BodyIndex body, const SpatialForce& F) noexcept {
  if (!active()) return;
  RecordRow row;
  row.epoch = epoch_;
  row.tick = tick;
  row.body = body;
  row.value = {F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
  push(row);
}

RecordRow RecordTap::joint_row(RecordRow::Kind kind, JointIndex joint, std::uint64_t tick) const noexcept {
  RecordRow row;
  row.kind = kind;
  row.joint = joint;
  row.epoch = epoch_;
  row.tick = tick;
  return row;
}

void RecordTap::joint(RecordRow::Kind kind, JointIndex joint, std::uint64_t tick, std::uint64_t number) noexcept {
  if (!active()) return;
  RecordRow row = joint_row(kind, joint, tick);
  row.number = number;
  push(row);
}

void RecordTap::options(JointIndex joint, std::uint64_t tick, const ChannelOptions& o) noexcept {
  if (!active()) return;
  RecordRow row = joint_row(RecordRow::Kind::joint_options, joint, tick);
  row.mode = static_cast<std::uint8_t>(o.missed);
  row.number = std::uint64_t{o.tolerance_ticks} << 32 | o.fault_ticks;
  row.value = {o.ramp, o.cutoff, o.effort_limit, o.effort_rate_limit, o.velocity_limit, 0};
  push(row);
}

void RecordTap::taken(std::span<const TakenJoint> all, std::uint64_t tick) noexcept {
  if (!active()) return;
  for (const TakenJoint& one : all) {
    const bool release = one.row.release;
    RecordRow row =
        joint_row(release ? RecordRow::Kind::joint_release : RecordRow::Kind::joint_command, one.row.joint, tick);
    row.mode = static_cast<std::uint8_t>(one.row.kind);
    row.number = one.ticks;
    if (!release) row.value = {one.row.value, one.row.rate, 0, 0, 0, 0};
    push(row);
  }
}

void RecordTap::joints(const RobotDrives& drives, std::uint64_t tick) noexcept {
  const std::span<const DrivenJoint> joints = drives.channels().joints();
  const std::span<const JointChannels::Output> acted = drives.commands();
  for (std::size_t i = 0; i < std::min(joints.size(), acted.size()); ++i) {
    if (!acted[i].active) continue;
    const Setpoint& s = acted[i].setpoint;
    RecordRow row = joint_row(RecordRow::Kind::joint_acts, joints[i].drive.joint, tick);
    row.mode = static_cast<std::uint8_t>(s.kind);
    row.bits = drives.bits(i);
    row.value = {s.value, s.rate, s.brake, 0, 0, 0};
    push(row);
  }
}

void RecordTap::step(const World& world, const SlowTicker& slow) noexcept {
  if (!active()) return;
  RecordRow row;
  row.epoch = epoch_;
  row.tick = world.state().tick;
  if (slow.begun_alone()) {
    row.kind = RecordRow::Kind::begun;
    push(row);
  }
  if (slow.adopted()) {  // before all that came of the step: a replay must know how to take it
    row.kind = RecordRow::Kind::adopted;
    row.ok = slow.under_way();
    push(row);
    row.ok = true;
  }
  joints(world.robot_drives(), row.tick);
  const std::uint32_t every = feed_->hash_every;
  if (every == 0 || row.tick % every != 0) return;
  row.kind = RecordRow::Kind::hash;
  row.number = world.hash();
  push(row);
}

bool RecordTap::wants_state(std::uint64_t tick) const noexcept {
  return active() && tick % feed_->state_every.load(std::memory_order_relaxed) == 0;
}

void RecordTap::state(const StateSlot& slot, std::uint64_t tick) noexcept {
  StateFrame frame = slot.frame;
  const std::uint32_t every = feed_->contacts_every.load(std::memory_order_relaxed);
  const bool with_contacts = every > 0 && tick % every == 0;
  frame.contact_count = with_contacts ? std::min(frame.contact_count, feed_->contacts) : 0;
  if (!feed_->states.push(frame, slot)) feed_->states_lost.add();
}

std::uint64_t RecordTap::lost() const noexcept {
  if (!active()) return 0;
  return feed_->states_lost.read() + feed_->rows_lost.read() + feed_->bytes_overtaken.load(std::memory_order_relaxed);
}

bool RecordTap::failed() const noexcept {
  return active() && feed_->recording_failed.load(std::memory_order_relaxed);
}

// The black box is written by another thread, which has all the time that a disk needs, within reason.
void RecordTap::wait_until_saved() noexcept {
  if (!active()) return;
  feed_->failed.store(true, std::memory_order_release);
  const std::uint64_t give_up = now_ns() + 5'000'000'000u;
  const timespec moment{0, 5'000'000};
  while (!feed_->saved.load(std::memory_order_acquire) && now_ns() < give_up) nanosleep(&moment, nullptr);
}

}  // namespace tactus
