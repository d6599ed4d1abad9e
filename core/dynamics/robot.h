// Robots: trees of links in generalized coordinates. Constant data, part of Model; links are Bodies of mode `link`,
// whose poses and velocities in State follow from the joints'.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/math/spatial.h"

namespace tactus {

using BodyIndex = std::uint32_t;
using JointIndex = std::uint32_t;
using DofIndex = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffffu;

// Positions q | velocities v of a joint. F: the joint's frame, fixed in the parent; the child's frame B coincides with
// F at q = 0.
enum class JointKind : std::uint8_t {
  fixed,       // none. Loaders merge links over fixed joints; one stays where a sensor sits on it
  revolute,    // angle about axis_F [rad] | rate
  continuous,  // the same without limits
  prismatic,   // distance along axis_F [m] | rate
  planar,      // x, y along t1, t2 of tangent_basis(axis_F), angle about axis_F | their rates
  spherical,   // quaternion of B in F, w x y z | angular velocity of B against F, in F
  floating  // position of B's origin in F, quaternion w x y z | linear velocity of B's origin in F, then angular in F
};
const char* to_string(JointKind kind) noexcept;
[[nodiscard]] std::uint32_t position_count(JointKind kind) noexcept;  // 0, 1, 1, 1, 3, 4, 7
[[nodiscard]] std::uint32_t velocity_count(JointKind kind) noexcept;  // 0, 1, 1, 1, 3, 3, 6

struct Joint {
  std::string name;  // robot/joint
  JointKind kind = JointKind::revolute;
  BodyIndex parent = kNone;     // a link, or a fixed or kinematic body that carries the robot; kNone: the world
  BodyIndex child = kNone;      // the link it moves
  Pose X_PF;                    // joint frame in the parent's body frame P (the user's, not that of the mass centre)
  Vec3 axis_F = Vec3::UnitZ();  // unit; revolute, continuous, prismatic, planar
  // Of revolute and prismatic joints [rad or m].
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  double effort_limit = std::numeric_limits<double>::infinity();    // of what drives give [N m or N]
  double velocity_limit = std::numeric_limits<double>::infinity();  // [rad/s or m/s]
  double damping = 0;                                               // [N m s/rad or N s/m], on each velocity
  double friction = 0;                                              // Coulomb [N m or N], on each velocity
  double armature = 0;  // rotor inertia seen at the joint [kg m^2 or kg], on each velocity
  // Mimic: q = multiplier * q_master + offset. One-dof joints only; it has no coordinates of its own.
  JointIndex mimic = kNone;  // into Model::joints
  double multiplier = 1, offset = 0;
  // Set by finish_robots(): coordinates in State::joint_q, State::joint_v; those of the master for a mimic.
  std::uint32_t robot = 0, first_q = 0, first_v = 0;
};

// A robot: joints in topological order (each parent link is moved by an earlier joint).
struct Robot {
  std::string name;
  JointIndex first_joint = 0;
  std::uint32_t joint_count = 0;
  // Set by finish_robots().
  std::uint32_t first_q = 0, q_count = 0, first_v = 0, v_count = 0;
  // Elimination tree of the mass matrix (local dof indices): column i of its factor has entries only in rows that are
  // ancestors of i. Without mimics the branches of the tree itself. kNone at a root.
  std::vector<DofIndex> dof_parent;
  // Per joint of this robot: local dofs that move its child (the master's for a mimic), closed over dof_parent,
  // descending. Rows of a link's half response.
  std::vector<std::vector<DofIndex>> reach;
};

struct Model;
// Checks topological order and one joint a link (asserted: scene/ has checked), then sets coordinates, dof_parent,
// reach.
void finish_robots(Model& model);

}  // namespace tactus
