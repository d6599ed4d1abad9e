#include "core/dynamics/integrator.h"

#include <cmath>

#include "core/dynamics/robot_step.h"

namespace tactus {

namespace {

// Mean velocity of a kinematic body over [t, t + h]: its constant velocity, and its harmonic motion sampled without
// drift.
void prescribed_velocity(const Model& model, BodyIndex b, double t, double h, State& state) noexcept {
  const HarmonicMotion& motion = model.bodies[b].motion;
  if (motion.frequency <= 0) return;
  const double w = 2 * M_PI * motion.frequency;
  const double rate = (std::sin(w * (t + h)) - std::sin(w * t)) / h;
  state.set_velocity(b, model.V_WB0[b].v + motion.amplitude_W * rate,
                     model.V_WB0[b].w + motion.angle_amplitude_W * rate);
}

// How much of an extra turn a body takes beside its free rotation. A turn about L leaves L in the body as it was; any
// other moves L against the principal axes, which gives rates that no torque gave: I_perpendicular / I_axis times the
// turn, 3e4 times of a rod of 1 m by 5 mm. No more of it than the torque itself changed the rate by.
Vec3 bearable_turn(const Body& body, const Mat3& R, const Vec3& L_W, const Vec3& turn_W, double change) noexcept {
  const double L2 = L_W.squaredNorm();
  if (!(L2 > 0)) return turn_W;
  const Vec3 along = (turn_W.dot(L_W) / L2) * L_W, across = turn_W - along;
  const double rate = (body.inv_I_BBcm * (R.transpose() * L_W.cross(across))).norm();
  return rate > change ? Vec3(along + (change / rate) * across) : turn_W;
}

// Rotates a free body with unequal moments: L_W advances exactly, the orientation by free_rotation() with the new L,
// and w follows from L at the new orientation. mean: the rate that moved its contacts; null: that at the end.
void turn_by_momentum(const Body& body, const Vec3& torque_W, double h, BodyIndex b, const Vec3* mean_W,
                      State& state) noexcept {
  const Quat q0 = state.q_WB(b);
  const Mat3 R0 = q0.toRotationMatrix();
  const Vec3 w_B = R0.transpose() * state.w_WB(b);
  const Vec3 L_B = body.I_BBcm * w_B + h * (R0.transpose() * torque_W), L_W = R0 * L_B;
  Quat q1 = free_rotation(body.axes, L_B, h, q0);
  if (mean_W != nullptr) {
    const Vec3 w0_W = R0 * (body.inv_I_BBcm * L_B);
    const Vec3 lag = *mean_W - w0_W;
    q1 = rotate_by(bearable_turn(body, q1.toRotationMatrix(), L_W, h * lag, lag.norm()), q1);
  }
  const Mat3 R1 = q1.toRotationMatrix();
  state.set_pose(b, state.p_WBcm(b), q1);
  state.set_velocity(b, state.v_WBcm(b), R1 * (body.inv_I_BBcm * (R1.transpose() * L_W)));
}

// Below this rate (squared, rad/s) the gyroscopic term of one tick is beneath rounding of the pose and is left out.
constexpr double kGyroscopicRate2 = 1e-8;

}  // namespace

void semi_implicit_euler(const Model& model, const Parameters& parameters, const Kinematics& kinematics, double t,
                         double h, const SpatialForce* F_Bcm_W, const MeanVelocity* mean, State& state) noexcept {
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (body.mode == BodyMode::fixed || body.mode == BodyMode::link || state.frozen[b]) continue;
    if (body.mode == BodyMode::kinematic) {
      prescribed_velocity(model, b, t, h, state);
      state.set_pose(b, state.p_WBcm(b) + h * state.v_WBcm(b), rotate_by(h * state.w_WB(b), state.q_WB(b)));
      continue;
    }
    const BodyKinematics& k = kinematics.bodies[b];
    Vec3 v = state.v_WBcm(b) + h * (body.gravity_scale * parameters.gravity_W + k.inv_mass * F_Bcm_W[b].force);
    const Vec3 w_old = state.w_WB(b);
    Vec3 w = w_old + h * (k.inv_I_W * F_Bcm_W[b].torque);
    if (model.planar) {
      v.z() = 0;
      w.x() = w.y() = 0;
    }
    const Vec3 x = state.p_WBcm(b) + h * (mean ? mean[b].v : v);
    if (body.spherical_inertia || model.planar || w.squaredNorm() < kGyroscopicRate2) {
      state.set_velocity(b, v, w);
      state.set_pose(b, x, rotate_by(h * (mean ? mean[b].w : w), state.q_WB(b)));
      continue;
    }
    state.set_velocity(b, v, w_old);
    state.set_pose(b, x, state.q_WB(b));
    turn_by_momentum(body, F_Bcm_W[b].torque, h, b, mean ? &mean[b].w : nullptr, state);
  }
}

void semi_implicit_euler(const Model& model, const Parameters& parameters, const Kinematics& kinematics, double t,
                         double h, const SpatialForce* F_Bcm_W, State& state) noexcept {
  semi_implicit_euler(model, parameters, kinematics, t, h, F_Bcm_W, nullptr, state);
}

void prescribe_velocities(const Model& model, double t, double h, State& state) noexcept {
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (model.bodies[b].mode == BodyMode::kinematic) prescribed_velocity(model, b, t, h, state);
  }
}

