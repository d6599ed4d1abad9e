// What places of smooth shapes have in common, whatever they touch: what records keep of each (pair_memory.h), and what
// becomes of a place as the bodies move on.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/pair_memory.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/math/checks.h"

namespace tactus {

// What a witness remembers of its extremal points, and back.
inline void to_sides(const Witness& witness, ExtremalSide& a, ExtremalSide& b) noexcept {
  a = {witness.point_a, witness.step_a, witness.last_step_a, Vec3::Zero(), witness.feature_a};
  b = {witness.point_b, witness.step_b, witness.last_step_b, Vec3::Zero(), witness.feature_b};
}
inline void to_witness(const ExtremalSide& a, const ExtremalSide& b, const Vec3& axis_A, Witness& witness) noexcept {
  witness = {axis_A, a.feature, b.feature, a.p_S, b.p_S, a.step_S, b.step_S, a.last_step_S, b.last_step_S};
}

inline void clear_contacts(ContactBuffer& out) noexcept {
  out.count = 0;
  out.nhat_BA_W.setZero();
  out.all_on_bottom = true;
  out.truncated = false;
  out.gap_curve = 0;
}

inline bool is_within(const ExtremalPair& pair, double reach) noexcept {
  return pair.known() && !(pair.d > reach || (reach <= 0 && pair.d >= 0));
}
// How far apart a place may be to be seen: those that touched last tick across the margin, too.
inline double place_reach(const PairRecord& record, double reach, double margin) noexcept {
  return record.phase == ContactPhase::resting ? std::max(reach, margin) : reach;
}

// Turn of a normal [rad], and change of the gap's rate, of the bodies' speed: what may be foretold of them.
inline constexpr double kMostLead = 0.1;

// The normal of a place's only point as it is a little later, along its rate, and what turns there make of the gap
// (Appendices B to D). Surfaces that nearly fit, and bodies that spin, have rates without bound: not theirs.
inline void lead_contact(const ExtremalPair& pair, ContactBuffer& out) noexcept {
  if (out.motion == nullptr || out.count != 1 || !pair.has_rates()) return;
  const PairMotion& motion = *out.motion;
  const ExtremalRates rates = extremal_rates(pair, motion.A, motion.B);
  const Vec3 turn = motion.lead * rates.nhat_dot_W;
  const double curve = extremal_second_rate(pair, rates, motion.A, motion.B).constant;
  const auto fastest = [&](const RigidMotion& body) {
    return body.v_W.norm() + body.w_W.norm() * (out.points[0].p_WC - body.c_W).norm();
  };
  const double speed = fastest(motion.A) + fastest(motion.B);
  if (!(turn.squaredNorm() <= kMostLead * kMostLead && motion.lead * std::abs(curve) <= kMostLead * speed)) return;
  TACTUS_DCHECK(is_unit(out.nhat_BA_W));
  out.nhat_BA_W = (out.nhat_BA_W + turn).normalized();
  out.gap_curve = curve;
}

}  // namespace tactus
