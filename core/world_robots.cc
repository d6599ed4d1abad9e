// What a World does for robots besides its step: drives before it, sensors and joint readings after it.
#include <algorithm>

#include "core/check.h"
#include "core/world.h"

namespace tactus {

// Dofs without a drive or command keep what was set.
void World::drive_robots() noexcept {
  std::copy(set_drives_.begin(), set_drives_.end(), drives_.begin());
  robot_drives_.write(state_, drives_.data());
  sensors_.begin(state_);
}

void World::measure(const ContactSet& contacts) noexcept {
  if (model_->robots.empty()) return;
  const TickForces forces{applied_.data(), contact_wrenches_.data(), kinematics_.link_impulses.get(), contacts,
                          contact_forces_.data()};
  find_external_efforts(forces);
  sensors_.measure(*model_, parameters_.gravity_W, forces, state_);
}

// Where there was no tick: nothing touched, and no velocity changed.
void World::measure_at_rest() noexcept {
  std::fill(applied_.begin(), applied_.end(), SpatialForce{});
  if (model_->robots.empty()) return;
  compute_kinematics(*model_, state_, kinematics_);  // without impulses
  std::fill(contact_wrenches_.begin(), contact_wrenches_.end(), SpatialForce{});
  std::fill(joint_efforts_.begin(), joint_efforts_.end(), 0.0);
  std::fill(joint_stops_.begin(), joint_stops_.end(), 0.0);
  sensors_.begin(state_);
  measure(ContactSet{});
}

// What ends of joints gave, and J^T F of the links at the end of the tick, F moved there from the mass centres of its
// start.
void World::find_external_efforts(const TickForces& forces) noexcept {
  std::fill(external_efforts_.begin(), external_efforts_.end(), 0.0);
  std::fill(external_wrenches_.begin(), external_wrenches_.end(), SpatialForce{});
  for (const auto& tree : kinematics_.robots) {
    if (robot_frozen(*model_, state_, tree->robot())) continue;
    double* out = external_efforts_.data() + tree->robot().first_v;
    std::copy_n(joint_stops_.begin() + tree->robot().first_v, tree->robot().v_count, out);
    for (std::uint32_t i = 0; i < tree->link_count(); ++i) {
      const BodyIndex b = tree->body(i);
      SpatialForce F;
      F.force = forces.applied[b].force + forces.contact[b].force;
      F.torque = forces.applied[b].torque + forces.contact[b].torque;
      const SpatialForce& impulse = forces.impulse[b];
      if (!impulse.force.isZero(0) || !impulse.torque.isZero(0)) {
        F.force += impulse.force / h();
        F.torque += impulse.torque / h();
      }
      if (F.force.isZero(0) && F.torque.isZero(0)) continue;
      F.torque += (kinematics_.bodies[b].X_WBcm.p - state_.p_WBcm(b)).cross(F.force);
      external_wrenches_[b] = F;
      tree->add_force(i, F, out);
    }
  }
}

bool World::mobility(BodyIndex b, const Vec3& p_W, Eigen::Matrix<double, 6, 6>& out) noexcept {
  TACTUS_ASSERT(b < state_.body_count());
  out.setZero();
  const Body& body = model_->bodies[b];
  if (state_.frozen[b] || !takes_wrenches(body.mode)) return true;
  if (body.mode == BodyMode::free) {
    const Mat3 R = state_.q_WB(b).toRotationMatrix(), inv_I = R * body.inv_I_BBcm * R.transpose();
    const Mat3 cross = skew(p_W - state_.p_WBcm(b)), turned = inv_I * cross;
    out << body.inv_mass * Mat3::Identity() - cross * turned, -cross * inv_I, turned, inv_I;
    return true;
  }
  const Robot& robot = model_->robots[model_->joints[body.joint].robot];
  Tree& tree = *kinematics_.robots[model_->joints[body.joint].robot];
  tree.positions(state_);
  std::copy_n(state_.joint_q.begin() + robot.first_q, robot.q_count, kinematics_.placed_at.get() + robot.first_q);
  tree.prepare_factor();
  if (!tree.factor(nullptr)) return false;
  const std::uint32_t link = body.joint - robot.first_joint;
  const std::size_t rows = tree.reach(link).size();
  TACTUS_ASSERT(6 * rows <= half_response_.size());
  tree.half_response(link, p_W, Mat3::Identity(), half_response_.data());
  for (std::size_t i = 0; i < rows; ++i) {
    const Eigen::Map<const Eigen::Matrix<double, 6, 1>> y(half_response_.data() + 6 * i);
    out += y * y.transpose();
  }
  return true;
}

void World::resize_readings(Readings& out) const {
  out.sensors.resize(sensors_.all_values().size());
  out.efforts.resize(joint_efforts_.size());
  out.external_efforts.resize(external_efforts_.size());
  out.external_wrenches.resize(external_wrenches_.size());
}

void World::copy_readings(Readings& out) const noexcept {
  std::copy(sensors_.all_values().begin(), sensors_.all_values().end(), out.sensors.begin());
  std::copy(joint_efforts_.begin(), joint_efforts_.end(), out.efforts.begin());
  std::copy(external_efforts_.begin(), external_efforts_.end(), out.external_efforts.begin());
  std::copy(external_wrenches_.begin(), external_wrenches_.end(), out.external_wrenches.begin());
}

void World::adopt_readings(const Readings& readings) noexcept {
  sensors_.set_values(readings.sensors);
  std::copy(readings.efforts.begin(), readings.efforts.end(), joint_efforts_.begin());
  std::copy(readings.external_efforts.begin(), readings.external_efforts.end(), external_efforts_.begin());
  std::copy(readings.external_wrenches.begin(), readings.external_wrenches.end(), external_wrenches_.begin());
}

bool World::jump(const State& state) noexcept {
  if (!fits(state)) return false;
  state_ = state;
  update_links(*model_, kinematics_, state_);  // the joints decide, whatever a caller wrote for links
  measure_at_rest();
  return true;
}

World::JointReading World::joint_reading(JointIndex i) const noexcept {
  TACTUS_ASSERT(i < model_->joints.size());
  const Joint& joint = model_->joints[i];
  TACTUS_ASSERT(position_count(joint.kind) == 1);
  const bool mimic = joint.mimic != kNone;
  const double q = state_.joint_q[joint.first_q], v = state_.joint_v[joint.first_v];
  return {mimic ? joint.multiplier * q + joint.offset : q, mimic ? joint.multiplier * v : v,
          joint_efforts_[joint.first_v], external_efforts_[joint.first_v]};
}

}  // namespace tactus