namespace {

struct Rk4 {
  const Model& model;
  const Parameters& parameters;
  std::uint32_t n;
  double *q, *v, *dq, *dv;
  SpatialForce* F;

  // Rates of all free bodies at the stage (q, v).
  void rates(const State& state) noexcept {
    for (BodyIndex b = 0; b < n; ++b) {
      Eigen::Map<Vec3> x_dot(dq + 7 * b), a(dv + 6 * b), alpha(dv + 6 * b + 3);
      Eigen::Map<Eigen::Vector4d> q_dot(dq + 7 * b + 3);
      const Body& body = model.bodies[b];
      if (body.mode == BodyMode::fixed || body.mode == BodyMode::link || state.frozen[b]) {
        x_dot.setZero(), q_dot.setZero(), a.setZero(), alpha.setZero();
        continue;
      }
      const Eigen::Map<const Vec3> vel(v + 6 * b), w(v + 6 * b + 3);
      const Quat rot(q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]);
      const Quat half_rate = Quat(0, 0.5 * w.x(), 0.5 * w.y(), 0.5 * w.z()) * rot;
      x_dot = vel;
      q_dot << half_rate.w(), half_rate.x(), half_rate.y(), half_rate.z();
      if (body.mode == BodyMode::kinematic) {
        a.setZero(), alpha.setZero();
        continue;
      }
      const Mat3 R = rot.toRotationMatrix();
      const Vec3 w_B = R.transpose() * w;
      a = body.gravity_scale * parameters.gravity_W + body.inv_mass * F[b].force;
      alpha = R * (body.inv_I_BBcm * (R.transpose() * F[b].torque - w_B.cross(body.I_BBcm * w_B)));
      if (model.planar) {
        a.z() = 0;
        alpha.x() = alpha.y() = 0;
      }
    }
  }
};

}  // namespace

namespace {

// Four stages on one vector of coordinates: x0 + next h x', and the weighted sum of all rates.
struct StageVector {
  std::size_t n;
  double *x0, *x, *rate, *sum;

  StageVector(std::vector<double>& start, Arena& arena) noexcept
      : n(start.size()),
        x0(start.data()),
        x(arena.take<double>(n)),
        rate(arena.take<double>(n)),
        sum(arena.take<double>(n)) {
    std::copy(x0, x0 + n, x);
    std::fill(sum, sum + n, 0.0);
  }
  void advance(double weight, double step) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] += weight * rate[i];
      x[i] = x0[i] + step * rate[i];
    }
  }
  void finish(double h) noexcept {
    for (std::size_t i = 0; i < n; ++i) x0[i] += h * sum[i];
  }
};

// Poses and velocities of links at a stage.
void place_links(const Model& model, const State& state, const RobotInputs& robots, const double* joint_q,
                 const double* joint_v, double* q, double* v) noexcept {
  for (const auto& tree : robots.kinematics.robots) {
    const Robot& robot = tree->robot();
    if (robot_frozen(model, state, robot)) continue;
    tree->positions(state, joint_q + robot.first_q);
    tree->velocities(state, joint_v + robot.first_v);
    tree->write_links(q, v);
  }
}

}  // namespace

void rk4(const Model& model, const Parameters& parameters, double h, ForceLaw& law, Arena& arena, State& state,
         const RobotInputs* robots) noexcept {
  prescribe_velocities(model, state.time, h, state);
  StageVector q(state.q, arena), v(state.v, arena), joint_q(state.joint_q, arena), joint_v(state.joint_v, arena);
  Rk4 s{model, parameters, state.body_count(), q.x, v.x, q.rate, v.rate, arena.take<SpatialForce>(state.body_count())};
  static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  static constexpr double kNext[4] = {0.5, 0.5, 1.0, 0.0};
  for (int stage = 0; stage < 4; ++stage) {
    if (robots != nullptr) place_links(model, state, *robots, joint_q.x, joint_v.x, q.x, v.x);
    law.evaluate(q.x, v.x, s.F);
    s.rates(state);
    if (robots != nullptr) {
      robot_rates(model, state, robots->kinematics, parameters, robots->drives, s.F, h, joint_q.x, joint_v.x, arena,
                  joint_q.rate, joint_v.rate, stage == 0 ? robots->effort : nullptr,
                  stage == 0 ? robots->stop : nullptr);
      joint_q.advance(kWeight[stage], kNext[stage] * h);
      joint_v.advance(kWeight[stage], kNext[stage] * h);
      normalise_joints(model, joint_q.x);
    }
    q.advance(kWeight[stage], kNext[stage] * h);
    for (BodyIndex b = 0; b < s.n; ++b) Eigen::Map<Eigen::Vector4d>(q.x + 7 * b + 3).normalize();
    v.advance(kWeight[stage], kNext[stage] * h);
  }
  q.finish(h);
  v.finish(h);
  for (BodyIndex b = 0; b < s.n; ++b) {
    Eigen::Map<Eigen::Vector4d> rot(state.q.data() + 7 * b + 3);
    rot *= 1.0 / std::sqrt(rot.squaredNorm());
  }
  if (robots == nullptr) return;
  joint_q.finish(h);
  joint_v.finish(h);
  normalise_joints(model, state.joint_q.data());
  update_links(model, robots->kinematics, state);
}

}  // namespace tactus
