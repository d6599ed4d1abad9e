#include "core/dynamics/robot_step.h"

#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

constexpr int kRowSweeps = 4;  // of joints' rows in a step without contact rows between

// Springs at the ends of joints and the sliver of sticking, for Runge-Kutta: as stiff as one dof alone bears in a step.
constexpr double kEndStiffness = 0.25, kEndDamping = 0.5;

double end_force(const Joint& joint, double q, double v, double mass, double h) noexcept {
  const double over = q > joint.upper ? q - joint.upper : q < joint.lower ? q - joint.lower : 0.0;
  if (over == 0) return 0;
  const double force = -mass * (kEndStiffness / (h * h) * over + kEndDamping / h * v);
  return over > 0 ? std::min(force, 0.0) : std::max(force, 0.0);
}

// Damping, Coulomb friction (a velocity that one step could stop is stopped, not turned round) and ends.
void add_joint_forces(const Model& model, const Tree& tree, double h, const double* q, const double* v, double* tau,
                      double* stop_effort) noexcept {
  const Robot& robot = tree.robot();
  const double *damping = tree.joint_damping(), *friction = tree.joint_friction();
  for (DofIndex d = 0; d < robot.v_count; ++d) {
    const double stop = tree.mass(d, d) * std::abs(v[d]) / h;
    tau[d] -= damping[d] * v[d] + std::copysign(std::min(friction[d], stop), v[d]);
  }
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.kind != JointKind::revolute && joint.kind != JointKind::prismatic) continue;
    const DofIndex d = joint.first_v - robot.first_v;
    const bool mimic = joint.mimic != kNone;
    const double ratio = mimic ? joint.multiplier : 1.0, master = q[joint.first_q - robot.first_q];
    const double own = mimic ? ratio * master + joint.offset : master;
    const double force = ratio * end_force(joint, own, ratio * v[d], tree.mass(d, d), h);
    tau[d] += force;
    if (stop_effort != nullptr) stop_effort[d] += force;
  }
}

void add_drives(const Model& model, const Robot& robot, const DofDrive* drives, const double* q, const double* v,
                double* tau, double* effort) noexcept {
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.mimic != kNone) continue;
    const bool placed = position_count(joint.kind) == velocity_count(joint.kind);
    for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) {
      const DofIndex d = joint.first_v - robot.first_v + k;
      const DofDrive& drive = drives[d];
      const double at = placed ? q[joint.first_q - robot.first_q + k] : drive.target;
      const double force =
          drive.effort + drive.stiffness * (drive.target - at) + drive.damping * (drive.target_rate - v[d]);
      const double cut = std::clamp(force, -drive.limit, drive.limit);
      tau[d] += cut;
      if (effort != nullptr) effort[d] = cut;
    }
  }
}

// Rate of a quaternion whose body turns with w, both in the frame that the quaternion leads to.
void turn_rate(const double* quaternion, const double* w, double* out) noexcept {
  const Quat rate =
      Quat(0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]) * Quat(quaternion[0], quaternion[1], quaternion[2], quaternion[3]);
  out[0] = rate.w(), out[1] = rate.x(), out[2] = rate.y(), out[3] = rate.z();
}

void position_rates(const Model& model, const Robot& robot, const double* q, const double* v, double* q_dot) noexcept {
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.mimic != kNone) continue;
    const std::uint32_t iq = joint.first_q - robot.first_q, iv = joint.first_v - robot.first_v;
    if (joint.kind == JointKind::spherical) {
      turn_rate(q + iq, v + iv, q_dot + iq);
    } else if (joint.kind == JointKind::floating) {
      std::copy(v + iv, v + iv + 3, q_dot + iq);
      turn_rate(q + iq + 3, v + iv + 3, q_dot + iq + 3);
    } else {
      std::copy(v + iv, v + iv + velocity_count(joint.kind), q_dot + iq);
    }
  }
}

}  // namespace

std::uint32_t step_robots(const Model& model, const Kinematics& kinematics, const Parameters& parameters,
                          const DofDrive* drives, const SpatialForce* F_Bcm_W, double h, double share, Arena& arena,
                          State& state, double* effort, double* stop_effort) noexcept {
  const StopLaw stop{parameters.gains.alpha, parameters.gains.beta, parameters.overlap_relax_speed};
  std::uint32_t failed = 0;
  for (const auto& each : kinematics.robots) {
    Tree& tree = *each;
    const Robot& robot = tree.robot();
    if (robot_frozen(model, state, robot)) continue;
    const std::size_t mark = arena.used();
    tree.positions(state);
    tree.velocities(state);
    tree.prepare_factor();
    RobotSweep sweep;
    if (start_sweep(model, state, tree, parameters.gravity_W, drives + robot.first_v, F_Bcm_W, h, stop, arena, sweep)) {
      predict(sweep);
      for (int i = 0; i < kRowSweeps; ++i) visit_rows(sweep);
      end_substep(sweep);
      auto* given = arena.take<double>(robot.v_count);
      auto* stopped = arena.take<double>(robot.v_count);
      end_sweep(sweep, 1, state, given, stopped);
      for (DofIndex d = 0; d < robot.v_count; ++d) {
        effort[robot.first_v + d] += share * given[d];
        if (stop_effort != nullptr) stop_effort[robot.first_v + d] += share * stopped[d];
      }
    } else {
      ++failed;
    }
    arena.rewind(mark);
  }
  update_links(model, kinematics, state);
  return failed;
}

void robot_rates(const Model& model, const State& state, const Kinematics& kinematics, const Parameters& parameters,
                 const DofDrive* drives, const SpatialForce* F_Bcm_W, double h, const double* q, const double* v,
                 Arena& arena, double* q_dot, double* v_dot, double* effort, double* stop) noexcept {
  for (const auto& each : kinematics.robots) {
    Tree& tree = *each;
    const Robot& robot = tree.robot();
    const std::size_t mark = arena.used();
    const double *q_own = q + robot.first_q, *v_own = v + robot.first_v;
    double *a = v_dot + robot.first_v, *q_rate = q_dot + robot.first_q;
    std::fill(a, a + robot.v_count, 0.0);
    std::fill(q_rate, q_rate + robot.q_count, 0.0);
    if (robot_frozen(model, state, robot)) continue;
    auto* tau = arena.take<double>(robot.v_count);
    tree.mass_matrix();
    tree.inverse_dynamics(parameters.gravity_W, nullptr, F_Bcm_W, tau);
    for (DofIndex d = 0; d < robot.v_count; ++d) tau[d] = -tau[d];
    add_joint_forces(model, tree, h, q_own, v_own, tau, stop ? stop + robot.first_v : nullptr);
    add_drives(model, robot, drives + robot.first_v, q_own, v_own, tau, effort ? effort + robot.first_v : nullptr);
    if (tree.factor(nullptr)) {
      tree.solve(tau);
      std::copy(tau, tau + robot.v_count, a);
      position_rates(model, robot, q_own, v_own, q_rate);
    }
    arena.rewind(mark);
  }
}

void normalise_joints(const Model& model, double* q) noexcept {
  for (const Joint& joint : model.joints) {
    if (joint.kind != JointKind::spherical && joint.kind != JointKind::floating) continue;
    Eigen::Map<Eigen::Vector4d> quaternion(q + joint.first_q + (joint.kind == JointKind::floating ? 3 : 0));
    quaternion *= 1.0 / std::sqrt(quaternion.squaredNorm());
  }
}

}  // namespace tactus
