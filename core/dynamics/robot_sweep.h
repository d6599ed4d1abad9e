// One robot during the substeps of a tick: joints' limits, friction and drives at the end of each substep, in half
// velocities (tree.h), so that contacts can push it between.
//
// The system solved is (M + h D + h kd + h^2 kp) (v' - v) = h (drive + applied - bias - D v) + impulses: damping and
// drives implicit and exact. Drives near their limit, Coulomb friction and the ends of a joint are rows with bounded
// impulses, visited in turn.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/dynamics/joint_drive.h"
#include "core/dynamics/tree.h"

namespace tactus {

// The law of a joint's ends: that of a contact (implicit_contact.h) with 1 / K for the mass.
struct StopLaw {
  double alpha, beta;
  double speed;  // deep violations leave at most at this rate [rad/s or m/s]
};

struct JointRow {
  enum class Kind : std::uint8_t { friction, drive, end } kind;
  DofIndex dof;
  double sign;      // of the impulse on the dof: +1, and -1 at an upper end
  double depth;     // end: violation, negative before it [rad or m]
  double bound;     // friction, drive: of the impulse in a substep
  double impulse;   // of the last visit
  double K;         // mobility of the dof
  const double* y;  // half response of a unit impulse, rows of dof_reach(dof)
};

// A dof whose force changes within the tick: it is damped, or its drive looks at position or velocity.
struct FeltDof {
  DofIndex dof;
  double* y;    // half response of a unit impulse, a number for each dof
  double push;  // its impulse in the next substep
};

struct RobotSweep {
  const Model* model;
  Tree* tree;
  std::uint32_t n, first_q, first_v;
  double h;  // of a substep [s]
  StopLaw stop;
  double *u, *u_free;      // half velocities now; without impulses
  double *v, *moved;       // velocities; how far each dof came since the start of the tick
  double* v_start;         // velocities at the start of the tick
  double* force;           // applied - bias at the middle of the tick, constant in it
  const double* damping;   // of the joints
  double* work;            // scratch
  DofDrive* drives;        // as they act in the implicit system: a drive that became a row has none
  const DofDrive* wanted;  // as given
  const double* q;         // positions of dofs at the start of the tick (0 where a dof has none)
  double* effort;          // sum over substeps of what drives gave
  double* stopped;         // the same of what the ends of joints gave
  JointRow* rows;
  std::uint32_t row_count;
  // Where few dofs are felt their half responses take the place of L in the substeps: all other forces are constant in
  // half velocities, and places are asked for once, at the end. v and moved are then those of felt dofs alone.
  bool few;
  FeltDof* felt;
  std::uint32_t felt_count;
  double *constant, *u_sum;  // change of u in a substep by what is constant; sum over the substeps
};

// Bytes of arena that start_sweep() takes for this robot.
std::size_t sweep_bytes(const Model& model, const Robot& robot) noexcept;

// The tree must know positions, velocities and mass matrix; its velocities are then those of the middle of the step of
// `substeps` times h. drives: of this robot; F: applied forces per body, in W at
// mass centres. False: the system cannot be solved (links without mass, numbers that are not finite); the robot must
// then be left where it is.
bool start_sweep(const Model& model, const State& state, Tree& tree, const Vec3& gravity_W, const DofDrive* drives,
                 const SpatialForce* F_Bcm_W, double h, const StopLaw& stop, Arena& arena, RobotSweep& out,
                 std::uint32_t substeps = 1) noexcept;
// Velocities at the end of the next substep, with the impulses of the last one.
void predict(RobotSweep& s) noexcept;
// One visit of all rows.
void visit_rows(RobotSweep& s) noexcept;
// Takes the velocities as final: positions of dofs move on.
void end_substep(RobotSweep& s) noexcept;
// Brings joint_q, joint_v and the links' entries of State to the end of the tick. effort: mean of each drive over it,
// within its limit. stop (may be null): mean of what the ends of joints gave. Where an end stops a joint within the
// step, a drive that damps acts beyond its limit against it; that part is none of its own, and counts with the end.
void end_sweep(RobotSweep& s, std::uint32_t substeps, State& state, double* effort, double* stop) noexcept;

}  // namespace tactus
