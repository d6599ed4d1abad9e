// The two integrators of all force-based contact models. Both use the same conventions: q = p_WBcm, q_WB; v = v_WBcm,
// w_WB (State).
#pragma once

#include "core/arena.h"
#include "core/dynamics/joint_drive.h"
#include "core/dynamics/kinematics.h"
#include "core/dynamics/state.h"

namespace tactus {

// Forces on every body as a function of positions and velocities: what RK4 asks four times a tick.
class ForceLaw {
 public:
  // q, v: laid out as in State. Adds nothing: writes F_Bcm_W (without gravity) of every body.
  virtual void evaluate(const double* q, const double* v, SpatialForce* F_Bcm_W) noexcept = 0;

 protected:
  ~ForceLaw() = default;
};

// v' = v + h (g + M^-1 F), q' = q + h v'. Angular momentum is advanced exactly (L' = L + h tau) and turned back into w
// at the new orientation, which free_rotation() gives: torque-free tumbling conserves L to rounding, and energy exactly
// where two moments are equal, otherwise without drift. O(bodies).
void semi_implicit_euler(const Model& model, const Parameters& parameters, const Kinematics& kinematics, double t,
                         double h, const SpatialForce* F_Bcm_W, State& state) noexcept;

// Mean velocity of a body over a tick: what moves it when the tick was taken in substeps.
struct MeanVelocity {
  Vec3 v, w;
};
// The same with F the mean force of the tick; bodies move with the mean velocities given.
void semi_implicit_euler(const Model& model, const Parameters& parameters, const Kinematics& kinematics, double t,
                         double h, const SpatialForce* F_Bcm_W, const MeanVelocity* mean, State& state) noexcept;

// Sets the velocity of kinematic bodies to the mean of their prescribed motion over [t, t + h].
void prescribe_velocities(const Model& model, double t, double h, State& state) noexcept;

// What Runge-Kutta needs besides where there are robots.
struct RobotInputs {
  const Kinematics& kinematics;
  const DofDrive* drives;  // per entry of State::joint_v
  double* effort;          // the same: what drives gave in the first stage
  double* stop;            // the same: what the ends of joints gave there; null: nobody asks
};

// Classical fourth-order Runge-Kutta on (p, q, v, w) and the joints' coordinates with four force evaluations; scratch
// from the arena.
void rk4(const Model& model, const Parameters& parameters, double h, ForceLaw& law, Arena& arena, State& state,
         const RobotInputs* robots = nullptr) noexcept;

}  // namespace tactus
