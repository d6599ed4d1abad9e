#include "core/actuation/robot_sensors.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {

namespace {

// A body at one end of the tick, from the layout of State::q and State::v.
struct Placed {
  Vec3 p_WBcm;
  Quat q_WB;
  Vec3 v_WBcm, w_WB;
};
Placed placed(const std::vector<double>& q, const std::vector<double>& v, BodyIndex b) noexcept {
  const double *x = q.data() + std::size_t{7} * b, *u = v.data() + std::size_t{6} * b;
  return {Vec3(x[0], x[1], x[2]), Quat(x[3], x[4], x[5], x[6]), Vec3(u[0], u[1], u[2]), Vec3(u[3], u[4], u[5])};
}

void put(const Vec3& x, double* out) noexcept {
  out[0] = x[0], out[1] = x[1], out[2] = x[2];
}

// Angular momentum about a point at rest at p_W.
Vec3 angular_momentum(const Body& body, const Placed& at, const Vec3& p_W) noexcept {
  const Vec3 spin = at.q_WB * Vec3(body.I_BBcm * (at.q_WB.conjugate() * at.w_WB));
  return body.mass * (at.p_WBcm - p_W).cross(at.v_WBcm) + spin;
}

std::vector<BodyIndex> links_below(const Model& model, JointIndex first) {
  std::vector<BodyIndex> out{model.joints[first].child};
  const Robot& robot = model.robots[model.joints[first].robot];
  for (JointIndex j = first + 1; j < robot.first_joint + robot.joint_count; ++j) {
    if (std::find(out.begin(), out.end(), model.joints[j].parent) != out.end()) out.push_back(model.joints[j].child);
  }
  return out;
}

}  // namespace

std::uint32_t value_count(SensorKind kind) noexcept {
  static constexpr std::uint32_t kCounts[] = {2, 6, 6, 3};
  return kCounts[static_cast<std::size_t>(kind)];
}

RobotSensors::RobotSensors(const Model& model, double h) : h_(h), first_{0} {
  for (const SensorSpec& s : model.sensors) {
    first_.push_back(first_.back() + value_count(s.kind));
    const bool through = s.kind == SensorKind::force_torque;
    TACTUS_ASSERT(s.joint < model.joints.size() || (s.kind != SensorKind::encoder && !through));
    TACTUS_ASSERT(s.frame < model.frames.size() || s.kind == SensorKind::encoder);
    subtree_.push_back(through ? links_below(model, s.joint) : std::vector<BodyIndex>{});
  }
  values_.resize(first_.back());
}

void RobotSensors::begin(const State& state) noexcept {
  if (count() == 0) return;
  q_start_ = state.q;  // of one size since the first call
  v_start_ = state.v;
}

void RobotSensors::read_encoder(const Model& model, const SensorSpec& s, const State& state,
                                double* out) const noexcept {
  const Joint& joint = model.joints[s.joint];
  const bool mimic = joint.mimic != kNone;
  const double q = state.joint_q[joint.first_q], v = state.joint_v[joint.first_v];
  out[0] = mimic ? joint.multiplier * q + joint.offset : q;
  out[1] = mimic ? joint.multiplier * v : v;
}

void RobotSensors::read_imu(const Model& model, const SensorSpec& s, const Vec3& gravity_W, const State& state,
                            double* out) const noexcept {
  const LinkFrame& frame = model.frames[s.frame];
  const Pose X_BS = frame.X_BF * s.X_FS;
  const Vec3 p_BcmS_B = X_BS.p - model.bodies[frame.body].p_BBcm;
  const Placed start = placed(q_start_, v_start_, frame.body), end = placed(state.q, state.v, frame.body);
  const auto speed = [&](const Placed& at) { return Vec3(at.v_WBcm + at.w_WB.cross(at.q_WB * p_BcmS_B)); };
  const Vec3 a_W = (speed(end) - speed(start)) / h_;
  // The tick's middle, exact for a turn at constant rate.
  Quat middle = end.q_WB;
  middle.coeffs() += start.q_WB.coeffs() * (start.q_WB.dot(end.q_WB) < 0 ? -1.0 : 1.0);
  middle.coeffs() *= 1 / std::sqrt(middle.squaredNorm());
  put((end.q_WB * X_BS.q).conjugate() * end.w_WB, out);
  put((middle * X_BS.q).conjugate() * Vec3(a_W - gravity_W), out + 3);
}

