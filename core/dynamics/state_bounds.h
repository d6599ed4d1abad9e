// What a state may hold. Beyond these numbers a step tells nothing of the motion, and squares of them leave no room for
// the sums that models make. A speed beyond is cut to its bound (it may come from one push); a place beyond, or a
// number that is not finite, freezes the body.
#pragma once

#include <cstdint>

#include "core/dynamics/state.h"

namespace tactus {

// Ten metres, and more than one whole turn, in a step of 1 ms: ten times what a bullet and a dental drill have.
inline constexpr double kMostSpeed = 1e4;  // of a mass centre, and of a joint that slides [m/s]
inline constexpr double kMostTurn = 1e4;   // of a body, and of a joint that turns [rad/s]
// One day at the greatest speed; a number of this size still resolves a micrometre.
inline constexpr double kMostPlace = 1e9;  // of a mass centre from W's origin, and of a joint [m or rad]
// A force beyond, or one at a body that was frozen in this step, moved nothing: it is none.
inline constexpr double kMostForce = 1e30;  // [N or N m]
// Of what pairs of shapes remember, in SI units: more than any force or spring of a scene, and its fourth power is a
// number.
inline constexpr double kMostMemory = 1e30;
// Ticks are counted exactly in numbers of double precision up to here.
inline constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 53;

// Finite, a unit quaternion, and not farther off than kMostPlace. Speeds are finite; they may be beyond their bounds.
bool bearable_body(const State& state, BodyIndex b) noexcept;
bool bearable_joints(const Model& model, const Robot& robot, const State& state) noexcept;

// Cuts the speeds of a free body, or all of a robot's by one factor, to their bounds. True: they were beyond.
bool bound_speeds(BodyIndex b, State& state) noexcept;
bool bound_speeds(const Model& model, const Robot& robot, State& state) noexcept;
// The same for what a force would add in a time h.
bool bound_force(double inv_mass, const Mat3& inv_I_W, double h, SpatialForce& F) noexcept;

// Whether a contact may have given it: finite, and no component beyond kMostForce.
bool bearable_force(const SpatialForce& F) noexcept;

// Pairs of these bodies (1 of each) begin anew, and so does whatever holds a number that is not finite, and a witness
// beyond kMostMemory.
void forget_pairs(const Model& model, const std::uint8_t* of, PairMemory& pairs) noexcept;

// Why a world of this model cannot go on from a state that comes from outside; null: it can. The sizes are right.
// patches: Limits::patches_per_pair. What models remember of pairs is looked at by bearable_memory() (contact_model.h).
// Allocates: not for the tick.
const char* fault_in(const Model& model, std::uint32_t patches, const State& state);

}  // namespace tactus
