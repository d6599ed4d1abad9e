#include "core/dynamics/state.h"

#include <bit>
#include <cstring>

#include "core/check.h"
#include "core/dynamics/driven_joint.h"
#include "core/dynamics/tree.h"

namespace tactus {

Pose body_pose(const Model& model, const State& state, BodyIndex b) noexcept {
  const Quat q_WB = state.q_WB(b);
  return {q_WB, state.p_WBcm(b) - q_WB * model.bodies[b].p_BBcm};
}

SpatialVelocity body_velocity(const Model& model, const State& state, BodyIndex b) noexcept {
  const Vec3 w_WB = state.w_WB(b);
  return {w_WB, state.v_WBcm(b) - w_WB.cross(state.q_WB(b) * model.bodies[b].p_BBcm)};
}

void set_body(const Model& model, State& state, BodyIndex b, const Pose& X_WB, const SpatialVelocity& V_WB) noexcept {
  const Vec3 p_BBcm_W = X_WB.q * model.bodies[b].p_BBcm;
  state.set_pose(b, X_WB.p + p_BBcm_W, X_WB.q);
  state.set_velocity(b, V_WB.v + V_WB.w.cross(p_BBcm_W), V_WB.w);
}

State initial_state(const Model& model, std::uint32_t pair_capacity) {
  const std::size_t n = model.bodies.size();
  TACTUS_ASSERT(model.X_WB0.size() == n && model.V_WB0.size() == n);
  State state;
  state.random = model.seed;
  state.contact_model = model.contact_model;
  state.q.assign(7 * n, 0.0);
  state.v.assign(6 * n, 0.0);
  state.frozen.assign(n, 0);
  state.joint_q = model.joint_q0;
  state.joint_v = model.joint_v0;
  state.actuators = initial_actuators(model);
  state.pairs = PairMemory(pair_capacity);
  for (BodyIndex b = 0; b < n; ++b) {
    if (model.bodies[b].mode == BodyMode::link) continue;
    Pose X_WB = model.X_WB0[b];
    X_WB.q.normalize();
    set_body(model, state, b, X_WB, model.V_WB0[b]);
  }
  for (std::uint32_t r = 0; r < model.robots.size(); ++r) {
    // No time passes: this only makes the quaternions unit.
    const Robot& robot = model.robots[r];
    integrate_joints(model, robot, 0.0, state.joint_v.data() + robot.first_v, state.joint_q.data() + robot.first_q);
    Tree tree(model, r);
    tree.positions(state);
    tree.velocities(state);
    tree.write_links(state);
  }
  return state;
}

namespace {
// Two multiplications a word; a changed bit anywhere changes the result (test: every word matters).
class Hasher {
 public:
  void word(std::uint64_t x) noexcept {
    h_ = (h_ ^ x) * 0x9e3779b97f4a7c15ULL;
    h_ ^= h_ >> 32;
  }
  void number(double x) noexcept { word(std::bit_cast<std::uint64_t>(x)); }
  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t z = h_ * 0xbf58476d1ce4e5b9ULL;
    return z ^ (z >> 29);
  }

 private:
  std::uint64_t h_ = 0x243f6a8885a308d3ULL;
};

void hash_key(const PairKey& key, Hasher& h) noexcept {
  h.word((static_cast<std::uint64_t>(key.shape_a) << 32) | key.shape_b);
  if (key.patch != 0) h.word(key.patch);  // convex pairs hash as before there were patches
}

void hash(const Vec3& p, Hasher& h) noexcept {
  h.number(p.x()), h.number(p.y()), h.number(p.z());
}

void hash_witness(const Witness& w, Hasher& h) noexcept {
  hash(w.axis_A, h);
  h.word((static_cast<std::uint64_t>(static_cast<std::uint32_t>(w.feature_a)) << 32) |
         static_cast<std::uint32_t>(w.feature_b));
  // Where there are any: the others hash as before there were.
  if (w.point_a.isZero(0) && w.point_b.isZero(0) && w.step_a.isZero(0) && w.step_b.isZero(0)) return;
  for (const Vec3* p : {&w.point_a, &w.point_b, &w.step_a, &w.step_b}) hash(*p, h);
  if (w.last_step_a.isZero(0) && w.last_step_b.isZero(0)) return;
  hash(w.last_step_a, h), hash(w.last_step_b, h);
}
}  // namespace

std::uint64_t state_hash(const State& state) noexcept {
  Hasher h;
  h.word(state.tick);
  h.number(state.time);
  h.word(state.random);
  h.word(static_cast<std::uint64_t>(state.contact_model));
  for (const double x : state.q) h.number(x);
  for (const double x : state.v) h.number(x);
  for (const double x : state.joint_q) h.number(x);
  for (const double x : state.joint_v) h.number(x);
  for (const double x : state.actuators) h.number(x);  // none without robots: their hashes stay
  for (const std::uint8_t x : state.frozen) h.word(x);
  for (const PairRecord& r : state.pairs.records()) {
    hash_key(r.key, h);
    h.word((static_cast<std::uint64_t>(r.phase) << 32) | r.age);
    hash_witness(r.witness, h);
    for (const double x : r.model) h.number(x);
  }
  for (const LeftPair& pair : state.pairs.left()) hash_key(pair.key, h), hash_witness(pair.witness, h);
  return h.value();
}

double kinetic_energy(const Model& model, const State& state) noexcept {
  double energy = 0;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (!takes_wrenches(body.mode) || state.frozen[b]) continue;
    const Vec3 w_WB_B = state.q_WB(b).conjugate() * state.w_WB(b);
    energy += 0.5 * (body.mass * state.v_WBcm(b).squaredNorm() + w_WB_B.dot(body.I_BBcm * w_WB_B));
  }
  return energy;
}

double mechanical_energy(const Model& model, const Vec3& gravity_W, const State& state) noexcept {
  double energy = kinetic_energy(model, state);
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (!takes_wrenches(body.mode) || state.frozen[b]) continue;
    energy -= body.mass * body.gravity_scale * gravity_W.dot(state.p_WBcm(b));
  }
  for (const Joint& joint : model.joints) {
    const double ratio = joint.mimic != kNone ? joint.multiplier : 1.0;
    for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) {
      const double v = ratio * state.joint_v[joint.first_v + k];
      energy += 0.5 * joint.armature * v * v;
    }
  }
  return energy;
}

}  // namespace tactus
