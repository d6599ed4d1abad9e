// What an impulse at a point does to two bodies: free ones, or links of robots, where all joints react.
#pragma once

#include <span>

#include "core/dynamics/kinematics.h"
#include "core/dynamics/state.h"

namespace tactus {

// Of the point of body b at p_WC.
inline Vec3 point_velocity(const State& state, const BodyKinematics& k, BodyIndex b, const Vec3& p_WC) noexcept {
  return state.v_WBcm(b) + state.w_WB(b).cross(p_WC - k.X_WBcm.p);
}

// Effect of a unit impulse on A and its opposite on B, both at p_WC, on the velocity of A against B there. Symmetric.
Mat3 relative_mobility(const Kinematics& kinematics, BodyIndex a, BodyIndex b, const Vec3& p_WC) noexcept;

// Changes the velocities of body b, or of all joints and links of its robot.
void apply_impulse(const Kinematics& kinematics, BodyIndex b, const Vec3& p_WC, const Vec3& j, State& state) noexcept;

// Robots answer impulses once their mass matrix is factored: before the first call of a tick of the two above. False
// where a robot has links without mass: nothing may be asked of it.
bool prepare_robots(const Kinematics& kinematics, const State& state, const Model& model) noexcept;

// mode_bound (penalty_force.h) for a link, whose effective mass is that of its robot: springs of unit stiffness along n
// at p_normal and along both tangents at p_tangential; spread: the rotational stiffness about them, in W [m^2].
double link_mode_bound(const BodyKinematics& k, const Vec3& p_normal, const Vec3& p_tangential,
                       const Mat3& spread) noexcept;

// Half response of a link at a point, as Tree::half_response gives it, times sign. Rows: robot->reach(link).
// O(depth^2).
void signed_response(const BodyKinematics& k, const Vec3& p_WC, const Mat3& E_W, double sign, double* Y) noexcept;

// Sum of two half responses of one robot, 6 columns a row: rows are the union of dofs_a and dofs_b, descending. Gives
// their number.
std::uint32_t add_responses(std::span<const DofIndex> dofs_a, const double* Y_a, std::span<const DofIndex> dofs_b,
                            const double* Y_b, DofIndex* dofs, double* Y) noexcept;

// Most dofs that a robot may have: sizes what stands on the stack.
inline constexpr std::uint32_t kMostDofs = 256;

}  // namespace tactus
