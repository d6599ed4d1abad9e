// One tick of the implicit penalty law: springs and dampers of all manifolds at the end of the tick, by sweeps.
#pragma once

#include <cstdint>

#include "core/contact/penalty/implicit_contact.h"
#include "core/contact/penalty/penalty_force.h"

namespace tactus {

// How long after the start of a tick its levers and normals are meant to be: halfway to the start of the last substep.
// Velocities along them then make no work in the mean (core/DECISIONS.md, "Levers of the middle").
inline double implicit_lead(double h, std::uint32_t substeps) noexcept {
  return 0.5 * (h - h / substeps);
}

// Advances q and v by h and keeps what pairs remember. chosen: points of each manifold of tick.contacts. Order of the
// sweep: upward along gravity, whatever the numbers of the bodies. O(manifolds lg manifolds + points).
void implicit_step(const Tick& tick, const PenaltyContact* chosen, std::uint32_t count, State& state,
                   StepReport& report) noexcept;

}  // namespace tactus
