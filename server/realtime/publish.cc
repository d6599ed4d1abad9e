// The tick's last words: the state into the next slot, one eventfd write.
#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "core/check.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {

void TickLoop::publish(const Wake& wake) noexcept {
  ++beat_;
  StateSlot* slot = link_.states.begin_write();
  if (slot != nullptr) {
    fill(*slot, wake);
    commands_dropped_seen_ = link_.commands_dropped.read();
    record_lost_seen_ = record_lost();
    record_state(slot, wake);
    link_.states.commit();
  } else {
    record_state(nullptr, wake);
    metrics_.states_dropped.add();
  }
  if (!wake.granted) link_.wake_net();
}

void TickLoop::fill(StateSlot& slot, const Wake& wake) noexcept {
  if (link_.play != nullptr) return fill_played(slot, wake);
  const State& state = world_->state();
  StateFrame& f = slot.frame;
  f.beat = beat_;
  f.tick = state.tick;
  f.epoch = epoch_;
  f.advanced = advanced_;
  f.sim_time = state.time;
  f.tick_start_ns = wake.start_ns;
  f.status_bits = status_bits(wake);
  f.real_time_factor = factor_now_;
  f.ticks_missed = missed_;
  f.report = report_;
  f.kinetic_energy = kinetic_energy(world_->model(), state);
  f.work_us = 1e-3f * static_cast<float>(last_work_ns_);
  f.wake_late_us = wake.granted ? 0.0f : 1e-3f * static_cast<float>(wake.start_ns - wake.deadline_ns);
  f.adopted = advanced_ && slow_.adopted();
  f.has_shadow = advanced_ && shadow_.fresh();
  if (f.has_shadow) {
    f.shadow = shadow_.summary();
    TACTUS_ASSERT(shadow_.rows().size() <= slot.shadow.size());
    std::copy(shadow_.rows().begin(), shadow_.rows().end(), slot.shadow.begin());
  }
  fill_columns(slot);
}

std::uint32_t TickLoop::status_bits(const Wake& wake) const noexcept {
  std::uint32_t bits = 0;
  if (paused_ && !lockstep_) bits |= kStatusPaused;
  if (lockstep_) bits |= kStatusLockstep;
  if (report_.points_dropped + report_.pairs_dropped > 0) bits |= kStatusContactsDropped;
  if (report_.sweeps_exhausted + report_.solver_failures > 0) bits |= kStatusUnconverged;
  if (report_.exact.unresolved > 0) bits |= kStatusExactUnresolved;
  if (report_.exact.exhausted > 0) bits |= kStatusExactExhausted;
  if (frozen_.any()) bits |= kStatusBodyFrozen;
  if (report_.speeds_bounded > 0) bits |= kStatusSpeedCut;
  if (wake.late) bits |= kStatusLateTick;
  if (link_.commands_dropped.read() != commands_dropped_seen_) bits |= kStatusCommandsDropped;
  if (record_lost() != record_lost_seen_) bits |= kStatusRecordLost;
  if (link_.record && link_.record->recording_failed.load(std::memory_order_relaxed)) bits |= kStatusRecordFailed;
  if (slow_.active() && slow_.extrapolated()) bits |= kStatusExtrapolated;
  if (slow_.active() && slow_.late()) bits |= kStatusSolveLate;
  if (fault_) bits |= kStatusFault;
  for (std::uint32_t r = 0; r < world_->model().robots.size(); ++r) {
    if (world_->robot_fault(r)) bits |= kStatusRobotFault;
  }
  return bits;
}

// Since start; whatever of it.
std::uint64_t TickLoop::record_lost() const noexcept {
  const RecordFeed* feed = link_.record.get();
  if (feed == nullptr) return 0;
  return feed->states_lost.read() + feed->rows_lost.read() + feed->bytes_overtaken.load(std::memory_order_relaxed);
}

