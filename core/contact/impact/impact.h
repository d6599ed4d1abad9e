// Impacts by sequential impulses (Drumwright III, Fig. 2; Baraff's sequential method with Coulomb friction and
// restitution at the centroid of the contact surface).
#pragma once

#include <cstdint>

#include "core/contact/contact_model.h"

namespace tactus {

// One manifold as the impact loop sees it.
struct ImpactContact {
  BodyIndex a, b;
  Vec3 nhat_BA_W;
  Vec3 p_WC;  // centroid of the contact surface
  double restitution, mu;
  bool pending;  // in: a new contact that approaches (phase impacting). Loop: to be treated in this sweep
  bool hit;      // out: got at least one impulse
  std::uint32_t stamp_a, stamp_b;  // loop: impulses that body a, b had received when this manifold was last treated
};

struct ImpactResult {
  std::uint32_t impulses = 0;
  bool exhausted = false;  // stopped at max_sweeps with impacts left
};

// Treats pending manifolds in order; then again every manifold (resting ones too) one of whose bodies was hit through
// another manifold since it was last treated, if it approaches faster than epsilon; until none is left or max_sweeps. A
// manifold is never treated twice in a row on its own account: after an impulse at its centroid a point that rocks may
// still approach, and Drumwright's (2008) loop would give impulses of zero for ever. Changes state.v only.
// Energy never increases by an impulse: where Newton's restitution with friction would (Stronge), friction is reduced.
// Momentum is conserved exactly. body_stamp: one counter a body, zeroed here.
ImpactResult resolve_impacts(ImpactContact* contacts, std::uint32_t count, double epsilon, std::uint32_t max_sweeps,
                             const Kinematics& kinematics, std::uint32_t* body_stamp, State& state,
                             RestitutionLaw law = RestitutionLaw::newton) noexcept;

// The impulse on A at p_WC [N s] for relative velocity v_rel (A minus B) and the 3 x 3 collision matrix K (v' = v + K
// j). newton: closed form, the direction of slip that of the approach, the end judged (sticks or slides). poisson,
// stronge: the process of impact_slip.h.
Vec3 collision_impulse(const Mat3& K, const Vec3& v_rel, const Vec3& nhat_BA_W, double restitution, double mu,
                       RestitutionLaw law = RestitutionLaw::newton) noexcept;

}  // namespace tactus
