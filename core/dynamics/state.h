// State: all that changes from tick to tick, flat and copyable. Copying a State is the snapshot; pair memory is part of
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/collide/pair_memory.h"
#include "core/dynamics/model.h"

namespace tactus {

// joint_q, joint_v: generalized coordinates of the robots, laid out by Robot::first_q, first_v; a link's entries in q
// and v follow from them. q holds 7 numbers a body: p_WBcm, q_WB as w x y z. v holds 6: v_WBcm, w_WB, both in W. The
// pose kept is that of the mass centre with the axes of B; the user's frame B is reached by body_pose() and
// body_velocity().
struct State {
  std::uint64_t tick = 0;
  double time = 0;           // simulated [s]
  std::uint64_t random = 0;  // state of the seeded generator
  ContactModelKind contact_model = ContactModelKind::penalty;
  std::vector<double> q, v;
  std::vector<double> joint_q, joint_v;
  std::vector<double> actuators;     // what drives remember: commands, lags, delays (driven_joint.h)
  std::vector<std::uint8_t> frozen;  // a body that became non-finite stands at its last good pose
  PairMemory pairs;
  WitnessTotals witnesses;  // over all steps since the start or reset; decides nothing, so no part of the hash

  [[nodiscard]] std::uint32_t body_count() const noexcept { return static_cast<std::uint32_t>(frozen.size()); }

  [[nodiscard]] Vec3 p_WBcm(BodyIndex b) const noexcept { return Vec3(q[7 * b], q[7 * b + 1], q[7 * b + 2]); }
  [[nodiscard]] Quat q_WB(BodyIndex b) const noexcept {
    return Quat(q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]);
  }
  [[nodiscard]] Vec3 v_WBcm(BodyIndex b) const noexcept { return Vec3(v[6 * b], v[6 * b + 1], v[6 * b + 2]); }
  [[nodiscard]] Vec3 w_WB(BodyIndex b) const noexcept { return Vec3(v[6 * b + 3], v[6 * b + 4], v[6 * b + 5]); }
  void set_pose(BodyIndex b, const Vec3& p_WBcm_new, const Quat& q_WB_new) noexcept {
    double* x = &q[7 * static_cast<std::size_t>(b)];
    x[0] = p_WBcm_new.x(), x[1] = p_WBcm_new.y(), x[2] = p_WBcm_new.z();
    x[3] = q_WB_new.w(), x[4] = q_WB_new.x(), x[5] = q_WB_new.y(), x[6] = q_WB_new.z();
  }
  void set_velocity(BodyIndex b, const Vec3& v_WBcm_new, const Vec3& w_WB_new) noexcept {
    double* x = &v[6 * static_cast<std::size_t>(b)];
    x[0] = v_WBcm_new.x(), x[1] = v_WBcm_new.y(), x[2] = v_WBcm_new.z();
    x[3] = w_WB_new.x(), x[4] = w_WB_new.y(), x[5] = w_WB_new.z();
  }
};

// The user's frame: X_WB, and V_WB with v of the origin of B.
Pose body_pose(const Model& model, const State& state, BodyIndex b) noexcept;
SpatialVelocity body_velocity(const Model& model, const State& state, BodyIndex b) noexcept;
void set_body(const Model& model, State& state, BodyIndex b, const Pose& X_WB, const SpatialVelocity& V_WB) noexcept;

// The model's initial state with room for pair_capacity pairs.
State initial_state(const Model& model, std::uint32_t pair_capacity);

// 64-bit hash over every bit that decides the future (q, v, tick, frozen, contact model, actuators, pair memory).
// O(bodies + pairs).
std::uint64_t state_hash(const State& state) noexcept;

// Kinetic energy of free bodies and links (without armatures) [J].
double kinetic_energy(const Model& model, const State& state) noexcept;
// The same with what joints' armatures hold, and the potential energy in gravity (zero at the origin of W) [J].
double mechanical_energy(const Model& model, const Vec3& gravity_W, const State& state) noexcept;

}  // namespace tactus
