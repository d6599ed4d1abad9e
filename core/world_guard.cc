// What becomes impossible within a step is frozen at its last good pose and named, before anybody sees it; speeds are
// cut to what a step can bear (dynamics/state_bounds.h).
#include <algorithm>
#include <cmath>

#include "core/dynamics/state_bounds.h"
#include "core/world.h"

namespace tactus {

// Poses at the start of a step are good: the last step's guard saw them, or they were loaded.
void World::begin_guard() noexcept {
  std::copy(state_.q.begin(), state_.q.end(), last_q_.begin());
  std::copy(state_.joint_q.begin(), state_.joint_q.end(), last_joint_q_.begin());
  std::fill(froze_.begin(), froze_.end(), std::uint8_t{0});
  guarded_ = {};
}

// Before the models see it: one push beyond all bounds would spoil all that touches its body.
void World::bound_applied(StepReport& report) noexcept {
  for (BodyIndex b = 0; b < state_.body_count(); ++b) {
    if (applied_[b].force.isZero(0) && applied_[b].torque.isZero(0)) continue;
    const Body& body = model_->bodies[b];
    if (!applied_[b].force.allFinite() || !applied_[b].torque.allFinite()) {  // a sum that no number holds
      applied_[b] = SpatialForce{};
      if (body.mode == BodyMode::free) freeze(b, report);
      if (body.mode == BodyMode::link) freeze_robot(model_->robots[model_->joints[body.joint].robot], report);
      continue;
    }
    const Mat3 R = state_.q_WB(b).toRotationMatrix();
    if (!bound_force(body.inv_mass, R * body.inv_I_BBcm * R.transpose(), h(), applied_[b])) continue;
    ++report.speeds_bounded;
    report.bounded_body = b;
  }
}

void World::freeze(BodyIndex b, StepReport& report) noexcept {
  std::copy_n(last_q_.begin() + 7 * std::ptrdiff_t{b}, 7, state_.q.begin() + 7 * std::ptrdiff_t{b});
  state_.set_velocity(b, Vec3::Zero(), Vec3::Zero());
  if (froze_[b] == 0) ++report.bodies_frozen;  // a stepper that looks again may have moved it back
  state_.frozen[b] = froze_[b] = 1;
  report.frozen_body = b;
}

// As a whole: its joints go back to where they were before this step.
void World::freeze_robot(const Robot& robot, StepReport& report) noexcept {
  std::copy_n(last_joint_q_.begin() + robot.first_q, robot.q_count, state_.joint_q.begin() + robot.first_q);
  std::fill_n(state_.joint_v.begin() + robot.first_v, robot.v_count, 0.0);
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) freeze(model_->joints[robot.first_joint + i].child, report);
}

void World::guard_robots(StepReport& report) noexcept {
  for (const Robot& robot : model_->robots) {
    if (robot.joint_count == 0 || robot_frozen(*model_, state_, robot)) continue;
    bool good = bearable_joints(*model_, robot, state_);
    for (std::uint32_t i = 0; i < robot.joint_count; ++i)
      good = good && bearable_body(state_, model_->joints[robot.first_joint + i].child);
    if (!good) {
      freeze_robot(robot, report);
      continue;
    }
    if (!bound_speeds(*model_, robot, state_)) continue;
    update_links(*model_, kinematics_, state_);
    ++report.speeds_bounded;
    report.bounded_body = model_->joints[robot.first_joint].child;
  }
}

// The one look for what cannot be: at the end of a step, and wherever a stepper looks for contacts within it.
void World::guard(StepReport& report) noexcept {
  guard_robots(report);
  for (BodyIndex b = 0; b < state_.body_count(); ++b) {
    if (model_->bodies[b].mode == BodyMode::link) continue;
    if (froze_[b] != 0 || !bearable_body(state_, b)) {
      freeze(b, report);
    } else if (bound_speeds(b, state_)) {
      ++report.speeds_bounded;
      report.bounded_body = b;
    }
  }
}

bool World::forces_bearable() const noexcept {
  return std::all_of(contact_forces_.begin(), contact_forces_.begin() + contacts_.point_count, bearable_force);
}

// Nothing that a frozen body left behind spoils the others later, or is published.
void World::forget_what_froze() noexcept {
  forget_pairs(*model_, froze_.data(), state_.pairs);
  for (std::uint32_t i = 0; i < contacts_.manifold_count; ++i) {
    const Manifold& m = contacts_.manifolds[i];
    const bool froze = froze_[m.body_a] != 0 || froze_[m.body_b] != 0;
    for (std::uint32_t p = m.first; p < m.first + m.count; ++p)
      if (froze || !bearable_force(contact_forces_[p])) contact_forces_[p] = {};
  }
  const auto clear = [](SpatialForce& F) {
    if (!bearable_force(F)) F = SpatialForce{};
  };
  for (BodyIndex b = 0; b < contact_wrenches_.size(); ++b) {
    if (froze_[b] != 0) contact_wrenches_[b] = {};
    clear(contact_wrenches_[b]);
  }
  if (kinematics_.link_impulses) {
    for (BodyIndex b = 0; b < state_.body_count(); ++b) clear(kinematics_.link_impulses[b]);
  }
  for (std::vector<double>* numbers : {&joint_efforts_, &joint_stops_, &state_.actuators}) {
    for (double& x : *numbers)
      if (!std::isfinite(x)) x = 0;
  }
}

}  // namespace tactus
