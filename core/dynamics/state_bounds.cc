#include "core/dynamics/state_bounds.h"

#include <algorithm>
#include <cmath>

#include "core/dynamics/kinematics.h"
#include "core/dynamics/tree.h"

namespace tactus {

namespace {

constexpr double kUnit = 1e-6;  // how far the square of a unit quaternion's length may be from 1

constexpr double kCut = 0.999;  // what was cut to its bound may be beyond it by rounding

bool is_unit(const double* quaternion) noexcept {
  double square = 0;
  for (int i = 0; i < 4; ++i) square += quaternion[i] * quaternion[i];
  return std::abs(square - 1) <= kUnit;
}

// Also for components whose squares are too large for a number. NaN: 1, whatever the vector.
double share(const Vec3& v, double most) noexcept {
  const double largest = v.cwiseAbs().maxCoeff();
  if (largest <= 0.5 * most) return 1;
  const double length = largest * (v / largest).norm();
  return length > most ? most / length : 1.0;
}

double most_rate(JointKind kind, std::uint32_t k) noexcept {
  switch (kind) {
    case JointKind::prismatic:
      return kMostSpeed;
    case JointKind::planar:
      return k < 2 ? kMostSpeed : kMostTurn;
    case JointKind::floating:
      return k < 3 ? kMostSpeed : kMostTurn;
    case JointKind::fixed:
    case JointKind::revolute:
    case JointKind::continuous:
    case JointKind::spherical:
      break;
  }
  return kMostTurn;
}

// Where a joint's quaternion begins among its positions; -1: it has none.
int quaternion_at(JointKind kind) noexcept {
  return kind == JointKind::spherical ? 0 : kind == JointKind::floating ? 3 : -1;
}

bool bearable(const Witness& w) noexcept {
  for (const Vec3* x : {&w.axis_A, &w.point_a, &w.point_b, &w.step_a, &w.step_b, &w.last_step_a, &w.last_step_b}) {
    for (int i = 0; i < 3; ++i)
      if (!(std::abs((*x)[i]) <= kMostMemory)) return false;
  }
  return true;
}

bool is_finite(const PairRecord& r) noexcept {
  return bearable(r.witness) && std::all_of(r.model.begin(), r.model.end(), [](double x) { return std::isfinite(x); });
}

bool is_pair(const Model& model, std::uint32_t patches, const PairKey& key) noexcept {
  return key.shape_a < key.shape_b && key.shape_b < model.shapes.size() && key.patch < patches;
}

bool frozen_whole(const Model& model, const Robot& robot, const State& state) noexcept {
  for (std::uint32_t i = 1; i < robot.joint_count; ++i) {
    if (state.frozen[model.joints[robot.first_joint + i].child] != state.frozen[model.joints[robot.first_joint].child])
      return false;
  }
  return true;
}

// Where its joints put its links, whatever was written for them.
bool bearable_links(const Model& model, std::uint32_t robot, const State& state) {
  Tree tree(model, robot);
  if (robot_frozen(model, state, tree.robot())) return true;  // they stand as they are
  State placed = state;
  tree.positions(state);
  tree.velocities(state);
  tree.write_links(placed);
  for (std::uint32_t i = 0; i < tree.link_count(); ++i)
    if (!bearable_body(placed, tree.body(i))) return false;
  return true;
}

// The fastest joint, in terms of its bound; 1: none is faster.
double times_bound(const Model& model, const Robot& robot, const State& state) noexcept {
  double most = 1;
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.mimic != kNone) continue;
    for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k)
      most = std::max(most, std::abs(state.joint_v[joint.first_v + k]) / most_rate(joint.kind, k));
  }
  return most;
}

}  // namespace

bool bearable_body(const State& state, BodyIndex b) noexcept {
  const double *q = state.q.data() + 7 * std::size_t{b}, *v = state.v.data() + 6 * std::size_t{b};
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += v[i] * 0.0;
  if (sum != 0) return false;
  for (int i = 0; i < 3; ++i)
    if (!(std::abs(q[i]) <= kMostPlace)) return false;
  return is_unit(q + 3);
}

