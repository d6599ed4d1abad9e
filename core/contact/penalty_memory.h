// What a pair remembers for the penalty models: PairRecord::model seen as this. All zero: a new contact.
#pragma once

namespace tactus {

// One layout for all gain laws, so that a change of law at run time, or a snapshot from before it, is never misread.
struct PenaltyMemory {
  double reach;       // depth that the spring may feel this tick; deeper overlap is new and is worked off gently [m]
  double stretch[3];  // tangential spring, in W, tangent to the contact [m]
  double twist;       // torsional spring about the normal [rad]
  double slipping;    // 1: slid in the last tick
  double roll[3];     // rolling spring, in W, tangent to the contact [rad]; implicit law only
  double force[3];    // contact force on A in the last substep, in W [N]; implicit law only
  double torque[3];   // its moment about A's mass centre, in W [N m]; implicit law only
  double integral;    // I of eq. 2 [m]
};

}  // namespace tactus