void TickLoop::fill_columns(StateSlot& slot) noexcept {
  const Model& model = world_->model();
  const State& state = world_->state();
  const std::uint32_t n = state.body_count();
  TACTUS_ASSERT(6 * static_cast<std::size_t>(n) <= slot.velocity.size());
  slot.frame.body_count = n;
  for (BodyIndex b = 0; b < n; ++b) {
    const Pose X_WB = body_pose(model, state, b);
    const SpatialVelocity V_WB = body_velocity(model, state, b);
    const std::array<double, 7> pose{X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), X_WB.q.w(),
                                     X_WB.q.x(), X_WB.q.y(), X_WB.q.z()};
    const std::array<double, 6> velocity{V_WB.v.x(), V_WB.v.y(), V_WB.v.z(), V_WB.w.x(), V_WB.w.y(), V_WB.w.z()};
    std::memcpy(&slot.pose[7 * static_cast<std::size_t>(b)], pose.data(), sizeof pose);
    std::memcpy(&slot.velocity[6 * static_cast<std::size_t>(b)], velocity.data(), sizeof velocity);
  }
  std::fill_n(slot.wrench.begin(), 6 * static_cast<std::size_t>(n), 0.0);
  for (std::uint32_t i = 0; i < output_count_; ++i) {
    const SpatialForce& F = outputs_[i].F_Bcm_W;
    const std::array<double, 6> wrench{F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
    std::memcpy(&slot.wrench[6 * static_cast<std::size_t>(outputs_[i].body)], wrench.data(), sizeof wrench);
  }
  fill_tools(slot);
  fill_contacts(slot);
  fill_robots(slot);
}

void TickLoop::fill_robots(StateSlot& slot) noexcept {
  const Model& model = world_->model();
  slot.frame.joint_count = slot.frame.sensor_value_count = 0;
  if (model.robots.empty()) return;
  const auto joints = static_cast<std::uint32_t>(std::min(model.joints.size(), slot.joints.size()));
  slot.frame.joint_count = joints;
  for (JointIndex i = 0; i < joints; ++i) {
    slot.joints[i] = {};
    if (position_count(model.joints[i].kind) != 1) continue;
    const World::JointReading r = world_->joint_reading(i);
    slot.joints[i] = {r.q, r.v, r.effort, r.external_effort, 0, 0};
  }
  const RobotDrives& drives = world_->robot_drives();
  for (std::size_t k = 0; k < drives.channels().joints().size(); ++k) {
    JointSample& sample = slot.joints[drives.channels().joints()[k].drive.joint];
    sample.bits = drives.bits(k);
    sample.missed = drives.missed_ticks(k);
  }
  for (std::uint32_t i = 0; i < model.sensors.size(); ++i) {
    for (const double x : world_->sensor_values(i)) {
      if (slot.frame.sensor_value_count < slot.sensors.size()) slot.sensors[slot.frame.sensor_value_count++] = x;
    }
  }
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    const SpatialForce& F = world_->external_wrench(b);
    const std::array<double, 6> wrench{F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
    std::memcpy(&slot.link_wrenches[6 * static_cast<std::size_t>(b)], wrench.data(), sizeof wrench);
  }
}

// In a slow model's charge the world itself has found no contacts: those of the step that was adopted last.
void TickLoop::fill_contacts(StateSlot& slot) noexcept {
  if (!slow_.active()) {
    slot.frame.contact_count = contact_rows(*world_, slot.contacts);
    return;
  }
  const std::size_t rows = std::min(slow_.contacts().size(), slot.contacts.size());
  std::copy_n(slow_.contacts().begin(), rows, slot.contacts.begin());
  slot.frame.contact_count = static_cast<std::uint32_t>(rows);
}

// The black box is written by another thread, which has all the time that a disk needs, within reason.
void TickLoop::wait_for_record() noexcept {
  link_.record->failed.store(true, std::memory_order_release);
  const std::uint64_t give_up = now_ns() + 5'000'000'000u;
  const timespec moment{0, 5'000'000};
  while (!link_.record->saved.load(std::memory_order_acquire) && now_ns() < give_up) nanosleep(&moment, nullptr);
}

void TickLoop::publish_fault() noexcept {
  fault_ = true;
  output_count_ = 0;  // zero force in the wrench columns
  const Wake wake{grid_.deadline_ns(), now_ns(), true, false};
  StateSlot* slot = link_.states.begin_write();
  if (slot != nullptr) fill(*slot, wake);
  record_state(slot, wake);
  if (slot != nullptr) link_.states.commit();
  Notice notice;
  notice.kind = Notice::Kind::fault;
  notice.ok = false;
  notice.tick = world_->state().tick;
  link_.notices.push(notice);
  record_notice(notice);
  link_.wake_net();
  const timespec grace{0, 30'000'000};
  nanosleep(&grace, nullptr);
  if (link_.record != nullptr) wait_for_record();
}

}  // namespace tactus
