// Impacts at all bottom points together, instead of one manifold after the other at its centroid.
#pragma once

#include "core/arena.h"
#include "core/contact/impact/impact.h"

namespace tactus {

// Where a manifold touches; beside its ImpactContact.
struct ImpactPatch {
  const ContactPoint* points;
  const std::uint32_t* chosen;  // indices into points
  std::uint32_t count;
};

// Block Gauss-Seidel over the points of the pending manifolds, and of every other manifold that a hit body makes
// approach faster than epsilon: it joins with restitution 0. A point that came faster than epsilon leaves with e times
// its speed before the impact (Newton), every other one does not approach; Coulomb's cone at each point, the direction
// of slip that of the end. One sweep over a manifold moves all its points that push by one amount first, so that a flat
// landing needs no iteration. Up to kSweepsOfPoints * max_sweeps sweeps, until no velocity changes by more than 1 %
// of epsilon; exhausted: the last change was over epsilon.
// Energy never increases: if it would, the impulses go towards those for e = 0, and from there towards none, as far as
// needed. Momentum is conserved exactly. Changes state.v only. Arena: about 90 bytes a point, given back.
inline constexpr std::uint32_t kSweepsOfPoints = 4;
ImpactResult resolve_impacts_together(ImpactContact* contacts, const ImpactPatch* patches, std::uint32_t count,
                                      double epsilon, std::uint32_t max_sweeps, const Kinematics& kinematics,
                                      Arena& arena, State& state) noexcept;

}  // namespace tactus
