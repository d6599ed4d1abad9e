// The multi-point PID penalty force of one manifold: Drumwright eqs. 1-3, friction as one tangential and torsional
// spring-damper at the pressure centre, and a gain law that needs no tuning, which is ours.
#pragma once

#include <cstdint>

#include "core/contact/contact_model.h"
#include "core/contact/penalty/penalty_memory.h"

namespace tactus {

// One manifold, ready for force evaluation. Filled at the start of the tick; constant over RK4 stages but for the
// outputs.
struct PenaltyContact {
  BodyIndex a, b;
  std::uint32_t manifold;  // in the contact set
  std::uint32_t pair;
  Vec3 nhat_BA_W;
  const ContactPoint* points;   // of the contact set
  const std::uint32_t* chosen;  // indices into points; bottom points only
  std::uint32_t count;
  Vec3 p_ref;                     // points[chosen[0]]: offsets from here lose no digits
  double kp, kv, integral_force;  // [N/m], [N s/m], ki I [N]
  double reach;                   // the spring feels min(depth, reach) [m]
  bool divide_by_points;
  double mu_static, mu_dynamic;
  bool was_slipping;  // then the dynamic value is also the limit of sticking
  double viscous, stribeck_velocity;
  bool linear_friction;  // by linear_friction.h instead of the springs: evaluate() leaves friction out
  Vec3 stretch;          // drawn on by h_moved * velocity at each evaluation but trials, clipped to the cone [m]
  double twist;          // the same [rad]
  double h_moved;        // length of the substep before [s]; 0 for a new contact
  // Outputs of the last evaluation.
  double normal_force;   // sum over points [N]
  std::uint32_t active;  // points with non-zero force (r of eq. 1)
  bool slipped;
  Vec3 centre;     // pressure centre from p_ref [m]
  double radius2;  // mean square distance of the pressure from it [m^2]
};

// The dynamic coefficient of friction at this speed: Stribeck's curve. speed2: square of the slip at the pressure
// centre plus that of the spin times the patch's radius [m^2/s^2].
double sliding_friction(const PenaltyContact& c, double speed2) noexcept;

// A body at one evaluation: position and velocity, and how far its points have moved since the start of the tick.
struct StageBody {
  Vec3 x, v, w;  // of the mass centre, in W
  Vec3 moved;    // x - x_start
  Mat3 turned;   // R R_start^T - 1
};

// What an evaluation is: the start of the tick (substep too), a substep (the friction springs move and slip for good),
// or a trial stage of RK4 (they do not: what pairs remember changes once a step, which Drumwright 2008 leaves open).
enum class StageKind : std::uint8_t { start, substep, trial };

// Eq. 3 at every chosen point, and friction. Depths follow the body-fixed points (exactly), the normal and the levers
// are those of the start of the tick. Adds the forces about the mass centres to F_A and F_B: equal and opposite at one
// point, so momentum is conserved to rounding. point_force: force on A per point, indexed like c.points; may be null.
// O(points).
void evaluate(StageKind kind, PenaltyContact& c, const StageBody& a, const StageBody& b, SpatialForce& F_A,
              SpatialForce& F_B, SpatialForce* point_force) noexcept;

// kp and kv by the automatic law: kp = alpha/(h^2 L), kv = beta/(h L), L = n_a lambda_a + n_b lambda_b. lambda_x bounds
// from above the largest eigenvalue of (1/r) sum J_i M_x^-1 J_i^T over the points that push, tangential rows included.
// n_x: manifolds on the body. c.offset must be set. Stable for alpha + 2 beta < 4 on any topology and mass ratio.
// O(points), no square root but one.
void automatic_gains(const Gains& gains, double h, const Kinematics& kinematics, const State& state, double n_a,
                     double n_b, PenaltyContact& c) noexcept;

// The bound lambda_x for one body of a manifold whose springs have unit stiffness along n and along both tangents.
// lever: the rotational part of the translational springs, (r_n x n)(r_n x n)^T + sum_t (r_t x t)(r_t x t)^T with r_n
// to the mean of the points and r_t to the pressure centre, where friction acts; spread: the rotational stiffness about
// them. Both symmetric, in W [m^2].
double mode_bound(const BodyKinematics& body, const Mat3& lever, const Mat3& spread) noexcept;

}  // namespace tactus
