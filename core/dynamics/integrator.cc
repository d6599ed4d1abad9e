#include "core/dynamics/integrator.h"

#include <cmath>

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

// Rotates a free body with unequal moments: L_W advances exactly, the rotation takes the midpoint rate in the body's
// own axes (dL_B/dt = L_B x w_B), and w follows from L at the new orientation. mean: the rate without the gyroscopic
// term; null: that at the end.
void turn_by_momentum(const Body& body, const Vec3& torque_W, double h, BodyIndex b, const Vec3* mean_W,
                      State& state) noexcept {
  const Quat q0 = state.q_WB(b);
  const Mat3 R0 = q0.toRotationMatrix();
  const Vec3 w_B = R0.transpose() * state.w_WB(b);
  const Vec3 L_B = body.I_BBcm * w_B + h * (R0.transpose() * torque_W);
  const Vec3 w0_B = body.inv_I_BBcm * L_B;
  const Vec3 w_mid_B = body.inv_I_BBcm * (L_B + (0.5 * h) * L_B.cross(w0_B));
  const Vec3 rate_W = mean_W ? Vec3(*mean_W + R0 * (w_mid_B - w0_B)) : Vec3(R0 * w_mid_B);
  const Quat q1 = rotate_by(h * rate_W, q0);
  const Mat3 R1 = q1.toRotationMatrix();
  const Vec3 L1_B = R1.transpose() * (R0 * L_B);
  state.set_pose(b, state.p_WBcm(b), q1);
  state.set_velocity(b, state.v_WBcm(b), R1 * (body.inv_I_BBcm * L1_B));
}

// Below this rate (squared, rad/s) the gyroscopic term of one tick is beneath rounding of the pose and is left out.
constexpr double kGyroscopicRate2 = 1e-8;

}  // namespace

void semi_implicit_euler(const Model& model, const Parameters& parameters, const Kinematics& kinematics, double t,
                         double h, const SpatialForce* F_Bcm_W, const MeanVelocity* mean, State& state) noexcept {
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (body.mode == BodyMode::fixed || state.frozen[b]) continue;
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
  double *q0, *v0, *q, *v, *dq, *dv, *sum_q, *sum_v;
  SpatialForce* F;

  // Rates of all free bodies at the stage (q, v).
  void rates(const State& state) noexcept {
    for (BodyIndex b = 0; b < n; ++b) {
      Eigen::Map<Vec3> x_dot(dq + 7 * b), a(dv + 6 * b), alpha(dv + 6 * b + 3);
      Eigen::Map<Eigen::Vector4d> q_dot(dq + 7 * b + 3);
      const Body& body = model.bodies[b];
      if (body.mode == BodyMode::fixed || state.frozen[b]) {
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

void rk4(const Model& model, const Parameters& parameters, double h, ForceLaw& law, Arena& arena,
         State& state) noexcept {
  const std::uint32_t n = state.body_count();
  const std::size_t nq = 7 * static_cast<std::size_t>(n), nv = 6 * static_cast<std::size_t>(n);
  prescribe_velocities(model, state.time, h, state);
  Rk4 s{model,
        parameters,
        n,
        state.q.data(),
        state.v.data(),
        arena.take<double>(nq),
        arena.take<double>(nv),
        arena.take<double>(nq),
        arena.take<double>(nv),
        arena.take<double>(nq),
        arena.take<double>(nv),
        arena.take<SpatialForce>(n)};
  std::copy(s.q0, s.q0 + nq, s.q);
  std::copy(s.v0, s.v0 + nv, s.v);
  std::fill(s.sum_q, s.sum_q + nq, 0.0);
  std::fill(s.sum_v, s.sum_v + nv, 0.0);
  static constexpr double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  static constexpr double kNext[4] = {0.5, 0.5, 1.0, 0.0};
  for (int stage = 0; stage < 4; ++stage) {
    law.evaluate(s.q, s.v, s.F);
    s.rates(state);
    for (std::size_t i = 0; i < nq; ++i) {
      s.sum_q[i] += kWeight[stage] * s.dq[i];
      s.q[i] = s.q0[i] + kNext[stage] * h * s.dq[i];
    }
    for (BodyIndex b = 0; b < n; ++b) Eigen::Map<Eigen::Vector4d>(s.q + 7 * b + 3).normalize();
    for (std::size_t i = 0; i < nv; ++i) {
      s.sum_v[i] += kWeight[stage] * s.dv[i];
      s.v[i] = s.v0[i] + kNext[stage] * h * s.dv[i];
    }
  }
  for (std::size_t i = 0; i < nq; ++i) s.q0[i] += h * s.sum_q[i];
  for (std::size_t i = 0; i < nv; ++i) s.v0[i] += h * s.sum_v[i];
  for (BodyIndex b = 0; b < n; ++b) {
    Eigen::Map<Eigen::Vector4d> rot(state.q.data() + 7 * b + 3);
    rot *= 1.0 / std::sqrt(rot.squaredNorm());
  }
}

}  // namespace tactus
