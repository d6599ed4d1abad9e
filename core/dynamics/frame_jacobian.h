// The geometric Jacobian of a point of a link from the poses of the bodies alone: V = J v, tau = J^T F. For those who
// have a published state and no Tree (dynamics/tree.h), which is quicker for a whole robot.
#pragma once

#include <span>

#include "core/dynamics/model.h"

namespace tactus {

// What one velocity of a joint gives to a point E of a link. In W; per rad/s or m/s.
struct JacobianColumn {
  DofIndex dof = kNone;  // into State::joint_v
  Vec3 linear = Vec3::Zero();
  Vec3 angular = Vec3::Zero();
};

// Columns of E, at p_WE on body `link`, in ascending order of dof, each dof once (mimics count for their master's), at
// most out.size(); their number. X_WB: 7 numbers a body, p_WB and q_WB (w x y z) of the user's frame, as published.
// Columns of the joints between the link and its root only: all others are zero. O(depth^2).
std::uint32_t frame_jacobian(const Model& model, std::span<const double> X_WB, BodyIndex link, const Vec3& p_WE,
                             std::span<JacobianColumn> out) noexcept;

}  // namespace tactus
