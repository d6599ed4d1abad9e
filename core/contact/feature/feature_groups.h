// The I- and X-constraints of a step over the contacts of a ContactProblem (Williams, Lu & Trinkle 2014, eqs. 8 to 16),
// and how a choice of contacts is judged. Notation: c_i the rate of contact i's gap at the end of the step, psi_i' / h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/collide/feature/feature_pairs.h"
#include "core/contact/solve/contact_island.h"
#include "core/math/checks.h"

namespace tactus {

// Members are indices of the problem's contacts, iota first.
struct ContactGroup {
  FeatureGroup::Kind kind;
  std::uint32_t first, iota, kappa;
};

// What the solver is to satisfy. Contacts with always[i] are U-constraints (and rows of joints).
// An I-constraint: max over all members of c >= 0; a member pushes only while it is the largest, with c = 0.
// An X-constraint: max over all members of c >= 0, no force.
struct GroupedContacts {
  const ContactProblem* problem = nullptr;
  std::span<const std::uint8_t> always;
  std::span<const double> bounce;          // of a contact: c in (1) less c of its gap: <= 0, restitution
  std::span<const std::uint8_t> touching;  // the gap is zero at the start: what slides on a face stays on it
  std::span<const std::uint8_t> resting;   // touching, and not arriving faster than Parameters::impact_epsilon
  std::span<const ContactGroup> groups;
  const std::uint32_t* members = nullptr;
  double push_out = 0;  // at which overlaps are worked off, at most [m/s]
  bool gentle = false;  // overlaps may stay as they are in this step: no solution can then give energy

  [[nodiscard]] std::span<const std::uint32_t> of(const ContactGroup& group) const noexcept {
    TACTUS_DCHECK(members != nullptr && group.iota + group.kappa > 0);
    return {members + group.first, group.iota + group.kappa};
  }
  // What is added to c where overlaps may stay: what c asks for beyond that [m/s].
  [[nodiscard]] double left(std::uint32_t i) const noexcept { return gentle ? asked(i) : 0; }
  [[nodiscard]] double asked(std::uint32_t i) const noexcept {
    TACTUS_DCHECK(i < bounce.size() && not_above(bounce[i], 0));
    return std::max(0.0, bounce[i] - problem->contact(i).bias);
  }
  // Rate of the gap of contact i at the end of the step, for half velocities u [m/s].
  [[nodiscard]] double rate(std::uint32_t i, const double* u) const noexcept {
    const ProblemContact& contact = problem->contact(i);
    return velocity(*problem, contact, u)[0] + contact.b[0] - bounce[i] + left(i);
  }
};

}  // namespace tactus
