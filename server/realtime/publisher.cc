#include "server/realtime/publisher.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/check.h"

namespace tactus {
namespace {

void put_wrench(const SpatialForce& F, std::vector<double>& column, BodyIndex body) noexcept {
  const std::array<double, 6> wrench{F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
  std::memcpy(&column[6 * static_cast<std::size_t>(body)], wrench.data(), sizeof wrench);
}

void fill_bodies(const World& world, StateSlot& slot) noexcept {
  const Model& model = world.model();
  const State& state = world.state();
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
}

void fill_wrenches(const TickParts& parts, bool advanced, StateSlot& slot) noexcept {
  std::fill_n(slot.wrench.begin(), 6 * static_cast<std::size_t>(slot.frame.body_count), 0.0);
  for (const ChannelOutput& output : parts.commands.acting()) put_wrench(output.F_Bcm_W, slot.wrench, output.body);
  parts.devices.copy_rows(slot);
  if (advanced) parts.devices.add_wrenches(slot);
}

// In a slow model's charge the world itself has found no contacts: those of the step that was adopted last.
void fill_contacts(const World& world, const SlowTicker& slow, StateSlot& slot) noexcept {
  if (!slow.active()) {
    slot.frame.contact_count = contact_rows(world, slot.contacts);
    return;
  }
  const std::size_t rows = std::min(slow.contacts().size(), slot.contacts.size());
  std::copy_n(slow.contacts().begin(), rows, slot.contacts.begin());
  slot.frame.contact_count = static_cast<std::uint32_t>(rows);
}

void fill_robots(const World& world, StateSlot& slot) noexcept {
  const Model& model = world.model();
  slot.frame.joint_count = slot.frame.sensor_value_count = 0;
  if (model.robots.empty()) return;
  const auto joints = static_cast<std::uint32_t>(std::min(model.joints.size(), slot.joints.size()));
  slot.frame.joint_count = joints;
  for (JointIndex i = 0; i < joints; ++i) {
    slot.joints[i] = {};
    if (position_count(model.joints[i].kind) != 1) continue;
    const World::JointReading r = world.joint_reading(i);
    slot.joints[i] = {r.q, r.v, r.effort, r.external_effort, 0, 0};
  }
  const RobotDrives& drives = world.robot_drives();
  for (std::size_t k = 0; k < drives.channels().joints().size(); ++k) {
    JointSample& sample = slot.joints[drives.channels().joints()[k].drive.joint];
    sample.bits = drives.bits(k);
    sample.missed = drives.missed_ticks(k);
  }
  for (std::uint32_t i = 0; i < model.sensors.size(); ++i) {
    for (const double x : world.sensor_values(i)) {
      if (slot.frame.sensor_value_count < slot.sensors.size()) slot.sensors[slot.frame.sensor_value_count++] = x;
    }
  }
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) put_wrench(world.external_wrench(b), slot.link_wrenches, b);
}

void fill_shadow(const ShadowTicker& shadow, bool advanced, StateSlot& slot) noexcept {
  slot.frame.has_shadow = advanced && shadow.fresh();
  if (!slot.frame.has_shadow) return;
  slot.frame.shadow = shadow.summary();
  TACTUS_ASSERT(shadow.rows().size() <= slot.shadow.size());
  std::copy(shadow.rows().begin(), shadow.rows().end(), slot.shadow.begin());
}

}  // namespace

bool Publisher::publish(const TickParts& parts, const Beat& beat) noexcept {
  StateSlot* slot = states_.begin_write();
  if (slot != nullptr) {
    fill(*slot, parts, beat);
    commands_dropped_seen_ = commands_dropped_.read();
    record_lost_seen_ = record_.lost();
  }
  record(slot, parts, beat);
  if (slot != nullptr) states_.commit();
  return slot != nullptr;
}

void Publisher::publish_fault(const TickParts& parts, const Beat& beat) noexcept {
  fault_ = true;
  StateSlot* slot = states_.begin_write();
  if (slot != nullptr) fill(*slot, parts, beat);
  record(slot, parts, beat);
  if (slot != nullptr) states_.commit();
}

// published: the slot that net got, or null when it got none.
void Publisher::record(const StateSlot* published, const TickParts& parts, const Beat& beat) noexcept {
  const std::uint64_t tick = parts.scene.tick();
  const bool is_wanted = fault_ ? record_.active() : beat.advanced && record_.wants_state(tick);
  if (!is_wanted) return;
  if (published == nullptr) {
    fill(record_.spare(), parts, beat);
    published = &record_.spare();
  }
  record_.state(*published, tick);
}

void Publisher::fill(StateSlot& slot, const TickParts& parts, const Beat& beat) const noexcept {
  if (parts.show.active()) return fill_played(slot, parts, beat);
  const World& world = parts.scene.world();
  const State& state = world.state();
  StateFrame& f = slot.frame;
  f.beat = beat.number;
  f.tick = state.tick;
  f.epoch = parts.scene.epoch();
  f.advanced = beat.advanced;
  f.sim_time = state.time;
  f.tick_start_ns = beat.start_ns;
  f.status_bits = status_bits(parts, beat);
  f.real_time_factor = parts.pacer.factor();
  f.ticks_missed = parts.pacer.missed();
  f.report = parts.models.report();
  f.kinetic_energy = kinetic_energy(world.model(), state);
  f.work_us = 1e-3f * static_cast<float>(parts.pacer.last_work_ns());
  f.wake_late_us = 1e-3f * static_cast<float>(beat.late_ns());
  f.adopted = beat.advanced && parts.models.slow().adopted();
  fill_shadow(parts.models.shadow(), beat.advanced, slot);
  fill_bodies(world, slot);
  fill_wrenches(parts, beat.advanced, slot);
  fill_contacts(world, parts.models.slow(), slot);
  fill_robots(world, slot);
}

// The recording's own state; of the live loop only what is about this beat.
void Publisher::fill_played(StateSlot& slot, const TickParts& parts, const Beat& beat) const noexcept {
  parts.show.copy_to(slot);
  slot.tool_count = 0;
  StateFrame& f = slot.frame;
  f.beat = beat.number;
  f.epoch = parts.scene.epoch();
  f.advanced = beat.advanced;
  f.tick_start_ns = beat.start_ns;
  f.status_bits &= ~(kStatusPaused | kStatusLockstep | kStatusFault);
  if (parts.run.paused()) f.status_bits |= kStatusPaused;
  if (fault_) f.status_bits |= kStatusFault;
  f.real_time_factor = parts.pacer.factor();
}

std::uint32_t Publisher::status_bits(const TickParts& parts, const Beat& beat) const noexcept {
  const World& world = parts.scene.world();
  const StepReport& report = parts.models.report();
  const SlowTicker& slow = parts.models.slow();
  std::uint32_t bits = 0;
  const auto set = [&bits](bool on, std::uint32_t bit) { bits |= on ? bit : 0u; };
  set(parts.run.paused() && !parts.run.lockstep(), kStatusPaused);
  set(parts.run.lockstep(), kStatusLockstep);
  set(report.points_dropped + report.pairs_dropped > 0, kStatusContactsDropped);
  set(report.sweeps_exhausted + report.solver_failures > 0, kStatusUnconverged);
  set(report.exact.unresolved > 0, kStatusExactUnresolved);
  set(report.exact.exhausted > 0, kStatusExactExhausted);
  set(parts.scene.any_frozen(), kStatusBodyFrozen);
  set(report.speeds_bounded > 0, kStatusSpeedCut);
  set(beat.late, kStatusLateTick);
  set(commands_dropped_.read() != commands_dropped_seen_, kStatusCommandsDropped);
  set(record_.lost() != record_lost_seen_, kStatusRecordLost);
  set(record_.failed(), kStatusRecordFailed);
  set(slow.active() && slow.extrapolated(), kStatusExtrapolated);
  set(slow.active() && slow.late(), kStatusSolveLate);
  set(fault_, kStatusFault);
  for (std::uint32_t r = 0; r < world.model().robots.size(); ++r) set(world.robot_fault(r), kStatusRobotFault);
  return bits;
}

}  // namespace tactus
