// The multi-point PID penalty force of one manifold: Drumwright eqs. 1-3, friction as one tangential and torsional
// spring-damper at the pressure centre, and the gain law that needs no tuning (papers/NOTES).
#pragma once

#include <cstdint>

#include "core/contact/contact_model.h"

namespace tactus {

// What a pair remembers for the penalty models: PairRecord::model seen as this. All zero: a new contact.
struct PenaltyMemory {
  double integral;    // I of eq. 2 [m]
  double offset;      // part of the depth that the spring does not feel; decays to zero [m]
  double kp;          // stiffness of the last tick [N/m]; 0: none
  double stretch[3];  // tangential spring, in W, tangent to the contact [m]
  double twist;       // torsional spring about the normal [rad]
  double slipping;    // 1: slid in the last tick
};

// One manifold, ready for force evaluation. Filled at the start of the tick; constant over RK4 stages but for the
// outputs.
struct PenaltyContact {
  BodyIndex a, b;
  std::uint32_t pair;
  Vec3 nhat_BA_W;
  const ContactPoint* points;   // of the contact set
  const std::uint32_t* chosen;  // indices into points; bottom points only
  std::uint32_t count;
  Vec3 p_ref;                     // points[chosen[0]]: offsets from here lose no digits
  double kp, kv, integral_force;  // [N/m], [N s/m], ki I [N]
  double offset;                  // [m]
  bool divide_by_points;
  double mu_static, mu_dynamic;
  bool was_slipping;  // then the dynamic value is also the limit of sticking
  double viscous, stribeck_velocity;
  Vec3 stretch;    // drawn on by h_moved * velocity at each evaluation but trials, clipped to the cone [m]
  double twist;    // the same [rad]
  double h_moved;  // length of the substep before [s]; 0 for a new contact
  // Outputs of the last evaluation.
  double normal_force;   // sum over points [N]
  std::uint32_t active;  // points with non-zero force (r of eq. 1)
  bool slipped;
};

// Position and velocity of a body at a stage, and how far its points have turned since the start of the tick.
struct StageBody {
  Vec3 x, v, w;
  Mat3 dR;  // R_stage R_start^T; identity at the start
  Vec3 x_start;
};

// Evaluates at the start-of-tick positions (depths as collision found them). Adds the forces about the mass centres to
// F. point_force: force on A per chosen point (may be null). O(points).
void evaluate_at_start(PenaltyContact& c, const Kinematics& kinematics, const State& state, SpatialForce* F_Bcm_W,
                       SpatialForce* point_force) noexcept;

// What a later evaluation within the tick is: a substep (the friction springs move and slip for good) or a trial stage
// of RK4 (they do not: papers/NOTES, Drumwright 8).
enum class StageKind : std::uint8_t { substep, trial };

// The same later in the tick: depths, positions and velocities follow the body-fixed points, the normal stays.
void evaluate_at_stage(StageKind kind, PenaltyContact& c, const StageBody& a, const StageBody& b, SpatialForce& F_A,
                       SpatialForce& F_B) noexcept;

// kp and kv by the automatic law: kp = alpha/(h^2 L), kv = beta/(h L), L = n_a lambda_a + n_b lambda_b. lambda_x bounds
// from above the largest eigenvalue of (1/r) sum J_i M_x^-1 J_i^T over the points that push, tangential rows included.
// n_x: manifolds on the body. c.offset must be set. Stable for alpha + 2 beta < 4 on any topology and mass ratio.
// O(points), no square root but one.
void automatic_gains(const Gains& gains, double h, const Kinematics& kinematics, const State& state, double n_a,
                     double n_b, PenaltyContact& c) noexcept;

// The bound lambda_x for one body: spring of unit stiffness in all directions at r = p_centre - p_WBcm, plus the
// rotational stiffness D of the points' spread about their centre (symmetric, [m^2]).
double mode_bound(const BodyKinematics& body, const Vec3& r, const Mat3& D) noexcept;

}  // namespace tactus
