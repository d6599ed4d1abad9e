// What an impulse at a point does to two bodies.
#pragma once

#include "core/dynamics/kinematics.h"
#include "core/dynamics/state.h"

namespace tactus {

// Effect of a unit impulse at lever r on the velocity there: 1/m - [r] I^-1 [r].
inline Mat3 mobility(const BodyKinematics& k, const Vec3& r) noexcept {
  if (k.inv_mass == 0) return Mat3::Zero();
  const Mat3 rx = skew(r);
  Mat3 K = -(rx * k.inv_I_W * rx);
  K.diagonal().array() += k.inv_mass;
  return K;
}

inline Vec3 point_velocity(const State& state, const BodyKinematics& k, BodyIndex b, const Vec3& p_WC) noexcept {
  return state.v_WBcm(b) + state.w_WB(b).cross(p_WC - k.X_WBcm.p);
}

inline void apply_impulse(const BodyKinematics& k, BodyIndex b, const Vec3& p_WC, const Vec3& j,
                          State& state) noexcept {
  if (k.inv_mass == 0) return;
  state.set_velocity(b, state.v_WBcm(b) + k.inv_mass * j, state.w_WB(b) + k.inv_I_W * (p_WC - k.X_WBcm.p).cross(j));
}

}  // namespace tactus