void RobotSensors::read_force_torque(const Model& model, std::uint32_t i, const Vec3& gravity_W,
                                     const TickForces& forces, const State& state, double* out) const noexcept {
  const SensorSpec& s = model.sensors[i];
  const LinkFrame& frame = model.frames[s.frame];
  const Pose X_WS = body_pose(model, state, frame.body) * frame.X_BF * s.X_FS;
  const double h = h_;
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero();  // about the sensor's origin, a point at rest in W
  for (const BodyIndex b : subtree_[i]) {
    const Body& body = model.bodies[b];
    const Placed start = placed(q_start_, v_start_, b), end = placed(state.q, state.v, b);
    const Vec3 weight = body.mass * body.gravity_scale * gravity_W;
    const Vec3 outer = forces.applied[b].force + forces.contact[b].force + forces.impulse[b].force / h;
    const Vec3 moment = forces.applied[b].torque + forces.contact[b].torque + forces.impulse[b].torque / h;
    force += body.mass * (end.v_WBcm - start.v_WBcm) / h - weight - outer;
    torque += (angular_momentum(body, end, X_WS.p) - angular_momentum(body, start, X_WS.p)) / h - moment;
    torque -= (0.5 * (start.p_WBcm + end.p_WBcm) - X_WS.p).cross(weight) + (start.p_WBcm - X_WS.p).cross(outer);
  }
  put(X_WS.q.conjugate() * force, out);
  put(X_WS.q.conjugate() * torque, out + 3);
}

void RobotSensors::read_contact(const Model& model, const SensorSpec& s, const TickForces& forces,
                                double* out) const noexcept {
  const LinkFrame& frame = model.frames[s.frame];
  if (frame.shape_count == model.bodies[frame.body].shape_count) {
    put(forces.contact[frame.body].force + forces.impulse[frame.body].force / h_, out);
    return;
  }
  const auto has = [&](std::uint32_t shape) { return shape - frame.first_shape < frame.shape_count; };
  Vec3 sum = Vec3::Zero();
  for (std::uint32_t i = 0; i < forces.contacts.manifold_count; ++i) {
    const Manifold& m = forces.contacts.manifolds[i];
    const double sign = (has(m.shape_a) ? 1.0 : 0.0) - (has(m.shape_b) ? 1.0 : 0.0);
    if (sign == 0) continue;
    for (std::uint32_t k = 0; k < m.count; ++k) sum += sign * forces.on_points[m.first + k].force;
  }
  put(sum, out);
}

namespace {

// First and second group of values: sigma and bias of each.
void add_errors(const SensorSpec& s, std::uint64_t tick, std::uint32_t count, double* out) noexcept {
  const bool single = s.kind == SensorKind::encoder, angular_first = s.kind == SensorKind::imu;
  for (std::uint32_t k = 0; k < count; ++k) {
    const bool second = single ? k == 1 : k >= 3;
    const bool angular = second != angular_first;
    const double sigma = angular ? s.angular_noise : s.linear_noise;
    out[k] += (angular ? s.angular_bias : s.linear_bias)[single ? 0 : k % 3];
    if (sigma > 0) out[k] += sigma * counter_gauss(s.seed, tick, k);
  }
  if (s.resolution > 0) out[0] = s.resolution * std::floor(out[0] / s.resolution + 0.5);
}

}  // namespace

void RobotSensors::measure_encoders(const Model& model, const State& state) noexcept {
  for (std::uint32_t i = 0; i < count(); ++i) {
    const SensorSpec& s = model.sensors[i];
    if (s.kind != SensorKind::encoder) continue;
    read_encoder(model, s, state, values_.data() + first_[i]);
    add_errors(s, state.tick, value_count(s.kind), values_.data() + first_[i]);
  }
}

void RobotSensors::set_values(std::span<const double> values) noexcept {
  TACTUS_ASSERT(values.size() == values_.size());
  std::copy(values.begin(), values.end(), values_.begin());
}

void RobotSensors::measure(const Model& model, const Vec3& gravity_W, const TickForces& forces,
                           const State& state) noexcept {
  for (std::uint32_t i = 0; i < count(); ++i) {
    const SensorSpec& s = model.sensors[i];
    double* out = values_.data() + first_[i];
    switch (s.kind) {
      case SensorKind::encoder:
        read_encoder(model, s, state, out);
        break;
      case SensorKind::imu:
        read_imu(model, s, gravity_W, state, out);
        break;
      case SensorKind::force_torque:
        read_force_torque(model, i, gravity_W, forces, state, out);
        break;
      case SensorKind::contact:
        read_contact(model, s, forces, out);
        break;
    }
    add_errors(s, state.tick, value_count(s.kind), out);
  }
}

}  // namespace tactus