bool bearable_joints(const Model& model, const Robot& robot, const State& state) noexcept {
  const double *q = state.joint_q.data() + robot.first_q, *v = state.joint_v.data() + robot.first_v;
  for (std::uint32_t i = 0; i < robot.q_count; ++i)
    if (!(std::abs(q[i]) <= kMostPlace)) return false;
  for (std::uint32_t i = 0; i < robot.v_count; ++i)
    if (!std::isfinite(v[i])) return false;
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    const int at = quaternion_at(joint.kind);
    if (at >= 0 && !is_unit(q + (joint.first_q - robot.first_q) + at)) return false;
  }
  return true;
}

bool bound_speeds(BodyIndex b, State& state) noexcept {
  const Vec3 v = state.v_WBcm(b), w = state.w_WB(b);
  const double slower = share(v, kMostSpeed), calmer = share(w, kMostTurn);
  if (slower == 1 && calmer == 1) return false;
  state.set_velocity(b, slower * v, calmer * w);
  return true;
}

bool bound_speeds(const Model& model, const Robot& robot, State& state) noexcept {
  const double most = times_bound(model, robot, state);
  if (most == 1) return false;
  double* v = state.joint_v.data() + robot.first_v;
  for (std::uint32_t i = 0; i < robot.v_count; ++i) v[i] /= most;
  return true;
}

bool bound_force(double inv_mass, const Mat3& inv_I_W, double h, SpatialForce& F) noexcept {
  const double less = share(h * inv_mass * F.force, kMostSpeed), calmer = share(h * (inv_I_W * F.torque), kMostTurn);
  if (less == 1 && calmer == 1) return false;
  F.force *= less, F.torque *= calmer;
  return true;
}

bool bearable_force(const SpatialForce& F) noexcept {
  return (F.force.array().abs() <= kMostForce).all() && (F.torque.array().abs() <= kMostForce).all();
}

void forget_pairs(const Model& model, const std::uint8_t* of, PairMemory& pairs) noexcept {
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    PairRecord& r = pairs[i];
    const bool named = of[model.shapes[r.key.shape_a].body] != 0 || of[model.shapes[r.key.shape_b].body] != 0;
    if (!named && is_finite(r)) continue;
    const PairKey key = r.key;
    r = PairRecord{};
    r.key = key;
  }
  for (LeftPair& pair : pairs.resize_left(static_cast<std::uint32_t>(pairs.left().size()))) {
    if (!bearable(pair.witness)) pair.witness = {};
  }
}

const char* fault_in(const Model& model, std::uint32_t patches, const State& state) {
  if (state.tick > kMostTicks) return "its tick is beyond 2^53";
  const double time = static_cast<double>(state.tick) * model.step;
  if (!(std::abs(state.time - time) <= 1e-9 * (1 + time))) return "its time is not that of its tick";
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (state.frozen[b] > 1) return "a body is neither frozen nor free to move";
    if (!bearable_body(state, b)) return "a body's place or orientation is impossible";
    if (model.bodies[b].mode == BodyMode::link && state.frozen[b] == 0) continue;  // its joints decide
    if (share(state.v_WBcm(b), kMostSpeed) < kCut || share(state.w_WB(b), kMostTurn) < kCut)
      return "a body is faster than 1e4 m/s or 1e4 rad/s";
  }
  for (std::uint32_t i = 0; i < model.robots.size(); ++i) {
    const Robot& robot = model.robots[i];
    if (!bearable_joints(model, robot, state)) return "a joint's position is impossible";
    if (times_bound(model, robot, state) * kCut > 1) return "a joint is faster than 1e4 m/s or 1e4 rad/s";
    if (!frozen_whole(model, robot, state)) return "a robot is frozen in part";
    if (!bearable_links(model, i, state)) return "a joint puts its link where no body can be";
  }
  for (const PairRecord& r : state.pairs.records()) {
    if (!is_pair(model, patches, r.key)) return "a pair of shapes is not of this scene";
    if (!bearable(r.witness)) return "what a pair of shapes remembers is impossible";
  }
  for (const LeftPair& pair : state.pairs.left()) {
    if (!is_pair(model, patches, pair.key)) return "a pair of shapes is not of this scene";
    if (!bearable(pair.witness)) return "what a pair of shapes remembers is impossible";
  }
  return nullptr;
}

}  // namespace tactus
